use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use kube::ResourceExt;
use tokio::task::JoinSet;
use tracing::{info, warn};
use windlass_api::NodeClaim;
use windlass_core::Text;
use windlass_core::plan::Exclusion;
use windlass_providers::Clock;

use super::desk::{Desk, Order, Slip};
use super::entry::Entry;
use super::instance::is_given_up;
use super::removal::Roster;
use super::stock::stock;
use super::table::Table;
use super::{GroupError, no_group};
use crate::Settings;
use crate::controller::Bus;
use crate::events::{Note, about};
use crate::index::Index;
use crate::kubernetes::{is_conflict, is_not_found};
use crate::lifecycle::Exit;
use crate::planning::{Executor, Room, Still, asked_claim};

/// Does what Cluster Autoscaler orders, for as long as this process leads.
///
/// Each order is first looked at as a whole and counted, one order after the other, so that any two of them together keep
/// the limits; the writing is then done for all at once. A claim is written before its machine is asked for and deleted
/// before its machine ends, and these are the only writes: whatever is not done when this process ends was not ordered, as
/// the sizes say that the next one tells.
pub(crate) struct Clerk {
    pub(crate) bus: Arc<Bus>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) desk: Desk,
}

/// What is to be written for an order.
struct Work {
    /// The UIDs of the claims that go.
    going: Vec<Text>,
    writing: BoxFuture<'static, Result<(), GroupError>>,
}

impl Clerk {
    /// Takes orders, for ever.
    pub(crate) async fn run(&self) {
        let (_open, mut slips) = self.desk.open();
        let mut writing: JoinSet<Vec<Text>> = JoinSet::new();
        let mut going = BTreeSet::new();
        loop {
            tokio::select! {
                Some(slip) = slips.recv() => self.take(slip, &mut writing, &mut going),
                Some(written) = writing.join_next() => {
                    for uid in written.unwrap_or_default() {
                        going.remove(&uid);
                    }
                }
            }
        }
    }

    fn take(&self, slip: Slip, writing: &mut JoinSet<Vec<Text>>, going: &mut BTreeSet<Text>) {
        let Slip { group, order, answer } = slip;
        let (what, metrics) = (order.name(), self.bus.metrics.clone());
        let pool = group.split('/').next().unwrap_or_default().to_owned();
        let work = match self.look_at(&group, order, going) {
            Ok(work) => work,
            Err(error) => {
                info!(group, order = what, %error, "not done");
                // What has no group has no pool to count it for.
                if !matches!(error, GroupError::NotFound(_)) {
                    metrics.group_ordered(&pool, what, error.kind());
                }
                let _ = answer.send(Err(error));
                return;
            }
        };
        going.extend(work.going.iter().cloned());
        writing.spawn(async move {
            let outcome = work.writing.await;
            match &outcome {
                Ok(()) => info!(group, order = what, "done"),
                Err(error) => warn!(group, order = what, %error, "not done"),
            }
            metrics.group_ordered(&pool, what, outcome.as_ref().map_or_else(GroupError::kind, |()| "done"));
            let _ = answer.send(outcome);
            work.going
        });
    }

    /// Looks at an order as things are at this moment, and counts what is to be made.
    fn look_at(&self, group: &str, order: Order, going: &BTreeSet<Text>) -> Result<Work, GroupError> {
        let mut index = self.bus.index.lock();
        let now = self.clock.now();
        let table = Table::new(&index, &self.settings, now);
        let entry = table.get(group).ok_or_else(|| no_group(group))?;
        let roster = Roster { index: &index, table: &table, settings: &self.settings, going, now };
        match order {
            Order::Increase(0) | Order::Decrease(0) => {
                Err(GroupError::Invalid(format!("group {group} is to change by nothing: give 1 or more")))
            }
            Order::Increase(delta) if delta > entry.room => {
                Err(GroupError::Refused(self.too_many(&index, entry, delta)))
            }
            Order::Increase(delta) => {
                let claims = self.claims(&index, entry, delta);
                for (claim, _) in &claims {
                    index.claims.intend(claim, now);
                }
                Ok(Work { going: Vec::new(), writing: make(self.executor.clone(), claims).boxed() })
            }
            Order::Delete(nodes) => {
                let claims = roster.named(entry, &nodes)?;
                Ok(self.leaving(claims, Still::There))
            }
            Order::Decrease(by) => {
                let claims = roster.superfluous(entry, by)?;
                // A machine that is asked for at this moment is one that may come: then the claim has changed.
                Ok(self.leaving(claims, Still::Unchanged))
            }
        }
    }

