use windlass_core::model::{AffinityTerm, PodShape, SpreadConstraint};

/// Whether a pod is what a template gives: the same, but for what is added to pods when they are made and admitted, which
/// are further requests, labels of nodes and tolerations, a priority, and in selectors the values of `matchLabelKeys`.
pub(crate) fn is_made_of(pod: &PodShape, template: &PodShape) -> bool {
    let requests = template.requests.iter().all(|(name, amount)| pod.requests.get(name) == amount);
    let selector =
        template.node_selector.iter().all(|(key, value)| pod.node_selector.get(key) == Some(value));
    let tolerations = template.tolerations.iter().all(|each| pod.tolerations.contains(each));
    requests
        && selector
        && tolerations
        && pod.node_affinity == template.node_affinity
        && pod.host_ports == template.host_ports
        && alike(&pod.pod_affinity, &template.pod_affinity, is_term_of)
        && alike(&pod.pod_anti_affinity, &template.pod_anti_affinity, is_term_of)
        && alike(&pod.spread, &template.spread, is_constraint_of)
}

fn alike<T>(of_pod: &[T], of_template: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    of_pod.len() == of_template.len()
        && of_pod.iter().zip(of_template).all(|(pod, template)| same(pod, template))
}

fn is_term_of(pod: &AffinityTerm, template: &AffinityTerm) -> bool {
    pod.topology_key == template.topology_key && pod.namespaces == template.namespaces
}

fn is_constraint_of(pod: &SpreadConstraint, template: &SpreadConstraint) -> bool {
    SpreadConstraint { selector: pod.selector.clone(), ..template.clone() } == *pod
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::PodShape;

    use super::is_made_of;

    fn shape(cpu: &str, more: Value) -> PodShape {
        let mut spec = json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let pod = json!({"metadata": {"name": "p", "namespace": "d", "labels": {"v": "1"}}, "spec": spec});
        let pod = windlass_control::adapt::pod(&serde_json::from_value(pod).unwrap()).unwrap();
        (*pod.shape).clone()
    }

    fn spread(skew: u32, keys: &[&str]) -> Value {
        json!({"topologySpreadConstraints": [{
            "topologyKey": "zone", "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": keys,
        }]})
    }

    #[test]
    fn what_admission_adds_makes_no_other_pod() {
        let plain = shape("1", json!({}));
        let toleration =
            json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"});
        let admitted = json!({"priority": 7, "nodeSelector": {"a": "b"}, "tolerations": [toleration]});
        assert!(is_made_of(&shape("1", admitted.clone()), &plain));
        assert!(!is_made_of(&plain, &shape("1", admitted)), "it has to have what the template asks for");
        assert!(is_made_of(&shape("1", spread(1, &["v"])), &shape("1", spread(1, &[]))));
    }

    #[test]
    fn a_pod_that_asks_for_something_else_is_another() {
        assert!(!is_made_of(&shape("1", json!({})), &shape("2", json!({}))));
        assert!(!is_made_of(&shape("1", json!({})), &shape("1", spread(1, &[]))));
        assert!(!is_made_of(&shape("1", spread(1, &[])), &shape("1", spread(2, &[]))));
    }
}
