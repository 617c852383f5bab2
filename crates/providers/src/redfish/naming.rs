//! How ledgers, machines and instance types are named.

use windlass_core::model::{Labels, Resources};
use windlass_core::{Price, Text, stable_hash};

const SCHEME: &str = "redfish://";

/// The name of the `ConfigMap` with the ledger of a provider.
pub(super) fn ledger_name(provider: &str, cluster_id: &str) -> String {
    let hash = stable_hash(&[provider.as_bytes(), cluster_id.as_bytes()]);
    format!("redfish-{}-{hash:016x}", provider.to_ascii_lowercase())
}

/// A host in the hands of a claim. It names the claim, since the next machine on the same host is another.
pub(super) fn provider_id(provider: &str, host: &str, claim_uid: &str) -> Text {
    format!("{SCHEME}{provider}/{host}/{claim_uid}").into()
}

/// The host and the claim, if the id is that of a machine of this provider.
pub(super) fn host_and_claim<'a>(provider: &str, provider_id: &'a str) -> Option<(&'a str, &'a str)> {
    let rest = provider_id.strip_prefix(SCHEME)?.strip_prefix(provider)?.strip_prefix('/')?;
    rest.split_once('/').filter(|(host, claim_uid)| !host.is_empty() && !claim_uid.is_empty())
}

/// The name of the instance type of hosts that are alike. It follows from what they are.
pub(super) fn type_name(capacity: &Resources, labels: &Labels, price: Price) -> Text {
    let mut parts = vec![capacity.to_string(), price.micros().to_string()];
    for (key, value) in labels.iter() {
        parts.extend([key.to_string(), value.to_string()]);
    }
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    let hash = format!("{:016x}", stable_hash(&parts));
    let (cores, gib) = (capacity.get(Resources::CPU) / 1000, capacity.get(Resources::MEMORY) >> 30);
    format!("metal-{cores}cpu-{gib}gi-{}", &hash[..8]).into()
}

#[cfg(test)]
mod tests {
    use windlass_core::Price;
    use windlass_core::model::{Labels, Resources};

    use super::{host_and_claim, provider_id, type_name};

    #[test]
    fn a_machine_names_its_provider_host_and_claim() {
        let id = provider_id("rack", "a", "uid-1");
        assert_eq!(host_and_claim("rack", &id), Some(("a", "uid-1")));
        for other in
            ["redfish://rack2/a/uid", "redfish://rack/uid", "redfish://rack//uid", "aws://rack/a/uid"]
        {
            assert_eq!(host_and_claim("rack", other), None, "{other}");
        }
    }

    #[test]
    fn hosts_that_differ_are_of_different_types() {
        let capacity = Resources::new().with("cpu", 16_000).with("memory", 64 << 30);
        let (labels, price) = (Labels::new().with("disk", "ssd"), Price::from_micros(350_000));
        let name = type_name(&capacity, &labels, price);
        assert!(name.starts_with("metal-16cpu-64gi-") && name.len() <= 63, "{name}");
        assert_eq!(name, type_name(&capacity, &labels, price));
        for other in [
            type_name(&capacity.clone().with("pods", 1), &labels, price),
            type_name(&capacity, &Labels::new(), price),
            type_name(&capacity, &labels, Price::ZERO),
        ] {
            assert_ne!(name, other);
        }
    }
}