    /// So many claims of a group, each with the UID of its pool.
    fn claims(&self, index: &Index, entry: &Entry, count: u32) -> Vec<(NodeClaim, Text)> {
        let Some(pool) = index.definition(&entry.id.pool) else { return Vec::new() };
        let (scope, group) = (self.settings.scope.as_deref(), &entry.name);
        let claim = |_| {
            let message = format!("Cluster Autoscaler asked for {count} more of {group}");
            let name = self.executor.name(&pool.pool.name);
            let claim = asked_claim(name, &entry.wanted, &entry.labels, message, pool, scope);
            (claim, pool.uid.clone())
        };
        (0..count).map(claim).collect()
    }

    /// Why a group cannot get so many more, in words.
    fn too_many(&self, index: &Index, entry: &Entry, delta: u32) -> String {
        let Entry { name, room, wanted, id, .. } = entry;
        let start = match room {
            0 => format!("group {name} cannot grow"),
            room => format!("group {name} cannot grow by {delta}, but by {room} at most"),
        };
        let Some(pool) = index.pool(&id.pool) else { return start };
        let mut limits = Room::new(index, &self.settings.plan, self.clock.now());
        for _ in 0..*room {
            limits.take(pool, &wanted.capacity);
        }
        let limit = || {
            let (what, limit, of_all) = limits.reached(pool, &wanted.capacity)?;
            let whose = if of_all { " of all pools" } else { " of its pool" };
            Some(format!("the limit of {limit} {what}{whose} is reached"))
        };
        let paused = index.paused(&self.settings.namespace).or_else(|| pool.unusable.clone());
        let foreign = || (!entry.offered).then(|| "its pool takes no such machines any more".to_owned());
        let store = || {
            let mut stock = stock(index);
            stock.take(&pool.provider, &id.key, *room as usize);
            Some(Exclusion::of_store(&stock.lack(&pool.provider, &id.key)?, 0).to_string())
        };
        let why = paused.map(|why| why.to_string()).or_else(foreign).or_else(limit).or_else(store);
        format!("{start}: {}", why.unwrap_or_else(|| "its provider has no more of them".to_owned()))
    }

    /// Has claims deleted.
    fn leaving(&self, claims: Vec<Arc<NodeClaim>>, still: Still) -> Work {
        let going = claims.iter().filter_map(|claim| claim.uid()).map(Text::from).collect();
        let (executor, bus) = (self.executor.clone(), self.bus.clone());
        let writing = async move {
            let outcomes = join_all(claims.iter().map(|claim| delete(&executor, &bus, claim, still))).await;
            let failed: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
            if failed.is_empty() { Ok(()) } else { Err(GroupError::Unavailable(failed.join("; "))) }
        };
        Work { going, writing: writing.boxed() }
    }
}

/// Makes claims that were counted, all of them before this returns.
async fn make(executor: Arc<Executor>, claims: Vec<(NodeClaim, Text)>) -> Result<(), GroupError> {
    let count = claims.len();
    let made = claims.into_iter().map(|(claim, pool_uid)| {
        let executor = &executor;
        async move { executor.make(claim, &pool_uid).await }
    });
    let refused: Vec<kube::Error> = join_all(made).await.into_iter().filter_map(Result::err).collect();
    match refused.first() {
        None => Ok(()),
        Some(error) => Err(GroupError::Unavailable(format!(
            "the API server refused {} of {count} claims: {error}",
            refused.len()
        ))),
    }
}

/// Deletes a claim; one that is gone is fine. What failed by itself says why it goes already.
async fn delete(executor: &Executor, bus: &Bus, claim: &NodeClaim, still: Still) -> Result<(), String> {
    let words = "it decided that the node is not needed";
    let why = (!is_given_up(claim)).then(|| format!("{}: {words}", Exit::ClusterAutoscaler.as_str()));
    match executor.delete(claim, why, still).await {
        Ok(()) => {
            info!(claim = claim.name_any(), "claim deleted for Cluster Autoscaler");
            let message = format!("{}: {words}", Exit::ClusterAutoscaler.as_str());
            bus.events.say(Note { about: about(claim), warning: false, reason: "ScaleDown", message });
            Ok(())
        }
        Err(error) if is_not_found(&error) => Ok(()),
        Err(error) if is_conflict(&error) && still == Still::There => Ok(()),
        Err(error) if is_conflict(&error) => Err(format!(
            "claim {} has changed at this moment, so that it may have a machine: ask again",
            claim.name_any()
        )),
        Err(error) => Err(format!("claim {} could not be deleted: {error}", claim.name_any())),
    }
}
