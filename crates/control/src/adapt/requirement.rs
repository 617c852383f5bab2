use windlass_core::Text;
use windlass_core::model::{Operator, Requirement, Requirements};

/// A demand on a label as Kubernetes reads it, or none where it makes no sense to Kubernetes. What contains such a demand
/// matches nothing there, also where the demand alone would allow nearly everything, as `NotIn` does.
pub(super) fn requirement(key: &str, operator: &str, values: &[String]) -> Option<Requirement> {
    let operator = match operator {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::Gt,
        "Lt" => Operator::Lt,
        _ => return None,
    };
    if !is_label_key(key) || !values.iter().all(|value| is_label_value(value)) {
        return None;
    }
    let values: Vec<Text> = values.iter().map(|value| value.as_str().into()).collect();
    Requirement::new(&key.into(), operator, &values).ok()
}

/// A demand that no node meets: no label has an empty name. It says in words why it is there.
pub(super) fn unmeetable(why: &str) -> Requirements {
    let mut nothing = Requirements::new();
    nothing.add(&"".into(), Requirement::equals(why.into()));
    nothing
}

/// Whether a label can have this name: 63 characters at most, after a domain and a slash where there is one.
fn is_label_key(key: &str) -> bool {
    let (domain, name) = key.split_once('/').map_or((None, key), |(domain, name)| (Some(domain), name));
    domain.is_none_or(is_domain) && !name.is_empty() && is_label_value(name)
}

fn is_label_value(value: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    bytes.len() <= 63 && bytes.iter().copied().all(inner) && outer(bytes.first()) && outer(bytes.last())
}

fn is_domain(domain: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    domain.len() <= 253 && domain.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use windlass_core::model::Labels;

    use super::{requirement, unmeetable};

    fn reads(key: &str, operator: &str, values: &[&str]) -> bool {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        requirement(key, operator, &values).is_some()
    }

    #[test]
    fn only_what_kubernetes_understands_is_read() {
        assert!(reads("example.com/some.Key_1", "NotIn", &["A-b_c.9", ""]));
        assert!(reads("a", "Gt", &["5"]) && reads("a", "Exists", &[]));
        for (key, operator, values) in [
            ("a", "in", &["b"][..]),
            ("a", "Gte", &["5"]),
            ("a", "In", &[]),
            ("a", "Exists", &["b"]),
            ("a", "Gt", &["many"]),
            ("a", "Gt", &["-5"]),
            ("", "NotIn", &["b"]),
            ("-a", "NotIn", &["b"]),
            ("/a", "NotIn", &["b"]),
            ("a/", "NotIn", &["b"]),
            ("a/b/c", "NotIn", &["b"]),
            ("Example.com/a", "NotIn", &["b"]),
            ("a", "NotIn", &["two words"]),
            ("a", "NotIn", &["b."]),
            ("a", "NotIn", &["0123456789012345678901234567890123456789012345678901234567890123"]),
        ] {
            assert!(!reads(key, operator, values), "{key} {operator} {values:?}");
        }
    }

    #[test]
    fn what_cannot_be_met_is_met_by_nothing() {
        let nothing = unmeetable("for a test");
        assert!(nothing.check(&Labels::new()).is_err());
        assert!(nothing.check(&Labels::new().with("a", "b")).is_err());
    }
}
