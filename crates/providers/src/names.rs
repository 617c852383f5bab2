//! Which names Kubernetes takes.

use crate::ProviderError;

/// How long the value of a label may be.
pub(crate) const LABEL_LIMIT: usize = 63;

/// Whether Kubernetes takes this as the value of a label.
pub(crate) fn is_label_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= LABEL_LIMIT
        && bytes.iter().copied().all(inner)
        && ends(bytes.first())
        && ends(bytes.last())
}

/// Whether Kubernetes takes this as the key of a label or the name of a resource.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = text.rsplit_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_dns_subdomain)
}

/// Whether a provider and its cluster can be named in the labels of what is recorded of their machines.
pub(crate) fn check_labels(provider: &str, cluster_id: &str) -> Result<(), ProviderError> {
    for (what, text) in [("name of the provider", provider), ("id of the cluster", cluster_id)] {
        if text.is_empty() || !is_label_value(text) {
            let message = format!(
                "the {what}, {text:?}, becomes a label of its machines: write at most 63 letters, digits, dots, dashes"
            );
            return Err(ProviderError::InvalidConfiguration { message });
        }
    }
    Ok(())
}

fn is_dns_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::{is_label_value, is_qualified_name};

    #[test]
    fn labels_and_resources_are_named_as_kubernetes_allows() {
        for good in ["cpu", "nvidia.com/gpu", "node.kubernetes.io/instance-type", "a_b"] {
            assert!(is_qualified_name(good), "{good}");
        }
        for bad in ["", "/gpu", "Nvidia.com/gpu", "a b", "-a", "a/b/c", "nvidia..com/gpu"] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
        assert!(is_label_value("") && !is_label_value(&"x".repeat(64)));
    }
}
