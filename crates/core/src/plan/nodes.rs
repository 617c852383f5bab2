use std::collections::BTreeMap;

use jiff::Timestamp;

use super::assignment::Assignment;
use super::decided::{self, Progress};
use super::decision::{Cancellation, Disruption, Launch, Removal};
use super::empty::{self, Verdict};
use super::leave::Leave;
use super::minimum;
use super::refuge::Refuges;
use super::report::NodeReport;
use super::rotate::{Rotation, Wish};
use super::scene::Scene;
use super::sick::{self, is_sick};
use super::view::View;
use super::words;
use crate::Text;
use crate::model::{Claim, ClaimPhase, DisruptionReason};

/// What becomes of the nodes that are there.
#[derive(Default)]
pub(super) struct Fates {
    pub(super) disruptions: Vec<Disruption>,
    pub(super) cancellations: Vec<Cancellation>,
    pub(super) removals: Vec<Removal>,
    pub(super) reports: Vec<NodeReport>,
    /// When the next one may have to go.
    pub(super) next_at: Option<Timestamp>,
}

/// Decides for each claim whether it stays, and says why.
pub(super) fn fates(
    scene: &Scene<'_, '_>,
    assignment: &Assignment,
    launches: &[Launch],
    doubtful: &BTreeMap<Text, (usize, usize)>,
    rotation: &Rotation,
) -> Fates {
    let refuges = Refuges::new(&scene.classes, assignment);
    let mut empties = empty::verdicts(scene.view, assignment);
    let mut leave = Leave::new(scene.view);
    let mut fates = Fates { next_at: rotation.next_at, ..Fates::default() };
    let gets = |pool: &Text| launches.iter().filter(|launch| launch.pool == *pool).count();
    for claim in scene.view.snapshot.claims.values() {
        if !scene.view.decides_about(claim) {
            fates.leave_alone(scene.view, claim);
            continue;
        }
        if is_sick(claim) {
            let verdict = match doubtful.get(&claim.pool) {
                Some((sick, all)) => {
                    let share = format!("{sick} of {}", words::count(*all, "node"));
                    Err(format!("sick, but so are {share} of its pool: the fault is likely elsewhere"))
                }
                None => {
                    let refuge = refuges.of_claim(&claim.name);
                    let replacement = sick::replacement_on_its_way(scene.view, claim);
                    let minimum = minimum_on_its_way(scene.view, claim, gets(&claim.pool));
                    sick::verdict(refuge, replacement, minimum)
                }
            };
            let verdict = verdict.and_then(|why| unhurried(scene.view, &mut leave, claim).map(|()| why));
            match verdict {
                Ok(why) => fates.remove(scene.view, claim, DisruptionReason::Sick, why),
                Err(why) => fates.keep(scene.view, claim, why),
            }
            continue;
        }
        if let (Some(reason), Some(decision), false) = (claim.disrupted, &claim.decision, claim.deleting) {
            let gets = gets(&claim.pool);
            match decided::progress(scene.view, claim, (reason, decision), &refuges, gets) {
                Progress::Goes(why) => fates.remove(scene.view, claim, reason, why),
                Progress::Waits(why) => {
                    let reason = reason.as_str().to_lowercase();
                    fates.keep(scene.view, claim, format!("is to go: {reason}; {why}"));
                }
                Progress::Stays(why) => fates.cancel(scene.view, claim, why),
            }
            continue;
        }
        if let Some(wish) = rotation.wish(&claim.name) {
            fates.rotate(scene.view, claim, wish, launches);
            continue;
        }
        let held = |why| rotation.held(&claim.name).cloned().unwrap_or(why);
        match empties.remove(&claim.name) {
            Some(Verdict::Goes(why)) => fates.decide(scene.view, claim, DisruptionReason::Empty, why),
            Some(Verdict::Stays(why)) => fates.keep(scene.view, claim, held(why)),
            Some(Verdict::StaysUntil(at, why)) => {
                fates.keep(scene.view, claim, held(why));
                fates.next_at = fates.next_at.into_iter().chain([at]).min();
            }
            None => fates.keep(scene.view, claim, why_it_does_not_stand(scene.view, claim)),
        }
    }
    fates
}

