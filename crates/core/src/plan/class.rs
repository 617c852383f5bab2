use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::amounts::{Demand, Dimensions};
use super::keys::Keys;
use super::kin::Kin;
use super::rules::Relations;
use super::view::View;
use super::volumes::{self, Attached, VolumeNeeds};
use crate::Text;
use crate::model::{DisruptionReason, Pod, PodId, PodOwner, PodShape, PodState};

/// Why pods need a place. Those named first get theirs first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The scheduler found no node for them, or says nothing.
    Pending,
    /// They are on the sick node of this claim and will be made anew elsewhere.
    Sick(Text),
    /// The scheduler is about to look at them, or they are on a node that is on its way out. Nodes that they may go
    /// to stay, but no machine is got for them: most will find their place by themselves.
    Passing,
    /// Machines that were got for them did not help. Until this time they get no further ones.
    Held(Timestamp),
    /// They are on the node of this claim, which is to go, and will be made anew elsewhere.
    Moving {
        /// The claim.
        claim: Text,
        /// Whether what it takes was got for them already.
        provided: bool,
    },
    /// Their priority is too low for machines to be got for them.
    Expendable,
    /// Nobody made them, but there is to be room for them.
    Reserve,
}

impl Cause {
    /// The order in which pods get their places, whichever node they come from.
    fn rank(&self) -> u8 {
        match self {
            Self::Pending => 0,
            Self::Sick(_) => 1,
            // The scheduler places them whether pods are moved or not.
            Self::Passing => 2,
            Self::Held(_) => 3,
            Self::Moving { .. } => 4,
            Self::Expendable => 5,
            Self::Reserve => 6,
        }
    }
}

/// Pods that are the same to the planner.
pub(super) struct Class {
    pub(super) cause: Cause,
    pub(super) shape: Arc<PodShape>,
    pub(super) relations: Arc<Relations>,
    pub(super) needs: Arc<VolumeNeeds>,
    pub(super) pods: Vec<PodId>,
    pub(super) request: Demand,
    /// About what one of the pods is worth in millionths of a dollar per hour, to tell large from small.
    pub(super) worth: f64,
    /// The number of its constraint.
    pub(super) constraint: usize,
    /// Its own number.
    pub(super) number: usize,
}

/// Pods of one kind, before they are measured.
pub(super) struct Group {
    pub(super) cause: Cause,
    pub(super) shape: Arc<PodShape>,
    pub(super) relations: Arc<Relations>,
    pub(super) needs: Arc<VolumeNeeds>,
    pub(super) pods: Vec<PodId>,
}

impl Class {
    /// Whether machines are got for the pods.
    pub(super) fn may_launch(&self) -> bool {
        let no = |cause: &Cause| match cause {
            Cause::Held(_) | Cause::Passing | Cause::Expendable => true,
            Cause::Moving { provided, .. } => *provided,
            Cause::Pending | Cause::Sick(_) | Cause::Reserve => false,
        };
        !no(&self.cause)
    }
}

/// Until when the scheduler may leave it open whether there is a place for the pod.
fn silent_until(view: &View<'_>, since: Timestamp) -> Timestamp {
    since.saturating_add(view.snapshot.settings.scheduler_silence).unwrap_or(Timestamp::MAX)
}

/// When the scheduler has next been silent for too long about one of these pods.
pub(super) fn silence_ends(view: &View<'_>, needy: &[(Cause, &Pod)]) -> Option<Timestamp> {
    let ends = needy.iter().filter_map(|(cause, pod)| match (cause, &pod.state) {
        (Cause::Passing, PodState::Waiting { since }) => Some(silent_until(view, *since)),
        _ => None,
    });
    ends.min()
}

/// The pods that need a place, and why.
pub(super) fn needy<'a>(view: &View<'a>, gives_up: impl Fn(&str) -> bool) -> Vec<(Cause, &'a Pod)> {
    let pods = view.snapshot.pods.values().filter_map(|pod| Some((cause(view, pod, &gives_up)?, &**pod)));
    pods.chain(view.snapshot.reserves.iter().map(|pod| (Cause::Reserve, &**pod))).collect()
}

