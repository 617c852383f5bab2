use super::admission::without_hostname;
use super::amounts::Amounts;
use super::decision::Target;
use super::keys::Keys;
use super::place::Place;
use super::scene::Setting;
use super::view::View;
use super::volumes::Attached;
use crate::model::{Claim, Labels, Node, OfferingKey, Resources, Taint, well_known};

/// The taint that a new node carries until its labels and taints are in place.
const UNREGISTERED: &str = "windlass.dev/unregistered";
/// The taint that a new node carries until its cloud provider has seen to it.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";

/// Whether a taint says no more than that the node is not ready.
pub(super) fn comes_of_not_being_ready(taint: &Taint) -> bool {
    matches!(&*taint.key, "node.kubernetes.io/not-ready" | "node.kubernetes.io/unreachable")
}

/// The place on the node of a claim that is not initialized. As long as the machine is not known it has no more room
/// than the smallest it may be, and admits only pods that all of them would.
pub(super) fn place(setting: &mut Setting<'_, '_>, claim: &Claim) -> Option<Place> {
    let view = setting.view;
    let node = view.node_of(&claim.name);
    if node.is_some_and(|node| node.unschedulable || node.deleting) {
        return None;
    }
    let taints = taints(claim, node);
    let pods = node.map_or(&[][..], |node| view.pods_on(&node.name));
    let mut variants = Vec::new();
    let mut least: Option<Amounts> = None;
    for (key, allocatable) in ways(claim) {
        let labels = labels(view, claim, node, key);
        let limits = setting.attachable.of(&claim.pool, &key.instance_type);
        let mut free = setting.dimensions.promised(allocatable, limits);
        match node {
            Some(node) => {
                // Extended resources show up on a node only once its device plugins run.
                free = free.overridden_by(&setting.supply_of(node));
                free = setting.less_pods(free, node);
            }
            None => setting.dimensions.attach(&mut free, &Attached::new(), &setting.shared),
        }
        let free = setting.daemons.leave(&free, &labels, &taints, pods);
        match &mut least {
            Some(least) => least.lower_to(&free),
            None => least = Some(free),
        }
        variants.push(labels);
    }
    let first = variants.first()?;
    let domains = match node {
        Some(_) => setting.keys.locate_any(&variants, Keys::locate),
        None => setting.keys.locate_arriving(&variants),
    };
    let sees = setting.kin.sees(first, &taints);
    Some(Place {
        target: Target::Claim(claim.name.clone()),
        admission: setting.constraints.met_by(&variants.iter().collect::<Vec<_>>(), &taints),
        free: least?,
        leaving: Vec::new(),
        ready: false,
        busy: pods.iter().any(|pod| !pod.shape.belongs_to_node()),
        since: Some(claim.created_at),
        back_by: None,
        sees,
        domains,
    })
}

/// What the claim's machine is or may be.
fn ways(claim: &Claim) -> Vec<(&OfferingKey, &Resources)> {
    match &claim.launched {
        Some(launched) => vec![(&launched.key, &launched.allocatable)],
        None => claim.offerings.iter().map(|offering| (&offering.key, &offering.allocatable)).collect(),
    }
}

fn labels(view: &View<'_>, claim: &Claim, node: Option<&Node>, key: &OfferingKey) -> Labels {
    let mut labels = claim.labels.clone();
    if let Some(instance_type) = view.instance_type(&claim.pool, &key.instance_type) {
        labels.extend(&instance_type.labels);
    }
    labels.set(well_known::INSTANCE_TYPE, key.instance_type.clone());
    labels.set(well_known::ZONE, key.zone.clone());
    labels.set(well_known::CAPACITY_TYPE, key.capacity_type.clone());
    labels.set(well_known::POOL, claim.pool.clone());
    without_hostname(&mut labels);
    if let Some(node) = node {
        labels.extend(&node.labels);
    }
    labels
}

/// The taints that stay once the node can take pods.
fn taints<'c>(claim: &'c Claim, node: Option<&'c Node>) -> Vec<&'c Taint> {
    let same = |a: &Taint, b: &Taint| a.key == b.key && a.effect == b.effect;
    let passes = |taint: &Taint| {
        comes_of_not_being_ready(taint)
            || matches!(&*taint.key, UNREGISTERED | UNINITIALIZED | NETWORK_UNAVAILABLE)
            || claim.startup_taints.iter().any(|startup| same(startup, taint))
    };
    let on_node = node.map_or(&[][..], |node| &node.taints);
    on_node.iter().filter(|taint| !passes(taint)).chain(&claim.taints).collect()
}
