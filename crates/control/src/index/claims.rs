use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use windlass_api::{NodeClaim, conditions};
use windlass_core::Text;
use windlass_core::model::{Claim, DisruptionReason, Recent};

use super::Changed;
use crate::adapt;
use crate::kubernetes::version;
use crate::planted::{Mistake, is_planted};

/// The claims, as far as they are known from watches and from our own writes, whichever is newer.
///
/// A claim that was just written counts at once, so that limits hold at every instant although the watch may lag by
/// minutes. Two things could make that go wrong for ever, and both heal: a write that is remembered after its claim's
/// deletion was seen (the UIDs of deleted claims are kept for a while), and a write that no watch event ever confirms
/// (such claims are named by [`ClaimMirror::unconfirmed`], to be looked up).
#[derive(Debug, Default)]
pub struct ClaimMirror {
    objects: BTreeMap<Text, Arc<NodeClaim>>,
    model: Arc<BTreeMap<Text, Arc<Claim>>>,
    /// Written by us and not yet seen in a watch, with the time of the write.
    unconfirmed: BTreeMap<Text, Timestamp>,
    /// The UIDs of claims known to be gone, with the time at which that was learnt.
    gone: BTreeMap<Text, Timestamp>,
    /// Being created; nobody knows yet whether they exist.
    intended: BTreeSet<Text>,
    recent: Arc<Recent>,
    by_uid: BTreeMap<Text, Text>,
    by_provider_id: BTreeMap<Text, BTreeSet<Text>>,
    /// By the names that their nodes will have.
    by_expected_node: BTreeMap<Text, BTreeSet<Text>>,
    /// How often something has changed.
    changes: u64,
}

/// How long the UIDs of deleted claims are kept: longer than any watch event or answer can be late.
const REMEMBER_GONE: SignedDuration = SignedDuration::from_mins(30);

impl ClaimMirror {
    /// The claims in the planner's notation.
    pub fn model(&self) -> Arc<BTreeMap<Text, Arc<Claim>>> {
        if is_planted(Mistake::ForgetsLeaving) {
            let mut staying = (*self.model).clone();
            staying.retain(|_, claim| !claim.deleting);
            return Arc::new(staying);
        }
        self.model.clone()
    }

    /// What was made and deleted within the last minute.
    pub fn recent(&self) -> Arc<Recent> {
        self.recent.clone()
    }

    /// A number that is another one after each change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a claim with this UID was there and is gone.
    pub fn is_gone(&self, uid: &str) -> bool {
        self.gone.contains_key(uid)
    }

    /// A claim by its name.
    pub fn get(&self, name: &str) -> Option<Arc<NodeClaim>> {
        self.objects.get(name).cloned()
    }

