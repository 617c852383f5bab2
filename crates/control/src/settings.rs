use std::time::Duration;

use windlass_core::Text;
use windlass_providers::GuardSettings;

use crate::joining::JoinSettings;

/// Every delay, deadline and interval of the controller. The defaults suit clouds; a rack that takes ten minutes to
/// boot wants a longer registration deadline, a test wants everything short.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name by which this cluster's machines are told apart from others'.
    pub cluster_id: Text,
    /// The namespace of the lease and of the records that Windlass keeps.
    pub namespace: String,
    /// Who this process is in the lease.
    pub identity: String,
    /// Manage only objects with this value of the label `windlass.dev/scope`; none manages those without the label.
    pub scope: Option<String>,

    /// How long a lease is held without renewal before others take it.
    pub lease_duration: Duration,
    /// How long after its last renewal the holder stops writing; shorter than the lease's duration.
    pub renew_deadline: Duration,
    /// How often the lease is renewed or asked for.
    pub lease_retry: Duration,

    /// Planning waits until nothing has changed for this long.
    pub batch_idle: Duration,
    /// Planning waits no longer than this since the first change.
    pub batch_max: Duration,
    /// How far apart two reports of a pool's state, or of whether a node is ready, are at least: while nodes come and go
    /// they change all the time.
    pub status_interval: Duration,
    /// How long the next plan waits for the API server's answers to what the last one wrote.
    pub write_patience: Duration,
    /// Planning happens at least this often.
    pub plan_interval: Duration,

    /// How long a claim may be without a machine.
    pub launch_deadline: Duration,
    /// How long a machine may take to become a node.
    pub registration_deadline: Duration,
    /// How long a node may be not ready before it is replaced.
    pub repair_after: Duration,
    /// How long a claim that came to nothing is kept where Cluster Autoscaler decides: it looks every few seconds, and what
    /// it does not see it does not back off from.
    pub failure_shown: Duration,
    /// How long a machine may be without a claim.
    pub orphan_grace: Duration,
    /// How far apart two answers of a provider must be that together prove a machine's absence.
    pub absence_interval: Duration,
    /// How long after its creation a claim's name stays taken, also if its machine is gone sooner: a request to make the
    /// claim that went unanswered may still be under way, and would bring it back. For as long after its deletion a launch
    /// that went unanswered is taken for one that may still have its effect.
    pub name_kept: Duration,
    /// How long after its time a terminating pod on a dead node is still waited for.
    pub stuck_pod_grace: Duration,

    /// How often the providers' machines are compared with the claims.
    pub sweep_interval: Duration,
    /// How often the providers' offers are read.
    pub catalogue_interval: Duration,
    /// How often `CapacityBuffer`s are read.
    pub buffer_interval: Duration,
    /// How often a claim that waits for something outside is looked at again; also how long a pod that a new node did not
    /// help gets no other at first, which doubles each time.
    pub poll_interval: Duration,
    /// The first wait after an error; it doubles with each further one.
    pub retry_base: Duration,
    /// The longest wait after an error.
    pub retry_max: Duration,
    /// How long an offering that could not be had is avoided at first; it doubles each time.
    pub avoid_base: Duration,
    /// The longest time for which an offering is avoided, or a pod that new nodes do not help gets no other.
    pub avoid_max: Duration,

    /// How long to look for a cheaper plan after the first answer. Where it is not given, the search takes as many steps
    /// as `plan` says, and the same snapshot gives the same plan.
    pub search_time: Option<Duration>,
    /// Whether pods are nominated to the nodes that they were planned for.
    pub nominates: bool,
    /// How many claims are worked on at the same time.
    pub concurrency: usize,
    /// How long the API server may hold one watch; also how long a dead connection goes unnoticed.
    pub watch_timeout: Duration,
    /// How long the API server may be silent about the lease, or a watch fail, before the process says it is not ready.
    pub unready_after: Duration,

    /// What machines are told that join by user data.
    pub joining: JoinSettings,
    /// How calls to providers are kept in bounds.
    pub provider_calls: GuardSettings,
    /// How long work that is under way at shutdown may take to end.
    pub shutdown_grace: Duration,

    /// How to plan.
    pub plan: windlass_core::model::Settings,
}

impl Settings {
    /// The defaults, for this cluster.
    pub fn new(cluster_id: Text, namespace: String, identity: String) -> Self {
        let seconds = Duration::from_secs;
        Self {
            cluster_id,
            namespace,
            identity,
            scope: None,
            lease_duration: seconds(15),
            renew_deadline: seconds(10),
            lease_retry: seconds(2),
            batch_idle: Duration::from_millis(500),
            batch_max: seconds(1),
            status_interval: seconds(3),
            write_patience: seconds(5),
            plan_interval: seconds(60),
            launch_deadline: seconds(5 * 60),
            registration_deadline: seconds(15 * 60),
            repair_after: seconds(10 * 60),
            failure_shown: seconds(5 * 60),
            orphan_grace: seconds(5 * 60),
            absence_interval: seconds(5),
            // API servers give requests up after a minute.
            name_kept: seconds(60),
            stuck_pod_grace: seconds(60),
            sweep_interval: seconds(60),
            catalogue_interval: seconds(60),
            buffer_interval: seconds(10),
            poll_interval: seconds(5),
            retry_base: seconds(1),
            retry_max: seconds(60),
            avoid_base: seconds(60),
            avoid_max: seconds(3600),
            search_time: Some(Duration::from_millis(300)),
            nominates: true,
            concurrency: 64,
            watch_timeout: seconds(60),
            unready_after: seconds(60),
            joining: JoinSettings::default(),
            provider_calls: GuardSettings::default(),
            shutdown_grace: seconds(20),
            plan: windlass_core::model::Settings::default(),
        }
    }

    /// The selector of the objects to manage.
    pub fn scope_selector(&self) -> String {
        match &self.scope {
            Some(scope) => format!("{}={scope}", windlass_api::labels::SCOPE),
            None => format!("!{}", windlass_api::labels::SCOPE),
        }
    }

    /// How long to wait after the n-th error in a row, counted from 1.
    pub fn retry_after(&self, errors: u32) -> Duration {
        doubling(self.retry_base, self.retry_max, errors)
    }

    /// How long to avoid an offering after the n-th time in a row that it could not be had, counted from 1.
    pub fn avoid_for(&self, strikes: u32) -> Duration {
        doubling(self.avoid_base, self.avoid_max, strikes)
    }

    /// How long a pod gets no other machine after the n-th time in a row that one did not help it, counted from 1.
    pub fn hold_for(&self, strikes: u32) -> Duration {
        doubling(self.poll_interval, self.avoid_max, strikes)
    }
}

pub(crate) fn doubling(base: Duration, most: Duration, times: u32) -> Duration {
    base.saturating_mul(2_u32.saturating_pow(times.saturating_sub(1).min(30))).min(most)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Settings;

    #[test]
    fn waits_double_up_to_a_ceiling() {
        let settings = Settings::new("test".into(), "default".into(), "me".into());
        let waits: Vec<u64> =
            [0, 1, 2, 3, 7, 1000].map(|errors| settings.retry_after(errors).as_secs()).into();
        assert_eq!(waits, [1, 1, 2, 4, 60, 60]);
        assert_eq!(settings.avoid_for(u32::MAX), Duration::from_secs(3600));
    }

    #[test]
    fn a_leader_stops_writing_before_others_may_start() {
        let settings = Settings::new("test".into(), "default".into(), "me".into());
        assert!(settings.renew_deadline < settings.lease_duration);
    }
}
