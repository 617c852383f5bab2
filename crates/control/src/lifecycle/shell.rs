use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, warn};
use windlass_api::{NodeClaim, NodeClaimStatus, labels};
use windlass_core::Text;
use windlass_core::model::Node;
use windlass_providers::{Clock, Machine};

use super::closely::NodesListed;
use super::node::waits_for;
use super::nomination::nominate;
use super::together::{Closed, ClosedNodes, Openings};
use super::{Answer, Count, Effect, Memory, Nominations, Observation, Outlook, Times, nomination, step};
use crate::Settings;
use crate::catalogue::Providers;
use crate::controller::Bus;
use crate::index::Registrant;
use crate::joining::Joining;
use crate::kubernetes::{is_outdated, is_still, patching, put_status, steps};
use crate::planted::{Mistake, is_planted};

/// More steps than any life takes in one go: a claim that wants more is looked at again in the next round, so that
/// it cannot keep others waiting.
const STEPS_AT_ONCE: usize = 20;

/// Carries out what [`step`] says, for all claims at once and each of them by itself.
pub struct Shell {
    pub(super) client: Client,
    pub(super) bus: Arc<Bus>,
    pub(super) providers: Arc<Providers>,
    pub(super) joining: Arc<Joining>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Arc<Settings>,
    pub(super) times: Times,
    memories: Mutex<BTreeMap<Text, Memory>>,
    closed: ClosedNodes,
    openings: Openings,
    pub(super) nodes_listed: NodesListed,
}

impl Shell {
    pub(crate) fn new(
        client: Client,
        bus: Arc<Bus>,
        providers: Arc<Providers>,
        joining: Arc<Joining>,
        clock: Arc<dyn Clock>,
        settings: Arc<Settings>,
    ) -> Self {
        let times = Times::from(&*settings);
        let (memories, closed, openings) = (Mutex::default(), ClosedNodes::default(), Openings::default());
        let nodes_listed = NodesListed::default();
        Self {
            client,
            bus,
            providers,
            joining,
            clock,
            settings,
            times,
            memories,
            closed,
            openings,
            nodes_listed,
        }
    }

    /// Looks after all claims, until told to stop; then it finishes what it is at.
    pub(crate) async fn run(&self, stopping: &watch::Sender<bool>) {
        // When the lease was lost, the claims that an earlier run was at were dropped in the middle of their work.
        self.bus.claims.abandon();
        // Another leader may have brought claims further since.
        self.nodes_listed.forget().await;
        let mut working = FuturesUnordered::new();
        let mut stop = stopping.subscribe();
        loop {
            let stopped = *stop.borrow_and_update();
            if stopped && working.is_empty() {
                return;
            }
            tokio::select! {
                _ = stop.changed() => {}
                name = self.bus.claims.next(), if !stopped && working.len() < self.settings.concurrency => {
                    working.push(async move {
                        let again_after = self.attend(&name).await;
                        (name, again_after)
                    });
                }
                Some((name, again_after)) = working.next() => {
                    self.bus.claims.done(&name);
                    if let Some(wait) = again_after {
                        self.bus.claims.add_at(name, Instant::now() + wait);
                    }
                }
            }
        }
    }

    /// Takes in a complete list of a provider's machines: which of its claims' machines are in it.
    pub(crate) fn listed(&self, claim: &NodeClaim, machine: Option<&Machine>) {
        self.memory(claim, |memory| memory.listed(machine));
        let model = self.bus.index.lock().claims.model().get(claim.name_any().as_str()).cloned();
        let known = model.map(|model| Outlook { ends_at: model.ends_at, drift: model.drift.clone() });
        if machine.is_none_or(|machine| Some(Outlook::of(machine)) != known) {
            self.bus.claims.add(claim.name_any().into());
        }
    }

