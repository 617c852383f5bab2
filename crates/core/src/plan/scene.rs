use std::collections::BTreeMap;

use jiff::Timestamp;

use super::admission::Constraints;
use super::amounts::Dimensions;
use super::assignment::{Assignment, assign};
use super::candidate::{Candidate, candidates};
use super::class::{Class, Group, classes};
use super::daemons::Daemons;
use super::decision::Target;
use super::draft::Draft;
use super::pack::Packer;
use super::place::{Place, existing};
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
        let places = existing(view, &constraints, &dimensions, &daemons);
        let classes = classes(groups, &numbers, &dimensions, |request| worth.measure(request));
        Self { view, pools, dimensions, classes, places, candidates, worth }
    }

    pub(super) fn packer(&self) -> Packer<'_, 'a> {
        Packer { classes: &self.classes, candidates: &self.candidates }
    }

    /// Where pods go when these machines are got.
    pub(super) fn assign(&self, drafts: &[Draft<'_, 'a>]) -> Assignment {
        let planned = drafts.iter().enumerate().filter_map(|(number, draft)| draft.place(number));
        let places: Vec<Place> = self.places.iter().cloned().chain(planned).collect();
        assign(&self.classes, &places, &self.worth)
    }

    /// When the first of the nodes that pods are expected on has been out of sight for too long to be trusted.
    pub(super) fn trust_ends(&self, assignment: &Assignment) -> Option<Timestamp> {
        let trusted = self.places.iter().filter_map(|place| Some((&place.target, place.back_by?)));
        let trusted: BTreeMap<&Target, Timestamp> = trusted.collect();
        assignment.spots.iter().flatten().filter_map(|spot| trusted.get(&spot.target).copied()).min()
    }
}
