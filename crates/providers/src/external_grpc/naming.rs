//! How records and what is still awaited are named.

use windlass_core::{Text, stable_hash};

const SCHEME: &str = "externalgrpc://";

/// The name of the `ConfigMap` with the ledger of a group.
pub(super) fn ledger_name(provider: &str, cluster_id: &str, group: &str) -> String {
    let parts = [provider.as_bytes(), cluster_id.as_bytes(), group.as_bytes()];
    format!("externalgrpc-{provider}-{:016x}", stable_hash(&parts))
}

/// What a claim waits for, in the notation of a machine. No node ever has it.
pub(super) fn awaited_id(provider: &str, group: &str, claim_uid: &str) -> Text {
    format!("{SCHEME}{provider}/{group}/{claim_uid}").into()
}

/// The group and the claim, if the id is that of something that this provider waits for.
pub(super) fn awaited<'a>(provider: &str, provider_id: &'a str) -> Option<(&'a str, &'a str)> {
    let rest = provider_id.strip_prefix(SCHEME)?.strip_prefix(provider)?.strip_prefix('/')?;
    rest.rsplit_once('/').filter(|(group, claim_uid)| !group.is_empty() && !claim_uid.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{awaited, awaited_id, ledger_name};

    #[test]
    fn what_is_awaited_names_its_provider_group_and_claim() {
        let id = awaited_id("rack", "zones/a/small", "uid-1");
        assert_eq!(awaited("rack", &id), Some(("zones/a/small", "uid-1")));
        for other in ["externalgrpc://rack2/a/uid", "externalgrpc://rack/uid", "aws://rack/a/uid"] {
            assert_eq!(awaited("rack", other), None, "{other}");
        }
    }

    #[test]
    fn each_group_has_a_ledger_of_its_own() {
        let names = [
            ledger_name("rack", "c", "a"),
            ledger_name("rack", "c", "b"),
            ledger_name("rack", "d", "a"),
            ledger_name("rack2", "c", "a"),
        ];
        for (number, name) in names.iter().enumerate() {
            assert!(name.len() <= 253 && !names[..number].contains(name), "{name}");
        }
    }
}