    /// All claims.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeClaim>> {
        self.objects.values()
    }

    /// The names of all claims.
    pub fn names(&self) -> BTreeSet<Text> {
        self.objects.keys().cloned().collect()
    }

    /// The name of the claim with this UID, or of the one that took over a machine launched under it.
    pub fn name_by_uid(&self, uid: &str) -> Option<&Text> {
        let unseen =
            |name: &Text| is_planted(Mistake::EndsOrphansAtOnce) && self.unconfirmed.contains_key(name);
        self.by_uid.get(uid).filter(|name| !unseen(name))
    }

    /// The names of the claims that say they have this machine: one, unless something is very wrong.
    pub fn names_by_provider_id(&self, provider_id: &str) -> impl Iterator<Item = &Text> {
        self.by_provider_id.get(provider_id).into_iter().flatten()
    }

    /// The names of the claims whose node will have this name.
    pub fn names_expecting(&self, node: &str) -> impl Iterator<Item = &Text> {
        self.by_expected_node.get(node).into_iter().flatten()
    }

    /// Takes in a claim from a watch or a list.
    pub fn saw(&mut self, claim: NodeClaim) -> Changed {
        let name: Text = claim.name_any().into();
        let seen = version(claim.metadata.resource_version.as_deref());
        let known = self.objects.get(&name).map(|known| version(known.metadata.resource_version.as_deref()));
        if known.is_none_or(|known| seen >= known) {
            self.unconfirmed.remove(&name);
        }
        self.store(name, claim)
    }

    /// Takes in that a claim is about to be created. It counts from now on, so that nobody plans for its pods again
    /// however long the API server takes to answer.
    pub fn intend(&mut self, claim: &NodeClaim, now: Timestamp) {
        let name: Text = claim.name_any().into();
        if !self.objects.contains_key(&name) && !is_planted(Mistake::CountsOnlyVisible) {
            self.changes += 1;
            let intended = Claim { created_at: now, ..adapt::claim(claim) };
            note(&mut Arc::make_mut(&mut self.recent).launches, &intended.pool, now);
            Arc::make_mut(&mut self.model).insert(name.clone(), Arc::new(intended));
            self.intended.insert(name);
        }
    }

    /// Takes in that a claim was not created.
    pub fn refused(&mut self, name: &str) -> Changed {
        if !self.intended.remove(name) {
            return Changed::nothing();
        }
        self.changes += 1;
        Arc::make_mut(&mut self.model).remove(name);
        Changed::plan()
    }

    /// Takes in that nobody is creating claims any more: those that exist are about to be listed.
    pub fn forget_intentions(&mut self) {
        self.changes += 1;
        for name in std::mem::take(&mut self.intended) {
            Arc::make_mut(&mut self.model).remove(&name);
        }
    }

    /// Takes in the answer to one of our own writes.
    pub fn wrote(&mut self, claim: NodeClaim, now: Timestamp) -> Changed {
        if is_planted(Mistake::CountsOnlyVisible) {
            return Changed::nothing();
        }
        let name: Text = claim.name_any().into();
        let changed = self.store(name.clone(), claim);
        if !changed.claims.is_empty() {
            self.unconfirmed.insert(name, now);
        }
        changed
    }

    fn store(&mut self, name: Text, mut claim: NodeClaim) -> Changed {
        let uid = claim.uid().unwrap_or_default();
        if self.gone.contains_key(uid.as_str()) {
            return Changed::nothing();
        }
        if let Some(known) = self.objects.get(&name) {
            let same = known.metadata.uid == claim.metadata.uid;
            let new = version(claim.metadata.resource_version.as_deref());
            let old = version(known.metadata.resource_version.as_deref());
            if same && new <= old {
                return Changed::nothing();
            }
        }
        self.changes += 1;
        claim.metadata.managed_fields = None;
        self.note_coming_and_going(&name, &claim);
        let mut concerned = self.rivals(&name);
        self.unlink(&name);
        self.intended.remove(&name);
        self.by_uid.insert(uid.into(), name.clone());
        if let Some(adopt) = &claim.spec.adopt {
            self.by_uid.insert(adopt.claim_uid.as_str().into(), name.clone());
        }
        if let Some(id) = claim.status.as_ref().and_then(|status| status.provider_id.as_deref()) {
            self.by_provider_id.entry(id.into()).or_default().insert(name.clone());
        }
        if let Some(node) = expected_node(&claim) {
            self.by_expected_node.entry(node.into()).or_default().insert(name.clone());
        }
        let model = Arc::make_mut(&mut self.model);
        let known = adapt::claim(&claim);
        let ended = ended_at(&claim);
        if ended.is_some() && known.disrupted == Some(DisruptionReason::Underutilized) {
            let recent = Arc::make_mut(&mut self.recent);
            recent.consolidated = recent.consolidated.max(ended);
        }
        // One that never took pods is nothing but a name from then on; of others budgets know until they are gone.
        if ended.is_some() && known.initialized_at.is_none() {
            model.remove(&name);
        } else {
            model.insert(name.clone(), Arc::new(known));
        }
        self.objects.insert(name.clone(), Arc::new(claim));
        concerned.extend(self.rivals(&name));
        concerned.insert(name);
        Changed { plan: true, claims: concerned, providers: false }
    }

    /// The other claims that expect the node which this one expects: which of them gets it may hang on each of them.
    fn rivals(&self, name: &str) -> BTreeSet<Text> {
        let expected = self.objects.get(name).and_then(|claim| expected_node(claim));
        let all = expected.and_then(|node| self.by_expected_node.get(node)).into_iter().flatten();
        all.filter(|other| ***other != *name).cloned().collect()
    }

    /// Counts a claim as made or deleted when that is first seen of it. What is being made was counted already.
    fn note_coming_and_going(&mut self, name: &Text, claim: &NodeClaim) {
        let known = self.objects.get(name).filter(|known| known.metadata.uid == claim.metadata.uid);
        let pool: Text = claim.spec.pool_ref.name.as_str().into();
        if let Some(made) = &claim.metadata.creation_timestamp
            && known.is_none()
            && !self.intended.contains(name)
        {
            note(&mut Arc::make_mut(&mut self.recent).launches, &pool, made.0);
        }
        if let Some(deleted) = &claim.metadata.deletion_timestamp
            && known.is_none_or(|known| known.metadata.deletion_timestamp.is_none())
        {
            note(&mut Arc::make_mut(&mut self.recent).removals, &pool, deleted.0);
        }
    }

    /// Takes in that a claim is gone.
    pub fn lost(&mut self, name: &str, uid: &str, now: Timestamp) -> Changed {
        self.gone.retain(|_, since| now.duration_since(*since) < REMEMBER_GONE);
        self.gone.insert(uid.into(), now);
        match self.objects.get(name) {
            Some(known) if known.metadata.uid.as_deref() == Some(uid) => {}
            _ => return Changed::nothing(),
        }
        self.changes += 1;
        let mut concerned = self.rivals(name);
        concerned.insert(name.into());
        self.unlink(name);
        self.unconfirmed.remove(name);
        self.objects.remove(name);
        Arc::make_mut(&mut self.model).remove(name);
        Changed { plan: true, claims: concerned, providers: false }
    }

    /// Takes in that only these claims exist. Those written and not yet seen stay: the list may be older than the write.
    pub fn retain(&mut self, seen: &BTreeSet<String>, now: Timestamp) -> Changed {
        let absent: Vec<_> = self
            .objects
            .iter()
            .filter(|(name, _)| !seen.contains(&***name) && !self.unconfirmed.contains_key(*name))
            .map(|(name, claim)| (name.clone(), claim.uid().unwrap_or_default()))
            .collect();
        let mut changed = Changed::nothing();
        for (name, uid) in absent {
            changed |= self.lost(&name, &uid, now);
        }
        changed
    }

    /// Claims that were written this long ago and that no watch has shown since.
    pub fn unconfirmed(&self, age: SignedDuration, now: Timestamp) -> Vec<Arc<NodeClaim>> {
        let old = self.unconfirmed.iter().filter(|(_, since)| now.duration_since(**since) >= age);
        old.filter_map(|(name, _)| self.get(name)).collect()
    }

    fn unlink(&mut self, name: &str) {
        let Some(known) = self.objects.get(name) else { return };
        self.by_uid.remove(known.uid().unwrap_or_default().as_str());
        if let Some(adopt) = &known.spec.adopt {
            self.by_uid.remove(adopt.claim_uid.as_str());
        }
        if let Some(node) = expected_node(known)
            && let Some(names) = self.by_expected_node.get_mut(node)
        {
            names.remove(name);
            if names.is_empty() {
                self.by_expected_node.remove(node);
            }
        }
        let Some(id) = known.status.as_ref().and_then(|status| status.provider_id.as_deref()) else { return };
        if let Some(names) = self.by_provider_id.get_mut(id) {
            names.remove(name);
            if names.is_empty() {
                self.by_provider_id.remove(id);
            }
        }
    }
}

