//! Pools as node groups of Cluster Autoscaler.
//!
//! A pool with the driver `ClusterAutoscaler` is one group for each kind of node that it may have (`id`, `table`). All that is
//! asked is answered from the index, and all that is ordered (`desk`) is done through claims (`clerk`), so that the
//! lifecycle, limits and providers are the same as for any other pool. Nothing is remembered beside the claims: the target
//! of a group is the number of its claims that stay, and so it is the same after a restart.

mod bounds;
mod clerk;
mod desk;
mod detached;
mod entry;
mod find;
mod id;
mod instance;
mod removal;
mod stock;
mod table;
mod template;
#[cfg(test)]
mod tests;

pub use windlass_groups::{
    Group, GroupError, GroupOptions, Instance, InstanceError, InstanceState, NodeGroups, NodeRef,
};

pub(crate) use clerk::Clerk;
pub(crate) use desk::Desk;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::sync::oneshot;
use tokio::time::Instant;
use windlass_api::{LimitedDuration, labels};
use windlass_core::Price;
use windlass_core::model::Resources;
use windlass_providers::Clock;

use crate::Settings;
use crate::adapt;
use crate::controller::Bus;
use crate::index::Index;
use crate::leader::Leadership;
use desk::{Order, Slip};
use entry::{Entry, share_of};
use table::Table;

/// The node groups of this cluster, to be asked and told what Cluster Autoscaler wants. It may be cloned and used from
/// anywhere; only while this process leads does it answer.
#[derive(Clone)]
pub struct PoolGroups {
    bus: Arc<Bus>,
    leadership: Leadership,
    settings: Arc<Settings>,
    clock: Arc<dyn Clock>,
    desk: Desk,
    known: Arc<Mutex<Option<Known>>>,
}

/// The groups as they were when they were last looked at.
struct Known {
    claims: u64,
    pools: u64,
    at: Instant,
    table: Arc<Table>,
}

/// How long groups are taken to be what they were while nothing is seen to change: what may be launched within a minute
/// changes by itself.
const FRESH: Duration = Duration::from_secs(1);

impl fmt::Debug for PoolGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolGroups").finish_non_exhaustive()
    }
}

impl PoolGroups {
    pub(crate) fn new(
        bus: Arc<Bus>,
        leadership: Leadership,
        settings: Arc<Settings>,
        clock: Arc<dyn Clock>,
        desk: Desk,
    ) -> Self {
        Self { bus, leadership, settings, clock, desk, known: Arc::default() }
    }

    async fn order(&self, group: &str, order: Order) -> Result<(), GroupError> {
        self.groups_now()?;
        let desk = self.desk.sender().ok_or_else(taking_over)?;
        let (answer, answered) = oneshot::channel();
        let slip = Slip { group: group.to_owned(), order, answer };
        let given_up = || {
            GroupError::Unavailable(
                "this replica stopped leading before it was done: look at the group again".to_owned(),
            )
        };
        desk.send(slip).await.map_err(|_| given_up())?;
        answered.await.unwrap_or_else(|_| Err(given_up()))
    }

    /// The groups as they are now, if this process may speak for the cluster.
    fn groups_now(&self) -> Result<Arc<Table>, GroupError> {
        self.look().map(|(_, table)| table)
    }

    /// The index and the groups as they are now, if this process may speak for the cluster.
    fn look(&self) -> Result<(MutexGuard<'_, Index>, Arc<Table>), GroupError> {
        if !self.leadership.may_write() {
            let words = "this replica does not lead and knows no groups: another one does";
            return Err(GroupError::NotLeading(words.to_owned()));
        }
        if self.desk.sender().is_none() {
            return Err(taking_over());
        }
        let index = self.bus.index.lock();
        if let Some(missing) = index.unlisted() {
            return Err(GroupError::Unavailable(missing));
        }
        if let Some(provider) = unasked(&index) {
            return Err(GroupError::Unavailable(format!("provider {provider} has not answered yet")));
        }
        let table = self.table(&index);
        Ok((index, table))
    }

    fn table(&self, index: &Index) -> Arc<Table> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (claims, pools) = (index.claims.changes(), index.pool_changes());
        if let Some(known) = &*known
            && (known.claims, known.pools) == (claims, pools)
            && known.at.elapsed() < FRESH
        {
            return known.table.clone();
        }
        let table = Arc::new(Table::new(index, &self.settings, self.clock.now()));
        *known = Some(Known { claims, pools, at: Instant::now(), table: table.clone() });
        table
    }
}

#[async_trait]
impl NodeGroups for PoolGroups {
    fn groups(&self) -> Result<Vec<Group>, GroupError> {
        let table = self.groups_now()?;
        Ok(table.iter().map(told).collect())
    }

    fn group_of(&self, node: &NodeRef) -> Result<Option<Group>, GroupError> {
        let (index, table) = self.look()?;
        let claim = find::claim_of(&index, node)?;
        Ok(claim.and_then(|claim| table.of_claim(&claim)).map(told))
    }

    fn target_size(&self, group: &str) -> Result<u32, GroupError> {
        let table = self.groups_now()?;
        Ok(entry(&table, group)?.target)
    }