/// Whether a claim's pool has too few nodes that work but will have enough. Where it will not, for want of machines or
/// of limits, a sick node only stands in the way.
fn minimum_on_its_way(view: &View<'_>, claim: &Claim, gets: usize) -> bool {
    let pool = view.snapshot.pools.get(&claim.pool);
    pool.is_some_and(|pool| minimum::awaits(view, pool) > 0 && minimum::lacking(view, pool, gets) == 0)
}

/// Says why a sick claim stays although it could go: its pool is paused, or enough others have gone within a minute.
fn unhurried<'a>(view: &View<'a>, leave: &mut Leave<'_, 'a>, claim: &'a Claim) -> Result<(), String> {
    let Some(pool) = view.snapshot.pools.get(&claim.pool) else {
        return Ok(());
    };
    if pool.paused {
        return Err("sick, but its pool is paused".to_owned());
    }
    leave.allows_so_soon(pool).map_err(|why| format!("sick, but {why}"))?;
    leave.take(&pool.name);
    Ok(())
}

fn why_it_does_not_stand(view: &View<'_>, claim: &Claim) -> String {
    let node = view.node_of(&claim.name);
    if claim.deleting {
        return "is being given back".to_owned();
    }
    if let Some(reason) = claim.disrupted {
        return format!("is to go: {}", reason.as_str().to_lowercase());
    }
    let waits_for = match claim.phase {
        ClaimPhase::Pending => "its machine",
        ClaimPhase::Launched => "its machine to join the cluster",
        ClaimPhase::Registered => "its node to be ready for pods",
        ClaimPhase::Initialized => {
            return match node {
                None => "its node is not there".to_owned(),
                Some(node) if node.deleting => "its node is being deleted".to_owned(),
                Some(_) => "its node is not ready".to_owned(),
            };
        }
    };
    format!("arriving: waits for {waits_for}")
}

impl Fates {
    fn keep(&mut self, view: &View<'_>, claim: &Claim, why: String) {
        self.report(view, claim, false, why);
    }

    /// Leaves a claim to whoever decides about it, and takes back what was decided here before.
    fn leave_alone(&mut self, view: &View<'_>, claim: &Claim) {
        let why = "Cluster Autoscaler decides whether it stays".to_owned();
        match &claim.decision {
            _ if claim.deleting => self.keep(view, claim, why_it_does_not_stand(view, claim)),
            Some(_) => self.cancel(view, claim, why),
            None => self.keep(view, claim, why),
        }
    }

    /// Has it written down that a claim is to go, nothing taking its place.
    fn decide(&mut self, view: &View<'_>, claim: &Claim, reason: DisruptionReason, why: String) {
        let claims = vec![(claim.name.clone(), claim.uid.clone())];
        self.disruptions.push(Disruption { claims, reason, replacements: Vec::new(), message: why.clone() });
        self.report(view, claim, true, why);
    }

    /// Has it written down that a claim is to go, and what takes its place.
    fn rotate(&mut self, view: &View<'_>, claim: &Claim, wish: &Wish, launches: &[Launch]) {
        let replaces = |launch: &Launch| launch.replaces.contains(&claim.name);
        let replacements = launches.iter().enumerate().filter(|(_, launch)| replaces(launch));
        self.disruptions.push(Disruption {
            claims: vec![(claim.name.clone(), claim.uid.clone())],
            reason: wish.reason,
            replacements: replacements.map(|(number, _)| number).collect(),
            message: wish.message.clone(),
        });
        let reason = wish.reason.as_str().to_lowercase();
        self.report(view, claim, true, format!("{reason}: {}", wish.message));
    }

    fn cancel(&mut self, view: &View<'_>, claim: &Claim, why: String) {
        let (name, uid) = (claim.name.clone(), claim.uid.clone());
        self.cancellations.push(Cancellation { claim: name, uid, message: why.clone() });
        self.report(view, claim, false, why);
    }

    fn remove(&mut self, view: &View<'_>, claim: &Claim, reason: DisruptionReason, why: String) {
        let (claim_name, uid) = (claim.name.clone(), claim.uid.clone());
        self.removals.push(Removal { claim: claim_name, uid, reason, message: why.clone() });
        self.report(view, claim, true, why);
    }

    fn report(&mut self, view: &View<'_>, claim: &Claim, goes: bool, why: String) {
        let node = view.node_of(&claim.name).map(|node| node.name.clone());
        self.reports.push(NodeReport { claim: claim.name.clone(), node, goes, why });
    }
}
