use std::collections::{BTreeMap, BTreeSet};

use crate::Text;
use crate::model::{Pod, PodId, Requirements, Snapshot};

/// What a pod's volumes demand of its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VolumeNeeds {
    /// For each volume that cannot be used everywhere: one of these must hold.
    pub(super) places: Vec<Vec<Requirements>>,
    /// How many volumes each driver has to attach, those that other pods use too aside.
    pub(super) attached: BTreeMap<Text, i64>,
    /// The drivers that have to attach volumes that other pods use too.
    pub(super) shared: BTreeSet<Text>,
}

/// The volumes that each driver attaches, by their claims.
pub(super) type Attached = BTreeMap<Text, BTreeSet<PodId>>;

/// A node attaches a volume once however many pods use it. Where more are shared than this, each pod counts: a place for
/// each of them on every node would leave too little for others.
const MOST_SHARED: usize = 4;

/// The name of the resource that stands for the volumes that a driver can attach to a node.
pub(super) fn attach_resource(driver: &str) -> Text {
    format!("attachable-volumes-csi-{driver}").into()
}

/// The volumes of these pods that other pods use too. A place is kept for each of them on every node.
pub(super) fn shared<'a>(snapshot: &Snapshot, pods: impl IntoIterator<Item = &'a Pod>) -> Attached {
    let mut users: BTreeMap<PodId, usize> =
        pods.into_iter().flat_map(claims_of).map(|claim| (claim, 0)).collect();
    if users.is_empty() {
        return Attached::new();
    }
    for claim in snapshot.pods.values().flat_map(|pod| claims_of(pod)) {
        if let Some(users) = users.get_mut(&claim) {
            *users += 1;
        }
    }
    let shared = users.into_iter().filter(|(_, users)| *users > 1).map(|(claim, _)| claim);
    let shared: Vec<PodId> = shared.collect();
    if shared.len() > MOST_SHARED { Attached::new() } else { by_driver(snapshot, shared) }
}

/// The volumes that pods on one node have attached there.
pub(super) fn attached_by(snapshot: &Snapshot, pods: &[&Pod]) -> Attached {
    by_driver(snapshot, pods.iter().flat_map(|pod| claims_of(pod)))
}

fn by_driver(snapshot: &Snapshot, claims: impl IntoIterator<Item = PodId>) -> Attached {
    let mut attached = Attached::new();
    for claim in claims {
        if let Some(driver) = driver_of(snapshot, &claim) {
            attached.entry(driver.clone()).or_default().insert(claim);
        }
    }
    attached
}

fn claims_of(pod: &Pod) -> impl Iterator<Item = PodId> {
    let namespace = &pod.id.namespace;
    pod.volume_claims.iter().map(|name| PodId { namespace: namespace.clone(), name: name.clone() })
}

/// The driver that attaches the volume of a claim, or will.
fn driver_of<'a>(snapshot: &'a Snapshot, claim: &PodId) -> Option<&'a Text> {
    let claim = snapshot.volume_claims.get(claim)?;
    match &claim.volume {
        Some(volume) => snapshot.volumes.get(volume)?.attached_by.as_ref().map(|(driver, _)| driver),
        None => snapshot.storage_classes.get(claim.class.as_ref()?).map(|class| &class.provisioner),
    }
}

/// What the pod's volumes demand; the error says in words what it waits for, as no node would help it.
pub(super) fn needs(snapshot: &Snapshot, shared: &Attached, pod: &Pod) -> Result<VolumeNeeds, String> {
    let mut needs = VolumeNeeds::default();
    for id in claims_of(pod) {
        let places = places_of(snapshot, &id)?;
        if !places.is_empty() {
            needs.places.push(places.to_vec());
        }
        let Some(driver) = driver_of(snapshot, &id) else { continue };
        if shared.get(driver).is_some_and(|shared| shared.contains(&id)) {
            needs.shared.insert(driver.clone());
        } else {
            *needs.attached.entry(driver.clone()).or_default() += 1;
        }
    }
    needs.places.sort_unstable();
    needs.places.dedup();
    Ok(needs)
}

/// Where the volume of a claim can be used or made.
fn places_of<'a>(snapshot: &'a Snapshot, id: &PodId) -> Result<&'a [Requirements], String> {
    let Some(claim) = snapshot.volume_claims.get(id) else {
        return Err(format!("volume claim {id} does not exist"));
    };
    if claim.deleting {
        return Err(format!("volume claim {id} is being deleted"));
    }
    if let Some(volume) = &claim.volume {
        return match snapshot.volumes.get(volume) {
            Some(volume) => Ok(&volume.node_affinity),
            None => Err(format!("volume {volume} of claim {id} does not exist")),
        };
    }
    match claim.class.as_ref().and_then(|class| snapshot.storage_classes.get(class)) {
        None => Err(format!("volume claim {id} is not bound and no storage class makes a volume for it")),
        Some(class) if !class.waits_for_consumer => {
            Err(format!("volume claim {id} waits for its volume to be made"))
        }
        Some(class) => Ok(&class.allowed_topologies),
    }
}
