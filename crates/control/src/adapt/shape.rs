use k8s_openapi::api::core::v1::{PodSpec, Toleration as ApiToleration};
use windlass_core::Text;
use windlass_core::model::{Labels, PodOwner, PodShape, Toleration, TolerationOperator};

use super::ports::host_ports;
use super::requests::requests;
use super::requirement::unmeetable;
use super::selector::Malformed;
use super::spread::spread;
use super::{effect_named, labels, node_affinity, pod_affinity, text};

/// All that scheduling looks at in a pod of this namespace with these labels.
pub(super) fn shape(spec: &PodSpec, namespace: &Text, own: &Labels, owner: PodOwner) -> PodShape {
    let affinity = spec.affinity.as_ref();
    let nodes = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let with = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
    let apart = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let mut readable = Readable(true);
    let mut shape = PodShape {
        requests: requests(spec),
        node_selector: spec.node_selector.as_ref().map_or_else(Labels::new, labels),
        node_affinity: node_affinity::required(
            nodes.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_ref()),
        ),
        node_preferences: node_affinity::preferred(
            nodes.and_then(|nodes| nodes.preferred_during_scheduling_ignored_during_execution.as_ref()),
        ),
        spread: readable.part(spread(spec.topology_spread_constraints.as_ref(), own)),
        pod_affinity: readable.part(pod_affinity::required(
            with.and_then(|with| with.required_during_scheduling_ignored_during_execution.as_ref()),
            namespace,
            own,
        )),
        pod_anti_affinity: readable.part(pod_affinity::required(
            apart.and_then(|apart| apart.required_during_scheduling_ignored_during_execution.as_ref()),
            namespace,
            own,
        )),
        pod_preferences: readable.part(pod_affinity::preferred(
            with.and_then(|with| with.preferred_during_scheduling_ignored_during_execution.as_ref()),
            namespace,
            own,
        )),
        pod_aversions: readable.part(pod_affinity::preferred(
            apart.and_then(|apart| apart.preferred_during_scheduling_ignored_during_execution.as_ref()),
            namespace,
            own,
        )),
        host_ports: host_ports(spec),
        tolerations: spec.tolerations.iter().flatten().filter_map(toleration).collect(),
        priority: spec.priority.unwrap_or(0),
        preempts: spec.preemption_policy.as_deref() != Some("Never"),
        foreign_scheduler: spec.scheduler_name.as_deref().is_some_and(|name| name != "default-scheduler"),
        owner,
    };
    if !readable.0 {
        shape.node_affinity = vec![unmeetable("the scheduler cannot read the pod's selectors")];
    }
    shape
}

/// Whether kube-scheduler can read all of a pod. It never places one of which it cannot, so neither must we.
struct Readable(bool);

impl Readable {
    fn part<T>(&mut self, part: Result<Vec<T>, Malformed>) -> Vec<T> {
        part.unwrap_or_else(|Malformed| {
            self.0 = false;
            Vec::new()
        })
    }
}

fn toleration(toleration: &ApiToleration) -> Option<Toleration> {
    let operator = match toleration.operator.as_deref() {
        None | Some("" | "Equal") => TolerationOperator::Equal,
        Some("Exists") => TolerationOperator::Exists,
        Some(_) => return None,
    };
    let effect = match toleration.effect.as_deref() {
        None | Some("") => None,
        Some(name) => Some(effect_named(name)?),
    };
    Some(Toleration {
        key: toleration.key.as_deref().filter(|key| !key.is_empty()).map(Into::into),
        operator,
        value: text(toleration.value.as_ref()),
        effect,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::{Labels, PodOwner, PodShape};

    fn shape(spec: Value) -> PodShape {
        let own = Labels::new().with("app", "web");
        super::shape(&serde_json::from_value(spec).unwrap(), &"home".into(), &own, PodOwner::Controller)
    }

    #[test]
    fn each_kind_of_affinity_goes_to_its_place() {
        let term = |zone: &str| json!({"topologyKey": zone, "labelSelector": {}});
        let both = |hard: &str, soft: &str| {
            json!({
                "requiredDuringSchedulingIgnoredDuringExecution": [term(hard)],
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term(soft)}],
            })
        };
        let node = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
        let shape = shape(json!({"containers": [], "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 2, "preference": node}],
            },
            "podAffinity": both("with", "rather-with"), "podAntiAffinity": both("apart", "rather-apart"),
        }}));
        assert!(shape.node_affinity[0].get("a").is_some());
        assert_eq!(shape.node_preferences[0].weight, 2);
        assert_eq!(&*shape.pod_affinity[0].topology_key, "with");
        assert_eq!(&*shape.pod_preferences[0].wish.topology_key, "rather-with");
        assert_eq!(&*shape.pod_anti_affinity[0].topology_key, "apart");
        assert_eq!(&*shape.pod_aversions[0].wish.topology_key, "rather-apart");
    }

    #[test]
    fn a_pod_pushes_others_out_unless_it_is_told_not_to() {
        assert!(shape(json!({"containers": []})).preempts);
        assert!(shape(json!({"containers": [], "preemptionPolicy": "PreemptLowerPriority"})).preempts);
        assert!(!shape(json!({"containers": [], "preemptionPolicy": "Never"})).preempts);
    }

    #[test]
    fn a_pod_of_which_the_scheduler_cannot_read_a_part_fits_no_node() {
        let bad = json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]});
        let apart = json!([{"topologyKey": "zone", "labelSelector": {}}]);
        let term = json!({"topologyKey": "zone", "labelSelector": bad});
        let spread = json!({"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": bad});
        for spec in [
            json!({"containers": [], "topologySpreadConstraints": [spread]}),
            json!({"containers": [], "affinity": {
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": term}]},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart},
            }}),
        ] {
            let keeps_apart = spec["affinity"].is_object();
            let shape = shape(spec);
            assert!(
                shape.node_affinity.iter().all(|term| term.check(&Labels::new().with("a", "b")).is_err())
            );
            assert!(!shape.node_affinity.is_empty());
            assert_eq!(
                !shape.pod_anti_affinity.is_empty(),
                keeps_apart,
                "what can be read counts once it runs"
            );
        }
    }
}
