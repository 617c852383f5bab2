use k8s_openapi::api::core::v1::{
    NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm,
};
use windlass_core::model::{Operator, Requirement, Requirements, Weighted};

use super::requirement::{requirement, unmeetable};

/// The one field of a node that can be matched; nodes carry it as if it were a label.
pub(super) const NAME_FIELD: &str = "metadata.name";

/// What a node must have: one of the terms must hold. Terms that say nothing or that Kubernetes cannot read match no
/// node; where that is so for all of them, nothing matches.
pub(super) fn required(selector: Option<&NodeSelector>) -> Vec<Requirements> {
    let Some(selector) = selector else { return Vec::new() };
    let terms: Vec<Requirements> = selector.node_selector_terms.iter().filter_map(term).collect();
    if terms.is_empty() { vec![unmeetable("none of the terms can match a node")] } else { terms }
}

/// What a node had better have. A wish that no node can fulfil or that weighs nothing is none.
pub(super) fn preferred(terms: Option<&Vec<PreferredSchedulingTerm>>) -> Vec<Weighted<Requirements>> {
    let weighty = terms.into_iter().flatten().filter(|preferred| preferred.weight != 0);
    weighty
        .filter_map(|preferred| {
            Some(Weighted { weight: preferred.weight, wish: term(&preferred.preference)? })
        })
        .collect()
}

fn term(term: &NodeSelectorTerm) -> Option<Requirements> {
    let mut requirements = Requirements::new();
    for expression in term.match_expressions.iter().flatten() {
        let values = expression.values.as_deref().unwrap_or_default();
        let demand = requirement(&expression.key, &expression.operator, values)?;
        requirements.add(&expression.key.as_str().into(), demand);
    }
    for field in term.match_fields.iter().flatten() {
        requirements.add(&NAME_FIELD.into(), name_requirement(field)?);
    }
    (!requirements.is_empty()).then_some(requirements)
}

/// A demand on a node's name, which may be longer than a label's value.
fn name_requirement(field: &NodeSelectorRequirement) -> Option<Requirement> {
    let operator = match field.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        _ => return None,
    };
    let [name] = field.values.as_deref()? else { return None };
    if field.key != NAME_FIELD {
        return None;
    }
    Requirement::new(&NAME_FIELD.into(), operator, &[name.as_str().into()]).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::{Labels, Requirements};

    use super::{preferred, required};

    fn read(terms: Value) -> Vec<Requirements> {
        required(Some(&serde_json::from_value(json!({"nodeSelectorTerms": terms})).unwrap()))
    }

    fn admit(terms: &[Requirements], labels: &Labels) -> bool {
        terms.iter().any(|term| term.check(labels).is_ok())
    }

    #[test]
    fn one_of_the_terms_must_hold_with_all_that_it_says() {
        let terms = read(json!([
            {"matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["a", "b"]},
                {"key": "cores", "operator": "Gt", "values": ["4"]},
            ]},
            {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
        ]));
        assert!(admit(&terms, &Labels::new().with("zone", "b").with("cores", "8")));
        assert!(!admit(&terms, &Labels::new().with("zone", "b").with("cores", "4")));
        assert!(admit(&terms, &Labels::new().with("gpu", "")));
    }

    #[test]
    fn a_node_can_be_asked_for_by_its_name() {
        let long = "n".repeat(100);
        let field = |operator: &str| json!([{"matchFields": [{"key": "metadata.name", "operator": operator, "values": [long]}]}]);
        let (it, other) =
            (Labels::new().with("metadata.name", &long), Labels::new().with("metadata.name", "other"));
        assert!(admit(&read(field("In")), &it) && !admit(&read(field("In")), &other));
        assert!(!admit(&read(field("NotIn")), &it) && admit(&read(field("NotIn")), &other));
    }

    #[test]
    fn no_demand_is_not_the_same_as_one_that_nothing_meets() {
        assert!(required(None).is_empty());
        for terms in [
            json!([]),
            json!([{}]),
            json!([{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}]),
            json!([{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["two words"]}]}]),
            json!([{"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["a", "b"]}]}]),
            json!([{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]),
            json!([{"matchFields": [{"key": "spec.other", "operator": "NotIn", "values": ["a"]}]}]),
        ] {
            let read = read(terms.clone());
            assert!(!read.is_empty(), "{terms}");
            assert!(!admit(&read, &Labels::new().with("a", "1").with("metadata.name", "n")), "{terms}");
        }
    }

    #[test]
    fn a_term_that_cannot_be_read_does_not_spoil_the_others() {
        let terms = read(json!([{}, {"matchExpressions": [{"key": "a", "operator": "Exists"}]}]));
        assert!(admit(&terms, &Labels::new().with("a", "1")) && !admit(&terms, &Labels::new()));
    }

    #[test]
    fn wishes_keep_their_weight_and_empty_ones_are_none() {
        let terms = json!([
            {"weight": 7, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
            {"weight": 0, "preference": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}},
            {"weight": 5, "preference": {}},
            {"weight": 5, "preference": {"matchExpressions": [{"key": "c", "operator": "In"}]}},
        ]);
        let wishes = preferred(Some(&serde_json::from_value(terms).unwrap()));
        assert_eq!(wishes.len(), 1);
        assert_eq!(wishes[0].weight, 7);
        assert!(wishes[0].wish.check(&Labels::new().with("a", "")).is_ok());
    }
}
