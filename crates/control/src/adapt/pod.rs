use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet as ApiDaemonSet;
use k8s_openapi::api::core::v1::{
    Container, NodeSelectorRequirement, NodeSelectorTerm, Pod as ApiPod, PodSpec, Toleration as ApiToleration,
};
use windlass_core::Text;
use windlass_core::model::{
    DaemonSet, Labels, Operator, Pod, PodId, PodOwner, PodShape, PodState, Requirement, Requirements,
    Resources, Toleration, TolerationOperator,
};

use super::{effect_named, labels, resources, text};

/// A pod from the API, or none if it has ended: it holds no place any more.
pub fn pod(pod: &ApiPod) -> Option<Pod> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    let spec = pod.spec.as_ref()?;
    Some(Pod {
        id: PodId {
            namespace: text(pod.metadata.namespace.as_ref()),
            name: text(pod.metadata.name.as_ref()),
        },
        uid: text(pod.metadata.uid.as_ref()),
        shape: Arc::new(PodShape { owner: owner(pod), ..shape(spec) }),
        state: state(pod, spec),
        deleting: pod.metadata.deletion_timestamp.is_some(),
    })
}

/// A daemonset from the API.
pub fn daemon_set(set: &ApiDaemonSet) -> Option<DaemonSet> {
    let spec = set.spec.as_ref()?.template.spec.as_ref()?;
    Some(DaemonSet {
        id: PodId {
            namespace: text(set.metadata.namespace.as_ref()),
            name: text(set.metadata.name.as_ref()),
        },
        shape: Arc::new(PodShape { owner: PodOwner::DaemonSet, ..shape(spec) }),
    })
}

fn state(pod: &ApiPod, spec: &PodSpec) -> PodState {
    if let Some(node) = spec.node_name.as_deref().filter(|name| !name.is_empty()) {
        return PodState::Bound(node.into());
    }
    if spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()) {
        return PodState::Gated;
    }
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let scheduled = conditions.into_iter().flatten().find(|condition| condition.type_ == "PodScheduled");
    match scheduled {
        Some(condition)
            if condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable") =>
        {
            let since = condition.last_transition_time.as_ref().or(pod.metadata.creation_timestamp.as_ref());
            PodState::Unschedulable { since: since.map_or(Timestamp::UNIX_EPOCH, |time| time.0) }
        }
        _ => PodState::Waiting,
    }
}

fn owner(pod: &ApiPod) -> PodOwner {
    let mirror =
        pod.metadata.annotations.iter().flatten().any(|(key, _)| key == "kubernetes.io/config.mirror");
    let controller =
        pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    match controller.map(|owner| owner.kind.as_str()) {
        _ if mirror => PodOwner::Node,
        Some("Node") => PodOwner::Node,
        Some("DaemonSet") => PodOwner::DaemonSet,
        Some(_) => PodOwner::Controller,
        None => PodOwner::Nobody,
    }
}

fn shape(spec: &PodSpec) -> PodShape {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required =
        affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    PodShape {
        requests: requests(spec),
        node_selector: spec.node_selector.as_ref().map_or_else(Labels::new, labels),
        node_affinity: required
            .into_iter()
            .flat_map(|required| required.node_selector_terms.iter().map(term))
            .collect(),
        tolerations: spec.tolerations.iter().flatten().filter_map(toleration).collect(),
        priority: spec.priority.unwrap_or(0),
        foreign_scheduler: spec.scheduler_name.as_deref().is_some_and(|name| name != "default-scheduler"),
        owner: PodOwner::Controller,
    }
}

/// What a pod asks for, as kube-scheduler computes it: the containers and sidecars together, or an init container and
/// the sidecars started before it where that is more; then overhead; and a pod's place. Requests of the pod as a whole
/// replace the sum for the resources they name.
fn requests(spec: &PodSpec) -> Resources {
    let asked = |container: &Container| {
        resources(container.resources.as_ref().and_then(|resources| resources.requests.as_ref()))
    };
    let mut running = Resources::new();
    for container in &spec.containers {
        running.add(&asked(container));
    }
    let (mut sidecars, mut starting) = (Resources::new(), Resources::new());
    for container in spec.init_containers.iter().flatten() {
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars.add(&asked(container));
            starting.raise_to(&sidecars);
        } else {
            let mut with_sidecars = sidecars.clone();
            with_sidecars.add(&asked(container));
            starting.raise_to(&with_sidecars);
        }
    }
    running.add(&sidecars);
    running.raise_to(&starting);
    let whole = resources(spec.resources.as_ref().and_then(|resources| resources.requests.as_ref()));
    for (name, amount) in whole.iter() {
        running.set(name, amount);
    }
    running.add(&resources(spec.overhead.as_ref()));
    running.with(Resources::PODS, 1)
}

