use super::assignment::{Assignment, Spot};
use super::class::Class;
use super::keys::Domains;
use super::kin::count;
use super::rules::{At, Rule};
use super::scene::Scene;

/// Where a spot is, and in which tallies it counts.
type Position<'p> = (&'p Domains, &'p [bool]);

/// Puts the places of pods that are to be spread in an order in which the scheduler can fill them one after another. It
/// takes pods as they came, and one whose turn comes while its own domain is ahead of the others goes elsewhere, where
/// the room is another's.
pub(super) fn put_in_order<'p>(
    scene: &'p Scene<'_, '_>,
    assignment: &mut Assignment,
    position: impl Fn(&Spot) -> Option<Position<'p>>,
) {
    let mut tallies = scene.tallies.clone();
    for (class, spots) in scene.classes.iter().zip(&mut assignment.spots) {
        if is_spread(class) {
            let mut rest: Vec<(Position<'p>, Spot)> =
                spots.iter().filter_map(|spot| Some((position(spot)?, spot.clone()))).collect();
            let mut ordered: Vec<Spot> = Vec::new();
            while !rest.is_empty() {
                let survey = class.relations.survey(&tallies);
                let next = rest.iter().enumerate().min_by_key(|(number, ((domains, _), _))| {
                    let blocked = class.relations.room(&tallies, &survey, At { domains, ready: true }) == 0;
                    (blocked, class.relations.crowding(&tallies, domains), *number)
                });
                let Some((number, _)) = next else { break };
                let Some(((domains, sees), spot)) = rest.get_mut(number) else { break };
                count(&mut tallies, &class.relations.counted_in, domains, sees, 1);
                ordered.push(Spot { count: 1, ..spot.clone() });
                spot.count -= 1;
                if spot.count == 0 {
                    rest.remove(number);
                }
            }
            *spots = ordered;
        } else if class.relations.matter() {
            for spot in spots.iter() {
                if let Some((domains, sees)) = position(spot) {
                    let pods = u32::try_from(spot.count).unwrap_or(u32::MAX);
                    count(&mut tallies, &class.relations.counted_in, domains, sees, pods);
                }
            }
        }
    }
}

fn is_spread(class: &Class) -> bool {
    class.relations.rules.iter().any(|rule| matches!(rule, Rule::Spread { own: true, .. }))
}
