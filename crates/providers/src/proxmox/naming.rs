//! How a claim's machine is called and marked, and which ids it may get: all of it follows from the claim, so that whoever
//! comes after a crash looks in the same places.

use ring::digest::{SHA256, digest};
use windlass_api::VmidRange;
use windlass_core::{Text, stable_hash};

const SCHEME: &str = "proxmox://";
/// On every machine of Windlass.
pub(super) const TAG: &str = "windlass";
const OWNER_TAG: &str = "windlass-of-";
const CLAIM_TAG: &str = "windlass-claim-";
/// How long the name of a machine may be, which becomes that of its node.
const NAME_LIMIT: usize = 63;
/// How many ids are tried for a claim.
const TRIES: u32 = 64;

/// The mark of one provider in one cluster.
pub(super) fn owner_tag(provider: &str, cluster_id: &str) -> String {
    format!("{OWNER_TAG}{:016x}", stable_hash(&[cluster_id.as_bytes(), provider.as_bytes()]))
}

/// The mark of a claim.
pub(super) fn claim_tag(uuid: &str) -> String {
    format!("{CLAIM_TAG}{uuid}")
}

/// The UUID in the mark of a claim.
pub(super) fn uuid_in(tag: &str) -> Option<&str> {
    tag.strip_prefix(CLAIM_TAG)
}

/// Whether a tag is such as only Windlass gives, in whatever cluster. That a template has the plain one means nothing.
pub(super) fn is_mark(tag: &str) -> bool {
    tag.starts_with(OWNER_TAG) || tag.starts_with(CLAIM_TAG)
}

/// The machine's UUID: the claim's own UID, or one made of it where that is none.
pub(super) fn uuid(claim_uid: &str) -> String {
    let lower = claim_uid.to_ascii_lowercase();
    let shaped = lower.len() == 36
        && lower.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if shaped {
        return lower;
    }
    let hash = digest(&SHA256, claim_uid.as_bytes());
    let number = hash.as_ref().iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let hex = format!("{number:032x}");
    // Version 8 is for UUIDs that are made in a way of one's own.
    format!("{}-{}-8{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

/// The machine in the notation of `spec.providerID`.
pub(super) fn provider_id(provider: &str, uuid: &str) -> Text {
    format!("{SCHEME}{provider}/{uuid}").into()
}

/// The UUID, if the id is that of a machine of this provider.
pub(super) fn uuid_of<'a>(provider: &str, provider_id: &'a str) -> Option<&'a str> {
    let uuid = provider_id.strip_prefix(SCHEME)?.strip_prefix(provider)?.strip_prefix('/')?;
    (!uuid.is_empty() && !uuid.contains('/')).then_some(uuid)
}

/// The claim's name as that of a machine and its node: one label of a host name. A name that is changed for that gets a
/// suffix, so that it stays different from others.
pub(super) fn vm_name(claim_name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let label: String = claim_name.chars().map(plain).collect();
    let label = label.trim_matches('-');
    if label == claim_name && label.len() <= NAME_LIMIT && !label.is_empty() {
        return label.to_owned();
    }
    let suffix = format!("{:08x}", stable_hash(&[claim_name.as_bytes()]) >> 32);
    let readable: String = label.chars().take(NAME_LIMIT - suffix.len() - 1).collect();
    match readable.trim_matches('-') {
        "" => format!("machine-{suffix}"),
        readable => format!("{readable}-{suffix}"),
    }
}

/// The ids to try for a claim, in this order. It is the same each time: two who launch for one claim at the same moment
/// want the same id, which only one of them gets.
pub(super) fn vmids(range: VmidRange, uuid: &str) -> impl Iterator<Item = u32> + use<> {
    let size = u64::from(range.last.saturating_sub(range.first)) + 1;
    let start = stable_hash(&[uuid.as_bytes()]) % size;
    let tries = size.min(u64::from(TRIES));
    (0..tries).filter_map(move |try_| {
        let offset = u32::try_from((start + try_) % size).ok()?;
        range.first.checked_add(offset)
    })
}

/// The hardware address of a machine's interface.
pub(super) fn mac(prefix: &str, uuid: &str, interface: usize) -> String {
    let hash = stable_hash(&[uuid.as_bytes(), &interface.to_be_bytes()]).to_be_bytes();
    format!("{}:{:02X}:{:02X}:{:02X}", prefix.to_ascii_uppercase(), hash[0], hash[1], hash[2])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windlass_api::VmidRange;

    use super::{mac, provider_id, uuid, uuid_of, vm_name, vmids};

    #[test]
    fn a_uid_that_is_a_uuid_is_the_machines_and_others_become_one() {
        let own = "5F2D8A1C-0b1e-4c7d-9a58-1f2e3d4c5b6a";
        assert_eq!(uuid(own), own.to_ascii_lowercase());
        let made = uuid("uid-of-web");
        assert_eq!((made.len(), uuid(&made)), (36, made.clone()), "{made}");
        assert_ne!(made, uuid("uid-of-web2"));
    }

    #[test]
    fn a_provider_id_names_its_provider_and_machine() {
        let id = provider_id("rack", "u");
        assert_eq!(uuid_of("rack", &id), Some("u"));
        assert_eq!(
            (uuid_of("rack2", &id), uuid_of("rac", &id), uuid_of("rack", "proxmox://rack/")),
            (None, None, None)
        );
    }

    #[test]
    fn any_claims_name_becomes_one_label() {
        assert_eq!(vm_name("web-x7f2q"), "web-x7f2q");
        let names = ["a.b", "a-b", "A-b", "", "---", &"long.".repeat(40)].map(vm_name);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for name in names {
            let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(!name.is_empty() && name.len() <= 63 && name.bytes().all(fits), "{name}");
            assert!(!name.starts_with('-') && !name.ends_with('-'), "{name}");
        }
    }

    #[test]
    fn ids_stay_in_their_range_and_each_is_tried_once() {
        let range = VmidRange { first: 100, last: 104 };
        let tried: Vec<u32> = vmids(range, "u").collect();
        assert_eq!(tried.iter().collect::<BTreeSet<_>>().len(), 5, "{tried:?}");
        assert!(tried.iter().all(|id| (100..=104).contains(id)), "{tried:?}");
        assert_eq!(vmids(VmidRange { first: 100, last: 9999 }, "u").count(), 64);
        let starts: BTreeSet<_> = (0..20).map(|n| vmids(range, &n.to_string()).next()).collect();
        assert!(starts.len() > 2, "{starts:?}");
    }

    #[test]
    fn each_interface_has_an_address_of_its_own() {
        let (first, second) = (mac("bc:24:11", "u", 0), mac("bc:24:11", "u", 1));
        assert!(first.starts_with("BC:24:11:") && first.len() == 17, "{first}");
        assert_ne!(first, second);
    }
}
