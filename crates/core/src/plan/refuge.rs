use std::collections::BTreeMap;

use super::assignment::Assignment;
use super::class::{Cause, Class};
use super::decision::Target;
use crate::Text;

/// What the plan finds for the pods of each claim whose node is to go.
pub(super) struct Refuges(BTreeMap<Text, Refuge>);

/// What the plan finds for the pods of one claim.
#[derive(Clone, Copy, Default)]
pub(super) struct Refuge {
    /// Pods for which a machine is launched or on its way.
    pub(super) arriving: usize,
    /// Whether a machine is launched for some of them.
    pub(super) launching: bool,
    /// Pods for which there is none.
    pub(super) nowhere: usize,
}

impl Refuges {
    pub(super) fn new(classes: &[Class], assignment: &Assignment) -> Self {
        let mut refuges: BTreeMap<Text, Refuge> = BTreeMap::new();
        for (class, spots, left) in assignment.by_class(classes) {
            let (Cause::Sick(claim) | Cause::Moving { claim, .. }) = &class.cause else {
                continue;
            };
            let refuge = refuges.entry(claim.clone()).or_default();
            refuge.nowhere += left;
            for spot in spots.iter().filter(|spot| !spot.ready) {
                refuge.arriving += spot.count;
                refuge.launching |= matches!(spot.target, Target::Launch(_));
            }
        }
        Self(refuges)
    }

    /// What there is for the pods of a claim.
    pub(super) fn of_claim(&self, claim: &str) -> Refuge {
        self.0.get(claim).copied().unwrap_or_default()
    }

    /// The claims some of whose pods would find no place.
    pub(super) fn lacking(&self) -> impl Iterator<Item = &Text> {
        self.0.iter().filter(|(_, refuge)| refuge.nowhere > 0).map(|(claim, _)| claim)
    }
}
