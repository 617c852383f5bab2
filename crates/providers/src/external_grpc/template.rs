//! What the nodes of a group are, read from the server's template.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeSystemInfo};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use windlass_api::labels::GROUP as OUR_DOMAIN;
use windlass_core::Text;
use windlass_core::model::{Effect, Labels, Resources, Taint, well_known};

use crate::names::{LABEL_LIMIT, is_label_value, is_qualified_name};

/// How many pods a node takes whose template does not say.
const DEFAULT_PODS: i64 = 110;
/// The zone of a group whose template names none.
const NO_ZONE: &str = "none";
/// Labels that Kubernetes had before those of today.
const OLD_INSTANCE_TYPE: &str = "beta.kubernetes.io/instance-type";
const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";

/// What the nodes of a group are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub instance_type: Text,
    pub zone: Text,
    pub capacity_type: Text,
    pub capacity: Resources,
    pub allocatable: Resources,
    /// The labels of its nodes, but for those that follow from the offering.
    pub labels: Labels,
    /// The taints that keep pods off its nodes, for good or until somebody removes them.
    pub taints: Vec<Taint>,
}

impl Template {
    /// Reads a group's template. Says what is wrong with it if it cannot be used.
    pub fn read(node: &Node, group: &str, default_capacity_type: &str) -> Result<Self, String> {
        let given = node.metadata.labels.clone().unwrap_or_default();
        let label = |key: &str| given.get(key).filter(|value| !value.is_empty() && is_label_value(value));
        let status = node.status.clone().unwrap_or_default();
        let mut capacity = amounts("capacity", status.capacity.as_ref())?;
        let mut allocatable = amounts("allocatable", status.allocatable.as_ref())?;
        if capacity.is_empty() {
            capacity = allocatable.clone();
        } else if allocatable.is_empty() {
            allocatable = capacity.clone();
        }
        for name in [Resources::CPU, Resources::MEMORY] {
            if allocatable.get(name) == 0 {
                return Err(format!("it has no {name}"));
            }
        }
        for amounts in [&mut capacity, &mut allocatable] {
            if !amounts.iter().any(|(name, _)| **name == *Resources::PODS) {
                amounts.set(Resources::PODS, DEFAULT_PODS);
            }
        }
        let instance_type = label(well_known::INSTANCE_TYPE).or_else(|| label(OLD_INSTANCE_TYPE));
        let zone = label(well_known::ZONE).or_else(|| label(OLD_ZONE));
        let capacity_type = label(well_known::CAPACITY_TYPE).map_or(default_capacity_type, String::as_str);
        Ok(Self {
            instance_type: instance_type.map_or_else(|| as_label(group), Clone::clone).into(),
            zone: zone.map_or(NO_ZONE, String::as_str).into(),
            capacity_type: capacity_type.into(),
            capacity,
            allocatable,
            labels: labels(&given, status.node_info.as_ref()),
            taints: taints(node),
        })
    }

    /// The first taint of its nodes that a claim does not reckon with. Pods that do not tolerate it would not run there.
    pub fn unexpected_taint(&self, expected: &[Taint]) -> Option<&Taint> {
        let is_expected =
            |taint: &Taint| expected.iter().any(|each| each.key == taint.key && each.effect == taint.effect);
        self.taints.iter().find(|taint| !is_expected(taint))
    }
}

/// Any text as the value of a label.
fn as_label(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let text: String = text.chars().map(plain).collect();
    let cut: String = text.trim_start_matches(is_edge).chars().take(LABEL_LIMIT).collect();
    match cut.trim_end_matches(is_edge) {
        "" => "group".to_owned(),
        readable => readable.to_owned(),
    }
}

fn is_edge(c: char) -> bool {
    !c.is_ascii_alphanumeric()
}

fn amounts(field: &str, given: Option<&BTreeMap<String, Quantity>>) -> Result<Resources, String> {
    let list = given.into_iter().flatten().map(|(name, amount)| (name.as_str(), amount.0.as_str()));
    let amounts =
        Resources::parse(list).map_err(|(name, error)| format!("its {field} of {name}: {error}"))?;
    if let Some((name, amount)) =
        amounts.iter().find(|(name, amount)| *amount < 0 || !is_qualified_name(name))
    {
        return Err(format!("its {field} of {name:?} is {amount}"));
    }
    Ok(amounts)
}

