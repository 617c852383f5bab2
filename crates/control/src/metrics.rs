use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use windlass_core::Price;

use crate::index::Kind;

/// What the controller counts.
#[derive(Clone, Debug)]
pub struct Metrics {
    claims_created: Family<ByPoolAndReason, Counter>,
    claims_removed: Family<ByPoolAndReason, Counter>,
    disruptions_decided: Family<ByPoolAndReason, Counter>,
    disruptions_taken_back: Family<ByPool, Counter>,
    group_orders: Family<ByPoolAndOrder, Counter>,
    launch_errors: Family<ByProviderAndKind, Counter>,
    provider_calls: Family<ByProviderAndCall, Counter>,
    watch_interruptions: Family<ByKind, Counter>,
    events_dropped: Counter,
    plans: Counter,
    plan_seconds: Histogram,
    pods_unplaced: Gauge,
    claims: Family<ByPool, Gauge>,
    cost: Family<ByPool, Gauge<f64, AtomicU64>>,
    leader: Gauge<i64, AtomicI64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPool {
    pool: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPoolAndReason {
    pool: String,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByPoolAndOrder {
    pool: String,
    order: String,
    outcome: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByProviderAndKind {
    provider: String,
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByProviderAndCall {
    provider: String,
    call: String,
    outcome: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    kind: String,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            claims_created: Family::default(),
            claims_removed: Family::default(),
            disruptions_decided: Family::default(),
            disruptions_taken_back: Family::default(),
            group_orders: Family::default(),
            launch_errors: Family::default(),
            provider_calls: Family::default(),
            watch_interruptions: Family::default(),
            events_dropped: Counter::default(),
            plans: Counter::default(),
            plan_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 14)),
            pods_unplaced: Gauge::default(),
            claims: Family::default(),
            cost: Family::default(),
            leader: Gauge::default(),
        }
    }
}

impl Metrics {
    /// Puts all of them into a registry, under the prefix `windlass`.
    pub fn register(&self, registry: &mut Registry) {
        let ours = registry.sub_registry_with_prefix("windlass");
        ours.register("claims_created", "Claims made", self.claims_created.clone());
        ours.register(
            "claims_removed",
            "Claims that are gone, by why they went",
            self.claims_removed.clone(),
        );
        ours.register("disruptions_decided", "Claims that were to go", self.disruptions_decided.clone());
        ours.register(
            "disruptions_taken_back",
            "Claims that were to go and stayed",
            self.disruptions_taken_back.clone(),
        );
        ours.register("group_orders", "What Cluster Autoscaler wanted done", self.group_orders.clone());
        ours.register("launch_errors", "Launches that failed", self.launch_errors.clone());
        ours.register("provider_calls", "Calls to providers", self.provider_calls.clone());
        ours.register("watch_interruptions", "Watches taken up again", self.watch_interruptions.clone());
        ours.register(
            "events_dropped",
            "Kubernetes events not sent for lack of room",
            self.events_dropped.clone(),
        );
        ours.register("plans", "Plans made", self.plans.clone());
        ours.register("plan_duration_seconds", "Time to make a plan", self.plan_seconds.clone());
        ours.register("pods_unplaced", "Pods that no pool can serve at present", self.pods_unplaced.clone());
        ours.register("claims", "Claims that exist", self.claims.clone());
        ours.register("cost_dollars_per_hour", "What the machines cost", self.cost.clone());
        ours.register("leader", "Whether this process holds the lease", self.leader.clone());
    }

    pub(crate) fn claim_created(&self, pool: &str, purpose: &impl Debug) {
        self.claims_created.get_or_create(&pool_and_reason(pool, &format!("{purpose:?}"))).inc();
    }

    pub(crate) fn claim_removed(&self, pool: &str, reason: &str) {
        self.claims_removed.get_or_create(&pool_and_reason(pool, reason)).inc();
    }

    pub(crate) fn disruption_decided(&self, pool: &str, reason: &str) {
        self.disruptions_decided.get_or_create(&pool_and_reason(pool, reason)).inc();
    }

    pub(crate) fn disruption_taken_back(&self, pool: &str) {
        self.disruptions_taken_back.get_or_create(&ByPool { pool: pool.to_owned() }).inc();
    }

    pub(crate) fn group_ordered(&self, pool: &str, order: &str, outcome: &str) {
        let (pool, order, outcome) = (pool.to_owned(), order.to_owned(), outcome.to_owned());
        self.group_orders.get_or_create(&ByPoolAndOrder { pool, order, outcome }).inc();
    }

    pub(crate) fn launch_failed(&self, provider: &str, kind: &str) {
        self.launch_errors
            .get_or_create(&ByProviderAndKind { provider: provider.to_owned(), kind: kind.to_owned() })
            .inc();
    }

    pub(crate) fn provider_called(&self, provider: &str, call: &str, outcome: &str) {
        let labels = ByProviderAndCall {
            provider: provider.to_owned(),
            call: call.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.provider_calls.get_or_create(&labels).inc();
    }

    pub(crate) fn watch_interrupted(&self, kind: Kind) {
        self.watch_interruptions.get_or_create(&ByKind { kind: format!("{kind:?}") }).inc();
    }

    pub(crate) fn event_dropped(&self) {
        self.events_dropped.inc();
    }

    pub(crate) fn planned(&self, unplaced: usize, took: Duration) {
        self.plans.inc();
        self.plan_seconds.observe(took.as_secs_f64());
        self.pods_unplaced.set(i64::try_from(unplaced).unwrap_or(i64::MAX));
    }

    pub(crate) fn pool_is(&self, pool: &str, claims: usize, cost: Price) {
        let labels = ByPool { pool: pool.to_owned() };
        self.claims.get_or_create(&labels).set(i64::try_from(claims).unwrap_or(i64::MAX));
        self.cost.get_or_create(&labels).set(cost.dollars());
    }

    pub(crate) fn pool_is_gone(&self, pool: &str) {
        let labels = ByPool { pool: pool.to_owned() };
        self.claims.remove(&labels);
        self.cost.remove(&labels);
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }
}

fn pool_and_reason(pool: &str, reason: &str) -> ByPoolAndReason {
    ByPoolAndReason { pool: pool.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;
    use windlass_core::model::DisruptionReason;

    use super::Metrics;

    fn served(metrics: &Metrics) -> String {
        let (mut registry, mut text) = (Registry::default(), String::new());
        metrics.register(&mut registry);
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn every_reason_is_counted_by_its_name() {
        let metrics = Metrics::default();
        for reason in DisruptionReason::ALL {
            metrics.disruption_decided("general", reason.as_str());
            metrics.claim_removed("general", reason.as_str());
        }
        let text = served(&metrics);
        for reason in DisruptionReason::ALL {
            for name in ["windlass_disruptions_decided_total", "windlass_claims_removed_total"] {
                let line = format!("{name}{{pool=\"general\",reason=\"{}\"}} 1\n", reason.as_str());
                assert!(text.contains(&line), "{line} is not in\n{text}");
            }
        }
    }

    #[test]
    fn what_is_taken_back_is_counted_by_pool() {
        let metrics = Metrics::default();
        for pool in ["general", "general", "gpu"] {
            metrics.disruption_taken_back(pool);
        }
        let text = served(&metrics);
        for line in ["{pool=\"general\"} 2\n", "{pool=\"gpu\"} 1\n"] {
            assert!(text.contains(&format!("windlass_disruptions_taken_back_total{line}")), "{text}");
        }
    }
}
