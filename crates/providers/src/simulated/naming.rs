//! How machines are named.

use windlass_core::{Text, stable_hash};

use crate::names::LABEL_LIMIT;

const SCHEME: &str = "simulated://";

/// The name of a claim's machine, of its record and of its node: readable by the claim's name, and different for
/// each provider and claim UID, so that a claim which reuses the name of another does not get its machine.
pub(super) fn machine_name(provider: &str, claim_name: &str, claim_uid: &str) -> String {
    let suffix = format!("{:016x}", stable_hash(&[provider.as_bytes(), claim_uid.as_bytes()]));
    let suffix = &suffix[..8];
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
    };
    let readable: String = claim_name.chars().map(plain).take(LABEL_LIMIT - suffix.len() - 1).collect();
    match readable.trim_matches('-') {
        "" => format!("machine-{suffix}"),
        readable => format!("{readable}-{suffix}"),
    }
}

/// The machine in the notation of a node's `spec.providerID`.
pub(super) fn provider_id(provider: &str, machine: &str) -> Text {
    format!("{SCHEME}{provider}/{machine}").into()
}

/// The machine's name, if the ID is one of this provider.
pub(super) fn machine_of<'a>(provider: &str, provider_id: &'a str) -> Option<&'a str> {
    let machine = provider_id.strip_prefix(SCHEME)?.strip_prefix(provider)?.strip_prefix('/')?;
    (!machine.is_empty() && machine.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        .then_some(machine)
}

#[cfg(test)]
mod tests {
    use super::{machine_name, machine_of, provider_id};
    use crate::names::{is_label_value, is_qualified_name};

    #[test]
    fn a_claim_that_reuses_a_name_gets_another_machine() {
        let (first, second) = (machine_name("lab", "web-1", "uid-1"), machine_name("lab", "web-1", "uid-2"));
        assert_ne!(first, second);
        assert!(first.starts_with("web-1-") && second.starts_with("web-1-"), "{first} {second}");
        assert_eq!(first, machine_name("lab", "web-1", "uid-1"));
    }

    #[test]
    fn every_claim_name_makes_a_node_name_that_also_is_a_label() {
        for name in ["a", "web.example.com", "Ünïcode!", "", "---", &"long-".repeat(60)] {
            let machine = machine_name("lab", name, "uid");
            assert!(
                is_label_value(&machine) && is_qualified_name(&format!("{machine}/x")),
                "{name}: {machine}"
            );
        }
    }

    #[test]
    fn an_id_names_its_provider() {
        let id = provider_id("lab", "web-1");
        assert_eq!(&*id, "simulated://lab/web-1");
        assert_eq!(machine_of("lab", &id), Some("web-1"));
        for other in [
            "simulated://lab2/web-1",
            "simulated://la/b/web-1",
            "aws://lab/web-1",
            "simulated://lab/",
            "simulated://lab/../x",
        ] {
            assert_eq!(machine_of("lab", other), None, "{other}");
        }
    }
}
