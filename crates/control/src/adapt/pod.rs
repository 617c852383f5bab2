use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet as ApiDaemonSet;
use k8s_openapi::api::core::v1::{Pod as ApiPod, PodSpec, PodTemplateSpec};
use windlass_api::labels::FIELD_MANAGER;
use windlass_core::model::{DaemonSet, Labels, Nomination, Pod, PodId, PodOwner, PodShape, PodState};

use super::shape::shape;
use super::steadfast::{may_go, stays_until};
use super::volume::claim_names;
use super::{labels, text};

/// A pod from the API, or none if it has ended: it holds no place any more.
pub fn pod(pod: &ApiPod) -> Option<Pod> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if matches!(phase, Some("Succeeded" | "Failed")) {
        return None;
    }
    let spec = pod.spec.as_ref()?;
    let id =
        PodId { namespace: text(pod.metadata.namespace.as_ref()), name: text(pod.metadata.name.as_ref()) };
    let labels = labels(pod.metadata.labels.iter().flatten());
    let state = state(pod, spec);
    let bound_at = if matches!(state, PodState::Bound(_)) { scheduled_at(pod) } else { None };
    let mut shape = shape(spec, &id.namespace, &labels, owner(pod));
    if matches!(state, PodState::Bound(_)) && shape.belongs_to_node() {
        forget_the_way_here(&mut shape);
    }
    Some(Pod {
        uid: text(pod.metadata.uid.as_ref()),
        shape: Arc::new(shape),
        labels: Arc::new(labels),
        volume_claims: claim_names(spec, &id.name),
        nominated: nominated(pod, &state),
        state,
        deleting: pod.metadata.deletion_timestamp.is_some(),
        stays_until: stays_until(
            pod.metadata.annotations.as_ref(),
            pod.status.as_ref().and_then(|status| status.start_time.as_ref()).map(|time| time.0),
        ),
        may_go: may_go(pod.metadata.annotations.as_ref()),
        bound_at,
        id,
    })
}

/// Pods that nobody has made, one for each that there is to be room for, from the template that they would be made from.
pub fn reserve(id: &PodId, template: &PodTemplateSpec, replicas: usize, selector: &Labels) -> Vec<Arc<Pod>> {
    let own = template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    let own = own.map_or_else(Labels::new, labels);
    let Some(spec) = template.spec.as_ref() else { return Vec::new() };
    let mut shape = shape(spec, &id.namespace, &own, PodOwner::Controller);
    shape.node_selector.extend(selector);
    let pod = Arc::new(Pod {
        id: id.clone(),
        uid: "".into(),
        shape: Arc::new(shape),
        labels: Arc::new(own),
        volume_claims: Arc::default(),
        nominated: None,
        state: PodState::Waiting { since: Timestamp::UNIX_EPOCH },
        deleting: false,
        stays_until: None,
        may_go: false,
        bound_at: None,
    });
    vec![pod; replicas]
}

/// A daemonset from the API. Its shape is that of its template; what the daemonset's controller adds to each pod is not in
/// it.
pub fn daemon_set(set: &ApiDaemonSet) -> Option<DaemonSet> {
    let template = &set.spec.as_ref()?.template;
    let id =
        PodId { namespace: text(set.metadata.namespace.as_ref()), name: text(set.metadata.name.as_ref()) };
    let own = template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    let own = own.map_or_else(Labels::new, labels);
    let shape = shape(template.spec.as_ref()?, &id.namespace, &own, PodOwner::DaemonSet);
    Some(DaemonSet { shape: Arc::new(shape), id })
}

/// A pod that comes and goes with its node and is there needs no other place. That it was meant for just this node would
/// only keep the pods of a daemonset, one on each of thousands of nodes, from sharing a shape.
fn forget_the_way_here(shape: &mut PodShape) {
    shape.node_selector = Labels::new();
    shape.node_affinity.clear();
    shape.node_preferences.clear();
    shape.tolerations.clear();
}

/// Where a pod that has no node yet is expected. Who said so is in the managed fields: whoever changes the field takes it
/// over.
fn nominated(pod: &ApiPod, state: &PodState) -> Option<Nomination> {
    if matches!(state, PodState::Bound(_)) {
        return None;
    }
    let name = pod.status.as_ref()?.nominated_node_name.as_deref().filter(|name| !name.is_empty())?;
    let ours = pod.metadata.managed_fields.iter().flatten().any(|entry| {
        let fields =
            entry.fields_v1.as_ref().and_then(|fields| fields.0.pointer("/f:status/f:nominatedNodeName"));
        entry.manager.as_deref() == Some(FIELD_MANAGER) && fields.is_some()
    });
    Some(Nomination { node: name.into(), ours })
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
    let changed = scheduled.and_then(|condition| condition.last_transition_time.as_ref());
    let since =
        changed.or(pod.metadata.creation_timestamp.as_ref()).map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    let given_up = scheduled.is_some_and(|condition| {
        condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable")
    });
    if given_up { PodState::Unschedulable { since } } else { PodState::Waiting { since } }
}

