use std::collections::BTreeMap;

use jiff::Timestamp;

use super::admission::Constraints;
use super::amounts::Dimensions;
use super::assignment::{Assignment, Spot, assign};
use super::candidate::{Candidate, candidates};
use super::class::{Class, Group, classes};
use super::daemons::Daemons;
use super::decision::Target;
use super::draft::Draft;
use super::pack::Packer;
use super::place::{Place, existing};
use super::promise;
use super::view::View;
use super::worth::Worth;
use crate::model::Pool;

/// All that placing and packing look at, measured and numbered.
pub(super) struct Scene<'s, 'a> {
    pub(super) view: &'s View<'a>,
    /// In the order in which they are tried.
    pub(super) pools: &'s [&'a Pool],
    pub(super) dimensions: Dimensions,
    pub(super) classes: Vec<Class>,
    /// What is there or on its way.
    pub(super) places: Vec<Place>,
    /// What could be launched.
    pub(super) candidates: Vec<Candidate<'a>>,
    /// For each class the places that its pods were promised.
    kept: Vec<Vec<Spot>>,
    worth: Worth,
}

impl<'s, 'a> Scene<'s, 'a> {
    pub(super) fn new(view: &'s View<'a>, pools: &'s [&'a Pool], groups: Vec<Group>) -> Self {
        let dimensions = Dimensions::of(groups.iter().map(|group| &group.shape.requests));
        let shapes: Vec<_> = groups.iter().map(|group| group.shape.clone()).collect();
        let (constraints, numbers) = Constraints::number(shapes.iter().map(AsRef::as_ref));
        let daemons = Daemons::new(view, &dimensions);
        let candidates = candidates(pools, &constraints, &dimensions, &daemons);
        let worth = Worth::of(&candidates, dimensions.names().count());
        let mut places = existing(view, &constraints, &dimensions, &daemons);
        let mut classes = classes(groups, &numbers, &dimensions, |request| worth.measure(request));
        let kept = promise::keep(view, &mut classes, &mut places);
        Self { view, pools, dimensions, classes, places, candidates, kept, worth }
    }

    pub(super) fn packer(&self) -> Packer<'_, 'a> {
        Packer { classes: &self.classes, candidates: &self.candidates }
    }

    /// Where pods go on what is there, on its way or about to be launched.
    pub(super) fn assign(&self, drafts: &[Draft<'_, 'a>]) -> Assignment {
        let mut kept = self.kept.clone();
        let mut launches = Vec::new();
        for (number, draft) in drafts.iter().enumerate() {
            for (class, count) in &draft.load {
                if let Some(spots) = kept.get_mut(*class) {
                    spots.push(Spot { target: Target::Launch(number), ready: false, count: *count });
                }
            }
            launches.push(draft.place(&self.classes, number));
        }
        let places: Vec<&Place> = self.places.iter().chain(&launches).collect();
        assign(&self.classes, &kept, &places, &self.worth)
    }

    /// When the first of the nodes that pods are expected on has been out of sight for too long to be trusted.
    pub(super) fn trust_ends(&self, assignment: &Assignment) -> Option<Timestamp> {
        let trusted = self.places.iter().filter_map(|place| Some((&place.target, place.back_by?)));
        let trusted: BTreeMap<&Target, Timestamp> = trusted.collect();
        assignment.spots.iter().flatten().filter_map(|spot| trusted.get(&spot.target).copied()).min()
    }
}
