use serde_json::Value;

use super::kind::ResourceKind;
use super::refusal::StatusError;

/// Which objects of a kind a request is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<Demand>,
    fields: Vec<(&'static str, bool, String)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Demand {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Selector {
    /// Reads the selectors of a request.
    pub fn read(
        kind: &ResourceKind,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, StatusError> {
        let labels = labels.filter(|text| !text.trim().is_empty());
        let labels = labels.map_or(Ok(Vec::new()), read_labels);
        let labels =
            labels.map_err(|why| StatusError::bad_request(format!("unable to parse requirement: {why}")))?;
        let fields = fields
            .filter(|text| !text.is_empty())
            .map_or(Ok(Vec::new()), |text| text.split(',').map(|part| read_field(kind, part)).collect())?;
        Ok(Self { labels, fields })
    }

    /// Whether every object is meant.
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels.iter().all(|demand| demand.holds(labels))
            && self.fields.iter().all(|(pointer, equal, wanted)| {
                let found = object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                (found == wanted) == *equal
            })
    }
}

impl Demand {
    fn holds(&self, labels: &Value) -> bool {
        let found = labels.get(&self.key).and_then(Value::as_str);
        match &self.test {
            Test::Exists => found.is_some(),
            Test::Missing => found.is_none(),
            Test::In(values) => found.is_some_and(|found| values.iter().any(|value| value == found)),
            Test::NotIn(values) => found.is_none_or(|found| values.iter().all(|value| value != found)),
        }
    }
}

/// Whether a selector as objects contain it, such as that of a budget, selects these labels. One without any demand
/// selects everything, and none at all selects nothing.
pub(super) fn selects(selector: Option<&Value>, labels: &Value) -> bool {
    let Some(selector) = selector.filter(|selector| selector.is_object()) else { return false };
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    let equal = equal.map(|(key, value)| (key.clone(), Test::In(texts(std::slice::from_ref(value)))));
    let mut demands: Vec<(String, Test)> = equal.collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let values = texts(expression["values"].as_array().map_or(&[], Vec::as_slice));
        let test = match expression["operator"].as_str() {
            Some("In") => Test::In(values),
            Some("NotIn") => Test::NotIn(values),
            Some("Exists") => Test::Exists,
            Some("DoesNotExist") => Test::Missing,
            _ => return false,
        };
        demands.push((expression["key"].as_str().unwrap_or_default().to_owned(), test));
    }
    demands.into_iter().all(|(key, test)| Demand { key, test }.holds(labels))
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().filter_map(|value| value.as_str().map(ToOwned::to_owned)).collect()
}

fn read_labels(text: &str) -> Result<Vec<Demand>, String> {
    let mut demands = Vec::new();
    let mut rest = text;
    loop {
        let end = end_of_demand(rest);
        demands.push(read_demand(rest[..end].trim())?);
        if end == rest.len() {
            return Ok(demands);
        }
        rest = &rest[end + 1..];
    }
}

/// Commas between parentheses do not end a demand.
fn end_of_demand(text: &str) -> usize {
    let mut depth = 0_usize;
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return place,
            _ => {}
        }
    }
    text.len()
}

fn read_demand(text: &str) -> Result<Demand, String> {
    let bad = || format!("found '{text}'");
    let named = |key: &str, test: Test| {
        let key = key.trim();
        let is_key = !key.is_empty()
            && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter));
        if is_key { Ok(Demand { key: key.to_owned(), test }) } else { Err(bad()) }
    };
    if let Some(key) = text.strip_prefix('!') {
        return named(key, Test::Missing);
    }
    if let Some((key, value)) = text.split_once("!=") {
        return named(key, Test::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return named(key, Test::In(vec![value.trim().to_owned()]));
    }
    let Some((head, values)) = text.split_once('(') else { return named(text, Test::Exists) };
    let values = values.strip_suffix(')').ok_or_else(bad)?;
    let values = values.split(',').map(|value| value.trim().to_owned()).collect();
    match head.trim().rsplit_once(char::is_whitespace) {
        Some((key, "in")) => named(key, Test::In(values)),
        Some((key, "notin")) => named(key, Test::NotIn(values)),
        _ => Err(bad()),
    }
}

fn read_field(kind: &ResourceKind, text: &str) -> Result<(&'static str, bool, String), StatusError> {
    let (field, equal, value) = if let Some((field, value)) = text.split_once("!=") {
        (field, false, value)
    } else if let Some((field, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        (field, true, value)
    } else {
        return Err(StatusError::bad_request(format!(
            "invalid selector: '{text}'; can't understand '{text}'"
        )));
    };
    let pointer = match (field, kind.kind) {
        ("metadata.name", _) => "/metadata/name",
        ("metadata.namespace", _) if kind.namespaced || kind.custom => "/metadata/namespace",
        ("spec.nodeName", "Pod") => "/spec/nodeName",
        ("status.phase", "Pod" | "Namespace") => "/status/phase",
        ("spec.schedulerName", "Pod") => "/spec/schedulerName",
        ("status.nominatedNodeName", "Pod") => "/status/nominatedNodeName",
        _ => {
            let why = format!("field label not supported: {field}");
            return Err(StatusError::bad_request(why));
        }
    };
    Ok((pointer, equal, value.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Selector, selects};
    use crate::api::ResourceKind;

    fn label_match(selector: &str) -> bool {
        let kind = ResourceKind::named("Pod").unwrap();
        let pod = json!({"metadata": {"labels": {"app": "a", "tier": "web"}}});
        Selector::read(kind, Some(selector), None).unwrap().matches(&pod)
    }

    #[test]
    fn labels_are_selected_in_all_ways_that_kubernetes_knows() {
        for selector in ["app", "app=a", "app==a", "app!=b", "app in (b, a)", "x notin (a,b),tier=web", "!x"]
        {
            assert!(label_match(selector), "{selector}");
        }
        for selector in ["x", "app=b", "app!=a", "app in (b)", "app notin (a)", "!app", "app,x"] {
            assert!(!label_match(selector), "{selector}");
        }
    }

    #[test]
    fn a_field_that_cannot_be_selected_by_is_refused() {
        let kind = ResourceKind::named("Pod").unwrap();
        assert_eq!(Selector::read(kind, None, Some("spec.x=1")).unwrap_err().code, 400);
        let on_a = Selector::read(kind, None, Some("spec.nodeName=a")).unwrap();
        assert!(on_a.matches(&json!({"spec": {"nodeName": "a"}})) && !on_a.matches(&json!({"spec": {}})));
    }

    #[test]
    fn an_empty_selector_of_a_budget_selects_everything_and_none_selects_nothing() {
        assert!(selects(Some(&json!({})), &json!({"a": "b"})));
        assert!(!selects(None, &json!({"a": "b"})));
    }
}