/// Puts pods together that are the same to the planner. Those whose volumes cannot be had anywhere are left out, with
/// the reason.
pub(super) fn group<'a>(
    view: &View<'a>,
    keys: &Keys,
    kin: &Kin<'a>,
    shared: &Attached,
    needy: Vec<(Cause, &'a Pod)>,
) -> (Vec<Group>, Vec<(PodId, String)>) {
    let (mut groups, mut stuck): (Vec<Group>, _) = (Vec::new(), Vec::new());
    // Shapes and labels are shared, so for most pods the addresses tell the group and nothing has to be compared.
    let mut by_address = BTreeMap::new();
    let mut by_content = BTreeMap::new();
    for (cause, pod) in needy {
        let related = !kin.is_empty();
        let labels = related.then_some(Arc::as_ptr(&pod.labels));
        // Whose wish it is tells reserves apart.
        let wish = (cause == Cause::Reserve).then_some(&pod.id);
        let address =
            (cause.clone(), wish, Arc::as_ptr(&pod.shape), labels, related.then_some(&pod.id.namespace));
        let known = by_address.get(&address).copied().filter(|_| pod.volume_claims.is_empty());
        let number = match known {
            Some(number) => number,
            None => {
                let needs = match volumes::needs(view.snapshot, shared, pod) {
                    Ok(needs) => Arc::new(needs),
                    Err(why) => {
                        if cause == Cause::Pending {
                            stuck.push((pod.id.clone(), why));
                        }
                        continue;
                    }
                };
                let relations =
                    Arc::new(if related { kin.relations(keys, pod) } else { Relations::default() });
                let content = (cause.clone(), wish, pod.shape.clone(), relations.clone(), needs.clone());
                let number = *by_content.entry(content).or_insert_with(|| {
                    let shape = pod.shape.clone();
                    groups.push(Group { cause, shape, relations, needs, pods: Vec::new() });
                    groups.len() - 1
                });
                by_address.insert(address, number);
                number
            }
        };
        if let Some(group) = groups.get_mut(number) {
            group.pods.push(pod.id.clone());
        }
    }
    (groups, stuck)
}

fn cause(view: &View<'_>, pod: &Pod, gives_up: impl Fn(&str) -> bool) -> Option<Cause> {
    if pod.deleting || pod.shape.foreign_scheduler || pod.shape.belongs_to_node() {
        return None;
    }
    let expendable = pod.shape.priority < view.snapshot.settings.min_priority;
    let cause = match &pod.state {
        PodState::Waiting { since } if silent_until(view, *since) > view.now => Some(Cause::Passing),
        PodState::Waiting { .. } | PodState::Unschedulable { .. } => {
            let held = view.snapshot.held.get(&pod.id).filter(|until| **until > view.now);
            Some(held.map_or(Cause::Pending, |until| Cause::Held(*until)))
        }
        PodState::Gated => None,
        PodState::Bound(_) if pod.shape.owner == PodOwner::Nobody => None,
        PodState::Bound(node) => {
            let claim = view.claim_of(node);
            let leaving = view.snapshot.nodes.get(node).is_some_and(|node| node.deleting);
            match claim {
                Some(claim) if claim.deleting || leaving => Some(Cause::Passing),
                Some(claim) if claim.disrupted == Some(DisruptionReason::Sick) => {
                    gives_up(&claim.name).then(|| Cause::Sick(claim.name.clone()))
                }
                Some(claim) if claim.disrupted.is_some() => {
                    Some(Cause::Moving { claim: claim.name.clone(), provided: claim.decision.is_some() })
                }
                _ => leaving.then_some(Cause::Passing),
            }
        }
    };
    cause.map(|cause| if expendable && cause != Cause::Passing { Cause::Expendable } else { cause })
}

/// Measures the groups and puts them in the order in which they get their places: by cause, then as the scheduler does
/// by priority, then large before small, for the small ones fit into what the large ones leave.
pub(super) fn classes(
    groups: Vec<Group>,
    constraints: &[usize],
    dimensions: &Dimensions,
    worth: impl Fn(&Demand) -> f64,
) -> Vec<Class> {
    let measured = groups.into_iter().zip(constraints).map(|(group, constraint)| {
        let Group { cause, shape, relations, needs, pods } = group;
        let request = dimensions.demand(&shape, &needs);
        let worth = worth(&request);
        let constraint = *constraint;
        Class { cause, shape, relations, needs, pods, worth, request, constraint, number: 0 }
    });
    let mut classes: Vec<Class> = measured.collect();
    classes.sort_by(|a, b| {
        (a.cause.rank(), Reverse(a.shape.priority))
            .cmp(&(b.cause.rank(), Reverse(b.shape.priority)))
            .then_with(|| b.worth.total_cmp(&a.worth))
            .then_with(|| b.request.cmp(&a.request))
            .then_with(|| (&a.shape, &a.relations, &a.needs).cmp(&(&b.shape, &b.relations, &b.needs)))
            .then_with(|| a.cause.cmp(&b.cause))
    });
    for (number, class) in classes.iter_mut().enumerate() {
        class.number = number;
    }
    classes
}
