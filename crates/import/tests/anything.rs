//! Whatever is written under a kind that is known, an import ends with manifests that would be admitted, or says what is wrong.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_import::{Imported, Options, import};
use windlass_manifests::{Document, Fault, Manifests, Source};

/// The kinds, and the fields that the objects of each have, with a value that is fine for each.
fn kinds() -> Vec<(&'static str, &'static str, Value)> {
    let karpenter = json!({
        "weight": 10, "replicas": 3, "limits": {"cpu": 8, "nodes": "5"},
        "template": {
            "metadata": {"labels": {"a": "b", "topology.kubernetes.io/zone": "z"}, "annotations": {"a": "b"}},
            "spec": {
                "nodeClassRef": {"group": "g", "kind": "K", "name": "cloud"},
                "requirements": [
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"], "minValues": 1},
                    {"key": "example.com/cores", "operator": "Gt", "values": ["3"]},
                    {"key": "karpenter.k8s.aws/instance-family", "operator": "Exists"},
                ],
                "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}],
                "startupTaints": [{"key": "c", "effect": "NoExecute"}],
                "expireAfter": "720h", "terminationGracePeriod": "30m",
            },
        },
        "disruption": {
            "consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m",
            "budgets": [{"nodes": "10%", "schedule": "@daily", "duration": "1h", "reasons": ["Empty"]}],
        },
    });
    let pool = json!({
        "providerRef": "lab", "poolLabelKey": "example.com/pool",
        "limits": {"minNodes": 1, "maxNodes": 5, "cpuCores": 0, "memoryMiB": 1024},
        "machineTemplate": {"labels": {"a": "b"}},
        "scaleUp": {"stabilizationWindow": "2m"}, "scaleDown": {"stabilizationWindow": "5m"},
    });
    let provider = json!({
        "type": "proxmox", "credentialsSecretRef": {"name": "token", "namespace": "smith"},
        "proxmox": {
            "endpoint": "https://10.0.0.1:8006/api2/json", "nodeWhitelist": ["pve1"],
            "vmIDRange": {"lower": 1250, "upper": 1300}, "managedNodeTag": "managed", "vmMemOverheadMiB": 2048,
            "networkInterfaces": [
                {"name": "net0", "model": "virtio", "bridge": "vmbr0", "vlanTag": 20, "macPrefix": "02:00:00"},
            ],
            "vmOptions": [{"name": "cpu", "value": "host"}, {"name": "scsi0", "value": "local-zfs:16"}],
        },
        "additionalSettings": {},
    });
    let claim = json!({"poolRef": "small", "requirements": {"cpuCores": 2, "memoryMiB": 1024}});
    let smith = "kubenodesmith.parawell.cloud/v1alpha1";
    vec![
        ("karpenter.sh/v1", "NodePool", karpenter),
        ("karpenter.sh/v1", "NodeClaim", json!({"requirements": []})),
        (smith, "NodeSmithProvider", provider),
        (smith, "NodeSmithPool", pool),
        (smith, "NodeSmithControlPlane", json!({"pools": ["small"]})),
        (smith, "NodeSmithClaim", claim),
    ]
}