    fn instances(&self, group: &str) -> Result<Vec<Instance>, GroupError> {
        let (index, table) = self.look()?;
        let claims = entry(&table, group)?.claims.iter();
        Ok(claims.filter_map(|name| index.claims.get(name)).map(|claim| instance::instance(&claim)).collect())
    }

    fn template(&self, group: &str) -> Result<Node, GroupError> {
        let (index, table) = self.look()?;
        let entry = entry(&table, group)?;
        let pool = index.definition(&entry.id.pool).ok_or_else(|| no_group(group))?;
        Ok(template::template(entry, &pool.pool))
    }

    fn options(&self, group: &str) -> Result<Option<GroupOptions>, GroupError> {
        let (index, table) = self.look()?;
        let pool = index.definition(&entry(&table, group)?.id.pool);
        let time = |time: Option<LimitedDuration>| time.and_then(LimitedDuration::limit);
        let percent = |number: Option<i32>| number.and_then(|number| u32::try_from(number).ok());
        let options = pool.and_then(|pool| pool.options.as_ref()).map(|options| GroupOptions {
            scale_down_utilization_percent: percent(options.scale_down_utilization_percent),
            scale_down_gpu_utilization_percent: percent(options.scale_down_gpu_utilization_percent),
            scale_down_unneeded_time: time(options.scale_down_unneeded_time),
            scale_down_unready_time: time(options.scale_down_unready_time),
            max_node_provision_time: time(options.max_node_provision_time),
            ignore_daemon_sets_utilization: options.ignore_daemon_sets_utilization,
        });
        Ok(options)
    }

    fn node_price(&self, node: &NodeRef) -> Result<Price, GroupError> {
        let (index, table) = self.look()?;
        if let Some(entry) = table.of_labels(&node.labels) {
            return Ok(entry.wanted.price);
        }
        let claims = index.claims.model();
        let claim = find::claim_of(&index, node)?.and_then(|name| claims.get(&name));
        let claim = claim.filter(|claim| table.of_claim(&claim.name).is_some());
        claim.map(|claim| claim.price()).ok_or_else(|| {
            GroupError::NotFound(format!("node {} belongs to no group, so it has no price here", node.name))
        })
    }

    fn pod_price(&self, pod: &Pod) -> Result<Price, GroupError> {
        let table = self.groups_now()?;
        let asked = pod.spec.as_ref().map(adapt::requests).unwrap_or_default();
        // What no machine has is left out where none has all that the pod asks for.
        let had = |name: &str| table.iter().any(|entry| entry.wanted.allocatable.get(name) > 0);
        let known: Resources =
            asked.iter().filter(|(name, _)| had(name)).map(|(name, amount)| (&**name, amount)).collect();
        let shares =
            |fits: bool| table.iter().filter_map(|entry| share_of(&known, &entry.wanted, fits)).min();
        Ok(Price::from_micros(shares(true).or_else(|| shares(false)).unwrap_or(0)))
    }

    fn gpu_label(&self) -> String {
        labels::GPU.to_owned()
    }

    fn gpu_types(&self) -> Result<Vec<String>, GroupError> {
        let table = self.groups_now()?;
        let kinds: BTreeSet<String> =
            table.iter().filter_map(|entry| Some(entry.gpu()?.to_string())).collect();
        Ok(kinds.into_iter().collect())
    }

    async fn increase(&self, group: &str, delta: u32) -> Result<(), GroupError> {
        self.order(group, Order::Increase(delta)).await
    }

    async fn delete_nodes(&self, group: &str, nodes: &[NodeRef]) -> Result<(), GroupError> {
        self.order(group, Order::Delete(nodes.to_vec())).await
    }

    async fn decrease_target(&self, group: &str, by: u32) -> Result<(), GroupError> {
        self.order(group, Order::Decrease(by)).await
    }
}

/// A provider of groups that has not said yet what it offers: before it has, groups seem to be missing.
fn unasked(index: &Index) -> Option<String> {
    let driven =
        index.definitions().filter(|each| each.pool.driver != windlass_core::model::Driver::Windlass);
    let mut providers = driven.map(|each| &each.pool.provider);
    providers.find(|provider| index.is_unasked(provider)).map(ToString::to_string)
}

fn taking_over() -> GroupError {
    let words = "this replica has just begun to lead and is reading what there is: ask again";
    GroupError::Unavailable(words.to_owned())
}

fn entry<'t>(table: &'t Table, group: &str) -> Result<&'t Entry, GroupError> {
    table.get(group).ok_or_else(|| no_group(group))
}

fn no_group(group: &str) -> GroupError {
    GroupError::NotFound(format!("there is no node group {group:?}: see which there are by asking for all"))
}

fn told(entry: &Entry) -> Group {
    let Entry { name, min, max, target, failed, wanted, .. } = entry;
    let failed = if *failed > 0 { format!(", {failed} of them failed") } else { String::new() };
    let debug = format!(
        "{} in {}, {}, for {}/h: {target} nodes{failed}",
        wanted.key.instance_type, wanted.key.zone, wanted.key.capacity_type, wanted.price
    );
    Group { id: name.clone(), min: *min, max: *max, debug }
}