/// The labels that each of its nodes will have. Those of one node, those of Windlass' own, which would be about the server's
/// cluster and not this one, and those that the offering says are left out.
fn labels(given: &BTreeMap<String, String>, info: Option<&NodeSystemInfo>) -> Labels {
    let mut labels = Labels::new();
    if let Some(info) = info {
        for (key, value) in [(well_known::ARCH, &info.architecture), (well_known::OS, &info.operating_system)]
        {
            if !value.is_empty() && is_label_value(value) {
                labels.set(key, value.as_str());
            }
        }
    }
    let ours = |key: &str| key.split_once('/').is_some_and(|(domain, _)| domain == OUR_DOMAIN);
    let of_offering =
        [well_known::HOSTNAME, well_known::INSTANCE_TYPE, well_known::ZONE, OLD_INSTANCE_TYPE, OLD_ZONE];
    for (key, value) in given {
        let fits = is_qualified_name(key) && is_label_value(value);
        if fits && !ours(key) && !of_offering.contains(&key.as_str()) {
            labels.set(key.as_str(), value.as_str());
        }
    }
    labels
}

/// Taints that come with a node's state go with it, and Windlass' own are about the server's cluster.
fn taints(node: &Node) -> Vec<Taint> {
    let passing = ["node.kubernetes.io", "node.cloudprovider.kubernetes.io", OUR_DOMAIN];
    let given = node.spec.as_ref().and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let kept = given.filter_map(|taint| {
        let effect = match taint.effect.as_str() {
            "NoSchedule" => Effect::NoSchedule,
            "NoExecute" => Effect::NoExecute,
            _ => return None,
        };
        let domain = taint.key.split_once('/').map_or("", |(domain, _)| domain);
        let value = taint.value.as_deref().unwrap_or_default();
        (!passing.contains(&domain)).then(|| Taint::new(&taint.key, value, effect))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use serde_json::{Value, json};
    use windlass_core::model::{Effect, Taint};

    use super::{Template, as_label};
    use crate::names::is_label_value;

    fn read(node: Value) -> Result<Template, String> {
        let node: Node = serde_json::from_value(node).unwrap();
        Template::read(&node, "pool/a b", "on-demand")
    }

    fn small() -> Value {
        json!({"status": {"capacity": {"cpu": "2", "memory": "4Gi"}}})
    }

    #[test]
    fn a_template_says_what_its_nodes_are() {
        let template = read(json!({
            "metadata": {"labels": {
                "node.kubernetes.io/instance-type": "m-2", "topology.kubernetes.io/zone": "room-1",
                "windlass.dev/capacity-type": "spot", "windlass.dev/pool": "theirs", "disk": "fast",
                "kubernetes.io/hostname": "template-1", "bad key": "x",
            }},
            "spec": {"taints": [
                {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
                {"key": "soft", "effect": "PreferNoSchedule"},
            ]},
            "status": {
                "capacity": {"cpu": "2", "memory": "4Gi", "pods": "20"},
                "allocatable": {"cpu": "1900m", "memory": "3Gi", "pods": "20"},
                "nodeInfo": {"architecture": "arm64", "operatingSystem": "linux", "bootID": "",
                    "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                    "kubeletVersion": "", "machineID": "", "osImage": "", "systemUUID": ""},
            },
        }))
        .unwrap();
        assert_eq!(
            (&*template.instance_type, &*template.zone, &*template.capacity_type),
            ("m-2", "room-1", "spot")
        );
        assert_eq!(template.capacity.to_string(), "cpu 2, memory 4Gi, pods 20");
        assert_eq!(template.allocatable.to_string(), "cpu 1900m, memory 3Gi, pods 20");
        let labels: Vec<String> =
            template.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(labels, ["disk=fast", "kubernetes.io/arch=arm64", "kubernetes.io/os=linux"]);
        assert_eq!(template.taints, [Taint::new("gpu", "yes", Effect::NoSchedule)]);
        assert_eq!(template.unexpected_taint(&[Taint::new("gpu", "", Effect::NoSchedule)]), None);
        assert!(template.unexpected_taint(&[Taint::new("gpu", "", Effect::NoExecute)]).is_some());
    }

    #[test]
    fn what_a_template_does_not_say_has_a_default() {
        let template = read(small()).unwrap();
        assert_eq!((&*template.instance_type, &*template.zone), ("pool-a-b", "none"));
        assert_eq!(&*template.capacity_type, "on-demand");
        assert_eq!(template.allocatable.to_string(), "cpu 2, memory 4Gi, pods 110");
    }

    #[test]
    fn a_template_that_makes_no_sense_says_why() {
        for (node, part) in [
            (json!({}), "no cpu"),
            (json!({"status": {"capacity": {"cpu": "2"}}}), "no memory"),
            (json!({"status": {"capacity": {"cpu": "many", "memory": "1"}}}), "capacity of cpu"),
            (json!({"status": {"capacity": {"cpu": "-2", "memory": "1"}}}), "is -2000"),
        ] {
            let error = read(node).unwrap_err();
            assert!(error.contains(part), "{error} should contain {part}");
        }
    }

    #[test]
    fn any_id_becomes_a_label() {
        for id in ["", "---", "a/b", "Ünïcode", "_x_", &"long/".repeat(60)] {
            let label = as_label(id);
            assert!(!label.is_empty() && is_label_value(&label), "{id}: {label}");
        }
    }
}
