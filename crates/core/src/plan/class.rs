use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::amounts::{Amounts, Dimensions};
use super::view::View;
use crate::Text;
use crate::model::{DisruptionReason, Pod, PodId, PodOwner, PodShape, PodState};

/// Why pods need a place. Those named first get theirs first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The scheduler found no node for them.
    Pending,
    /// They are on the sick node of this claim and will be made anew elsewhere.
    Sick(Text),
    /// The scheduler is about to look at them, or they are on a node that is on its way out. Nodes that they may go
    /// to stay, but no machine is got for them: most will find their place by themselves.
    Passing,
}

/// Pods that are the same to the planner.
pub(super) struct Class {
    pub(super) cause: Cause,
    pub(super) shape: Arc<PodShape>,
    pub(super) pods: Vec<PodId>,
    pub(super) request: Amounts,
    /// About what one of the pods is worth in millionths of a dollar per hour, to tell large from small.
    pub(super) worth: f64,
    /// The number of its constraint.
    pub(super) constraint: usize,
    /// Its own number.
    pub(super) number: usize,
}

/// Pods of one shape and cause, before they are measured.
pub(super) struct Group {
    pub(super) cause: Cause,
    pub(super) shape: Arc<PodShape>,
    pub(super) pods: Vec<PodId>,
}

impl Class {
    /// Whether machines are got for the pods.
    pub(super) fn may_launch(&self) -> bool {
        self.cause != Cause::Passing
    }
}

/// Finds the pods that need a place.
pub(super) fn group(view: &View<'_>, gives_up: impl Fn(&str) -> bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // Shapes are shared, so for most pods the address tells the group and nothing has to be compared.
    let mut by_address: BTreeMap<(Cause, *const PodShape), usize> = BTreeMap::new();
    let mut by_shape: BTreeMap<(Cause, Arc<PodShape>), usize> = BTreeMap::new();
    for pod in view.snapshot.pods.values() {
        let Some(cause) = cause(view, pod, &gives_up) else {
            continue;
        };
        let number = *by_address.entry((cause.clone(), Arc::as_ptr(&pod.shape))).or_insert_with(|| {
            *by_shape.entry((cause.clone(), pod.shape.clone())).or_insert_with(|| {
                groups.push(Group { cause, shape: pod.shape.clone(), pods: Vec::new() });
                groups.len() - 1
            })
        });
        if let Some(group) = groups.get_mut(number) {
            group.pods.push(pod.id.clone());
        }
    }
    groups
}

fn cause(view: &View<'_>, pod: &Pod, gives_up: impl Fn(&str) -> bool) -> Option<Cause> {
    if pod.deleting || pod.shape.foreign_scheduler || pod.shape.belongs_to_node() {
        return None;
    }
    match &pod.state {
        PodState::Unschedulable { .. } => Some(Cause::Pending),
        PodState::Waiting => Some(Cause::Passing),
        PodState::Gated => None,
        PodState::Bound(_) if pod.shape.owner == PodOwner::Nobody => None,
        PodState::Bound(node) => {
            let claim = view.claim_of(node);
            let leaving = view.snapshot.nodes.get(node).is_some_and(|node| node.deleting);
            match claim {
                Some(claim) if claim.deleting || leaving => Some(Cause::Passing),
                Some(claim) if claim.disrupted == Some(DisruptionReason::Sick) && gives_up(&claim.name) => {
                    Some(Cause::Sick(claim.name.clone()))
                }
                _ => leaving.then_some(Cause::Passing),
            }
        }
    }
}

/// Measures the groups and puts them in the order in which they get their places: by cause, then as the scheduler does
/// by priority, then large before small, for the small ones fit into what the large ones leave.
pub(super) fn classes(
    groups: Vec<Group>,
    constraints: &[usize],
    dimensions: &Dimensions,
    worth: impl Fn(&Amounts) -> f64,
) -> Vec<Class> {
    let measured = groups.into_iter().zip(constraints).map(|(Group { cause, shape, pods }, constraint)| {
        let request = dimensions.demand(&shape.requests);
        Class { cause, shape, pods, worth: worth(&request), request, constraint: *constraint, number: 0 }
    });
    let mut classes: Vec<Class> = measured.collect();
    classes.sort_by(|a, b| {
        (&a.cause, Reverse(a.shape.priority))
            .cmp(&(&b.cause, Reverse(b.shape.priority)))
            .then_with(|| b.worth.total_cmp(&a.worth))
            .then_with(|| b.request.cmp(&a.request))
            .then_with(|| a.shape.cmp(&b.shape))
    });
    for (number, class) in classes.iter_mut().enumerate() {
        class.number = number;
    }
    classes
}
