use std::collections::{BTreeMap, BTreeSet};

use super::assignment::{Assignment, Spot, Stage};
use super::class::Class;
use super::kin::uncount;
use super::place::Place;
use super::rules::{Relations, Rule, Survey};
use super::tally::Tally;

/// For each place the classes of the pods that have to leave it, one for each pod.
pub(super) type Leaving = BTreeMap<usize, Vec<usize>>;

/// Takes back promises that cannot be kept: pods that may not stay where they are beside all the others. What was
/// promised last is taken back first.
pub(super) fn review(stage: &Stage<'_>, assignment: &mut Assignment) -> Leaving {
    let mut leaving = Leaving::new();
    if stage.kept.iter().all(Vec::is_empty) {
        return leaving;
    }
    let Assignment { spots, left, tallies, .. } = assignment;
    let mut bound = Bound::by(stage, spots);
    let places = spots.iter_mut().zip(left);
    for ((class, kept), (spots, left)) in stage.classes.iter().zip(stage.kept).zip(places) {
        if class.relations.is_free() {
            continue;
        }
        let mut survey = class.relations.survey(tallies);
        for spot in spots.iter_mut().take(kept.len()).rev() {
            let Some(place) = stage.places.get(spot.place) else { continue };
            while spot.count > 0 && !bound.may_stay(&class.relations, tallies, &survey, place) {
                spot.count -= 1;
                *left += 1;
                uncount(tallies, &class.relations.counted_in, &place.domains, &place.sees, 1);
                bound.change(class, place, |tally| tally.take_pods(&place.domains, 1));
                leaving.entry(spot.place).or_default().push(class.number);
                survey = class.relations.survey(tallies);
            }
        }
    }
    leaving
}

/// For each way to be spread the pods that are bound to it, or to a stricter one, and those that were there before. The
/// others are free to come later, wherever they like, and drive nobody away.
struct Bound(BTreeMap<(usize, u32), Tally>);

impl Bound {
    fn by(stage: &Stage<'_>, spots: &[Vec<Spot>]) -> Self {
        let spreads: BTreeSet<(usize, u32)> =
            stage.classes.iter().flat_map(|class| class.relations.spreads()).collect();
        let before = |(tally, skew): (usize, u32)| Some(((tally, skew), stage.tallies.get(tally)?.clone()));
        let mut bound = Self(spreads.into_iter().filter_map(before).collect());
        for (class, spots) in stage.classes.iter().zip(spots) {
            for spot in spots {
                let Some(place) = stage.places.get(spot.place) else { continue };
                let pods = u32::try_from(spot.count).unwrap_or(u32::MAX);
                bound.change(class, place, |tally| tally.add_pods(&place.domains, pods));
            }
        }
        bound
    }

    fn change(&mut self, class: &Class, place: &Place, change: impl Fn(&mut Tally)) {
        for (tally, skew) in class.relations.spreads() {
            let seen = place.sees.get(tally).copied().unwrap_or(true);
            if seen && class.relations.counted_in.contains(&tally) {
                self.0.range_mut((tally, skew)..=(tally, u32::MAX)).for_each(|(_, tally)| change(tally));
            }
        }
    }

    fn may_stay(&self, relations: &Relations, tallies: &[Tally], survey: &Survey, place: &Place) -> bool {
        relations.hold(survey, &place.domains, |rule| match rule {
            Rule::Spread { tally, max_skew, .. } => self.0.get(&(*tally, *max_skew)),
            Rule::With { tally, .. } | Rule::Away { tally, .. } => tallies.get(*tally),
        })
    }
}
