use std::collections::{BTreeMap, BTreeSet};

use super::assignment::Spot;
use super::class::Class;
use super::decision::Target;
use super::place::Place;
use super::view::View;
use crate::model::{Claim, PodId};

/// Gives pods the room on the nodes that they are nominated to, and then on the claims that were made for them, before
/// anybody else is looked at. This is what makes plans stable: what was packed once is not packed again, whatever
/// becomes of the pods and nodes around it.
///
/// Takes the room from the places, puts the pods that are served first in their classes, and says for each class where
/// they go.
pub(super) fn keep(view: &View<'_>, classes: &mut [Class], places: &mut [Place]) -> Vec<Vec<Spot>> {
    let mut kept: Vec<Vec<Spot>> = classes.iter().map(|_| Vec::new()).collect();
    let mut served: Vec<Vec<PodId>> = classes.iter().map(|_| Vec::new()).collect();
    let promises = promises(view, classes, places);
    let class_of = classes_of(classes, &promises);
    let mut seen = BTreeSet::new();
    for (place_number, pod) in promises {
        let Some(number) = class_of.get(pod).copied() else { continue };
        let (Some(class), Some(spots), Some(served)) =
            (classes.get(number), kept.get_mut(number), served.get_mut(number))
        else {
            continue;
        };
        let Some(place) = places.get_mut(place_number).filter(|place| place.has_room_soon(class)) else {
            continue;
        };
        if !seen.insert(pod) {
            continue;
        }
        place.free.take(&class.request, 1);
        served.push(pod.clone());
        match spots.last_mut().filter(|spot| spot.place == place_number) {
            Some(spot) => spot.count += 1,
            None => {
                let (target, ready) = (place.target.clone(), place.ready);
                spots.push(Spot { place: place_number, target, ready, count: 1 });
            }
        }
    }
    for (class, served) in classes.iter_mut().zip(served).filter(|(_, served)| !served.is_empty()) {
        class.pods.retain(|pod| !seen.contains(pod));
        class.pods.splice(0..0, served);
    }
    kept
}

impl Place {
    /// Whether a pod of a class fits once those of lower priority are gone that are on their way out: they may be going
    /// to make room for it.
    fn has_room_soon(&self, class: &Class) -> bool {
        let mut free = self.free.clone();
        for (_, request) in self.leaving.iter().filter(|(priority, _)| *priority < class.shape.priority) {
            free.give(request, 1);
        }
        self.admission.allows(class.constraint) && free.covers(&class.request)
    }
}

/// Pods and the numbers of the places that they were promised, the latest promises first: a pod for which a claim was made
/// may have been sent elsewhere since.
fn promises<'a>(view: &View<'a>, classes: &[Class], places: &[Place]) -> Vec<(usize, &'a PodId)> {
    let mut promises = nominations(view, classes, places);
    promises.extend(places.iter().enumerate().flat_map(|(number, place)| {
        let pods = claim_at(view, &place.target).map_or(&[][..], |claim| &claim.pods);
        // Where a pod is already it needs no room.
        let elsewhere = move |pod: &&PodId| match &place.target {
            Target::Node(node) => view.snapshot.pods.get(*pod).is_none_or(|pod| pod.node() != Some(node)),
            Target::Claim(_) | Target::Launch(_) => true,
        };
        pods.iter().filter(elsewhere).map(move |pod| (number, pod))
    }));
    promises
}

fn nominations<'a>(view: &View<'a>, classes: &[Class], places: &[Place]) -> Vec<(usize, &'a PodId)> {
    if !view.snapshot.pods.values().any(|pod| pod.nominated.is_some() && pod.node().is_none()) {
        return Vec::new();
    }
    let nodes = places.iter().enumerate().filter_map(|(number, place)| match &place.target {
        Target::Node(node) => Some((&**node, number)),
        Target::Claim(claim) => Some((&*view.node_of(claim)?.name, number)),
        Target::Launch(_) => None,
    });
    let nodes: BTreeMap<&str, usize> = nodes.collect();
    let pods = classes.iter().flat_map(|class| &class.pods);
    let nominated = pods.filter_map(|pod| {
        let pod = view.snapshot.pods.get(pod)?;
        Some((*nodes.get(&*pod.nominated.as_ref()?.node)?, &pod.id))
    });
    nominated.collect()
}

fn classes_of(classes: &[Class], promises: &[(usize, &PodId)]) -> BTreeMap<PodId, usize> {
    let promised: BTreeSet<&PodId> = promises.iter().map(|(_, pod)| *pod).collect();
    if promised.is_empty() {
        return BTreeMap::new();
    }
    let pods = classes.iter().flat_map(|class| class.pods.iter().map(|pod| (pod, class.number)));
    pods.filter(|(pod, _)| promised.contains(pod)).map(|(pod, number)| (pod.clone(), number)).collect()
}

fn claim_at<'a>(view: &View<'a>, target: &Target) -> Option<&'a Claim> {
    match target {
        Target::Node(node) => view.claim_of(node),
        Target::Claim(claim) => view.snapshot.claims.get(claim).map(AsRef::as_ref),
        Target::Launch(_) => None,
    }
}