/// One term of a required node affinity. The only field that a term may match is `metadata.name`, which nodes carry
/// as if it were a label. A term that Kubernetes would not match is kept as one that nothing meets, so
/// that the pod is never placed where the scheduler would not.
fn term(term: &NodeSelectorTerm) -> Requirements {
    let mut requirements = Requirements::new();
    let empty = term.match_expressions.iter().flatten().next().is_none()
        && term.match_fields.iter().flatten().next().is_none();
    if empty {
        requirements.add(&"".into(), Requirement::equals("an empty term matches nothing".into()));
    }
    for expression in term.match_expressions.iter().flatten() {
        requirements.add(&expression.key.as_str().into(), requirement(expression));
    }
    for field in term.match_fields.iter().flatten() {
        requirements.add(&field.key.as_str().into(), requirement(field));
    }
    requirements
}

fn requirement(expression: &NodeSelectorRequirement) -> Requirement {
    let key: Text = expression.key.as_str().into();
    let values: Vec<Text> = expression.values.iter().flatten().map(|value| value.as_str().into()).collect();
    let operator = match expression.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        _ => return Requirement::equals("an unknown operator matches nothing".into()),
    };
    let nothing = || Requirement::equals("a malformed requirement matches nothing".into());
    Requirement::new(&key, operator, &values).unwrap_or_else(|_| nothing())
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
    use windlass_core::model::{PodOwner, PodState};

    use super::pod;

    fn read(object: Value) -> Option<windlass_core::model::Pod> {
        pod(&serde_json::from_value(object).unwrap())
    }

    fn with_spec(spec: &Value) -> windlass_core::model::Pod {
        read(json!({"metadata": {"name": "p", "namespace": "d"}, "spec": spec})).unwrap()
    }

    #[test]
    fn an_init_container_counts_only_where_it_asks_for_more() {
        let container = |cpu: &str, memory: &str| json!({"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}});
        let pod = with_spec(&json!({
            "containers": [container("1", "1Gi"), container("500m", "1Gi")],
            "initContainers": [container("2", "512Mi")],
            "overhead": {"cpu": "100m"},
        }));
        let requests = &pod.shape.requests;
        assert_eq!((requests.get("cpu"), requests.get("memory"), requests.get("pods")), (2100, 2 << 30, 1));
    }

    #[test]
    fn a_sidecar_counts_beside_the_containers_and_beside_the_init_containers_after_it() {
        let container = |cpu: &str, policy: Option<&str>| json!({"name": "c", "restartPolicy": policy, "resources": {"requests": {"cpu": cpu}}});
        let pod = with_spec(&json!({
            "containers": [container("1", None)],
            "initContainers": [container("3", None), container("2", Some("Always")), container("1500m", None)],
        }));
        assert_eq!(pod.shape.requests.get("cpu"), 3500, "sidecar 2 and the init container of 1.5 after it");
    }

    #[test]
    fn requests_of_the_pod_as_a_whole_replace_the_sum() {
        let pod = with_spec(&json!({
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
            "resources": {"requests": {"cpu": "4"}},
        }));
        assert_eq!((pod.shape.requests.get("cpu"), pod.shape.requests.get("memory")), (4000, 1 << 30));
    }

    #[test]
    fn only_a_pod_that_the_scheduler_gave_up_on_is_unschedulable() {
        let status = |reason: &str| json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]});
        let state = |spec: Value, status: Value| {
            read(json!({"metadata": {"name": "p"}, "spec": spec, "status": status})).unwrap().state
        };
        let plain = json!({"containers": []});
        assert!(matches!(state(plain.clone(), status("Unschedulable")), PodState::Unschedulable { .. }));
        assert_eq!(state(plain.clone(), json!({})), PodState::Waiting);
        let gated = json!({"containers": [], "schedulingGates": [{"name": "g"}]});
        assert_eq!(state(gated, status("SchedulingGated")), PodState::Gated);
        let bound = json!({"containers": [], "nodeName": "n1"});
        assert_eq!(state(bound, status("Unschedulable")), PodState::Bound("n1".into()));
    }

    #[test]
    fn a_pod_that_has_ended_is_no_pod() {
        for phase in ["Succeeded", "Failed"] {
            let ended =
                json!({"metadata": {"name": "p"}, "spec": {"containers": []}, "status": {"phase": phase}});
            assert_eq!(read(ended), None);
        }
    }

    #[test]
    fn the_owner_says_whether_a_pod_comes_back() {
        let owned = |kind: &str| {
            let owner =
                json!([{"kind": kind, "name": "o", "uid": "u", "apiVersion": "v1", "controller": true}]);
            read(json!({"metadata": {"name": "p", "ownerReferences": owner}, "spec": {"containers": []}}))
                .unwrap()
                .shape
                .owner
        };
        assert_eq!(owned("DaemonSet"), PodOwner::DaemonSet);
        assert_eq!(owned("ReplicaSet"), PodOwner::Controller);
        assert_eq!(owned("Node"), PodOwner::Node);
        assert_eq!(with_spec(&json!({"containers": []})).shape.owner, PodOwner::Nobody);
    }

    #[test]
    fn a_term_that_kubernetes_would_not_match_matches_no_node() {
        let affinity = |terms: Value| {
            json!({"containers": [], "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
        };
        for terms in
            [json!([{}]), json!([{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}])]
        {
            let pod = with_spec(&affinity(terms));
            let labels = windlass_core::model::Labels::new().with("a", "1");
            assert!(pod.shape.node_affinity[0].check(&labels).is_err());
        }
    }
}
