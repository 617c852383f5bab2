//! Nodes that are to give way to others: because somebody asked for it, because they are not what their pool would launch
//! today, or because their time is nearly over.
//!
//! They are planned for as if they were on their way out, together with the pods that wait, so that what takes their place
//! is the cheapest for all. Those whose pods would find no place are left out and the rest is planned again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::expiry::Expiry;
use super::leave::Leave;
use super::minimum;
use super::view::View;
use super::{expiry, guards};
use crate::Text;
use crate::model::{Claim, DisruptionReason, Labels, Node, Pool, Snapshot};

/// The nodes that are to give way, and those that would but for something.
#[derive(Default)]
pub(super) struct Rotation {
    wishes: BTreeMap<Text, Wish>,
    /// Why nodes that are to go do not go now.
    held: BTreeMap<Text, String>,
    /// When the next one may be due.
    pub(super) next_at: Option<Timestamp>,
}

/// That a node is to give way.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) reason: DisruptionReason,
    pub(super) message: String,
    /// How much it matters: nodes of a lower number go first.
    urgency: u8,
    /// Whether it counts even where budgets let no further node go.
    beyond_budgets: bool,
    /// Whether it counts even if pods are lost for it: staying would not save them.
    whatever_happens: bool,
}

impl Rotation {
    /// Looks at all nodes that stand.
    pub(super) fn new(view: &View<'_>) -> Self {
        let mut rotation = Self { next_at: next_last_call(view), ..Self::default() };
        let surplus = surplus(view);
        let mut wishes: Vec<(Wish, Option<Timestamp>, &Claim, &Node, &Pool)> = Vec::new();
        let ours = |claim: &&Arc<Claim>| view.stands(claim) && view.decides_about(claim);
        for claim in view.snapshot.claims.values().filter(ours) {
            let (Some(node), Some(pool)) = (view.node_of(&claim.name), view.snapshot.pools.get(&claim.pool))
            else {
                continue;
            };
            let told = expiry::told(claim, pool, view.snapshot.settings.last_call);
            let wanted = expiry::wanted(claim, pool);
            for expiry in [told, wanted].into_iter().flatten().filter(|expiry| expiry.begins > view.now) {
                rotation.wake(Some(expiry.begins));
            }
            let due = |expiry: &Expiry| expiry.begins <= view.now;
            let (told, wanted) = (told.filter(due), wanted.filter(due));
            if let Some(wish) = wish(view, claim, node, pool, (told, wanted), &surplus) {
                let ends = told.or(wanted).map(|expiry| expiry.ends);
                wishes.push((wish, ends, claim, node, pool));
            }
        }
        wishes.sort_by_key(|(wish, ends, claim, ..)| {
            (wish.urgency, ends.unwrap_or(Timestamp::MAX), &claim.name)
        });
        let mut leave = Leave::new(view);
        for (wish, _, claim, node, pool) in wishes {
            match obstacle(view, &leave, &wish, claim, node, pool) {
                None => {
                    leave.take(&pool.name);
                    rotation.wishes.insert(claim.name.clone(), wish);
                }
                Some(why) => {
                    rotation.wake(leave.changes_at(pool, wish.reason));
                    rotation.hold(&claim.name, &wish, &why);
                }
            }
        }
        rotation
    }

    fn wake(&mut self, at: Option<Timestamp>) {
        self.next_at = self.next_at.into_iter().chain(at).min();
    }

    fn hold(&mut self, claim: &Text, wish: &Wish, why: &str) {
        let reason = wish.reason.as_str().to_lowercase();
        self.held.insert(claim.clone(), format!("{reason}: {}, but {why}", wish.message));
    }

    /// Whether no node gives way.
    pub(super) fn is_empty(&self) -> bool {
        self.wishes.is_empty()
    }

    /// Why a node is to give way, if it is.
    pub(super) fn wish(&self, claim: &str) -> Option<&Wish> {
        self.wishes.get(claim)
    }

    /// What keeps a node that is to give way.
    pub(super) fn held(&self, claim: &str) -> Option<&String> {
        self.held.get(claim)
    }

    /// The cluster with these nodes on their way out.
    pub(super) fn carried_out_on(&self, snapshot: &Snapshot) -> Snapshot {
        let mut snapshot = snapshot.clone();
        let claims = Arc::make_mut(&mut snapshot.claims);
        for (name, wish) in &self.wishes {
            if let Some(claim) = claims.get_mut(name) {
                Arc::make_mut(claim).disrupted = Some(wish.reason);
            }
        }
        snapshot
    }

    /// Lets all nodes stay for now but those that go whatever happens.
    pub(super) fn give_up(&mut self) {
        let (going, staying): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.wishes).into_iter().partition(|(_, wish)| wish.whatever_happens);
        self.wishes = going;
        for (claim, wish) in staying {
            self.hold(&claim, &wish, "others that are to go as well leave no place for its pods");
        }
    }

    /// Lets those nodes stay for now whose pods would find no place, and those of pools that would be left with too few;
    /// whether there are any.
    pub(super) fn spare(
        &mut self,
        homeless: &BTreeSet<Text>,
        short_pools: &BTreeSet<Text>,
        view: &View<'_>,
    ) -> bool {
        let pool_of = |claim: &Text| view.snapshot.claims.get(claim).map(|claim| &claim.pool);
        let (mut spared, mut going) = (Vec::new(), BTreeMap::new());
        for (claim, wish) in std::mem::take(&mut self.wishes) {
            if wish.whatever_happens {
                going.insert(claim, wish);
            } else if homeless.contains(&claim) {
                spared.push((claim, wish, "pods of it would find no place"));
            } else if pool_of(&claim).is_some_and(|pool| short_pools.contains(pool)) {
                spared.push((claim, wish, "its pool would have fewer nodes than its minimum"));
            } else {
                going.insert(claim, wish);
            }
        }
        self.wishes = going;
        for (claim, wish, why) in &spared {
            self.hold(claim, wish, why);
        }
        !spared.is_empty()
    }
}

