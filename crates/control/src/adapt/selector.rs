use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use windlass_core::Text;
use windlass_core::model::{Labels, Operator, Requirement, Requirements, Selector};

use super::requirement::requirement;

/// Something that kube-scheduler cannot read, so that it never places the pod that asks for it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// A selector of objects by their labels.
pub(super) fn selector(selector: Option<&LabelSelector>) -> Result<Selector, Malformed> {
    let Some(selector) = selector else { return Ok(Selector::Nothing) };
    let mut requirements = Requirements::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        let equal = requirement(key, "In", std::slice::from_ref(value)).ok_or(Malformed)?;
        requirements.add(&key.as_str().into(), equal);
    }
    for expression in selector.match_expressions.iter().flatten() {
        if matches!(expression.operator.as_str(), "Gt" | "Lt") {
            return Err(Malformed);
        }
        let values = expression.values.as_deref().unwrap_or_default();
        let demand = requirement(&expression.key, &expression.operator, values).ok_or(Malformed)?;
        requirements.add(&expression.key.as_str().into(), demand);
    }
    Ok(Selector::Matching(requirements))
}

/// Adds to a selector what a pod says of its own labels: that others have the same values (`In`) or others (`NotIn`). A
/// label that the pod does not have says nothing, and what selects nothing goes on to do so.
pub(super) fn add_own(selector: &mut Selector, operator: Operator, keys: Option<&Vec<String>>, own: &Labels) {
    let Selector::Matching(requirements) = selector else { return };
    for key in keys.into_iter().flatten() {
        let Some(value) = own.get(key) else { continue };
        let key = Text::from(key.as_str());
        if let Ok(demand) = Requirement::new(&key, operator, std::slice::from_ref(value)) {
            requirements.add(&key, demand);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::{Labels, Operator, Selector};

    use super::{Malformed, add_own, selector};

    fn read(object: Value) -> Result<Selector, Malformed> {
        selector(Some(&serde_json::from_value(object).unwrap()))
    }

    #[test]
    fn a_selector_that_was_left_out_selects_nothing_and_an_empty_one_everything() {
        assert!(!selector(None).unwrap().matches(&Labels::new()));
        assert!(read(json!({})).unwrap().matches(&Labels::new()));
    }

    #[test]
    fn labels_and_expressions_must_all_match() {
        let web = read(json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "NotIn", "values": ["test"]},
                {"key": "team", "operator": "Exists"},
            ],
        }))
        .unwrap();
        let labels = Labels::new().with("app", "web").with("team", "a");
        assert!(web.matches(&labels));
        assert!(!web.matches(&labels.clone().with("tier", "test")));
        assert!(!web.matches(&Labels::new().with("app", "web")));
        assert!(!web.matches(&labels.with("app", "db")));
    }

    #[test]
    fn a_selector_that_kubernetes_cannot_read_is_an_error_and_selects_nothing_by_chance() {
        for expression in [
            json!({"key": "a", "operator": "Gt", "values": ["1"]}),
            json!({"key": "a", "operator": "Unlike", "values": ["1"]}),
            json!({"key": "a", "operator": "NotIn", "values": []}),
            json!({"key": "a", "operator": "NotIn", "values": ["two words"]}),
        ] {
            assert_eq!(read(json!({"matchExpressions": [expression]})), Err(Malformed));
        }
        assert_eq!(read(json!({"matchLabels": {"a": "two words"}})), Err(Malformed));
    }

    #[test]
    fn the_own_labels_of_a_pod_narrow_what_it_selects() {
        let own = Labels::new().with("version", "2");
        let keys = vec!["version".to_owned(), "missing".to_owned()];
        let mut same = read(json!({})).unwrap();
        add_own(&mut same, Operator::In, Some(&keys), &own);
        assert!(same.matches(&own) && !same.matches(&Labels::new().with("version", "1")));
        let mut other = read(json!({})).unwrap();
        add_own(&mut other, Operator::NotIn, Some(&keys), &own);
        assert!(!other.matches(&own) && other.matches(&Labels::new()));
        let mut nothing = Selector::Nothing;
        add_own(&mut nothing, Operator::In, Some(&keys), &own);
        assert_eq!(nothing, Selector::Nothing);
    }
}