fn expected_node(claim: &NodeClaim) -> Option<&str> {
    claim.status.as_ref()?.expected_node_name.as_deref()
}

/// Since when a claim has had no machine any more and will never have one.
fn ended_at(claim: &NodeClaim) -> Option<Timestamp> {
    claim.metadata.deletion_timestamp.as_ref()?;
    let ended = conditions::find(&claim.status.as_ref()?.conditions, conditions::TERMINATED)?;
    (ended.status == "True").then_some(ended.last_transition_time.0)
}

/// Adds a time, and forgets those that are long past.
fn note(times: &mut BTreeMap<Text, Vec<Timestamp>>, pool: &Text, at: Timestamp) {
    times.entry(pool.clone()).or_default().push(at);
    let latest = times.values().flatten().max().copied().unwrap_or(at);
    times.retain(|_, times| {
        times.retain(|time| latest.duration_since(*time) < SignedDuration::from_mins(2));
        !times.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::{SignedDuration, Timestamp, ToSpan};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::json;
    use windlass_api::NodeClaim;

    use super::ClaimMirror;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn claim(name: &str, uid: &str, version: u32) -> NodeClaim {
        serde_json::from_value(json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim",
            "metadata": {"name": name, "uid": uid, "resourceVersion": version.to_string()},
            "spec": {
                "poolRef": {"name": "p"}, "providerRef": {"name": "s"}, "reason": {"purpose": "PendingPods"},
            },
        }))
        .unwrap()
    }

    fn stored(mirror: &ClaimMirror, name: &str) -> Option<String> {
        mirror.get(name).and_then(|claim| claim.metadata.resource_version.clone())
    }

    #[test]
    fn an_own_write_counts_at_once_and_a_late_event_does_not_undo_it() {
        let mut mirror = ClaimMirror::default();
        mirror.wrote(claim("a", "u1", 10), NOW);
        assert_eq!(mirror.model().len(), 1);
        mirror.saw(claim("a", "u1", 8));
        assert_eq!(stored(&mirror, "a").as_deref(), Some("10"));
    }

    #[test]
    fn a_claim_that_is_being_created_counts_until_it_is_refused() {
        let mut mirror = ClaimMirror::default();
        mirror.intend(&claim("a", "", 0), NOW);
        mirror.intend(&claim("b", "", 0), NOW);
        mirror.wrote(claim("b", "u2", 9), NOW);
        mirror.retain(&BTreeSet::new(), NOW);
        assert_eq!(mirror.model().len(), 2, "a list says nothing about what is not there yet");
        assert!(mirror.get("a").is_none(), "there is nothing to work on before it exists");
        assert!(mirror.refused("a").plan);
        assert!(!mirror.refused("b").plan, "it exists");
        assert_eq!(mirror.model().keys().map(|name| &**name).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_claim_that_is_only_kept_for_its_name_counts_for_nothing() {
        let mut mirror = ClaimMirror::default();
        mirror.saw(claim("a", "u1", 10));
        let mut ended = claim("a", "u1", 11);
        ended.metadata.deletion_timestamp = Some(Time(NOW));
        mirror.saw(ended.clone());
        assert_eq!(mirror.model().len(), 1, "it may still have a machine");
        let gone = json!({"type": "Terminated", "status": "True", "reason": "Terminated", "message": "",
            "lastTransitionTime": NOW});
        ended.status = serde_json::from_value(json!({"conditions": [gone]})).unwrap();
        ended.metadata.resource_version = Some("12".to_owned());
        mirror.saw(ended);
        assert!(mirror.model().is_empty());
        assert!(mirror.get("a").is_some(), "it is worked on until it is let go");
    }

    #[test]
    fn a_relist_that_is_older_than_an_own_write_does_not_drop_it() {
        let mut mirror = ClaimMirror::default();
        mirror.wrote(claim("a", "u1", 10), NOW);
        mirror.saw(claim("b", "u2", 9));
        mirror.retain(&BTreeSet::new(), NOW);
        assert_eq!(mirror.names().len(), 1, "b was seen and is gone, a was only written");
        assert_eq!(mirror.unconfirmed(SignedDuration::from_secs(30), NOW + 30.seconds()).len(), 1);
        mirror.saw(claim("a", "u1", 10));
        mirror.retain(&BTreeSet::new(), NOW);
        assert!(mirror.names().is_empty());
    }

    #[test]
    fn an_own_write_answered_after_the_deletion_was_seen_is_not_remembered() {
        let mut mirror = ClaimMirror::default();
        mirror.saw(claim("a", "u1", 10));
        mirror.lost("a", "u1", NOW);
        assert!(mirror.wrote(claim("a", "u1", 9), NOW).claims.is_empty());
        assert!(mirror.names().is_empty());
    }

    #[test]
    fn a_claim_made_anew_under_the_same_name_is_another_one() {
        let mut mirror = ClaimMirror::default();
        mirror.saw(claim("a", "u1", 10));
        mirror.saw(claim("a", "u2", 12));
        mirror.lost("a", "u1", NOW);
        assert_eq!(stored(&mirror, "a").as_deref(), Some("12"), "the late deletion is that of the first");
        assert_eq!(mirror.name_by_uid("u1"), None);
    }
}
