use k8s_openapi::api::core::v1::{PodAffinityTerm, WeightedPodAffinityTerm};
use windlass_core::Text;
use windlass_core::model::{AffinityTerm, Labels, Namespaces, Operator, Selector, Weighted};

use super::selector::{Malformed, add_own, selector};

/// The pods that a pod must be with, or away from.
pub(super) fn required(
    terms: Option<&Vec<PodAffinityTerm>>,
    namespace: &Text,
    labels: &Labels,
) -> Result<Vec<AffinityTerm>, Malformed> {
    terms.into_iter().flatten().map(|each| term(each, namespace, labels)).collect()
}

/// The pods that a pod would rather be with, or away from.
pub(super) fn preferred(
    terms: Option<&Vec<WeightedPodAffinityTerm>>,
    namespace: &Text,
    labels: &Labels,
) -> Result<Vec<Weighted<AffinityTerm>>, Malformed> {
    let weighted = |each: &WeightedPodAffinityTerm| {
        Ok(Weighted { weight: each.weight, wish: term(&each.pod_affinity_term, namespace, labels)? })
    };
    terms.into_iter().flatten().map(weighted).collect()
}

fn term(term: &PodAffinityTerm, namespace: &Text, labels: &Labels) -> Result<AffinityTerm, Malformed> {
    let mut pods = selector(term.label_selector.as_ref())?;
    // The API server writes these keys into the selector of a pod when it is made, and the scheduler knows them only from
    // there. The template of a daemonset has them as its author wrote them.
    if !mentions_any(&pods, term.match_label_keys.iter().chain(&term.mismatch_label_keys).flatten()) {
        add_own(&mut pods, Operator::In, term.match_label_keys.as_ref(), labels);
        add_own(&mut pods, Operator::NotIn, term.mismatch_label_keys.as_ref(), labels);
    }
    Ok(AffinityTerm {
        topology_key: term.topology_key.as_str().into(),
        selector: pods,
        namespaces: namespaces(term, namespace)?,
    })
}

fn mentions_any<'a>(selector: &Selector, mut keys: impl Iterator<Item = &'a String>) -> bool {
    match selector {
        Selector::Nothing => false,
        Selector::Matching(requirements) => keys.any(|key| requirements.get(key).is_some()),
    }
}

/// The namespaces that are listed or selected; the pod's own where nothing is said about it.
fn namespaces(term: &PodAffinityTerm, own: &Text) -> Result<Namespaces, Malformed> {
    let listed: std::collections::BTreeSet<Text> =
        term.namespaces.iter().flatten().map(|name| name.as_str().into()).collect();
    if listed.is_empty() && term.namespace_selector.is_none() {
        return Ok(Namespaces::only(own.clone()));
    }
    Ok(Namespaces { listed, selector: selector(term.namespace_selector.as_ref())? })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windlass_core::model::{AffinityTerm, Labels};

    use super::super::selector::Malformed;
    use super::{preferred, required};

    fn read(term: Value, labels: &Labels) -> Result<AffinityTerm, Malformed> {
        let terms = serde_json::from_value(json!([term])).unwrap();
        required(Some(&terms), &"home".into(), labels).map(|mut terms| terms.remove(0))
    }

    #[test]
    fn pods_are_looked_for_in_the_own_namespace_unless_something_else_is_said() {
        let team = Labels::new().with("team", "a");
        let term = |more: Value| {
            let mut term = json!({"topologyKey": "zone", "labelSelector": {}});
            term.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            read(term, &Labels::new()).unwrap().namespaces
        };
        let own = term(json!({}));
        assert!(own.include("home", Some(&team)) && !own.include("other", Some(&team)));
        let own = term(json!({"namespaces": []}));
        assert!(own.include("home", Some(&team)) && !own.include("other", Some(&team)));
        let listed = term(json!({"namespaces": ["other"]}));
        assert!(!listed.include("home", Some(&team)) && listed.include("other", Some(&team)));
        let selected = term(json!({"namespaceSelector": {"matchLabels": {"team": "a"}}}));
        assert!(selected.include("other", Some(&team)) && !selected.include("home", Some(&Labels::new())));
        let both = term(json!({"namespaces": ["x"], "namespaceSelector": {"matchLabels": {"team": "a"}}}));
        assert!(both.include("x", Some(&Labels::new())) && both.include("other", Some(&team)));
        assert!(!both.include("home", Some(&Labels::new())));
        let all = term(json!({"namespaceSelector": {}}));
        assert!(all.include("home", Some(&team)) && all.include("other", Some(&Labels::new())));
    }

    #[test]
    fn a_term_without_a_selector_means_no_pods() {
        let term = read(json!({"topologyKey": "zone"}), &Labels::new()).unwrap();
        assert!(!term.selector.matches(&Labels::new()));
        assert_eq!(&*term.topology_key, "zone");
    }

    #[test]
    fn keys_stand_for_the_own_values_or_for_all_but_those() {
        let own = Labels::new().with("version", "2").with("tenant", "t1");
        let term = json!({
            "topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}},
            "matchLabelKeys": ["version", "missing"], "mismatchLabelKeys": ["tenant"],
        });
        let selector = read(term, &own).unwrap().selector;
        let other = Labels::new().with("app", "web").with("version", "2").with("tenant", "t2");
        assert!(selector.matches(&other));
        assert!(!selector.matches(&other.clone().with("tenant", "t1")));
        assert!(!selector.matches(&other.with("version", "1")));
    }

    #[test]
    fn keys_that_the_api_server_has_resolved_are_not_resolved_again() {
        let relabelled = Labels::new().with("app", "web").with("version", "3");
        let expression = json!({"key": "version", "operator": "In", "values": ["2"]});
        let term = json!({
            "topologyKey": "zone", "matchLabelKeys": ["version"],
            "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": [expression]},
        });
        let selector = read(term, &relabelled).unwrap().selector;
        assert!(selector.matches(&relabelled.clone().with("version", "2")));
        assert!(!selector.matches(&relabelled));
    }

    #[test]
    fn a_term_that_kubernetes_cannot_read_is_an_error() {
        let bad = json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]});
        let pods = json!({"topologyKey": "zone", "labelSelector": bad});
        assert_eq!(read(pods, &Labels::new()), Err(Malformed));
        let namespaces = json!({"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": bad});
        assert_eq!(read(namespaces, &Labels::new()), Err(Malformed));
    }

    #[test]
    fn wishes_keep_their_weight() {
        let terms = json!([{"weight": 30, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {}}}]);
        let wishes = preferred(Some(&serde_json::from_value(terms).unwrap()), &"home".into(), &Labels::new());
        assert_eq!(wishes.unwrap()[0].weight, 30);
    }
}
