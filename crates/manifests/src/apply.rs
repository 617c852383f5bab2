use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, Pod,
};
use kube::ResourceExt as _;
use kube::api::ObjectMeta;
use windlass_control::offline::{Cluster, Owner};
use windlass_core::model::{DaemonSet as DaemonSetModel, Node, PodId};

use crate::admit::{Priorities, Storage, ephemeral_claims};
use crate::made_of::is_made_of;
use crate::{Object, Place, Workload, daemons};

/// Puts objects into a cluster, in place of those that have their names. Says which of them replace an earlier one of the
/// manifests, for that is seldom meant.
pub fn apply(objects: Vec<(Place, Object)>, cluster: &mut Cluster) -> Vec<String> {
    let mut applied = Applied { cluster, priorities: Priorities::default(), storage: Storage::default() };
    let (mut pods, mut workloads, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut daemon_sets = Vec::new();
    let mut notes = Vec::new();
    let mut seen: BTreeMap<String, Place> = BTreeMap::new();
    for (place, object) in objects {
        if let Some(earlier) = seen.insert(key(&object), place.clone()) {
            notes.push(format!("{} is in {earlier} and in {place}: the latter counts", key(&object)));
        }
        match object {
            Object::Pod(pod) => pods.push(pod),
            Object::Workload(workload) => workloads.push(workload),
            Object::DaemonSet(set) => daemon_sets.push(set),
            Object::StorageClass(class) => {
                applied.storage.add(&class);
                applied.cluster.saw(class);
            }
            Object::PriorityClass(class) => applied.priorities.add(class),
            other => others.push(other),
        }
    }
    // Those that are looked at by others come first.
    for other in others {
        applied.other(other);
    }
    for pod in pods {
        applied.pod(pod);
    }
    for workload in &workloads {
        applied.workload(workload);
    }
    for set in daemon_sets {
        applied.daemon_set(set);
    }
    notes
}

struct Applied<'c> {
    cluster: &'c mut Cluster,
    priorities: Priorities,
    storage: Storage,
}

impl Applied<'_> {
    fn other(&mut self, object: Object) {
        match object {
            Object::Node(node) => self.cluster.replace_node(node),
            Object::Namespace(namespace) => self.cluster.saw(namespace),
            Object::PersistentVolume(volume) => self.cluster.saw(volume),
            Object::PersistentVolumeClaim(claim) => self.claim(claim),
            Object::CSINode(node) => self.cluster.saw(node),
            Object::NodePool(pool) => self.cluster.saw(pool),
            Object::NodeProvider(provider) => self.cluster.saw(provider),
            Object::NodeClaim(claim) => self.cluster.saw(claim),
            Object::Pod(_)
            | Object::Workload(_)
            | Object::DaemonSet(_)
            | Object::StorageClass(_)
            | Object::PriorityClass(_) => {}
        }
    }

    /// Takes in a claim. Where its class makes volumes at once, it is bound to one that can be used everywhere, for it is
    /// not known where it would have been made.
    fn claim(&mut self, mut claim: PersistentVolumeClaim) {
        self.storage.settle(&mut claim);
        let class = claim.spec.as_ref().filter(|spec| spec.volume_name.is_none());
        let class = class.and_then(|spec| self.cluster.storage_class(spec.storage_class_name.as_deref()?));
        if let Some(class) = class.filter(|class| !class.waits_for_consumer) {
            let volume = new_volume(&claim, &class.provisioner);
            claim.spec.get_or_insert_default().volume_name.clone_from(&volume.metadata.name);
            self.cluster.saw(volume);
        }
        self.cluster.saw(claim);
    }

    fn pod(&mut self, mut pod: Pod) {
        if let Some(spec) = &mut pod.spec {
            self.priorities.settle(spec);
        }
        for claim in ephemeral_claims(&pod) {
            self.new_claim(claim);
        }
        self.cluster.saw_pod(pod);
    }

    /// Makes a claim as a controller does, which leaves alone what is there.
    fn new_claim(&mut self, claim: PersistentVolumeClaim) {
        let name = claim.metadata.name.as_deref().unwrap_or_default();
        let id = PodId::new(claim.metadata.namespace.as_deref().unwrap_or_default(), name);
        if !self.cluster.has_volume_claim(&id) {
            self.claim(claim);
        }
    }

    /// Takes in a daemonset and gives each node that it runs on its pod.
    fn daemon_set(&mut self, mut set: DaemonSet) {
        if let Some(spec) = set.spec.as_mut().and_then(|spec| spec.template.spec.as_mut()) {
            self.priorities.settle(spec);
        }
        if let Some(DaemonSetModel { id, shape }) = windlass_control::adapt::daemon_set(&set) {
            let (mut served, mut outdated) = (BTreeSet::new(), Vec::new());
            for pod in self.cluster.pods_of(&Owner { kind: "DaemonSet".into(), id }) {
                match pod.node() {
                    Some(node) if pod.shape.requests == shape.requests => {
                        served.insert(node.clone());
                    }
                    _ => outdated.push(pod.id.clone()),
                }
            }
            for pod in outdated {
                self.cluster.lost_pod(&pod);
            }
            let lacks = |node: &&Arc<Node>| !served.contains(&node.name) && daemons::runs_on(&shape, node);
            let lacking: Vec<Arc<Node>> = self.cluster.nodes().filter(lacks).cloned().collect();
            for node in lacking {
                self.cluster.saw_pod(daemons::pod_on(&set, &node.name));
            }
        }
        self.cluster.saw(set);
    }

    /// Makes the pods of a workload that are not there yet. Those that are and that are still as the workload says stay
    /// where they are; the others go.
    fn workload(&mut self, workload: &Workload) {
        let owner = Owner { kind: workload.kind.as_str().into(), id: workload.id.clone() };
        let mut model = workload.pod(0);
        if let Some(spec) = &mut model.spec {
            self.priorities.settle(spec);
        }
        let wanted = windlass_control::adapt::pod(&model).map(|pod| pod.shape);
        let count = workload.replicas as usize;
        let named: Vec<PodId> = (0..workload.replicas)
            .map(|place| PodId::new(&workload.id.namespace, &name(&workload.pod(place))))
            .collect();
        let mut kept: BTreeSet<PodId> = BTreeSet::new();
        for pod in self.cluster.pods_of(&owner) {
            let fits = wanted.as_ref().is_some_and(|wanted| is_made_of(&pod.shape, wanted));
            let counts = if workload.numbered { named.contains(&pod.id) } else { kept.len() < count };
            if fits && counts && !pod.deleting {
                kept.insert(pod.id.clone());
            } else {
                self.cluster.lost_pod(&pod.id);
            }
        }
        let missing: Vec<u32> = if workload.numbered {
            let absent = |(_, id): &(u32, &PodId)| !kept.contains(*id);
            (0..).zip(&named).filter(absent).map(|(place, _)| place).collect()
        } else {
            (u32::try_from(kept.len()).unwrap_or(u32::MAX)..workload.replicas).collect()
        };
        for place in missing {
            for claim in workload.volume_claims(place) {
                self.new_claim(claim);
            }
            self.pod(workload.pod(place));
        }
    }
}

