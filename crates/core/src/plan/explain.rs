use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::admission::unmet_label;
use super::budget::Budget;
use super::candidate::Candidate;
use super::class::{Cause, Class};
use super::draft::Drafted;
use super::flexibility::{Shortfall, shortfall};
use super::report::{Exclusion, PoolExclusion, Reserved, Unplaced};
use super::rules::{At, Rule};
use super::scene::Scene;
use super::shortage::too_small;
use super::spare;
use crate::Text;
use crate::model::{Driver, Labels, PodId, Pool, tolerates_all};
use crate::stock::Lack;

/// The reasons for what the plan does not do.
#[derive(Default)]
pub(super) struct Explanation {
    pub(super) unplaced: Vec<Unplaced>,
    pub(super) short_pools: Vec<PoolExclusion>,
    pub(super) reserves: Vec<Reserved>,
    /// When something that could not be had lately may be tried again.
    pub(super) retry_at: Option<Timestamp>,
}

pub(super) fn explain(
    scene: &Scene<'_, '_>,
    drafted: &Drafted<'_, '_>,
    stuck: Vec<(PodId, String)>,
) -> Explanation {
    let mut explanation = Explanation::default();
    for (pod, why) in stuck {
        let everywhere = Some(Exclusion::Volume { why });
        explanation.unplaced.push(Unplaced { pods: vec![pod], everywhere, pools: Vec::new() });
    }
    for (class, _, left) in drafted.assignment.by_class(&scene.classes) {
        if left == 0 {
            continue;
        }
        let placed = class.pods.len().saturating_sub(left);
        let pods = class.pods.iter().skip(placed).cloned().collect();
        let everywhere = match class.cause {
            Cause::Pending => None,
            Cause::Held(until) => {
                explanation.retry_at = explanation.retry_at.into_iter().chain([until]).min();
                Some(Exclusion::Held { until })
            }
            Cause::Expendable => {
                let (priority, least) = (class.shape.priority, scene.view.snapshot.settings.min_priority);
                Some(Exclusion::Priority { priority, least })
            }
            Cause::Sick(_) | Cause::Moving { .. } | Cause::Passing | Cause::Reserve => continue,
        };
        if everywhere.is_some() {
            explanation.unplaced.push(Unplaced { pods, everywhere, pools: Vec::new() });
            continue;
        }
        let offered = offered(scene, |candidate| candidate.suits(class));
        explanation.retry_later(scene, &offered, &drafted.budget);
        let pools = scene.pools.iter().map(|pool| exclusion(scene, class, pool, drafted)).collect();
        explanation.unplaced.push(Unplaced { pods, everywhere: None, pools });
    }
    for (number, pool) in scene.pools.iter().enumerate() {
        if spare::lacking(scene, &drafted.assignment, &drafted.drafts, number) == 0 {
            continue;
        }
        let offered = offered(scene, |candidate| candidate.pool_number == number);
        explanation.retry_later(scene, &offered, &drafted.budget);
        let exclusion = closed(pool, &offered).or_else(|| inflexible(pool, &offered));
        let exclusion = exclusion.unwrap_or_else(|| scarcity(&offered, &drafted.budget));
        explanation.short_pools.push(PoolExclusion { pool: pool.name.clone(), exclusion });
    }
    let renews = [drafted.budget.renews_at(), scene.patience_ends];
    explanation.retry_at = explanation.retry_at.into_iter().chain(renews.into_iter().flatten()).min();
    explanation.reserves = reserves(scene, drafted);
    explanation
}

