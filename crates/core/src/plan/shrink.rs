use super::assignment::Assignment;
use super::budget::Budget;
use super::draft::Draft;
use super::minimum;
use super::scene::Scene;

/// Takes a cheaper machine of the same pool wherever one holds the pods that ended up on a draft, unless that would cost
/// some pod its place. Says whether anything changed.
pub(super) fn shrink<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    drafts: &mut Vec<Draft<'p, 'a>>,
    assignment: &mut Assignment,
    budget: &Budget<'a>,
) -> bool {
    let packer = scene.packer();
    let mut smaller = drafts.clone();
    let mut budget = budget.clone();
    let mut shrunk = false;
    for (draft, load) in smaller.iter_mut().zip(assignment.on_launches(drafts.len())) {
        let first = draft.first;
        // Candidates of a pool are in the order of their prices.
        let mut cheaper = scene.candidates.iter().filter(|candidate| {
            candidate.pool_number == first.pool_number
                && candidate.cost() < first.cost()
                && packer.holds(candidate, &load)
                && budget.room(candidate, 1) > 0
        });
        let Some(best) = cheaper.next().filter(|_| !load.is_empty()) else {
            continue;
        };
        budget.give_back(first);
        budget.take(best, 1);
        draft.first = best;
        shrunk = true;
    }
    if !shrunk {
        return false;
    }
    let after = scene.assign(&smaller);
    let costs_nobody = after.left == assignment.left;
    if costs_nobody {
        (*drafts, *assignment) = (smaller, after);
    }
    costs_nobody
}

/// Lets go of drafts that no pod is on after all, and that their pools do not need to reach their minima. Says whether
/// there were any.
pub(super) fn prune<'p, 'a>(
    scene: &'p Scene<'_, 'a>,
    drafts: &mut Vec<Draft<'p, 'a>>,
    assignment: &mut Assignment,
) -> bool {
    let loaded: Vec<bool> =
        assignment.on_launches(drafts.len()).iter().map(|load| !load.is_empty()).collect();
    let mut gets = vec![0_usize; scene.pools.len()];
    for (draft, _) in drafts.iter().zip(&loaded).filter(|(_, loaded)| **loaded) {
        if let Some(gets) = gets.get_mut(draft.first.pool_number) {
            *gets += 1;
        }
    }
    let before = drafts.len();
    let mut loaded = loaded.into_iter();
    drafts.retain(|draft| {
        let Some(gets) = gets.get_mut(draft.first.pool_number) else {
            return false;
        };
        let wanted = minimum::lacking(scene.view, draft.first.pool, *gets) > 0;
        let loaded = loaded.next().unwrap_or(false);
        *gets += usize::from(!loaded && wanted);
        loaded || wanted
    });
    if drafts.len() == before {
        return false;
    }
    // An empty draft was in nobody's way: the others keep their pods and only the numbers change.
    *assignment = scene.assign(drafts);
    true
}