fn new_volume(claim: &PersistentVolumeClaim, driver: &str) -> PersistentVolume {
    let name = format!("{}-{}", claim.namespace().unwrap_or_default(), claim.name_any());
    let csi = CSIPersistentVolumeSource {
        driver: driver.to_owned(),
        volume_handle: name.clone(),
        ..CSIPersistentVolumeSource::default()
    };
    PersistentVolume {
        metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() },
        spec: Some(PersistentVolumeSpec { csi: Some(csi), ..PersistentVolumeSpec::default() }),
        ..PersistentVolume::default()
    }
}

fn name(pod: &Pod) -> String {
    pod.metadata.name.clone().unwrap_or_default()
}

/// By what an object is known among all others.
fn key(object: &Object) -> String {
    let in_namespace = |kind: &str, namespace: Option<String>, name: String| {
        format!("{kind} {}/{name}", namespace.unwrap_or_else(|| "default".to_owned()))
    };
    match object {
        Object::Pod(each) => in_namespace("Pod", each.namespace(), each.name_any()),
        Object::Workload(each) => format!("{} {}", each.kind, each.id),
        Object::DaemonSet(each) => in_namespace("DaemonSet", each.namespace(), each.name_any()),
        Object::PersistentVolumeClaim(each) => {
            in_namespace("PersistentVolumeClaim", each.namespace(), each.name_any())
        }
        Object::Node(each) => format!("Node {}", each.name_any()),
        Object::Namespace(each) => format!("Namespace {}", each.name_any()),
        Object::PersistentVolume(each) => format!("PersistentVolume {}", each.name_any()),
        Object::StorageClass(each) => format!("StorageClass {}", each.name_any()),
        Object::CSINode(each) => format!("CSINode {}", each.name_any()),
        Object::PriorityClass(each) => format!("PriorityClass {}", each.name_any()),
        Object::NodePool(each) => format!("NodePool {}", each.name_any()),
        Object::NodeProvider(each) => format!("NodeProvider {}", each.name_any()),
        Object::NodeClaim(each) => format!("NodeClaim {}", each.name_any()),
    }
}
