use std::collections::{BTreeMap, BTreeSet};

use super::assignment::Spot;
use super::class::Class;
use super::decision::Target;
use super::place::Place;
use super::view::View;
use crate::model::{Claim, PodId};

/// Gives pods the room on the claims that were made for them, before anybody else is looked at. This is what makes
/// plans stable: what was packed once is not packed again, whatever becomes of the pods and nodes around it.
///
/// Takes the room from the places, puts the pods that are served first in their classes, and says for each class where
/// they go.
pub(super) fn keep(view: &View<'_>, classes: &mut [Class], places: &mut [Place]) -> Vec<Vec<Spot>> {
    let mut kept: Vec<Vec<Spot>> = classes.iter().map(|_| Vec::new()).collect();
    let mut served: Vec<Vec<PodId>> = classes.iter().map(|_| Vec::new()).collect();
    let class_of = class_of_promised(view, classes);
    let mut seen = BTreeSet::new();
    for place in places {
        for pod in claim_at(view, &place.target).map_or(&[][..], |claim| &claim.pods) {
            let Some(number) = class_of.get(pod).copied() else { continue };
            let (Some(class), Some(spots), Some(served)) =
                (classes.get(number), kept.get_mut(number), served.get_mut(number))
            else {
                continue;
            };
            let fits = place.admission.allows(class.constraint) && place.free.covers(&class.request);
            if !fits || !seen.insert(pod) {
                continue;
            }
            place.free.take(&class.request, 1);
            served.push(pod.clone());
            match spots.last_mut().filter(|spot| spot.target == place.target) {
                Some(spot) => spot.count += 1,
                None => spots.push(Spot { target: place.target.clone(), ready: place.ready, count: 1 }),
            }
        }
    }
    for (class, served) in classes.iter_mut().zip(served).filter(|(_, served)| !served.is_empty()) {
        class.pods.retain(|pod| !seen.contains(pod));
        class.pods.splice(0..0, served);
    }
    kept
}

fn class_of_promised(view: &View<'_>, classes: &[Class]) -> BTreeMap<PodId, usize> {
    let promised: BTreeSet<&PodId> = view.snapshot.claims.values().flat_map(|claim| &claim.pods).collect();
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
