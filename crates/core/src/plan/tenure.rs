use std::collections::BTreeMap;

use super::assignment::{Assignment, Spot, Stage};
use super::class::Class;
use super::decision::Target;
use super::kin::{count, uncount};
use super::rules::ANY;
use super::tally::Tally;

/// For each place the classes of the pods that have to leave it, one for each pod.
pub(super) type Leaving = BTreeMap<usize, Vec<usize>>;

/// Takes back promises that cannot be kept: pods that the scheduler could not bind where they are to go, because there is
/// no order in which all of them could come. Those that were promised last leave first.
pub(super) fn review(stage: &Stage<'_>, assignment: &mut Assignment) -> Leaving {
    let mut leaving = Leaving::new();
    let bound_by_rules =
        |(class, spots): (&Class, &Vec<Spot>)| !class.relations.is_free() && !spots.is_empty();
    if !stage.classes.iter().zip(stage.kept).any(bound_by_rules) {
        return leaving;
    }
    let stuck = rehearse(stage, &assignment.spots);
    let Assignment { spots, left, tallies, .. } = assignment;
    let places = spots.iter_mut().zip(left).zip(stuck);
    for ((class, kept), ((spots, left), stuck)) in stage.classes.iter().zip(stage.kept).zip(places) {
        for (number, (spot, stuck)) in spots.iter_mut().zip(stuck).enumerate() {
            let promised = number < kept.len() || matches!(spot.target, Target::Launch(_));
            let Some(place) = stage.places.get(spot.place).filter(|_| promised && stuck > 0) else {
                continue;
            };
            spot.count -= stuck;
            *left += stuck;
            let pods = u32::try_from(stuck).unwrap_or(u32::MAX);
            uncount(tallies, &class.relations.counted_in, &place.domains, &place.sees, pods);
            leaving.entry(spot.place).or_default().extend(std::iter::repeat_n(class.number, stuck));
        }
    }
    leaving
}

/// Lets all pods come one after the other, those on nodes that are ready first; for each spot of each class how many could
/// not.
fn rehearse(stage: &Stage<'_>, spots: &[Vec<Spot>]) -> Vec<Vec<usize>> {
    let mut tallies = stage.tallies.to_vec();
    let mut waiting: Vec<Vec<usize>> =
        spots.iter().map(|spots| spots.iter().map(|spot| spot.count).collect()).collect();
    for ready_only in [true, false] {
        loop {
            let mut moved = false;
            let places = spots.iter().zip(&mut waiting);
            for (class, (spots, waiting)) in stage.classes.iter().zip(places) {
                moved |= come(stage, class, spots, waiting, ready_only, &mut tallies);
            }
            if !moved {
                break;
            }
        }
    }
    waiting
}

/// Lets those pods of a class come that may; whether any did.
fn come(
    stage: &Stage<'_>,
    class: &Class,
    spots: &[Spot],
    waiting: &mut [usize],
    ready_only: bool,
    tallies: &mut [Tally],
) -> bool {
    let relations = &class.relations;
    let mut moved = false;
    let mut survey = relations.survey(tallies);
    for (spot, waiting) in spots.iter().zip(waiting).filter(|(_, waiting)| **waiting > 0) {
        let Some(place) = stage.places.get(spot.place).filter(|place| place.ready || !ready_only) else {
            continue;
        };
        let room = relations.room(tallies, &survey, place.at());
        let pods = if room == ANY { *waiting } else { room.min(*waiting) };
        if pods == 0 {
            continue;
        }
        *waiting -= pods;
        moved = true;
        count(
            tallies,
            &relations.counted_in,
            &place.domains,
            &place.sees,
            u32::try_from(pods).unwrap_or(u32::MAX),
        );
        if survey.first {
            survey = relations.survey(tallies);
        }
    }
    moved
}