    /// Moves one claim on as far as it goes now, and says when to look at it again.
    async fn attend(&self, name: &Text) -> Option<Duration> {
        for _ in 0..STEPS_AT_ONCE {
            if let Err(error) = self.look_closely_at_node(name).await {
                warn!(claim = %name, %error, "the claim's node could not be looked up");
                return Some(self.times.retry_after(1));
            }
            let (claim, seen) = self.observe(name)?;
            let mut next = step(&claim, &seen, &self.times, self.clock.now());
            if is_planted(Mistake::WritesOver) {
                next.status.drift = Some(self.clock.now().to_string());
            }
            for note in next.notes {
                self.bus.events.say(note);
            }
            self.remember_offerings(&claim, next.failed_offering.as_ref(), next.launched_offering.as_ref());
            if claim.status.as_ref() != Some(&next.status)
                && let Err(error) = self.write_status(&claim, &next.status).await
            {
                return self.cannot_write(&claim, &seen, &error).await;
            }
            for count in &next.counts {
                self.count(&claim, count);
            }
            let Some(effect) = next.effect else {
                // Its node may have come before it was known which machine is the claim's: nobody will tell again.
                let known = claim.status.as_ref().and_then(|status| status.provider_id.as_ref());
                if known != next.status.provider_id.as_ref() {
                    continue;
                }
                return next.again_after;
            };
            debug!(claim = %name, ?effect, "acting");
            let answer = match (&effect, &seen.registrant) {
                (Effect::OpenNode, Registrant::Node(node)) if seen.nominations.rounds > 0 => {
                    let opening = self.carry_out(&claim, &seen.registrant, &effect);
                    Box::pin(self.keep_nominated(&claim, node, self.openings.join(opening))).await
                }
                _ => self.carry_out(&claim, &seen.registrant, &effect).await,
            };
            debug!(claim = %name, ?answer, "answered");
            if let Effect::Nominate(_) = effect {
                let now = self.clock.now();
                self.memory(&claim, |memory| memory.nominations.made(now));
            }
            let ended = effect == Effect::ReleaseClaim && answer == Answer::Written;
            let now = self.clock.now();
            self.memory(&claim, |memory| memory.take_in(answer, self.settings.absence_interval, now));
            if ended {
                self.forget(&claim);
                return None;
            }
        }
        Some(Duration::ZERO)
    }

    fn count(&self, claim: &NodeClaim, count: &Count) {
        let (pool, metrics) = (&claim.spec.pool_ref.name, &self.bus.metrics);
        match count {
            Count::Decided(reason) => metrics.disruption_decided(pool, reason.as_str()),
            Count::TakenBack => metrics.disruption_taken_back(pool),
            Count::Gone(reason) => metrics.claim_removed(pool, reason),
        }
    }

    /// Sets again at once what the scheduler clears while nodes are being opened: until then, the room of a pod that was
    /// tried in vain is anybody's.
    async fn keep_nominated(
        &self,
        claim: &NodeClaim,
        node: &Node,
        opening: impl Future<Output = Answer>,
    ) -> Answer {
        let name = claim.name_any().into();
        let nominating = async {
            loop {
                self.bus.claims.asked_again(&name).await;
                let missing = nomination::missing(&self.bus.index.lock(), claim, node);
                nominate(&self.client, &self.bus, &*self.clock, &missing, &node.name).await;
            }
        };
        tokio::select! {
            answer = opening => answer,
            never = nominating => never,
        }
    }

    fn observe(&self, name: &Text) -> Option<(Arc<NodeClaim>, Observation)> {
        let index = self.bus.index.lock();
        if !index.is_synced() {
            return None;
        }
        let now = self.clock.now();
        let Some(claim) = index.claims.get(name) else {
            self.note_closed(name, None, now);
            return None;
        };
        let registrant = index.registrant(&claim);
        let missing = match &registrant {
            Registrant::Node(node) if self.settings.nominates => nomination::missing(&index, &claim, node),
            _ => Vec::new(),
        };
        let changed = index.nomination_changed();
        let pool = index.definition(&claim.spec.pool_ref.name);
        let repair = pool.map(|definition| definition.repair.clone()).unwrap_or_default();
        let driver = pool.map(|definition| definition.pool.driver).unwrap_or_default();
        drop(index);
        let stays = claim.metadata.deletion_timestamp.is_none() && self.settings.nominates;
        let closed = match &registrant {
            Registrant::Node(node) if stays && waits_for(node, labels::UNREGISTERED_TAINT) => {
                Some(match (node.is_ready(), missing.is_empty()) {
                    (false, _) => Closed::NotReady,
                    (true, false) => Closed::Nominating,
                    (true, true) => Closed::Settled,
                })
            }
            _ => None,
        };
        let held_up = self.note_closed(name, closed, now);
        let seen = self.memory(&claim, |memory| {
            if !missing.is_empty() {
                memory.nominations.since.get_or_insert(now);
            }
            Observation {
                registrant,
                absence: memory.absence,
                outlook: memory.outlook.clone(),
                repair,
                driver,
                answer: memory.answer.take(),
                errors: memory.errors,
                nominations: Nominations { missing, changed, held_up, ..memory.nominations.clone() },
            }
        });
        Some((claim, seen))
    }

