use k8s_openapi::api::core::v1::{Container, PodSpec};
use windlass_core::model::Resources;

use super::resources;

/// What a pod asks for, as kube-scheduler computes it: the containers and sidecars together, or an init container and
/// the sidecars started before it where that is more; then overhead; and a pod's place. Requests of the pod as a whole
/// replace the sum for the resources they name.
pub(crate) fn requests(spec: &PodSpec) -> Resources {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::Resources;

    fn requests(spec: Value) -> Resources {
        super::requests(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn an_init_container_counts_only_where_it_asks_for_more() {
        let container = |cpu: &str, memory: &str| json!({"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}});
        let requests = requests(json!({
            "containers": [container("1", "1Gi"), container("500m", "1Gi")],
            "initContainers": [container("2", "512Mi")],
            "overhead": {"cpu": "100m"},
        }));
        assert_eq!((requests.get("cpu"), requests.get("memory"), requests.get("pods")), (2100, 2 << 30, 1));
    }

    #[test]
    fn a_sidecar_counts_beside_the_containers_and_beside_the_init_containers_after_it() {
        let container = |cpu: &str, policy: Option<&str>| json!({"name": "c", "restartPolicy": policy, "resources": {"requests": {"cpu": cpu}}});
        let requests = requests(json!({
            "containers": [container("1", None)],
            "initContainers": [container("3", None), container("2", Some("Always")), container("1500m", None)],
        }));
        assert_eq!(requests.get("cpu"), 3500, "sidecar 2 and the init container of 1.5 after it");
    }

    #[test]
    fn requests_of_the_pod_as_a_whole_replace_the_sum() {
        let requests = requests(json!({
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
            "resources": {"requests": {"cpu": "4"}},
        }));
        assert_eq!((requests.get("cpu"), requests.get("memory")), (4000, 1 << 30));
    }
}
