//! Pods that ask for all that scheduling looks at.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use serde_json::{Value, json};
use windlass_core::model::well_known;
use windlass_testkit::objects::PodBuilder;

use crate::made_up::{MadeUp, OURS};

/// The pods of one app: all alike.
pub fn of_app(cluster: &mut MadeUp, app: usize, namespace: &str) -> Vec<Pod> {
    let (id, rack) = (cluster.id.clone(), cluster.rack_key());
    let zone = cluster.zone(cluster.random.clone().usize(0..3));
    let random = &mut cluster.random;
    let name = format!("app{app}");
    let mut pod = PodBuilder::new("")
        .namespace(namespace)
        .cpu(random.choice(&["100m", "250m", "500m", "1", "1500m", "3"]).unwrap())
        .memory(random.choice(&["128Mi", "512Mi", "1Gi", "2Gi", "6Gi"]).unwrap())
        .label("app", &name)
        .label("version", random.choice(&["1", "2"]).unwrap())
        .node_selector(OURS, &id);
    let mut spec = json!({});
    let mut count = random.usize(1..=12);
    let other = format!("app{}", random.u8(0..5));
    // One or two wishes each, so that many pods have a place and many do not.
    for _ in 0..random.usize(0..=2) {
        match random.u8(0..15) {
            0 => pod = pod.node_selector(well_known::ZONE, &zone),
            1 => pod = pod.node_selector(well_known::ARCH, random.choice(&["arm64", "amd64"]).unwrap()),
            2 => pod = pod.tolerates("dedicated"),
            3 => {
                let operator = *random.choice(&["Gt", "Lt"]).unwrap();
                let cores = json!([{"key": "cores", "operator": operator, "values": ["4"]}]);
                set(
                    &mut spec,
                    "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
                    &json!({
                        "nodeSelectorTerms": [
                            {"matchExpressions": cores},
                            {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["front"]}]},
                        ],
                    }),
                );
            }
            4 => {
                let operator = *random.choice(&["NotIn", "In"]).unwrap();
                let rack = json!([{"key": rack, "operator": operator, "values": ["r0", "r1"]}]);
                set(
                    &mut spec,
                    "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution",
                    &json!({"nodeSelectorTerms": [{"matchExpressions": rack}]}),
                );
            }
            5 => spread(&mut spec, random, well_known::ZONE, &name, true),
            6 => spread(&mut spec, random, well_known::HOSTNAME, &name, true),
            7 => spread(&mut spec, random, &rack, &name, false),
            8 => spread(&mut spec, random, well_known::ZONE, &other, true),
            9 => apart(&mut spec, "podAntiAffinity", well_known::HOSTNAME, &name),
            10 => {
                apart(&mut spec, "podAntiAffinity", well_known::ZONE, &name);
                count = count.min(3);
            }
            11 => apart(&mut spec, "podAntiAffinity", well_known::HOSTNAME, &other),
            12 => apart(&mut spec, "podAffinity", well_known::ZONE, &name),
            13 => {
                pod = pod.spec(|spec| {
                    spec.init_containers = Some(vec![
                        serde_json::from_value(json!({
                            "name": "first", "image": "registry.invalid/init",
                            "resources": {"requests": {"cpu": "2"}},
                        }))
                        .unwrap(),
                    ])
                });
            }
            _ => pod = pod.resource("example.com/gpu", "1"),
        }
    }
    if random.u8(0..6) == 0 {
        let port = 9000 + u16::from(random.u8(0..3));
        spec["hostPort"] = json!(port);
    }
    (0..count).map(|number| build(&pod, &spec, &format!("{name}-{number}"))).collect()
}

fn build(pod: &PodBuilder, more: &Value, name: &str) -> Pod {
    let mut pod = pod.clone().build();
    pod.metadata.name = Some(name.to_owned());
    let spec = pod.spec.take().unwrap();
    let mut merged = serde_json::to_value(&spec).unwrap();
    for part in ["affinity", "topologySpreadConstraints"] {
        if !more[part].is_null() {
            merged[part] = more[part].clone();
        }
    }
    let mut spec: PodSpec = serde_json::from_value(merged).unwrap();
    if let Some(port) = more["hostPort"].as_i64() {
        let ports = json!([{"containerPort": 80, "hostPort": port}]);
        spec.containers[0].ports = Some(serde_json::from_value(ports).unwrap());
    }
    pod.spec = Some(spec);
    pod
}

fn spread(spec: &mut Value, random: &mut fastrand::Rng, key: &str, app: &str, honor: bool) {
    let mut constraint = json!({
        "maxSkew": random.u8(1..=2), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    });
    if !honor {
        constraint["nodeAffinityPolicy"] = json!("Ignore");
        constraint["nodeTaintsPolicy"] = json!(random.choice(&["Ignore", "Honor"]).unwrap());
    }
    match random.u8(0..4) {
        0 if key == well_known::ZONE => constraint["minDomains"] = json!(2),
        1 => constraint["matchLabelKeys"] = json!(["version"]),
        _ => {}
    }
    let mut all = spec["topologySpreadConstraints"].as_array().cloned().unwrap_or_default();
    all.retain(|other| other["topologyKey"] != key);
    all.push(constraint);
    spec["topologySpreadConstraints"] = json!(all);
}

fn apart(spec: &mut Value, kind: &str, key: &str, app: &str) {
    let term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}});
    set(spec, &format!("/affinity/{kind}/requiredDuringSchedulingIgnoredDuringExecution"), &json!([term]));
}

/// Sets what is at a path, and makes what leads there.
fn set(value: &mut Value, path: &str, to: &Value) {
    let mut at = value;
    for part in path.split('/').skip(1) {
        at = &mut at[part];
    }
    *at = to.clone();
}
