//! Which claims go when Cluster Autoscaler wants nodes gone, or fewer to come.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kube::ResourceExt;
use windlass_api::NodeClaim;
use windlass_core::Text;
use windlass_core::model::{Claim, Pool, Recent};

use super::entry::Entry;
use super::instance::{has_no_machine, is_given_up};
use super::table::Table;
use super::{GroupError, NodeRef, find};
use crate::Settings;
use crate::index::Index;

/// What is known when it is decided which claims go.
pub(super) struct Roster<'a> {
    pub(super) index: &'a Index,
    pub(super) table: &'a Table,
    pub(super) settings: &'a Settings,
    /// The UIDs of claims that are being deleted by earlier orders.
    pub(super) going: &'a BTreeSet<Text>,
    pub(super) now: Timestamp,
}

impl Roster<'_> {
    /// The claims of these nodes, but for those that are going already. Either all of them may go or none does.
    pub(super) fn named(&self, entry: &Entry, nodes: &[NodeRef]) -> Result<Vec<Arc<NodeClaim>>, GroupError> {
        let mut named = BTreeSet::new();
        for node in nodes {
            match find::claim_of(self.index, node)? {
                Some(claim) => {
                    named.insert(self.of_group(entry, node, claim)?);
                }
                None if find::was_ours(self.index, node) => {}
                None => {
                    return Err(GroupError::Refused(format!(
                        "node {} ({}) is not of group {}: Windlass knows no such machine",
                        node.name, node.provider_id, entry.name
                    )));
                }
            }
        }
        let claims: Vec<_> = named.iter().filter_map(|name| self.index.claims.get(name)).collect();
        let claims: Vec<_> = claims.into_iter().filter(|claim| self.stays(claim)).collect();
        self.may_go(entry, &claims)?;
        Ok(claims)
    }

    /// So many claims of a group that certainly have no machine, those first that failed and then those made last.
    pub(super) fn superfluous(&self, entry: &Entry, count: u32) -> Result<Vec<Arc<NodeClaim>>, GroupError> {
        let claims = entry.claims.iter().filter_map(|name| self.index.claims.get(name));
        let mut idle: Vec<_> = claims.filter(|claim| self.stays(claim) && has_no_machine(claim)).collect();
        idle.sort_by_key(|claim| {
            (is_given_up(claim), claim.creation_timestamp().map(|time| time.0), claim.name_any())
        });
        let first = usize::try_from(count).ok().and_then(|count| idle.len().checked_sub(count));
        let Some(first) = first else {
            return Err(GroupError::Refused(format!(
                "group {} cannot come down by {count}: {} of its {} have no machine for certain, and no other may go \
                 this way",
                entry.name,
                idle.len(),
                entry.target
            )));
        };
        Ok(idle.split_off(first))
    }

    fn of_group(&self, entry: &Entry, node: &NodeRef, claim: Text) -> Result<Text, GroupError> {
        match self.table.of_claim(&claim) {
            Some(own) if own.id == entry.id => Ok(claim),
            own => {
                let whose =
                    own.map_or("of none about which Cluster Autoscaler decides", |own| own.name.as_str());
                let named = if node.name.is_empty() { &node.provider_id } else { &node.name };
                Err(GroupError::Refused(format!("node {named} is not of group {}, but {whose}", entry.name)))
            }
        }
    }

    fn stays(&self, claim: &NodeClaim) -> bool {
        let is_going = claim.uid().is_some_and(|uid| self.going.contains(uid.as_str()));
        claim.metadata.deletion_timestamp.is_none() && !is_going
    }

    /// Whether nodes may go: not those of a pool that is paused or has no more than it keeps, and no more within a minute
    /// than may. What will not become a node anyway may always go.
    fn may_go(&self, entry: &Entry, claims: &[Arc<NodeClaim>]) -> Result<(), GroupError> {
        let count = claims.iter().filter(|claim| !is_given_up(claim)).count();
        let Some(pool) = self.index.pool(&entry.id.pool).filter(|_| count > 0) else { return Ok(()) };
        let refuse =
            |why: String| Err(GroupError::Refused(format!("no node of pool {} goes: {why}", pool.name)));
        if let Some(why) = self.index.paused(&self.settings.namespace) {
            return refuse(why.to_string());
        }
        if pool.paused {
            return refuse("the pool is paused".to_owned());
        }
        let staying = self.staying(pool);
        if staying < count + pool.min_nodes as usize {
            return refuse(format!(
                "it keeps {} and has {staying}, of which {count} were to go",
                pool.min_nodes
            ));
        }
        let limits =
            [(pool.removals_per_minute, Some(&pool.name)), (self.settings.plan.removals_per_minute, None)];
        for (most, of) in limits.into_iter().filter_map(|(most, of)| Some((most?, of))) {
            if self.gone_lately(of) + count > most as usize {
                return refuse(format!("no more than {most} go within a minute"));
            }
        }
        Ok(())
    }

    /// How many nodes a pool has or will have.
    fn staying(&self, pool: &Pool) -> usize {
        let stays = |claim: &Claim| {
            claim.pool == pool.name && !claim.deleting && !claim.given_up && !self.going.contains(&claim.uid)
        };
        self.index.claims.model().values().filter(|claim| stays(claim)).count()
    }

    fn gone_lately(&self, pool: Option<&Text>) -> usize {
        let recent = self.index.claims.recent();
        let counted = recent.removals.iter().filter(|(of, _)| pool.is_none_or(|pool| pool == *of));
        let times = counted.flat_map(|(_, times)| times);
        times.filter(|at| self.now.duration_since(**at) < Recent::SPAN).count()
    }
}
