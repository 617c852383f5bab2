//! The bond between a claim and its machine, which the judge cannot see from outside: it takes knowing what the provider
//! would have said at that moment.

use serde_json::Value;
use tokio::time::Instant;
use windlass_testkit::invariants::{Change, JournalEntry, Writer};

use crate::api::{Commit, Server};
use crate::cloud::Cloud;

/// What is wrong with a machine's having been ended, if anything: its claim is there to stay.
pub(crate) fn ended_too_early(entry: &JournalEntry, server: &Server, cloud: &Cloud) -> Option<String> {
    let JournalEntry::Terminated { provider_id } = entry else { return None };
    let machine = &cloud.unit(provider_id)?.machine;
    let stands_for_it = |claim: &&Value| {
        let uid = claim["metadata"]["uid"].as_str();
        let adopted = claim["spec"]["adopt"]["claimUID"].as_str();
        let owner = Some(&*machine.tag.claim_uid);
        let known = claim["status"]["providerID"].as_str();
        (uid == owner || adopted == owner) && known.is_none_or(|known| known == provider_id)
    };
    let claim = server.iter("NodeClaim").map(|claim| claim.value()).find(stands_for_it)?;
    let leaves = claim["metadata"].get("deletionTimestamp").is_some();
    let name = claim["metadata"]["name"].as_str().unwrap_or_default();
    (!leaves).then(|| format!("{provider_id} was ended although its claim {name} stays"))
}

/// What is wrong with a claim's having gone, if anything: its machine runs on, and the provider would say so.
pub(crate) fn let_go_too_early(commit: &Commit, cloud: &Cloud) -> Option<String> {
    if commit.kind.kind != "NodeClaim"
        || commit.change != Change::Deleted
        || commit.writer != Writer::Windlass
    {
        return None;
    }
    let claim = commit.object.value();
    let uid = claim["metadata"]["uid"].as_str()?;
    let machine = cloud.running_in_list(uid, Instant::now())?;
    let name = claim["metadata"]["name"].as_str().unwrap_or_default();
    Some(format!("claim {name} was let go of although its machine {} runs on", machine.provider_id))
}
