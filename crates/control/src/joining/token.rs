//! A bootstrap token, and the Secret that it is in as Kubernetes wants it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use windlass_api::labels;
use windlass_core::{Text, stable_hash};

use super::{NoRandomness, SecretSource};

/// The type of Secrets with bootstrap tokens.
pub(super) const TYPE: &str = "bootstrap.kubernetes.io/token";
/// How many ids a claim's token may have. More than one only so that somebody else's Secret is not in the way.
pub(super) const IDS: u32 = 8;

const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const ID: &str = "token-id";
const SECRET: &str = "token-secret";
pub(super) const EXPIRATION: &str = "expiration";

/// The claim that a token is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holder<'a> {
    pub cluster_id: &'a str,
    pub claim_uid: &'a str,
    pub claim_name: &'a str,
}

/// A token that a machine shows to join.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token {
    id: Text,
    secret: Text,
}

impl Holder<'_> {
    /// The id of the claim's token, which is the same after a restart. Where somebody else has it, there is another.
    pub fn token_id(&self, attempt: u32) -> Text {
        let parts = [self.cluster_id.as_bytes(), self.claim_uid.as_bytes(), &attempt.to_be_bytes()];
        let mut rest = stable_hash(&parts);
        let letters = std::iter::repeat_with(|| {
            let letter = letter(rest % 36);
            rest /= 36;
            letter
        });
        letters.take(6).collect::<String>().into()
    }

    /// What selects the Secrets with the claim's tokens.
    pub fn selector(&self) -> String {
        format!("{}={},{}", labels::CLAIM_UID, self.claim_uid, of_cluster(self.cluster_id))
    }

    /// Whether a Secret was made for the claim.
    pub fn has(&self, secret: &Secret) -> bool {
        let label = |key| secret.labels().get(key).map(String::as_str);
        secret.type_.as_deref() == Some(TYPE)
            && secret.metadata.deletion_timestamp.is_none()
            && label(labels::CLAIM_UID) == Some(self.claim_uid)
            && label(labels::CLUSTER_ID) == Some(self.cluster_id)
    }

    /// The Secret with a token of the claim.
    pub fn secret(&self, token: &Token, expires: Timestamp, groups: &[String]) -> Secret {
        let yes = || "true".to_owned();
        let description = format!("for the machine of Windlass' NodeClaim {}", self.claim_name);
        let data = [
            (ID, token.id.to_string()),
            (SECRET, token.secret.to_string()),
            (EXPIRATION, written(expires)),
            ("usage-bootstrap-authentication", yes()),
            ("usage-bootstrap-signing", yes()),
            ("auth-extra-groups", groups.join(",")),
            ("description", description),
        ];
        let data = data.into_iter().filter(|(_, value)| !value.is_empty());
        let marks = [(labels::CLAIM_UID, self.claim_uid), (labels::CLUSTER_ID, self.cluster_id)];
        let marks = marks.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Secret {
            metadata: ObjectMeta {
                name: Some(secret_name(&token.id)),
                labels: Some(BTreeMap::from(marks)),
                ..ObjectMeta::default()
            },
            type_: Some(TYPE.to_owned()),
            data: Some(data.map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes()))).collect()),
            ..Secret::default()
        }
    }
}

/// What selects the Secrets with tokens of this cluster's claims.
pub(super) fn of_cluster(cluster_id: &str) -> String {
    format!("{}={cluster_id}", labels::CLUSTER_ID)
}

/// The name that a Secret with a token of this id must have.
pub(super) fn secret_name(id: &str) -> String {
    format!("bootstrap-token-{id}")
}

/// A time as it stands in a Secret.
pub(super) fn written(time: Timestamp) -> String {
    format!("{time:.0}")
}

/// When the token in a Secret expires; none if nobody can tell.
pub(super) fn expires(secret: &Secret) -> Option<Timestamp> {
    entry(secret, EXPIRATION)?.parse().ok()
}

fn entry<'s>(secret: &'s Secret, key: &str) -> Option<&'s str> {
    std::str::from_utf8(&secret.data.as_ref()?.get(key)?.0).ok()
}

