//! What has to occur when many histories are played. A simulation that no longer brings about what it is for would find
//! nothing wrong with anything.

use std::collections::BTreeMap;

/// From how many seeds on everything has to occur.
const MANY: u64 = 1000;

/// Each of these begins something that is counted.
const EXPECTED: [&str; 69] = [
    // What Windlass does.
    "claim made",
    "claim made at the pool's limit",
    "decided: Empty",
    "decided: Underutilized",
    "decided: Drifted",
    "decided: Expiring",
    "decided: Manual",
    "decision taken back",
    "node found sick",
    "leader changed",
    // What users do.
    "happened: Deploy",
    "happened: Scale",
    "happened: Remove",
    "happened: DeletePod",
    "happened: DeleteNode",
    "happened: DeleteClaim",
    "happened: AskToReplace",
    "happened: Limit",
    "happened: Keep",
    "happened: Relabel",
    "happened: Pause",
    // What happens to the replicas.
    "crash before an effect",
    "crash after an effect",
    "replica restarted in good order",
    "happened: Jump",
    // What happens between them and the API server.
    "answer lost after success",
    "effect after a time-out",
    "change after a time-out",
    "slow request",
    "request never sent",
    "request into an outage",
    "request answered 409",
    "request answered 429",
    "request answered 500",
    "request answered 503",
    "request answered 504",
    "watch cut",
    "watch held up",
    "watch told 410",
    // What the provider does.
    "provider: Offers Refused",
    "provider: Offers Throttled",
    "provider: Offers AnswerLost",
    "provider: Offers Slow",
    "provider: Launch Refused",
    "provider: Launch NoCapacity",
    "provider: Launch Throttled",
    "provider: Launch AnswerLost",
    "provider: Launch Late",
    "provider: Launch Slow",
    "provider: Terminate Refused",
    "provider: Terminate Throttled",
    "provider: Terminate AnswerLost",
    "provider: Terminate Late",
    "provider: Terminate Slow",
    "provider: Terminate Denied",
    "provider: Get Refused",
    "provider: Get Denied",
    "provider: List Refused",
    "provider: List AnswerLost",
    "provider: List Slow",
    "provider: List Denied",
    // What happens to machines and nodes.
    "happened: ListLag",
    "happened: SoldOut",
    "happened: LoseTag",
    "happened: Vanish",
    "happened: Notice",
    "machine that never joins",
    "happened: Flap",
    "happened: KubeletDies",
];

/// What should have occurred in so many histories and did not.
pub(crate) fn missing(counts: &BTreeMap<String, u64>, played: u64) -> Vec<&'static str> {
    if played < MANY {
        return Vec::new();
    }
    EXPECTED.into_iter().filter(|what| !counts.contains_key(*what)).collect()
}
