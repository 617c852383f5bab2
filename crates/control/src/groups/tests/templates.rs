//! What new nodes would look like.

use serde_json::{Value, json};

use super::{Lab, SMALL_A, machine};
use crate::groups::template::template;
use crate::planning::asked_claim;

fn lab() -> Lab {
    let spec = json!({
        "taints": [{"key": "team", "value": "red", "effect": "NoSchedule"}],
        "startupTaints": [{"key": "cni", "effect": "NoSchedule"}],
    });
    Lab::new(json!({"template": {"metadata": {"labels": {"tier": "front"}}, "spec": spec}}))
}

fn shown(lab: &Lab, group: &str) -> Value {
    let (table, pool) = (lab.table(), lab.index.definition("web").unwrap());
    serde_json::to_value(template(table.get(group).unwrap(), &pool.pool)).unwrap()
}

#[test]
fn a_template_is_a_node_that_takes_pods() {
    let node = shown(&lab(), SMALL_A);
    let labels = &node["metadata"]["labels"];
    for (key, value) in [
        ("tier", "front"),
        ("windlass.dev/pool", "web"),
        ("windlass.dev/group", "web_small_on-demand"),
        ("windlass.dev/capacity-type", "on-demand"),
        ("node.kubernetes.io/instance-type", "small"),
        ("topology.kubernetes.io/zone", "a"),
        ("kubernetes.io/arch", "arm64"),
        ("beta.kubernetes.io/arch", "arm64"),
        ("kubernetes.io/os", "linux"),
    ] {
        assert_eq!(labels[key], value, "{key} in {labels}");
    }
    assert_eq!(labels["kubernetes.io/hostname"], node["metadata"]["name"]);
    assert_eq!(labels["windlass.dev/gpu"], Value::Null);
    assert_eq!(node["spec"]["taints"], json!([{"key": "team", "value": "red", "effect": "NoSchedule"}]));
    let status = &node["status"];
    assert_eq!((&status["capacity"]["cpu"], &status["allocatable"]["memory"]), (&json!("2"), &json!("8Gi")));
    assert_eq!(status["nodeInfo"]["architecture"], "arm64");
    assert_eq!(
        (&status["conditions"][0]["type"], &status["conditions"][0]["status"]),
        (&json!("Ready"), &json!("True"))
    );
}

#[test]
fn a_node_that_comes_has_the_labels_of_its_template() {
    let lab = lab();
    let (table, pool) = (lab.table(), lab.index.definition("web").unwrap());
    let entry = table.get(SMALL_A).unwrap();
    let claim = asked_claim("new".to_owned(), &entry.wanted, &entry.labels, "asked".to_owned(), pool, None);
    let template = shown(&lab, SMALL_A);
    for (key, value) in &claim.spec.labels {
        assert_eq!(template["metadata"]["labels"][key], *value, "{key}");
    }
    assert_eq!(claim.spec.labels["windlass.dev/group"], "web_small_on-demand");
    assert!(!claim.spec.labels.contains_key("kubernetes.io/hostname"));
    assert_eq!(claim.spec.offerings.len(), 1);
    assert_eq!((claim.spec.taints.len(), claim.spec.startup_taints.len()), (1, 1));
}

#[test]
fn only_machines_with_gpus_say_what_kind_they_have() {
    let mut lab = lab();
    let mut plain = machine("g-1", 8, 900_000);
    plain.capacity.set("nvidia.com/gpu", 1);
    plain.allocatable.set("nvidia.com/gpu", 1);
    let mut known = plain.clone();
    (known.name, known.labels) = ("g-2".into(), known.labels.with("nvidia.com/gpu.product", "A100"));
    lab.offers(vec![plain, known, machine("small", 2, 100_000)]);
    let table = lab.table();
    let kind =
        |name: &str| table.get(&format!("web/{name}/a/on-demand")).unwrap().gpu().map(ToString::to_string);
    assert_eq!(
        (kind("g-1").as_deref(), kind("g-2").as_deref(), kind("small")),
        (Some("g-1"), Some("A100"), None)
    );
}

#[test]
fn a_made_up_node_tells_its_group_by_its_labels() {
    let lab = lab();
    let table = lab.table();
    let template = shown(&lab, SMALL_A);
    let mut labels: std::collections::BTreeMap<String, String> =
        serde_json::from_value(template["metadata"]["labels"].clone()).unwrap();
    assert_eq!(table.of_labels(&labels).unwrap().name, SMALL_A);
    labels.insert("topology.kubernetes.io/zone".to_owned(), "b".to_owned());
    assert_eq!(table.of_labels(&labels).unwrap().name, "web/small/b/on-demand");
    labels.remove("windlass.dev/group");
    assert_eq!(
        table.of_labels(&labels).unwrap().name,
        "web/small/b/on-demand",
        "as nodes from before have it"
    );
    labels.remove("windlass.dev/pool");
    assert!(table.of_labels(&labels).is_none());
}