impl Token {
    /// A new token of this id.
    pub fn new(id: Text, source: &dyn SecretSource) -> Result<Self, NoRandomness> {
        let mut secret = String::with_capacity(16);
        while secret.len() < 16 {
            let mut byte = [0];
            source.fill(&mut byte)?;
            // All letters are to be equally likely.
            if byte[0] < 252 {
                secret.push(letter(u64::from(byte[0]) % 36));
            }
        }
        Ok(Self { id, secret: secret.into() })
    }

    /// The token in a Secret, if there is one of this id.
    pub fn read(secret: &Secret, id: &str) -> Option<Self> {
        let valid = |text: &str| text.len() == 16 && text.bytes().all(|byte| ALPHABET.contains(&byte));
        let found = entry(secret, SECRET).filter(|text| valid(text))?;
        (entry(secret, ID) == Some(id)).then(|| Self { id: id.into(), secret: found.into() })
    }

    /// The token as machines show it.
    pub fn full(&self) -> Text {
        format!("{}.{}", self.id, self.secret).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).finish_non_exhaustive()
    }
}

fn letter(number: u64) -> char {
    let index = usize::try_from(number).unwrap_or_default();
    ALPHABET.get(index).copied().map_or('0', char::from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use jiff::Timestamp;
    use kube::ResourceExt;

    use super::{Holder, Token, entry, expires};

    const HOLDER: Holder<'_> = Holder { cluster_id: "lab", claim_uid: "uid-1", claim_name: "web-1" };

    fn token() -> Token {
        let source = Mutex::new(fastrand::Rng::with_seed(7));
        Token::new(HOLDER.token_id(0), &source).unwrap()
    }

    #[test]
    fn the_id_follows_from_the_claim_and_never_changes() {
        assert_eq!(&*HOLDER.token_id(0), "28eina");
        let others = [
            HOLDER.token_id(1),
            Holder { cluster_id: "lab2", ..HOLDER }.token_id(0),
            Holder { claim_uid: "uid-2", ..HOLDER }.token_id(0),
        ];
        let all: BTreeSet<_> = others.into_iter().chain([HOLDER.token_id(0)]).collect();
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|id| id.len() == 6), "{all:?}");
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let (token, expires_at) = (token(), Timestamp::from_millisecond(1_767_225_600_900).unwrap());
        let secret = HOLDER.secret(&token, expires_at, &["system:bootstrappers:x".to_owned()]);
        assert!(HOLDER.has(&secret));
        assert_eq!(secret.name_any(), format!("bootstrap-token-{}", token.id));
        assert_eq!(entry(&secret, "expiration"), Some("2026-01-01T00:00:00Z"));
        assert_eq!(expires(&secret), Timestamp::from_second(1_767_225_600).ok());
        assert_eq!(Token::read(&secret, &token.id), Some(token.clone()));
        assert!(token.full().len() == 23 && token.full().as_bytes()[6] == b'.', "{}", token.full());
    }

    #[test]
    fn a_secret_that_was_changed_by_hand_has_no_token_in_it() {
        let token = token();
        let secret = HOLDER.secret(&token, Timestamp::UNIX_EPOCH, &[]);
        assert_eq!(Token::read(&secret, "other1"), None);
        let mut changed = secret.clone();
        changed.data.as_mut().unwrap().get_mut("token-secret").unwrap().0 = b"TOO-SHORT".to_vec();
        assert_eq!(Token::read(&changed, &token.id), None);
        changed.data = None;
        assert_eq!((Token::read(&changed, &token.id), expires(&changed)), (None, None));
    }

    #[test]
    fn a_secret_of_another_claim_or_cluster_or_of_somebody_else_is_not_the_claims() {
        let secret = HOLDER.secret(&token(), Timestamp::UNIX_EPOCH, &[]);
        assert!(!Holder { claim_uid: "uid-2", ..HOLDER }.has(&secret));
        assert!(!Holder { cluster_id: "lab2", ..HOLDER }.has(&secret));
        let mut by_hand = secret.clone();
        by_hand.metadata.labels = None;
        assert!(!HOLDER.has(&by_hand));
    }

    #[test]
    fn the_secret_part_is_not_in_what_is_printed_for_debugging() {
        let token = token();
        assert!(!format!("{token:?}").contains(&*token.secret));
    }
}
