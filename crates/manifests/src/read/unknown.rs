use serde_json::Value;

use crate::fault::join;

/// The first field that is in what was written and not in what was understood of it. Empty fields are left out by who
/// writes objects, so their absence means nothing.
pub(super) fn unknown_field(written: &Value, understood: &Value) -> Option<String> {
    match (written, understood) {
        (Value::Object(written), Value::Object(understood)) => written
            .iter()
            .filter(|(_, value)| !is_empty(value))
            .find_map(|(name, value)| match understood.get(name) {
                None => Some(name.clone()),
                Some(known) => unknown_field(value, known).map(|field| join(name, &field)),
            }),
        (Value::Array(written), Value::Array(understood)) => {
            let pairs = written.iter().zip(understood).enumerate();
            pairs.into_iter().find_map(|(number, (written, understood))| {
                unknown_field(written, understood).map(|field| join(&format!("[{number}]"), &field))
            })
        }
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::unknown_field;

    #[test]
    fn a_field_that_was_not_understood_is_named_with_its_path() {
        let written = json!({"a": {"b": [{"c": 1}, {"c": 2, "d": 3}]}});
        assert_eq!(unknown_field(&written, &written), None);
        let understood = json!({"a": {"b": [{"c": 1}, {"c": 2}]}});
        assert_eq!(unknown_field(&written, &understood).as_deref(), Some("a.b[1].d"));
    }

    #[test]
    fn what_is_empty_may_be_left_out() {
        let written = json!({"a": null, "b": [], "c": {"d": {}}});
        assert_eq!(unknown_field(&written, &json!({})), None);
    }
}