/// What keeps a node that is to give way from it just now.
fn obstacle(
    view: &View<'_>,
    leave: &Leave<'_, '_>,
    wish: &Wish,
    claim: &Claim,
    node: &Node,
    pool: &Pool,
) -> Option<String> {
    if pool.paused {
        return Some("its pool is paused".to_owned());
    }
    let spends_budget = || leave.allows(pool, wish.reason).err().filter(|_| !wish.beyond_budgets);
    let guarded = || guards::keeps(view, claim, node).filter(|_| !is_last_call(view, claim));
    guarded().or_else(spends_budget)
}

/// Whether a claim's machine will be gone so soon that its node has to be drained now.
pub(super) fn is_last_call(view: &View<'_>, claim: &Claim) -> bool {
    last_call(view, claim).is_some_and(|call| call <= view.now)
}

fn last_call(view: &View<'_>, claim: &Claim) -> Option<Timestamp> {
    claim.ends_at.map(|ends| expiry::call_at(ends, view.snapshot.settings.last_call))
}

/// When the next node has to be drained, come what may. Nodes that are to go already, and wait for others or are held by
/// something, have to be looked at then as much as those of which nothing is planned yet.
fn next_last_call(view: &View<'_>) -> Option<Timestamp> {
    let claims = view.snapshot.claims.values().filter(|claim| !claim.deleting);
    claims.filter_map(|claim| last_call(view, claim)).filter(|call| *call > view.now).min()
}

/// Why a node is to give way, if it is: of the ends of its time only those that are due are given.
fn wish(
    view: &View<'_>,
    claim: &Claim,
    node: &Node,
    pool: &Pool,
    (told, wanted): (Option<Expiry>, Option<Expiry>),
    surplus: &BTreeSet<&Text>,
) -> Option<Wish> {
    let plain = |reason, urgency, message: String| Wish {
        reason,
        message,
        urgency,
        beyond_budgets: false,
        whatever_happens: false,
    };
    if claim.asked_to_go || node.asked_to_go {
        let message = "somebody asked for another in its place".to_owned();
        return Some(Wish { beyond_budgets: true, ..plain(DisruptionReason::Manual, 0, message) });
    }
    if let Some(expiry) = told {
        let wish =
            plain(DisruptionReason::Expiring, 1, format!("its provider ends it at {:.0}", expiry.ends));
        return Some(Wish { beyond_budgets: true, whatever_happens: is_last_call(view, claim), ..wish });
    }
    if surplus.contains(&claim.name) {
        let most = pool.replicas.unwrap_or_default();
        let wish = plain(DisruptionReason::Surplus, 2, format!("its pool is to have {most} nodes"));
        return Some(Wish { whatever_happens: true, ..wish });
    }
    if let Some(why) = drift(claim, node, pool) {
        return Some(plain(DisruptionReason::Drifted, 3, why));
    }
    let expiry = wanted?;
    Some(plain(DisruptionReason::Expiring, 4, format!("its time is over at {:.0}", expiry.ends)))
}

/// In which way a node is not what its pool would launch today.
fn drift(claim: &Claim, node: &Node, pool: &Pool) -> Option<String> {
    if let Some(why) = &claim.drift {
        return Some(why.to_string());
    }
    if let (Some(then), Some(now)) = (&claim.template, &pool.template)
        && then != now
    {
        return Some("its pool's template has changed".to_owned());
    }
    let (key, value) = forbidden(pool, &node.labels)?;
    Some(format!("its pool does not allow {key}={value} any more"))
}

/// A label that the pool's requirements do not allow. One that is not there proves nothing: the next node of the pool might
/// lack it as well.
fn forbidden<'a>(pool: &'a Pool, labels: &'a Labels) -> Option<(&'a Text, &'a Text)> {
    pool.requirements.iter().find_map(|(key, asked)| {
        let value = labels.get(key)?;
        (!asked.allows(Some(value))).then_some((key, value))
    })
}

/// The nodes of pools of a fixed size that are too many, those first that are empty or have few pods.
fn surplus<'a>(view: &View<'a>) -> BTreeSet<&'a Text> {
    let mut surplus = BTreeSet::new();
    for pool in view.snapshot.pools.values() {
        let Some(replicas) = pool.replicas else { continue };
        let too_many = minimum::lasting(view, &pool.name).saturating_sub(replicas as usize);
        let mut standing: Vec<&Claim> =
            view.claims_in(&pool.name).filter(|claim| view.stands(claim)).collect();
        let pods = |claim: &Claim| view.node_of(&claim.name).map(|node| view.keeping(&node.name).count());
        standing.sort_by_key(|claim| (pods(claim), Reverse(claim.price()), &claim.name));
        surplus.extend(standing.into_iter().take(too_many).map(|claim| &claim.name));
    }
    surplus
}
