//! Disks that pods use, there already or to be made.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::ResourceExt;
use serde_json::{Value, from_value, json};
use windlass_core::model::well_known;

use super::app::App;
use super::{MadeUp, OURS};

/// The driver of all disks.
pub const DRIVER: &str = "disk.example.com";
/// The resource by which a provider says how many of them can be attached to a machine.
pub const ATTACHABLE: &str = "attachable-volumes-csi-disk.example.com";

/// Classes, volumes and claims.
#[derive(Default)]
pub struct Storage {
    pub classes: BTreeMap<String, StorageClass>,
    pub volumes: Vec<PersistentVolume>,
    pub claims: BTreeMap<String, PersistentVolumeClaim>,
}

/// What kind of disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// There already, in one zone.
    Bound,
    /// Made once a pod has a node, in its zone.
    Zonal,
    /// The same, but not in every zone.
    Fenced,
    /// Made once a pod has a node, and can then be used everywhere.
    Network,
    /// To be made at once, but nobody does: its pods wait.
    Eager,
}

/// The disks of each pod of an app.
pub struct Disks {
    kind: Kind,
    each: usize,
    /// Whether all pods use the same.
    shared: bool,
}

impl App {
    pub fn has_disks_already(&mut self, cluster: &mut MadeUp) {
        self.use_disks(cluster, Kind::Bound);
    }

    pub fn gets_disks_in_its_zone(&mut self, cluster: &mut MadeUp) {
        self.use_disks(cluster, Kind::Zonal);
    }

    pub fn gets_disks_in_some_zones(&mut self, cluster: &mut MadeUp) {
        self.use_disks(cluster, Kind::Fenced);
    }

    pub fn gets_disks_for_everywhere(&mut self, cluster: &mut MadeUp) {
        self.use_disks(cluster, Kind::Network);
    }

    pub fn waits_for_disks(&mut self, cluster: &mut MadeUp) {
        self.use_disks(cluster, Kind::Eager);
    }

    /// Where one pod's disks must not bind the others to a zone, all may use the same.
    fn use_disks(&mut self, cluster: &mut MadeUp, kind: Kind) {
        let shared = matches!(kind, Kind::Bound | Kind::Network) && cluster.once_in(3);
        self.disks = Some(Disks { kind, each: cluster.random.usize(1..=2), shared });
    }
}

impl MadeUp {
    /// Gives a pod its disks.
    pub(super) fn attach_disks(&mut self, app: &App, pod: &mut Pod) {
        let Some(disks) = &app.disks else { return };
        let owner = if disks.shared { app.name.clone() } else { pod.name_any() };
        let volumes = (0..disks.each).map(|number| {
            let claim = format!("{owner}-disk{number}");
            self.add_claim(&app.namespace, &claim, disks.kind);
            json!({"name": format!("disk{number}"), "persistentVolumeClaim": {"claimName": claim}})
        });
        let volumes: Vec<Value> = volumes.collect();
        pod.spec.as_mut().unwrap().volumes = Some(from_value(json!(volumes)).unwrap());
    }

    fn add_claim(&mut self, namespace: &str, name: &str, kind: Kind) {
        if self.storage.claims.contains_key(name) {
            return;
        }
        let class = self.class(kind);
        let mut claim: PersistentVolumeClaim = from_value(json!({
            "metadata": {"name": name, "namespace": namespace, "labels": {OURS: self.id}},
            "spec": {
                "accessModes": ["ReadWriteMany"], "storageClassName": class,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }))
        .unwrap();
        if kind == Kind::Bound {
            let zone = self.some_zone();
            let volume = volume_for(&self.id, &claim, Some(&zone));
            claim.spec.as_mut().unwrap().volume_name = Some(volume.name_any());
            self.storage.volumes.push(volume);
        }
        self.storage.claims.insert(name.to_owned(), claim);
    }

    /// The name of the storage class for a kind of disk, which is made when it is first needed.
    fn class(&mut self, kind: Kind) -> String {
        let (suffix, mode) = match kind {
            Kind::Bound => return String::new(),
            Kind::Zonal => ("zonal", "WaitForFirstConsumer"),
            Kind::Fenced => ("fenced", "WaitForFirstConsumer"),
            Kind::Network => ("network", "WaitForFirstConsumer"),
            Kind::Eager => ("eager", "Immediate"),
        };
        let name = format!("{}-{suffix}", self.id);
        if !self.storage.classes.contains_key(&name) {
            let metadata = json!({"name": name, "labels": {OURS: self.id}});
            let mut class = json!({"metadata": metadata, "provisioner": DRIVER, "volumeBindingMode": mode});
            if kind == Kind::Fenced {
                let zones: BTreeSet<String> = (0..2).map(|_| self.some_zone()).collect();
                let zones = json!([{"key": well_known::ZONE, "values": zones}]);
                class["allowedTopologies"] = json!([{"matchLabelExpressions": zones}]);
            }
            self.storage.classes.insert(name.clone(), from_value(class).unwrap());
        }
        name
    }
}

/// A volume for a claim, in a zone or usable everywhere.
pub fn volume_for(id: &str, claim: &PersistentVolumeClaim, zone: Option<&str>) -> PersistentVolume {
    let name = format!("{id}-{}", claim.name_any());
    let mut volume = json!({
        "metadata": {"name": name, "labels": {OURS: id}},
        "spec": {
            "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": claim.spec.as_ref().unwrap().storage_class_name,
            "csi": {"driver": DRIVER, "volumeHandle": name},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": claim.namespace(), "name": claim.name_any(), "uid": claim.uid(),
            },
        },
    });
    if let Some(zone) = zone {
        let here = json!([{"key": well_known::ZONE, "operator": "In", "values": [zone]}]);
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": here}]}});
    }
    from_value(volume).unwrap()
}

/// Whether a claim is for a volume that can be used everywhere.
pub fn is_everywhere(claim: &PersistentVolumeClaim) -> bool {
    let class = claim.spec.as_ref().unwrap().storage_class_name.as_deref();
    class.is_some_and(|class| class.ends_with("network"))
}