    /// Notes how a claim's node stands, and has those looked at again that need no longer wait for it. Says whether nodes
    /// wait for another one.
    fn note_closed(&self, claim: &Text, state: Option<Closed>, now: Timestamp) -> bool {
        let others = self.closed.note(claim, state, now);
        for free in others.freed {
            self.bus.claims.add(free);
        }
        others.held_up
    }

    pub(super) fn memory<T>(&self, claim: &NodeClaim, use_it: impl FnOnce(&mut Memory) -> T) -> T {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        use_it(memories.entry(claim.uid().unwrap_or_default().into()).or_default())
    }

    fn forget(&self, claim: &NodeClaim) {
        self.memories
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(claim.uid().unwrap_or_default().as_str());
    }

    fn remember_offerings(
        &self,
        claim: &NodeClaim,
        failed: Option<&windlass_core::model::OfferingKey>,
        launched: Option<&windlass_core::model::OfferingKey>,
    ) {
        let provider: Text = claim.spec.provider_ref.name.as_str().into();
        if let Some(key) = failed {
            self.bus.metrics.launch_failed(&provider, "OfferingFailed");
            let changed = self.bus.index.lock().avoid(&provider, key, &self.settings, self.clock.now());
            self.bus.announce(changed);
        }
        if let Some(key) = launched {
            self.bus.index.lock().had(&provider, key);
        }
    }

    async fn write_status(&self, claim: &NodeClaim, status: &NodeClaimStatus) -> Result<(), kube::Error> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let status = NodeClaimStatus { revision: Some(next_revision(claim)), ..status.clone() };
        let uid = claim.uid().unwrap_or_default();
        let patch = steps(vec![is_still(&uid), is_as_seen(claim), put_status(&status)])?;
        let written = api.patch_status(&claim.name_any(), &patching(), &patch).await?;
        let mut changed = self.bus.index.lock().claims.wrote(written, self.clock.now());
        changed.claims.remove(claim.name_any().as_str());
        self.bus.announce(changed);
        Ok(())
    }

    async fn cannot_write(
        &self,
        claim: &NodeClaim,
        seen: &Observation,
        error: &kube::Error,
    ) -> Option<Duration> {
        // What was answered has not been written down yet: look at it again.
        self.memory(claim, |memory| {
            memory.errors = memory.errors.saturating_add(1);
            memory.answer.clone_from(&seen.answer);
        });
        if is_outdated(error) {
            self.look_up(claim).await;
        }
        warn!(claim = claim.name_any(), %error, "the claim's status could not be written");
        Some(self.times.retry_after(seen.errors + 1))
    }

    /// Reads a claim anew where the index and the API server disagree.
    pub(crate) async fn look_up(&self, claim: &NodeClaim) {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let (name, uid) = (claim.name_any(), claim.uid().unwrap_or_default());
        let now = self.clock.now();
        let changed = match api.get_opt(&name).await {
            Ok(Some(found)) if found.uid().as_deref() == Some(uid.as_str()) => {
                self.bus.index.lock().claims.saw(found)
            }
            Ok(found) => {
                let mut index = self.bus.index.lock();
                let mut changed = index.claims.lost(&name, &uid, now);
                if let Some(found) = found {
                    changed |= index.claims.saw(found);
                }
                changed
            }
            Err(_) => return,
        };
        self.bus.announce(changed);
    }
}

/// That nobody has written the status since the claim was seen, as a step of a patch. Not by the resource version: someone
/// who keeps writing to the claim, but not to its status, cannot keep us from it.
fn is_as_seen(claim: &NodeClaim) -> Value {
    match &claim.status {
        _ if is_planted(Mistake::WritesBlindly) => is_still(&claim.uid().unwrap_or_default()),
        Some(status) => json!({"op": "test", "path": "/status/revision", "value": status.revision}),
        None => json!({"op": "test", "path": "/status", "value": null}),
    }
}

fn next_revision(claim: &NodeClaim) -> i64 {
    claim.status.as_ref().and_then(|status| status.revision).unwrap_or(0).saturating_add(1)
}
