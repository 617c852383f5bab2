use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use windlass_core::model::{Labels, Operator, Selector, SpreadConstraint};

use super::selector::{Malformed, add_own, selector};

/// How a pod is to be spread. A constraint that says neither to wait nor to go on when it cannot be met is none.
pub(super) fn spread(
    constraints: Option<&Vec<TopologySpreadConstraint>>,
    labels: &Labels,
) -> Result<Vec<SpreadConstraint>, Malformed> {
    let read = |constraint: &TopologySpreadConstraint| match constraint.when_unsatisfiable.as_str() {
        "DoNotSchedule" => Some(read(constraint, true, labels)),
        "ScheduleAnyway" => Some(read(constraint, false, labels)),
        _ => None,
    };
    constraints.into_iter().flatten().filter_map(read).collect()
}

fn read(
    constraint: &TopologySpreadConstraint,
    required: bool,
    labels: &Labels,
) -> Result<SpreadConstraint, Malformed> {
    let mut pods = selector(constraint.label_selector.as_ref())?;
    add_own(&mut pods, Operator::In, constraint.match_label_keys.as_ref(), labels);
    // Elsewhere an empty selector means everything; here kube-scheduler counts no pods for it.
    if matches!(&pods, Selector::Matching(requirements) if requirements.is_empty()) {
        pods = Selector::Nothing;
    }
    let honors = |policy: Option<&String>, default: bool| policy.map_or(default, |policy| policy == "Honor");
    Ok(SpreadConstraint {
        topology_key: constraint.topology_key.as_str().into(),
        max_skew: u32::try_from(constraint.max_skew).unwrap_or(0),
        min_domains: constraint.min_domains.and_then(|number| u32::try_from(number).ok()),
        required,
        selector: pods,
        honors_node_affinity: honors(constraint.node_affinity_policy.as_ref(), true),
        honors_taints: honors(constraint.node_taints_policy.as_ref(), false),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::{Labels, Selector, SpreadConstraint};

    use super::super::selector::Malformed;
    use super::spread;

    fn read_all(constraint: Value, labels: &Labels) -> Result<Vec<SpreadConstraint>, Malformed> {
        spread(Some(&serde_json::from_value(json!([constraint])).unwrap()), labels)
    }

    fn read(more: Value) -> SpreadConstraint {
        let mut constraint = json!({
            "topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        });
        constraint.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read_all(constraint, &Labels::new().with("app", "web").with("version", "2")).unwrap().remove(0)
    }

    #[test]
    fn what_is_not_said_is_as_kubernetes_has_it() {
        let plain = read(json!({}));
        assert_eq!((&*plain.topology_key, plain.max_skew, plain.min_domains), ("zone", 2, None));
        assert!(plain.required && plain.honors_node_affinity && !plain.honors_taints);
        assert!(plain.selector.matches(&Labels::new().with("app", "web")));
    }

    #[test]
    fn what_is_said_is_kept() {
        let said = read(json!({
            "minDomains": 3, "whenUnsatisfiable": "ScheduleAnyway", "nodeAffinityPolicy": "Ignore",
            "nodeTaintsPolicy": "Honor",
        }));
        assert_eq!(said.min_domains, Some(3));
        assert!(!said.required && !said.honors_node_affinity && said.honors_taints);
    }

    #[test]
    fn keys_stand_for_the_own_values() {
        let selector = read(json!({"matchLabelKeys": ["version", "missing"]})).selector;
        assert!(selector.matches(&Labels::new().with("app", "web").with("version", "2")));
        assert!(!selector.matches(&Labels::new().with("app", "web").with("version", "1")));
    }

    #[test]
    fn no_pods_are_counted_for_a_selector_that_is_empty_or_left_out() {
        assert_eq!(read(json!({"labelSelector": {}})).selector, Selector::Nothing);
        assert_eq!(read(json!({"labelSelector": null})).selector, Selector::Nothing);
        let keyed = read(json!({"labelSelector": null, "matchLabelKeys": ["version"]}));
        assert_eq!(keyed.selector, Selector::Nothing);
        let keyed = read(json!({"labelSelector": {}, "matchLabelKeys": ["version"]}));
        assert!(keyed.selector.matches(&Labels::new().with("version", "2")));
    }

    #[test]
    fn an_unknown_mode_is_no_constraint_and_an_unreadable_selector_an_error() {
        let unknown = json!({"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "Perhaps"});
        assert_eq!(read_all(unknown, &Labels::new()), Ok(Vec::new()));
        let bad = json!({
            "topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]},
        });
        assert_eq!(read_all(bad, &Labels::new()), Err(Malformed));
    }
}