/// When the scheduler found a node for a pod.
fn scheduled_at(pod: &ApiPod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions.iter().find(|each| each.type_ == "PodScheduled" && each.status == "True")?;
    Some(scheduled.last_transition_time.as_ref()?.0)
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::{Nomination, PodOwner, PodState, Selector};

    use super::{FIELD_MANAGER, daemon_set, pod};

    fn read(object: Value) -> Option<windlass_core::model::Pod> {
        pod(&serde_json::from_value(object).unwrap())
    }

    fn with_spec(spec: &Value) -> windlass_core::model::Pod {
        read(json!({"metadata": {"name": "p", "namespace": "d"}, "spec": spec})).unwrap()
    }

    #[test]
    fn only_a_pod_that_the_scheduler_gave_up_on_is_unschedulable() {
        let status = |reason: &str| json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]});
        let state = |spec: Value, status: Value| {
            read(json!({"metadata": {"name": "p"}, "spec": spec, "status": status})).unwrap().state
        };
        let plain = json!({"containers": []});
        assert!(matches!(state(plain.clone(), status("Unschedulable")), PodState::Unschedulable { .. }));
        assert!(matches!(state(plain.clone(), json!({})), PodState::Waiting { .. }));
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
    fn a_pod_keeps_its_labels_its_volume_claims_and_where_it_is_expected() {
        let object = json!({
            "metadata": {"name": "p", "namespace": "d", "labels": {"app": "web"}},
            "spec": {"containers": [], "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]},
            "status": {"nominatedNodeName": "n1"},
        });
        let pod = read(object.clone()).unwrap();
        assert_eq!(pod.labels.get("app").map(|value| &**value), Some("web"));
        let nominated = Nomination { node: "n1".into(), ours: false };
        assert_eq!((&*pod.volume_claims[0], pod.nominated), ("c", Some(nominated)));
        let mut bound = object;
        bound["spec"]["nodeName"] = json!("n2");
        assert_eq!(read(bound).unwrap().nominated, None, "it is on a node: it is expected nowhere else");
        assert_eq!(with_spec(&json!({"containers": []})).nominated, None);
    }

    #[test]
    fn a_nomination_is_ours_until_somebody_else_changes_it() {
        let object = |manager: &str| {
            let entry = |manager: &str, field: &str| {
                let fields = json!({"f:status": {field: {}}});
                json!({"manager": manager, "subresource": "status", "fieldsV1": fields})
            };
            let entries = [entry(manager, "f:nominatedNodeName"), entry(FIELD_MANAGER, "f:conditions")];
            json!({
                "metadata": {"managedFields": entries},
                "spec": {"containers": []},
                "status": {"nominatedNodeName": "n1"},
            })
        };
        let ours = |manager: &str| read(object(manager)).unwrap().nominated.unwrap().ours;
        assert!(ours(FIELD_MANAGER));
        assert!(!ours("kube-scheduler"));
    }

    #[test]
    fn the_pods_of_a_daemonset_share_a_shape_once_they_are_on_their_nodes() {
        let on = |name: &str, bound: bool| {
            let owner = json!([{"kind": "DaemonSet", "name": "o", "uid": "u", "apiVersion": "apps/v1", "controller": true}]);
            let field = json!({"key": "metadata.name", "operator": "In", "values": [name]});
            let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [field]}]}}});
            let ports = json!([{"containerPort": 80, "hostPort": 80}]);
            let mut spec = json!({"containers": [{"name": "c", "ports": ports}], "affinity": affinity});
            if bound {
                spec["nodeName"] = json!(name);
            }
            read(json!({"metadata": {"name": "p", "ownerReferences": owner}, "spec": spec})).unwrap().shape
        };
        assert_eq!(on("n1", true), on("n2", true));
        assert_eq!(on("n1", true).host_ports.len(), 1, "what others there must know of is kept");
        assert_ne!(on("n1", false), on("n2", false), "those on their way are meant for one node");
    }

    #[test]
    fn a_daemonset_is_as_its_template_with_its_keys_resolved() {
        let constraint = json!({
            "topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {}, "matchLabelKeys": ["app"],
        });
        let apart = json!([{"topologyKey": "host", "labelSelector": {}, "matchLabelKeys": ["app"]}]);
        let template = json!({
            "metadata": {"labels": {"app": "agent"}},
            "spec": {
                "hostNetwork": true,
                "containers": [{"name": "c", "ports": [{"containerPort": 9100}]}],
                "topologySpreadConstraints": [constraint],
                "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}},
                "tolerations": [{"operator": "Exists"}],
            },
        });
        let object = json!({
            "metadata": {"name": "agent", "namespace": "d"},
            "spec": {"selector": {}, "template": template},
        });
        let set = daemon_set(&serde_json::from_value(object).unwrap()).unwrap();
        let has_key =
            |selector: &Selector| matches!(selector, Selector::Matching(all) if all.get("app").is_some());
        assert!(has_key(&set.shape.spread[0].selector) && has_key(&set.shape.pod_anti_affinity[0].selector));
        assert!(set.shape.pod_anti_affinity[0].namespaces.include("d", None));
        assert_eq!((set.shape.host_ports[0].port, set.shape.tolerations.len()), (9100, 1));
        assert_eq!((set.shape.owner, &*set.id.name), (PodOwner::DaemonSet, "agent"));
    }
}
