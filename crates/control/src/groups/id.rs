//! The names of groups and instances.

use std::fmt;

use windlass_api::labels::PENDING_INSTANCE;
use windlass_core::model::{Labels, OfferingKey};
use windlass_core::{Text, stable_hash};

/// Which group: what it is made of, and nothing that changes from day to day, such as prices or what is to be had.
///
/// It is written `pool/instance-type/zone/capacity-type`, and where the pool defines labels of its own by asking for them,
/// which makes several kinds of nodes of one machine, `/key=value,...` follows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupId {
    pub(super) pool: Text,
    pub(super) key: OfferingKey,
    /// The labels that the pool defines itself.
    pub(super) own: Labels,
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OfferingKey { instance_type, zone, capacity_type } = &self.key;
        write!(f, "{}/{instance_type}/{zone}/{capacity_type}", self.pool)?;
        for (number, (key, value)) in self.own.iter().enumerate() {
            write!(f, "{}{key}={value}", if number == 0 { "/" } else { "," })?;
        }
        Ok(())
    }
}

/// The longest that a label's value may be.
const LONGEST: usize = 63;

impl GroupId {
    /// The value of the label by which a node tells its group. The zone is no part of it: Cluster Autoscaler takes groups
    /// for alike, and shares new nodes out among them, only if their nodes have the same labels but for those of the zone.
    pub(super) fn label(&self) -> String {
        let OfferingKey { instance_type, capacity_type, .. } = &self.key;
        let own = self.own.iter().map(|(_, value)| &**value);
        let words: Vec<&str> = [&*self.pool, instance_type, capacity_type].into_iter().chain(own).collect();
        let joined = words.join("_");
        let clear = words
            .iter()
            .all(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte)));
        if clear && joined.len() <= LONGEST && ends_well(&joined) {
            return joined;
        }
        // Longer, or such that another group could read the same: then a hash tells them apart.
        let bytes: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let hash = format!("{:016x}", stable_hash(&bytes));
        let start: String =
            joined.chars().map(|each| if each.is_ascii_alphanumeric() { each } else { '-' }).collect();
        let start: String = start.trim_matches('-').chars().take(LONGEST - 1 - hash.len()).collect();
        if start.is_empty() { hash } else { format!("{start}_{hash}") }
    }
}

fn ends_well(text: &str) -> bool {
    let is_fine = |each: Option<char>| each.is_some_and(|each| each.is_ascii_alphanumeric());
    is_fine(text.chars().next()) && is_fine(text.chars().next_back())
}

/// The id of an instance: its machine, or as long as none is known its claim. That is found by such an id for as long as it
/// is there, also after it has got its machine.
pub(super) fn instance_id(provider_id: Option<&str>, claim_uid: &str) -> String {
    provider_id.map_or_else(|| format!("{PENDING_INSTANCE}{claim_uid}"), ToOwned::to_owned)
}

/// The UID of the claim that an instance's id names, if it names one.
pub(super) fn claim_of(id: &str) -> Option<&str> {
    id.strip_prefix(PENDING_INSTANCE).filter(|uid| !uid.is_empty())
}

#[cfg(test)]
mod tests {
    use windlass_core::model::{Labels, OfferingKey};

    use super::{GroupId, LONGEST, claim_of, instance_id};

    fn group(pool: &str, kind: &str, zone: &str, own: Labels) -> GroupId {
        let key = OfferingKey { instance_type: kind.into(), zone: zone.into(), capacity_type: "spot".into() };
        GroupId { pool: pool.into(), key, own }
    }

    #[test]
    fn a_group_is_named_after_what_it_is_made_of() {
        assert_eq!(group("web", "m-8", "zone-a", Labels::new()).to_string(), "web/m-8/zone-a/spot");
        let own = Labels::new().with("team", "red").with("example.com/tier", "1");
        assert_eq!(group("web", "m-8", "a", own).to_string(), "web/m-8/a/spot/example.com/tier=1,team=red");
    }

    #[test]
    fn groups_that_differ_only_in_their_zone_have_the_same_label() {
        let label = |zone: &str| group("web", "m-8", zone, Labels::new()).label();
        assert_eq!((label("a"), label("b")), ("web_m-8_spot".to_owned(), "web_m-8_spot".to_owned()));
        assert_ne!(label("a"), group("web", "m-4", "a", Labels::new()).label());
        assert_ne!(label("a"), group("web", "m-8", "a", Labels::new().with("team", "red")).label());
    }

    #[test]
    fn a_label_is_one_that_kubernetes_takes_whatever_the_names() {
        let long = "x".repeat(80);
        let names = ["m_8", "m 8", "-", "..", "ä", "", long.as_str(), "Standard_D2s_v3"];
        let labels: Vec<String> =
            names.iter().map(|name| group("web", name, "a", Labels::new()).label()).collect();
        for (number, label) in labels.iter().enumerate() {
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            assert!(label.len() <= LONGEST && label.bytes().all(fine), "{label}");
            assert!(label.starts_with(|each: char| each.is_ascii_alphanumeric()), "{label}");
            assert!(label.ends_with(|each: char| each.is_ascii_alphanumeric()), "{label}");
            assert!(!labels[..number].contains(label), "{label}");
        }
    }

    #[test]
    fn an_instance_without_a_machine_is_found_by_its_claim() {
        assert_eq!(claim_of(&instance_id(None, "u-1")), Some("u-1"));
        assert_eq!(instance_id(Some("simulated://lab/x"), "u-1"), "simulated://lab/x");
        assert_eq!((claim_of("simulated://lab/x"), claim_of("windlass://claim/")), (None, None));
    }
}
