use std::collections::BTreeSet;
use std::sync::Arc;

use kube::{Api, Client};
use tokio::time::sleep;
use tracing::warn;
use windlass_api::conditions::{self, Truth};
use windlass_api::{NodePool, NodePoolStatus};
use windlass_core::model::Resources;
use windlass_core::{Price, Text};
use windlass_providers::Clock;

use crate::Settings;
use crate::adapt::{PoolDefinition, quantities};
use crate::controller::Bus;
use crate::events::{Note, about_ours};
use crate::kubernetes::{is_not_found, write_status};

/// Says in each pool's status how many nodes it has, what they cost, and whether it can be used.
pub(crate) struct PoolReporter {
    pub(crate) client: Client,
    pub(crate) bus: Arc<Bus>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<Settings>,
}

impl PoolReporter {
    /// Reports, for ever.
    pub(crate) async fn run(&self) {
        let mut known: BTreeSet<Text> = BTreeSet::new();
        loop {
            let pools: Vec<(PoolDefinition, NodePoolStatus)> = {
                let index = self.bus.index.lock();
                let synced = index.is_synced();
                index
                    .definitions()
                    .filter(|_| synced)
                    .map(|pool| (pool.clone(), self.status(&index, pool)))
                    .collect()
            };
            let current: BTreeSet<Text> = pools.iter().map(|(pool, _)| pool.pool.name.clone()).collect();
            for gone in known.difference(&current) {
                self.bus.metrics.pool_is_gone(gone);
            }
            known = current;
            for (pool, status) in &pools {
                if pool.status != *status {
                    self.write(pool, status).await;
                }
            }
            self.bus.status.notified().await;
            sleep(self.settings.status_interval).await;
        }
    }

    fn status(&self, index: &crate::index::Index, definition: &PoolDefinition) -> NodePoolStatus {
        let name = &definition.pool.name;
        let (mut counted, mut cost, mut nodes) = (Resources::new(), Price::ZERO, 0_usize);
        for claim in index.claims.model().values().filter(|claim| claim.pool == *name) {
            counted.add(&claim.counted());
            cost += claim.price();
            nodes += 1;
        }
        self.bus.metrics.pool_is(name, nodes, cost);
        let mut status = definition.status.clone();
        status.nodes = i32::try_from(nodes).unwrap_or(i32::MAX);
        status.resources = quantities(&counted);
        status.cost_per_hour = Some(cost.to_string());
        let unusable = index.pool(name).and_then(|pool| pool.unusable.clone());
        let (truth, reason, message) = match (&definition.error, unusable) {
            (Some(error), _) => (Truth::False, "Invalid", error.clone()),
            (None, Some(why)) if definition.pool.unusable.is_some() => {
                (Truth::False, "Deleting", why.to_string())
            }
            (None, Some(why)) => (Truth::False, "ProviderNotReady", why.to_string()),
            (None, None) => (Truth::True, "Ready", String::new()),
        };
        // A new process has to ask the providers first, and until then what the one before it said stands.
        let unasked = reason == "ProviderNotReady" && index.is_unasked(&definition.pool.provider);
        if unasked && conditions::find(&status.conditions, conditions::READY).is_some() {
            return status;
        }
        conditions::set(
            &mut status.conditions,
            conditions::READY,
            truth,
            reason,
            &message,
            definition.generation,
            self.clock.now(),
        );
        if truth == Truth::False {
            let about = about_ours("NodePool", name, &definition.uid);
            self.bus.events.say(Note { about, warning: true, reason, message });
        }
        status
    }

    async fn write(&self, definition: &PoolDefinition, status: &NodePoolStatus) {
        let api: Api<NodePool> = Api::all(self.client.clone());
        let name = &definition.pool.name;
        match write_status(&api, name, &definition.uid, status).await {
            Ok(written) => {
                let changed = self.bus.index.lock().saw_pool(crate::adapt::pool(&written));
                self.bus.announce(changed);
            }
            Err(error) if is_not_found(&error) => {}
            Err(error) => {
                warn!(pool = %name, %error, "the pool's status could not be written");
                sleep(self.settings.retry_base).await;
                self.bus.status.notify_one();
            }
        }
    }
}
