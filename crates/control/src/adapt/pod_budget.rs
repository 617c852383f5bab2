use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use windlass_core::model::{PodBudget, Requirements, Selector};

use super::selector::selector;

/// A budget of pods from the API. One that has not been looked at yet, or whose selector makes no sense, allows nothing.
pub fn pod_budget(budget: &PodDisruptionBudget) -> PodBudget {
    let allowed = budget.status.as_ref().and_then(|status| status.disruptions_allowed).unwrap_or(0);
    let chosen = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    match selector(chosen) {
        Ok(selector) => PodBudget { selector, allowed: u32::try_from(allowed).unwrap_or(0) },
        Err(_) => PodBudget { selector: Selector::Matching(Requirements::new()), allowed: 0 },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};
    use windlass_core::model::Labels;

    use super::pod_budget;

    #[test]
    fn a_budget_says_whose_pods_may_go_and_how_many() {
        let read = |spec: Value, status: Value| {
            pod_budget(&from_value(json!({"spec": spec, "status": status})).unwrap())
        };
        let status =
            json!({"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3});
        let web = read(json!({"selector": {"matchLabels": {"app": "web"}}}), status.clone());
        assert_eq!(web.allowed, 2);
        assert!(
            web.selector.matches(&Labels::new().with("app", "web")) && !web.selector.matches(&Labels::new())
        );
        assert!(
            !read(json!({}), status).selector.matches(&Labels::new()),
            "without a selector it is nobody's"
        );
        assert_eq!(read(json!({"selector": {}}), json!(null)).allowed, 0, "nobody has counted yet");
    }

    #[test]
    fn a_budget_with_more_pods_gone_than_it_allows_lets_none_go() {
        let status =
            json!({"disruptionsAllowed": -1, "currentHealthy": 0, "desiredHealthy": 1, "expectedPods": 1});
        let read = from_value(json!({"spec": {"selector": {}}, "status": status})).unwrap();
        assert_eq!(pod_budget(&read).allowed, 0);
    }

    #[test]
    fn a_budget_whose_selector_makes_no_sense_keeps_all_pods_of_its_namespace() {
        let wrong = json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]});
        let status =
            json!({"disruptionsAllowed": 5, "currentHealthy": 5, "desiredHealthy": 0, "expectedPods": 5});
        let budget = pod_budget(&from_value(json!({"spec": {"selector": wrong}, "status": status})).unwrap());
        assert!(budget.selector.matches(&Labels::new()) && budget.allowed == 0);
    }
}