/// Words that mean something somewhere, and some that do nowhere.
fn words() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "",
        "0",
        "1",
        "-1",
        "10%",
        "100%",
        "101%",
        "99999999999999999999",
        "1e30",
        "0.5",
        "4Gi",
        "100m",
        "1h",
        "0s",
        "1.5h",
        "5ns",
        "Never",
        "In",
        "NotIn",
        "Exists",
        "Gt",
        "Lte",
        "NoSchedule",
        "WhenEmpty",
        "Balanced",
        "Empty",
        "Drifted",
        "@daily",
        "* * * * *",
        "0 9 ? * 1",
        "proxmox",
        "redfish",
        "yes",
        "on",
        "null",
        "~",
        "1_000",
        "12:30:45",
        "2026-01-01",
        "a: b",
        "- a",
        "#",
        "'",
        "\"",
        "a\nb",
        "\u{0}",
        "é",
        "net0",
        "net31",
        "scsi0",
        "local:8",
        "boot",
        "order=net0",
        "http://x",
        "https://x/api2/json",
        "02:00:00",
        "windlass.dev/pool",
        "windlass.dev/x",
        "kubernetes.io/hostname",
        "karpenter.sh/nodepool",
        "karpenter.sh/capacity-type",
        "karpenter.k8s.aws/x",
        "Upper",
        "small",
        "lab",
        "vmbr0",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => any::<String>(), 1 => "[a-z]{60,300}"]
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_u32..200).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            hash_map(words(), inner, 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// How many places of a value can be written over.
fn places(value: &Value) -> usize {
    1 + match value {
        Value::Object(fields) => fields.values().map(places).sum(),
        Value::Array(items) => items.iter().map(places).sum(),
        _ => 0,
    }
}

/// Writes over the place of a number, counted down.
fn write_over(value: &mut Value, place: &mut usize, with: &Value) {
    if *place == 0 {
        *value = with.clone();
    }
    *place = place.wrapping_sub(1);
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|inner| write_over(inner, place, with)),
        Value::Array(items) => items.iter_mut().for_each(|inner| write_over(inner, place, with)),
        _ => {}
    }
}

/// An object that was fine before some of its places were written over and some fields were added.
fn object() -> impl Strategy<Value = Value> {
    let changes = vec((any::<prop::sample::Index>(), anything()), 0..4);
    let more = hash_map(words(), anything(), 0..2);
    let whole = prop_oneof![6 => Just(None), 1 => anything().prop_map(Some)];
    let status = json!({"nodeName": "n1", "providerID": "p://1"});
    (prop::sample::select(kinds()), changes, more, whole, words(), prop::bool::weighted(0.2)).prop_map(
        move |((version, kind, spec), changes, more, whole, name, is_odd)| {
            let mut body = json!({
                "metadata": {"name": if is_odd { name } else { "small".to_owned() }, "labels": {"l": "1"}},
                "spec": whole.unwrap_or(spec),
                "status": status,
            });
            for (place, with) in changes {
                let mut place = 1 + place.index(places(&body));
                write_over(&mut body, &mut place, &with);
            }
            if let Some(Value::Object(spec)) = body.get_mut("spec") {
                spec.extend(more);
            }
            body["apiVersion"] = version.into();
            body["kind"] = kind.into();
            body
        },
    )
}

fn imported(objects: &[Value]) -> Result<Imported, Fault> {
    let text = objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let documents = Document::read([&Source { name: "in.json".to_owned(), text }])?;
    import(&documents, &Options { provider: None })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_made_of_anything_would_be_admitted(objects in vec(object(), 1..4)) {
        let Ok(imported) = imported(&objects) else { return Ok(()) };
        let source = Source { name: "out.yaml".to_owned(), text: imported.yaml().unwrap() };
        let read = Document::read([&source]).unwrap_or_else(|fault| panic!("{fault}:\n{}", source.text));
        let read: Vec<Value> = read.into_iter().map(|document| document.value).collect();
        prop_assert_eq!(&read, &imported.objects);
        let admitted = Manifests::read([&source]).unwrap_or_else(|fault| panic!("{fault}:\n{}", source.text));
        prop_assert_eq!(admitted.into_objects().len(), imported.objects.len());
    }
}

/// The ground that the test above stands on: it begins with objects of which something is made.
#[test]
fn what_is_written_over_was_fine_before() {
    for (version, kind, spec) in kinds() {
        let object =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": "small"}, "spec": spec});
        let imported = imported(&[object]).unwrap_or_else(|fault| panic!("{kind}: {fault}"));
        let makes_one = matches!(kind, "NodePool" | "NodeSmithPool" | "NodeSmithProvider");
        assert_eq!(imported.objects.len(), usize::from(makes_one), "{kind}: {:?}", imported.remarks);
    }
}
