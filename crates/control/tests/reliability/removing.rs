//! Providers that misbehave while machines are given back: nothing is leaked, nothing else is touched, and it says what is
//! waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use windlass_api::conditions;
use windlass_providers::{Machine, MachineTag, Provider, ProviderError, Termination};
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::{Lab, PATIENCE};
use crate::steps::calm_lab;
use crate::twist::{Twist, twisted};

/// What the provider does instead of ending a machine, so many times.
#[derive(Clone, Copy, Debug)]
enum Instead {
    /// It does not answer.
    Hangs,
    /// It answers with an error.
    Fails,
    /// It ends the machine and answers with an error.
    FailsAfterwards,
    /// It says that there is no such machine, also when asked for it or for all of them.
    Denies,
    /// It says that it will, and does nothing.
    Promises,
}

#[derive(Debug)]
struct Unwilling {
    instead: Instead,
    times: AtomicUsize,
    /// Whether it has been asked to end a machine.
    asked: AtomicBool,
}

impl Unwilling {
    fn new(instead: Instead, times: usize) -> Arc<Self> {
        Arc::new(Self { instead, times: AtomicUsize::new(times), asked: AtomicBool::new(false) })
    }

    /// Whether it is unwilling once more.
    fn refuses(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
    }

    /// Whether it says once more that there is nothing, to someone who only looks.
    fn denies(&self) -> bool {
        matches!(self.instead, Instead::Denies) && self.asked.load(Ordering::SeqCst) && self.refuses()
    }

    fn is_over(&self) -> bool {
        self.times.load(Ordering::SeqCst) == 0
    }
}

fn unknown(id: &str) -> ProviderError {
    ProviderError::NotFound { provider_id: id.to_owned() }
}

#[async_trait]
impl Twist for Unwilling {
    async fn terminate(
        &self,
        truth: &dyn Provider,
        id: &str,
        tag: &MachineTag,
    ) -> Result<Termination, ProviderError> {
        self.asked.store(true, Ordering::SeqCst);
        if !self.refuses() {
            return truth.terminate(id, tag).await;
        }
        match self.instead {
            Instead::Hangs => std::future::pending().await,
            Instead::Fails => Err(ProviderError::transient("internal server error")),
            Instead::FailsAfterwards => {
                truth.terminate(id, tag).await?;
                Err(ProviderError::transient("bad gateway"))
            }
            Instead::Denies => Err(unknown(id)),
            Instead::Promises => Ok(Termination::UnderWay),
        }
    }

    async fn get(&self, truth: &dyn Provider, id: &str) -> Result<Machine, ProviderError> {
        if self.denies() { Err(unknown(id)) } else { truth.get(id).await }
    }

    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        if self.denies() { Ok(Vec::new()) } else { truth.list().await }
    }
}

/// Two nodes, one of which is given back while the provider is unwilling.
async fn given_back(plane: Arc<ControlPlane>, name: &str, twist: Arc<Unwilling>, says: Option<&str>) -> Lab {
    let mut lab = calm_lab(plane, name).await;
    lab.settings.provider_calls.timeout = Duration::from_secs(1);
    if matches!(twist.instead, Instead::Denies) {
        // Time enough to see what is waited for.
        lab.settings.absence_interval = Duration::from_secs(3);
    }
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({"minNodes": 2})).await;
    lab.start_with(twisted(&twist)).await;
    let claims = lab.ready_claims(2).await;
    let [goes, stays] = &claims[..] else { panic!("{claims:?}") };
    lab.claim_api().delete(&goes.name_any(), &DeleteParams::default()).await.unwrap();
    if let Some(words) = says {
        eventually("the claim to say what it waits for", PATIENCE, async || {
            let claim = lab.claim_api().get(&goes.name_any()).await.map_err(|error| error.to_string())?;
            let all = claim.status.map(|status| status.conditions).unwrap_or_default();
            let told: Vec<_> = [conditions::TERMINATED, conditions::READY]
                .into_iter()
                .filter_map(|kind| Some(conditions::find(&all, kind)?.message.clone()))
                .collect();
            if told.iter().any(|message| message.contains(words)) { Ok(()) } else { Err(format!("{told:?}")) }
        })
        .await;
    }
    eventually("one machine for each of two claims", 2 * PATIENCE, async || {
        let claims: Vec<String> = lab.claims().await.iter().map(ResourceExt::name_any).collect();
        let counts = (claims.len(), lab.machines().await.len(), lab.nodes().await.len());
        let gone = !claims.contains(&goes.name_any());
        if gone && counts == (2, 2, 2) && twist.is_over() {
            Ok(())
        } else {
            Err(format!("{claims:?} {counts:?}"))
        }
    })
    .await;
    let left = lab.ready_claims(2).await;
    assert!(left.iter().any(|claim| claim.uid() == stays.uid()), "the other is not touched");
    lab
}

pub async fn a_provider_that_does_not_answer_is_asked_again_until_the_machine_is_gone(
    plane: Arc<ControlPlane>,
) {
    let twist = Unwilling::new(Instead::Hangs, 3);
    given_back(plane, "hangs", twist, Some("waiting for the provider")).await.finish().await;
}

pub async fn a_provider_that_fails_is_asked_again_until_the_machine_is_gone(plane: Arc<ControlPlane>) {
    let twist = Unwilling::new(Instead::Fails, 4);
    given_back(plane, "fails", twist, Some("internal server error")).await.finish().await;
}

pub async fn a_machine_whose_end_was_answered_by_an_error_is_let_go_of(plane: Arc<ControlPlane>) {
    given_back(plane, "late", Unwilling::new(Instead::FailsAfterwards, 1), None).await.finish().await;
}

pub async fn a_machine_that_the_provider_denies_and_has_is_ended_in_the_end(plane: Arc<ControlPlane>) {
    let twist = Unwilling::new(Instead::Denies, 6);
    given_back(plane, "denies", twist, Some("waiting for a second answer")).await.finish().await;
}

pub async fn a_provider_that_only_promises_is_asked_again_until_the_machine_is_gone(
    plane: Arc<ControlPlane>,
) {
    let twist = Unwilling::new(Instead::Promises, 5);
    given_back(plane, "promises", twist, Some("is being given back")).await.finish().await;
}
