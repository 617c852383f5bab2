use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, PodSpec};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass as ApiStorageClass};
use windlass_core::Text;
use windlass_core::model::{
    AttachLimits, Operator, Requirement, Requirements, StorageClass, Volume, VolumeClaim, well_known,
};

use super::node_affinity;
use super::requirement::{requirement, unmeetable};

/// An older way to name a claim's storage class, which still comes first.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const REGION: &str = "topology.kubernetes.io/region";

/// The labels by which an older volume says where it is, and what they are called on nodes.
const PLACE_LABELS: [(&str, &str); 4] = [
    (well_known::ZONE, well_known::ZONE),
    (REGION, REGION),
    ("failure-domain.beta.kubernetes.io/zone", well_known::ZONE),
    ("failure-domain.beta.kubernetes.io/region", REGION),
];

/// The names of the volume claims that a pod uses. Those of its ephemeral volumes are made with it and named after it.
pub(super) fn claim_names(spec: &PodSpec, pod: &str) -> Arc<[Text]> {
    let names = spec.volumes.iter().flatten().filter_map(|volume| match &volume.persistent_volume_claim {
        Some(claim) => Some(claim.claim_name.as_str().into()),
        None => volume.ephemeral.as_ref().map(|_| format!("{pod}-{}", volume.name).into()),
    });
    let names: BTreeSet<Text> = names.collect();
    // Most pods have none, and the empty list takes no memory of its own.
    if names.is_empty() { Arc::default() } else { names.into_iter().collect() }
}

/// A claim on a volume from the API.
pub fn volume_claim(claim: &PersistentVolumeClaim) -> VolumeClaim {
    let (metadata, spec) = (&claim.metadata, claim.spec.as_ref());
    let said = |name: &&String| !name.is_empty();
    let annotated = metadata.annotations.as_ref().and_then(|all| all.get(CLASS_ANNOTATION));
    let class = annotated.or_else(|| spec.and_then(|spec| spec.storage_class_name.as_ref()));
    let volume = spec.and_then(|spec| spec.volume_name.as_ref());
    VolumeClaim {
        volume: volume.filter(said).map(|name| name.as_str().into()),
        class: class.filter(said).map(|name| name.as_str().into()),
        deleting: metadata.deletion_timestamp.is_some(),
    }
}

/// A volume from the API.
pub fn volume(volume: &PersistentVolume) -> Volume {
    let spec = volume.spec.as_ref();
    let affinity = spec.and_then(|spec| spec.node_affinity.as_ref());
    let required = node_affinity::required(affinity.and_then(|affinity| affinity.required.as_ref()));
    let csi = spec.and_then(|spec| spec.csi.as_ref());
    Volume {
        node_affinity: within(required, &place(volume)),
        attached_by: csi.map(|csi| (csi.driver.as_str().into(), csi.volume_handle.as_str().into())),
    }
}

/// A storage class from the API.
pub fn storage_class(class: &ApiStorageClass) -> StorageClass {
    let topologies = class.allowed_topologies.iter().flatten();
    let terms = topologies.map(|term| {
        let mut requirements = Requirements::new();
        for expression in term.match_label_expressions.iter().flatten() {
            requirements.add(
                &expression.key.as_str().into(),
                requirement(&expression.key, "In", &expression.values)?,
            );
        }
        (!requirements.is_empty()).then_some(requirements)
    });
    let nowhere = || unmeetable("this topology matches no node");
    StorageClass {
        provisioner: class.provisioner.as_str().into(),
        waits_for_consumer: class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"),
        allowed_topologies: terms.map(|term| term.unwrap_or_else(nowhere)).collect(),
    }
}

/// How many volumes can be attached to a node, from the API.
pub fn attach_limits(node: &CSINode) -> AttachLimits {
    let drivers = node.spec.drivers.iter().filter_map(|driver| {
        let count = driver.allocatable.as_ref()?.count?;
        Some((driver.name.as_str().into(), u32::try_from(count).unwrap_or(0)))
    });
    drivers.collect()
}

/// Where a volume is by its labels. A label that names no zone, or an empty one among others, says nothing.
fn place(volume: &PersistentVolume) -> Requirements {
    let mut place = Requirements::new();
    for (label, key) in PLACE_LABELS {
        let Some(value) = volume.metadata.labels.as_ref().and_then(|labels| labels.get(label)) else {
            continue;
        };
        let values: Vec<Text> = value.split("__").map(|zone| zone.trim().into()).collect();
        if values.iter().any(|zone| zone.is_empty()) {
            continue;
        }
        if let Ok(zones) = Requirement::new(&key.into(), Operator::In, &values) {
            place.add(&key.into(), zones);
        }
    }
    place
}

