use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::time::{Instant, sleep, timeout};
use tracing::{error, info, warn};
use windlass_api::labels::FIELD_MANAGER;
use windlass_providers::Clock;

use super::Leadership;
use crate::kubernetes::{is_conflict, is_not_found, status_code};

/// The lease and its times.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// The lease's namespace.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// Who this process is.
    pub identity: String,
    /// How long a lease is held without renewal before others take it.
    pub duration: Duration,
    /// How long after its last renewal the holder stops writing.
    pub renew_deadline: Duration,
    /// How often it is renewed or asked for.
    pub retry: Duration,
}

/// Holds the lease, or waits for it.
///
/// Whether another's lease has run out is judged by how long its record has not changed on this process's own
/// monotonic clock, never by comparing wall clocks of two machines.
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    settings: LeaseSettings,
    leadership: Leadership,
    clock: Arc<dyn Clock>,
    /// The other holder's record as last seen to change, and when.
    rival: Option<(LeaseSpec, Instant)>,
}

impl Elector {
    /// Takes part in the election. The client must not be gated by the same leadership.
    pub fn new(
        client: Client,
        settings: LeaseSettings,
        leadership: Leadership,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let api = Api::namespaced(client, &settings.namespace);
        Self { api, settings, leadership, clock, rival: None }
    }

    /// Acquires and renews the lease, for ever.
    pub async fn run(&mut self) {
        loop {
            let asked = Instant::now();
            // An answer that comes later than the deadline is of no use.
            let outcome = timeout(self.settings.renew_deadline, self.acquire_or_renew()).await;
            if matches!(outcome, Ok(Ok(_))) {
                self.leadership.heard();
            }
            match outcome {
                Ok(Ok(true)) => {
                    if !self.leadership.may_write() {
                        info!(identity = self.settings.identity, "this process leads now");
                    }
                    self.leadership.lead_until(asked + self.settings.renew_deadline);
                }
                Ok(Ok(false)) => self.leadership.resign(),
                Ok(Err(problem)) => self.complain(self.explain(&problem)),
                Err(_) => {
                    self.complain("the lease could not be renewed: the API server does not answer".to_owned())
                }
            }
            sleep(self.settings.retry).await;
        }
    }

    /// Says once what the matter is, and not at each try.
    fn complain(&self, why: String) {
        if self.leadership.has_trouble(why.clone()) {
            error!("{why}");
        }
    }

    fn explain(&self, problem: &kube::Error) -> String {
        let namespace = &self.settings.namespace;
        match status_code(problem) {
            Some(404) => format!(
                "there is no namespace {namespace} for the lease: create it with \"kubectl create namespace {namespace}\" \
                 or name another with --namespace"
            ),
            Some(403) => format!("the lease may not be had, so this process does nothing: {problem}"),
            _ => format!("the lease could not be renewed: {problem}"),
        }
    }

    /// Gives the lease up, so that another replica need not wait for it to run out.
    pub async fn release(&self) {
        let held = self.leadership.may_write();
        self.leadership.resign();
        if !held {
            return;
        }
        let released = async {
            let mut lease = self.api.get(&self.settings.name).await?;
            let ours = lease
                .spec
                .as_ref()
                .is_some_and(|spec| spec.holder_identity.as_deref() == Some(&self.settings.identity));
            if ours {
                let now = self.now();
                let spec = lease.spec.get_or_insert_default();
                spec.holder_identity = Some(String::new());
                spec.lease_duration_seconds = Some(1);
                spec.renew_time = Some(now);
                self.api.replace(&self.settings.name, &self.parameters(), &lease).await?;
            }
            Ok::<_, kube::Error>(())
        };
        match timeout(self.settings.renew_deadline, released).await {
            Ok(Ok(())) => info!("the lease is released"),
            Ok(Err(error)) => warn!(%error, "the lease could not be released and will run out"),
            Err(_) => warn!("the lease could not be released and will run out"),
        }
    }

    /// Whether the lease is ours after this try.
    async fn acquire_or_renew(&mut self) -> Result<bool, kube::Error> {
        let lease = match self.api.get(&self.settings.name).await {
            Ok(lease) => lease,
            Err(error) if is_not_found(&error) => return self.create().await,
            Err(error) => return Err(error),
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.clone().unwrap_or_default();
        if holder != self.settings.identity && !holder.is_empty() && !self.has_run_out(&spec) {
            return Ok(false);
        }
        let now = self.now();
        let took_over = holder != self.settings.identity;
        let renewed = LeaseSpec {
            holder_identity: Some(self.settings.identity.clone()),
            lease_duration_seconds: Some(self.seconds()),
            acquire_time: if took_over { Some(now.clone()) } else { spec.acquire_time },
            renew_time: Some(now),
            lease_transitions: Some(spec.lease_transitions.unwrap_or(0).saturating_add(i32::from(took_over))),
            ..LeaseSpec::default()
        };
        // The resource version of what was read makes this fail if anyone else was faster.
        let wanted = Lease { spec: Some(renewed), ..lease };
        match self.api.replace(&self.settings.name, &self.parameters(), &wanted).await {
            Ok(_) => Ok(true),
            Err(error) if is_conflict(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn create(&self) -> Result<bool, kube::Error> {
        let now = self.now();
        let lease = Lease {
            metadata: ObjectMeta { name: Some(self.settings.name.clone()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.settings.identity.clone()),
                lease_duration_seconds: Some(self.seconds()),
                acquire_time: Some(now.clone()),
                renew_time: Some(now),
                lease_transitions: Some(0),
                ..LeaseSpec::default()
            }),
        };
        match self.api.create(&self.parameters(), &lease).await {
            Ok(_) => Ok(true),
            Err(error) if is_conflict(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn has_run_out(&mut self, spec: &LeaseSpec) -> bool {
        let now = Instant::now();
        match &self.rival {
            Some((seen, since)) if seen == spec => {
                let theirs = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
                let duration = theirs.map_or(self.settings.duration, Duration::from_secs);
                now.duration_since(*since) > duration
            }
            _ => {
                self.rival = Some((spec.clone(), now));
                false
            }
        }
    }

    fn now(&self) -> MicroTime {
        MicroTime(self.clock.now())
    }

    /// The lease's duration as others read it: not shorter than it is, or they would take the lease too early.
    fn seconds(&self) -> i32 {
        let seconds = self.settings.duration.as_millis().div_ceil(1000).max(1);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }

    fn parameters(&self) -> PostParams {
        PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
    }
}
