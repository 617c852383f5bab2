use std::collections::BTreeSet;

use super::assignment::Spot;
use super::candidate::Candidate;
use super::class::{Cause, Class};
use super::decision::{Launch, LaunchPurpose, Placement, Target};
use super::draft::{Draft, Drafted};
use super::minimum;
use super::scene::Scene;
use super::words;
use crate::Text;
use crate::model::{Labels, PodId, Pool, Resources, well_known};

/// What ends up on one draft.
#[derive(Default)]
struct Cargo {
    pods: Vec<PodId>,
    requests: Resources,
    pending: bool,
    sick: bool,
    /// How many pods among them nobody has made yet.
    reserved: usize,
    /// The claims whose pods are among them.
    replaces: BTreeSet<Text>,
}

/// Writes the plan's launches and placements.
pub(super) fn write(scene: &Scene<'_, '_>, drafted: &Drafted<'_, '_>) -> (Vec<Launch>, Vec<Placement>) {
    let mut cargoes: Vec<Cargo> = drafted.drafts.iter().map(|_| Cargo::default()).collect();
    for (class, spots, _) in drafted.assignment.by_class(&scene.classes) {
        for (spot, pods) in with_pods(class, spots) {
            if let Target::Launch(number) = spot.target
                && let Some(cargo) = cargoes.get_mut(number)
            {
                cargo.load(class, pods);
            }
        }
    }
    let loaded = drafted.drafts.iter().zip(cargoes);
    let launches = loaded.map(|(draft, cargo)| launch(scene, draft, cargo)).collect();
    (launches, placements(scene, drafted))
}

/// The pods of a class that go to each spot.
fn with_pods<'c>(class: &'c Class, spots: &'c [Spot]) -> impl Iterator<Item = (&'c Spot, &'c [PodId])> {
    let mut rest = class.pods.as_slice();
    spots.iter().map(move |spot| {
        let (pods, later) = rest.split_at(spot.count.min(rest.len()));
        rest = later;
        (spot, pods)
    })
}

impl Cargo {
    fn load(&mut self, class: &Class, pods: &[PodId]) {
        if class.cause == Cause::Reserve {
            self.reserved += pods.len();
            return;
        }
        self.pods.extend_from_slice(pods);
        self.pending |= class.cause == Cause::Pending;
        self.sick |= matches!(class.cause, Cause::Sick(_));
        if let Cause::Sick(claim) | Cause::Moving { claim, .. } = &class.cause {
            self.replaces.insert(claim.clone());
        }
        let times = i64::try_from(pods.len()).unwrap_or(i64::MAX);
        let each = class.shape.requests.iter();
        self.requests.add(&each.map(|(name, amount)| (&**name, amount.saturating_mul(times))).collect());
    }
}

fn launch(scene: &Scene<'_, '_>, draft: &Draft<'_, '_>, cargo: Cargo) -> Launch {
    let Cargo { pods, requests, pending, sick, reserved, replaces } = cargo;
    let pool = draft.first.pool;
    let replaces: Vec<Text> = replaces.into_iter().collect();
    let needs =
        || format!("{} that no node has: {}", words::need(pods.len(), &requests), words::names(&pods));
    let (purpose, message) = if pending {
        (LaunchPurpose::PendingPods, needs())
    } else if pods.is_empty() && reserved > 0 {
        let pods = words::count(reserved, "pod");
        (LaunchPurpose::Headroom, format!("room is kept ready for {pods} that may come"))
    } else if pods.is_empty() {
        idle(scene, pool)
    } else {
        let fate = if sick { "sick and will go" } else { "to go" };
        (LaunchPurpose::Replacement, format!("{} {fate}; {}", going(&replaces), needs()))
    };
    Launch {
        pool: pool.name.clone(),
        purpose,
        offerings: draft.ways().map(Candidate::claim_offering).collect(),
        labels: common_labels(draft),
        pods,
        replaces,
        message,
    }
}

/// What a machine is for on which nobody is.
fn idle(scene: &Scene<'_, '_>, pool: &Pool) -> (LaunchPurpose, String) {
    let (least, has) = (pool.min_nodes as usize, minimum::lasting(scene.view, &pool.name));
    if has < least {
        let keeps = words::count(least, "node");
        return (LaunchPurpose::MinNodes, format!("the pool keeps {keeps} and has {has}"));
    }
    let message = match pool.spare_nodes as usize {
        0 => "more of the pool's nodes is asked for than is to be".to_owned(),
        spare => format!("the pool keeps {} empty", words::count(spare, "node")),
    };
    (LaunchPurpose::Headroom, message)
}

fn going(claims: &[Text]) -> String {
    format!("{} {}", words::list(claims), if claims.len() == 1 { "is" } else { "are" })
}

/// The labels on which all ways to get the machine agree.
fn common_labels(draft: &Draft<'_, '_>) -> Labels {
    let agreed = |key: &Text, value: &Text| draft.ways().all(|way| way.labels.get(key) == Some(value));
    let labels = draft.first.labels.iter();
    labels.filter(|(key, value)| &***key != well_known::HOSTNAME && agreed(key, value)).map(copy).collect()
}

fn copy((key, value): (&Text, &Text)) -> (Text, Text) {
    (key.clone(), value.clone())
}

/// Where the pods that wait are expected to go.
fn placements(scene: &Scene<'_, '_>, drafted: &Drafted<'_, '_>) -> Vec<Placement> {
    let waits = |pod: &PodId| scene.view.snapshot.pods.get(pod).is_some_and(|pod| pod.node().is_none());
    let mut placements = Vec::new();
    for (class, spots, _) in drafted.assignment.by_class(&scene.classes) {
        for (spot, pods) in with_pods(class, spots) {
            let waiting = pods.iter().filter(|pod| class.cause == Cause::Pending || waits(pod));
            placements.extend(waiting.map(|pod| Placement { pod: pod.clone(), target: spot.target.clone() }));
        }
    }
    placements.sort_by(|a, b| a.pod.cmp(&b.pod));
    placements
}