/// The terms, each of them within a place. A node that says nothing of zones and regions is in every place.
fn within(terms: Vec<Requirements>, place: &Requirements) -> Vec<Requirements> {
    if place.is_empty() {
        return terms;
    }
    let mut anywhere = Requirements::new();
    for (label, _) in PLACE_LABELS {
        if let Ok(absent) = Requirement::new(&label.into(), Operator::DoesNotExist, &[]) {
            anywhere.add(&label.into(), absent);
        }
    }
    let terms = if terms.is_empty() { vec![Requirements::new()] } else { terms };
    let both = |term: &Requirements, place: &Requirements| {
        let mut both = term.clone();
        both.extend(place);
        both
    };
    terms.iter().flat_map(|term| [both(term, place), both(term, &anywhere)]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::{Labels, Requirements, StorageClass, Volume, VolumeClaim};

    use super::{attach_limits, claim_names, storage_class, volume, volume_claim};

    fn admit(terms: &[Requirements], labels: &Labels) -> bool {
        terms.is_empty() || terms.iter().any(|term| term.check(labels).is_ok())
    }

    fn in_zone(zone: &str) -> Labels {
        Labels::new().with("topology.kubernetes.io/zone", zone)
    }

    fn claim(object: Value) -> VolumeClaim {
        volume_claim(&serde_json::from_value(object).unwrap())
    }

    fn read(labels: Value, spec: Value) -> Volume {
        volume(
            &serde_json::from_value(json!({"metadata": {"name": "v", "labels": labels}, "spec": spec}))
                .unwrap(),
        )
    }

    fn class(more: Value) -> StorageClass {
        let mut class = json!({"metadata": {"name": "c"}, "provisioner": "disk.example.com"});
        class.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        storage_class(&serde_json::from_value(class).unwrap())
    }

    #[test]
    fn a_pod_uses_the_claims_it_names_and_those_of_its_ephemeral_volumes() {
        let spec = json!({"containers": [], "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}},
            {"name": "again", "persistentVolumeClaim": {"claimName": "shared"}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "config", "configMap": {"name": "c"}},
        ]});
        let names = claim_names(&serde_json::from_value(spec).unwrap(), "web-0");
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["shared", "web-0-scratch"]);
        let none = claim_names(&serde_json::from_value(json!({"containers": []})).unwrap(), "web-0");
        assert!(none.is_empty());
    }

    #[test]
    fn a_claim_knows_its_volume_and_its_class() {
        let bound = claim(json!({"spec": {"volumeName": "v1", "storageClassName": "fast"}}));
        assert_eq!((bound.volume.as_deref(), bound.class.as_deref()), (Some("v1"), Some("fast")));
        let empty = claim(json!({"spec": {"volumeName": "", "storageClassName": ""}}));
        assert_eq!((empty.volume, empty.class), (None, None));
        assert_eq!(claim(json!({})), VolumeClaim { volume: None, class: None, deleting: false });
        assert!(claim(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})).deleting);
    }

    #[test]
    fn the_older_annotation_for_the_class_comes_first() {
        let annotations = json!({"volume.beta.kubernetes.io/storage-class": "old"});
        let claim =
            claim(json!({"metadata": {"annotations": annotations}, "spec": {"storageClassName": "new"}}));
        assert_eq!(claim.class.as_deref(), Some("old"));
    }

    #[test]
    fn a_volume_can_be_used_where_one_of_its_terms_holds() {
        let term =
            |zone: &str| json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]});
        let affinity = json!({"required": {"nodeSelectorTerms": [term("a"), term("b")]}});
        let csi = json!({"driver": "disk.example.com", "volumeHandle": "vol-1"});
        let volume = read(json!({}), json!({"nodeAffinity": affinity, "csi": csi}));
        assert!(admit(&volume.node_affinity, &Labels::new().with("zone", "b")));
        assert!(!admit(&volume.node_affinity, &Labels::new().with("zone", "c")));
        assert_eq!(volume.attached_by, Some(("disk.example.com".into(), "vol-1".into())));
        assert_eq!(read(json!({}), json!({"hostPath": {"path": "/"}})), Volume::default());
    }

    #[test]
    fn a_volume_with_zone_labels_stays_in_its_zones() {
        for label in ["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"] {
            let volume = read(json!({label: "a__b"}), json!({}));
            assert!(
                admit(&volume.node_affinity, &in_zone("a")) && admit(&volume.node_affinity, &in_zone("b"))
            );
            assert!(!admit(&volume.node_affinity, &in_zone("c")), "{label}");
            assert!(
                admit(&volume.node_affinity, &Labels::new()),
                "a node without any such label is everywhere"
            );
            let elsewhere = Labels::new().with("topology.kubernetes.io/region", "r");
            assert!(!admit(&volume.node_affinity, &elsewhere), "a node with a region but no zone is not");
        }
        let region = read(json!({"failure-domain.beta.kubernetes.io/region": "r"}), json!({}));
        assert!(admit(&region.node_affinity, &in_zone("a").with("topology.kubernetes.io/region", "r")));
        assert!(!admit(&region.node_affinity, &in_zone("a").with("topology.kubernetes.io/region", "s")));
        for value in ["", "a__", "a____b"] {
            let volume = read(json!({"topology.kubernetes.io/zone": value}), json!({}));
            assert!(admit(&volume.node_affinity, &in_zone("z")), "{value:?} says nothing");
        }
    }

    #[test]
    fn zone_labels_hold_beside_each_of_the_terms() {
        let term =
            |disk: &str| json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": [disk]}]});
        let affinity = json!({"required": {"nodeSelectorTerms": [term("x"), term("y")]}});
        let volume = read(json!({"topology.kubernetes.io/zone": "a"}), json!({"nodeAffinity": affinity}));
        assert!(admit(&volume.node_affinity, &in_zone("a").with("disk", "y")));
        assert!(!admit(&volume.node_affinity, &in_zone("b").with("disk", "y")));
        assert!(!admit(&volume.node_affinity, &in_zone("a")));
        let nowhere = json!({"required": {"nodeSelectorTerms": [{}]}});
        let volume = read(json!({"topology.kubernetes.io/zone": "a"}), json!({"nodeAffinity": nowhere}));
        assert!(!admit(&volume.node_affinity, &in_zone("a")));
    }

    #[test]
    fn a_storage_class_says_when_and_where_volumes_are_made() {
        let plain = class(json!({}));
        assert!(!plain.waits_for_consumer && plain.allowed_topologies.is_empty());
        assert_eq!(&*plain.provisioner, "disk.example.com");
        assert!(!class(json!({"volumeBindingMode": "Immediate"})).waits_for_consumer);
        let zonal = class(json!({
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}, {"key": "rack", "values": ["1"]}]},
                {"matchLabelExpressions": [{"key": "zone", "values": ["c"]}]},
            ],
        }));
        assert!(zonal.waits_for_consumer);
        let node = Labels::new().with("zone", "a");
        assert!(!admit(&zonal.allowed_topologies, &node));
        assert!(admit(&zonal.allowed_topologies, &node.with("rack", "1")));
        assert!(admit(&zonal.allowed_topologies, &Labels::new().with("zone", "c")));
    }

    #[test]
    fn a_topology_that_says_nothing_or_makes_no_sense_allows_nothing() {
        for term in [
            json!({}),
            json!({"matchLabelExpressions": []}),
            json!({"matchLabelExpressions": [{"key": "zone", "values": []}]}),
            json!({"matchLabelExpressions": [{"key": "zone", "values": ["two words"]}]}),
        ] {
            let class = class(json!({"allowedTopologies": [term]}));
            assert!(!admit(&class.allowed_topologies, &Labels::new().with("zone", "a")), "{term}");
        }
    }

    #[test]
    fn only_a_driver_that_states_a_limit_has_one() {
        let driver = |name: &str, more: Value| {
            let mut driver = json!({"name": name, "nodeID": "n"});
            driver.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            driver
        };
        let node = json!({"metadata": {"name": "n"}, "spec": {"drivers": [
            driver("few.example.com", json!({"allocatable": {"count": 3}})),
            driver("none.example.com", json!({"allocatable": {"count": 0}})),
            driver("any.example.com", json!({"allocatable": {}})),
            driver("more.example.com", json!({})),
        ]}});
        let limits = attach_limits(&serde_json::from_value(node).unwrap());
        assert_eq!(limits.len(), 2);
        assert_eq!((limits["few.example.com"], limits["none.example.com"]), (3, 0));
    }
}
