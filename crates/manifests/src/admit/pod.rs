use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Container, Pod, PodCondition, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use std::collections::BTreeMap;

use super::settle_namespace;
use crate::fault::Flaw;

/// A pod as it would be admitted. One that nobody has tried to schedule waits for a machine: offline there is no
/// scheduler that would look at it first.
pub(crate) fn pod(mut pod: Pod) -> Result<Pod, Flaw> {
    settle_namespace(&mut pod.metadata);
    if pod.metadata.name.as_deref().is_none_or(str::is_empty) {
        pod.metadata.name = pod.metadata.generate_name.as_ref().map(|prefix| format!("{prefix}0"));
    }
    let spec = pod.spec.take().ok_or_else(|| Flaw::new("spec", "is missing: a pod needs containers"))?;
    let spec = pod_spec(spec).map_err(|flaw| flaw.within("spec"))?;
    let bound = spec.node_name.as_deref().is_some_and(|name| !name.is_empty());
    let gated = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    pod.spec = Some(spec);
    if !bound && !gated {
        pend(pod.status.get_or_insert_default());
    }
    Ok(pod)
}

fn pend(status: &mut PodStatus) {
    let conditions = status.conditions.get_or_insert_default();
    if !conditions.iter().any(|condition| condition.type_ == "PodScheduled") {
        conditions.push(PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: Some("Unschedulable".to_owned()),
            ..PodCondition::default()
        });
    }
}

/// A daemonset as it would be admitted.
pub(crate) fn daemon_set(mut set: DaemonSet) -> Result<DaemonSet, Flaw> {
    settle_namespace(&mut set.metadata);
    let template = set.spec.as_mut().map(|spec| &mut spec.template);
    let spec = template.and_then(|template| template.spec.as_mut());
    let spec =
        spec.ok_or_else(|| Flaw::new("spec.template.spec", "is missing: a daemonset makes pods of it"))?;
    *spec = pod_spec(std::mem::take(spec)).map_err(|flaw| flaw.within("spec.template.spec"))?;
    Ok(set)
}

/// What a pod asks for as it would be admitted.
fn pod_spec(mut spec: PodSpec) -> Result<PodSpec, Flaw> {
    if spec.containers.is_empty() {
        return Err(Flaw::new("containers", "is missing or empty: a pod needs at least one container"));
    }
    let on_host = spec.host_network == Some(true);
    settle_containers(&mut spec.containers, "containers", on_host)?;
    settle_containers(spec.init_containers.get_or_insert_default(), "initContainers", on_host)?;
    if let Some(whole) = &mut spec.resources {
        ask_for_limits(&mut whole.requests, whole.limits.as_ref());
    }
    Ok(spec)
}

fn settle_containers(containers: &mut [Container], field: &str, on_host: bool) -> Result<(), Flaw> {
    for (number, container) in containers.iter_mut().enumerate() {
        let at = |inner: &str| format!("{field}[{number}].{inner}");
        if container.name.is_empty() {
            return Err(Flaw::new(at("name"), "is missing: give the container a name"));
        }
        if let Some(resources) = &mut container.resources {
            check_limits(resources.requests.as_ref(), resources.limits.as_ref())
                .map_err(|flaw| flaw.within(&at("resources.requests")))?;
            ask_for_limits(&mut resources.requests, resources.limits.as_ref());
        }
        for (port_number, port) in container.ports.iter_mut().flatten().enumerate() {
            if !(1..=65535).contains(&port.container_port) {
                let field = at(&format!("ports[{port_number}].containerPort"));
                return Err(Flaw::new(
                    field,
                    format!("{} is no port: write 1 to 65535", port.container_port),
                ));
            }
            port.protocol.get_or_insert_with(|| "TCP".to_owned());
            if on_host {
                port.host_port.get_or_insert(port.container_port);
            }
        }
    }
    Ok(())
}

type Amounts = BTreeMap<String, Quantity>;

/// Who names a limit and no request asks for the limit.
fn ask_for_limits(requests: &mut Option<Amounts>, limits: Option<&Amounts>) {
    for (name, limit) in limits.into_iter().flatten() {
        requests.get_or_insert_default().entry(name.clone()).or_insert_with(|| limit.clone());
    }
}

fn check_limits(requests: Option<&Amounts>, limits: Option<&Amounts>) -> Result<(), Flaw> {
    let amount = |quantity: &Quantity| quantity.0.parse::<windlass_core::Quantity>().unwrap_or_default();
    for (name, asked) in requests.into_iter().flatten() {
        if let Some(limit) = limits.and_then(|limits| limits.get(name))
            && amount(asked) > amount(limit)
        {
            return Err(Flaw::new(name.as_str(), format!("{} is more than the limit, {}", asked.0, limit.0)));
        }
    }
    Ok(())
}