impl Explanation {
    fn retry_later(&mut self, scene: &Scene<'_, '_>, offered: &[&Candidate<'_>], budget: &Budget<'_>) {
        let avoided = offered.iter().filter(|candidate| budget.limit_reached(candidate).is_none());
        let retries = avoided.filter_map(|candidate| candidate.avoided(scene.view.now));
        self.retry_at = self.retry_at.into_iter().chain(retries).min();
    }
}

fn offered<'s, 'a>(
    scene: &'s Scene<'_, 'a>,
    suits: impl Fn(&Candidate<'a>) -> bool,
) -> Vec<&'s Candidate<'a>> {
    scene.candidates.iter().filter(|candidate| suits(candidate)).collect()
}

/// What became of the room that is to be kept ready.
fn reserves(scene: &Scene<'_, '_>, drafted: &Drafted<'_, '_>) -> Vec<Reserved> {
    let mut by_id: BTreeMap<&PodId, Reserved> = BTreeMap::new();
    for (class, spots, _) in drafted.assignment.by_class(&scene.classes) {
        let Some(id) = class.pods.first().filter(|_| class.cause == Cause::Reserve) else { continue };
        let nothing = Reserved { id: id.clone(), wanted: 0, ready: 0, coming: 0 };
        let reserved = by_id.entry(id).or_insert(nothing);
        reserved.wanted += class.pods.len();
        for spot in spots {
            *if spot.ready { &mut reserved.ready } else { &mut reserved.coming } += spot.count;
        }
    }
    by_id.into_values().collect()
}

/// Why a pool does not serve a class. Of several reasons the one that comes last on the way to a node is told, for it
/// is the nearest miss.
fn exclusion(scene: &Scene<'_, '_>, class: &Class, pool: &Pool, drafted: &Drafted<'_, '_>) -> PoolExclusion {
    let budget = &drafted.budget;
    let among = scene.candidates.iter().chain(&scene.elsewhere);
    let offered: Vec<_> = among.filter(|candidate| candidate.pool.name == pool.name).collect();
    let matching: Vec<_> =
        offered.iter().copied().filter(|each| each.admission.allows(class.constraint)).collect();
    let fitting: Vec<_> = matching.iter().copied().filter(|each| each.room.covers(&class.request)).collect();
    let exclusion = if let Some(closed) = closed(pool, &offered) {
        closed
    } else if let Some(replicas) = pool.replicas {
        Exclusion::Fixed { replicas }
    } else if let Some(until) = scene.waits_until(class, pool) {
        Exclusion::Window { until }
    } else if let Err(taint) = tolerates_all(&class.shape.tolerations, &pool.taints) {
        Exclusion::Taint { taint: taint.to_string() }
    } else if matching.is_empty() {
        let labels: Vec<&Labels> = offered.iter().map(|candidate| &candidate.labels).collect();
        let (key, wanted) = unmet_label(&class.shape, &class.needs, &labels);
        Exclusion::Label { key, wanted }
    } else if fitting.is_empty() {
        too_small(scene, class, &matching, pool)
    } else if pool.driver != Driver::Windlass {
        Exclusion::Driver
    } else if let Some(inflexible) = inflexible(pool, &fitting) {
        inflexible
    } else if let Some(demand) = obstacle(scene, class, &fitting, drafted) {
        Exclusion::Topology { demand }
    } else {
        scarcity(&fitting, budget)
    };
    PoolExclusion { pool: pool.name.clone(), exclusion }
}

/// What a class demands of the pods around it that none of the machines that could be had would meet.
fn obstacle(
    scene: &Scene<'_, '_>,
    class: &Class,
    fitting: &[&Candidate<'_>],
    drafted: &Drafted<'_, '_>,
) -> Option<String> {
    let tallies = &drafted.assignment.tallies;
    let survey = class.relations.survey(tallies);
    let mut found = None;
    for candidate in fitting.iter().filter(|candidate| drafted.budget.room(candidate, 1) > 0) {
        found = Some(class.relations.obstacle(
            tallies,
            &survey,
            At { domains: &candidate.domains, ready: false },
        )?);
    }
    let rule = found?;
    let key = tallies.get(rule.tally()).and_then(|tally| scene.keys.name(tally.key))?;
    Some(match rule {
        Rule::Spread { max_skew, .. } => {
            format!("no machine keeps the pods spread over {key} with a skew of at most {max_skew}")
        }
        Rule::With { .. } => {
            format!("no machine is in a {key} with the pods that these must be with")
        }
        Rule::Away { .. } => {
            format!("every machine is in a {key} with pods that these must be away from")
        }
    })
}

/// Why a pool serves nobody.
fn closed(pool: &Pool, offered: &[&Candidate<'_>]) -> Option<Exclusion> {
    match &pool.unusable {
        Some(why) => Some(Exclusion::Unusable { why: why.clone() }),
        None => offered.is_empty().then_some(Exclusion::NoInstanceTypes),
    }
}

/// Why a pool that wants to choose among different machines does not serve those for whom only some would do.
fn inflexible(pool: &Pool, fitting: &[&Candidate<'_>]) -> Option<Exclusion> {
    let Shortfall { key, least, found } = shortfall(pool, fitting)?;
    Some(Exclusion::MinValues { key: key.clone(), least, found })
}

/// Why machines that would do are not got: the pool's limit where nothing else is in the way of one of them.
fn scarcity(fitting: &[&Candidate<'_>], budget: &Budget<'_>) -> Exclusion {
    let reached = |candidate: &&&Candidate<'_>| budget.limit_reached(candidate);
    let had = fitting.iter().filter(|candidate| budget.had(candidate));
    let only_limited = had.clone().find_map(|candidate| reached(&candidate));
    let only_gone =
        || fitting.iter().any(|candidate| !budget.had(candidate) && reached(&candidate).is_none());
    let limit = only_limited
        .or_else(|| if only_gone() { None } else { fitting.iter().find_map(|each| reached(&each)) });
    match limit {
        Some((resource, limit)) => Exclusion::Limit { resource, limit },
        None => used_up(fitting, budget).unwrap_or(Exclusion::Unavailable { offerings: fitting.len() }),
    }
}

/// The store that comes nearest to having enough left for a machine, where nothing but its store is in the way of one.
fn used_up(fitting: &[&Candidate<'_>], budget: &Budget<'_>) -> Option<Exclusion> {
    let cut = fitting.iter().filter(|candidate| budget.limit_reached(candidate).is_none());
    let lacks: Vec<Lack> = cut.filter_map(|candidate| budget.lack(candidate)).collect();
    let stores: BTreeSet<&Text> = lacks.iter().map(|lack| &lack.store).collect();
    let permille = |lack: &&Lack| i128::from(lack.left) * 1000 / i128::from(lack.takes.max(1));
    let nearest = lacks.iter().min_by_key(|lack| Reverse(permille(lack)))?;
    Some(Exclusion::of_store(nearest, stores.len() - 1))
}
