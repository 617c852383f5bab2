//! The sweep: compares what is claimed with what the providers have. It finds machines without a claim, claims without a
//! machine, and nodes with neither.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node as ApiNode;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};
use windlass_api::{NodeClaim, conditions, labels};
use windlass_core::Text;
use windlass_core::model::{Node, Pool, Resources};
use windlass_providers::{Clock, Machine, MachineState, Provider, ProviderError};

use crate::Settings;
use crate::catalogue::Providers;
use crate::controller::Bus;
use crate::joining::Joining;
use crate::lifecycle::{Absence, Shell, delete_node};
use crate::planning::{Executor, adopted_claim};
use crate::planted::{Mistake, is_planted};

/// Compares claims and machines, again and again.
pub(crate) struct Sweeper {
    pub(crate) client: Client,
    pub(crate) bus: Arc<Bus>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) shell: Arc<Shell>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) joining: Arc<Joining>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Arc<Settings>,
}

/// What one sweep of a provider leaves for the next.
#[derive(Debug, Default)]
struct Suspects {
    /// Machines without a claim, since when.
    unclaimed: BTreeMap<Text, Instant>,
    /// Nodes without a claim, by UID: how sure it is that they have no machine.
    ghosts: BTreeMap<Text, Absence>,
}

/// What to do about a machine that no claim stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrphanVerdict {
    /// Give it a claim: pods run on it and its pool has room.
    Adopt,
    /// End it, after its pods have left.
    Terminate,
    /// See whether a claim turns up.
    Wait,
}

/// What is seen of a machine that no claim stands for.
#[derive(Clone, Debug)]
pub struct Orphan<'a> {
    /// Its pool, if that exists.
    pub pool: Option<&'a Pool>,
    /// What the pool's claims count for already: their number and their capacity.
    pub used: (u32, Resources),
    /// What the machine has.
    pub capacity: &'a Resources,
    /// Whether its node is ready and runs pods that would have to go elsewhere.
    pub runs_pods: bool,
    /// Whether a claim exists for which this machine is one too many.
    pub surplus: bool,
    /// How long it has been without a claim.
    pub unclaimed_for: Duration,
}

impl Orphan<'_> {
    /// Decides about the machine.
    pub fn verdict(&self, grace: Duration) -> OrphanVerdict {
        if self.runs_pods && !self.surplus && self.pool.is_some_and(|pool| self.fits(pool)) {
            OrphanVerdict::Adopt
        } else if self.unclaimed_for >= grace {
            OrphanVerdict::Terminate
        } else {
            OrphanVerdict::Wait
        }
    }

    fn fits(&self, pool: &Pool) -> bool {
        let (nodes, used) = &self.used;
        let mut total = used.clone();
        total.add(self.capacity);
        pool.max_nodes.is_none_or(|most| *nodes < most)
            && pool.limits.iter().all(|(name, limit)| total.get(name) <= limit)
    }
}

impl Sweeper {
    /// Sweeps, for ever.
    pub(crate) async fn run(&self) {
        let mut suspects: BTreeMap<Text, Suspects> = BTreeMap::new();
        loop {
            sleep(self.settings.sweep_interval).await;
            if !self.bus.index.lock().is_synced() {
                continue;
            }
            let now = self.clock.now();
            let unconfirmed = self.bus.index.lock().claims.unconfirmed(SignedDuration::from_secs(30), now);
            for claim in unconfirmed {
                self.shell.look_up(&claim).await;
            }
            for (name, provider) in self.providers.all() {
                self.sweep(&name, &*provider, suspects.entry(name.clone()).or_default()).await;
            }
            self.look_at_tokens().await;
        }
    }

    async fn sweep(&self, name: &Text, provider: &dyn Provider, suspects: &mut Suspects) {
        let asked = self.clock.now();
        let listed = provider.list().await;
        self.bus.metrics.provider_called(
            name,
            "list",
            listed.as_ref().map_or_else(|error| error.kind().as_str(), |_| "ok"),
        );
        let machines = match listed {
            Ok(machines) => machines,
            Err(error) => {
                warn!(provider = %name, %error, "the machines could not be listed, so nothing is concluded");
                return;
            }
        };
        self.compare_claims(name, &machines, asked);
        self.look_at_orphans(provider, &machines, suspects).await;
        self.look_at_ghosts(name, provider, &machines, suspects).await;
    }

    /// Tells each claim whether its machine was in the list.
    fn compare_claims(&self, provider: &Text, machines: &[Machine], asked: Timestamp) {
        let by_id: BTreeMap<&str, &Machine> =
            machines.iter().map(|machine| (&*machine.provider_id, machine)).collect();
        let tags: BTreeSet<&Text> = machines.iter().map(|machine| &machine.tag.claim_uid).collect();
        let claims: Vec<Arc<NodeClaim>> = self.bus.index.lock().claims.iter().cloned().collect();
        for claim in claims.iter().filter(|claim| claim.spec.provider_ref.name == **provider) {
            let Some(status) = &claim.status else { continue };
            match &status.provider_id {
                Some(id) => {
                    let launched = conditions::find(&status.conditions, conditions::LAUNCHED);
                    // A machine launched while the list was being made may be missing from it.
                    if launched.is_some_and(|launched| launched.last_transition_time.0 < asked) {
                        self.shell.listed(claim, by_id.get(id.as_str()).copied());
                    }
                }
                None => {
                    if tags.contains(&Text::from(claim.uid().unwrap_or_default())) {
                        self.bus.claims.add(claim.name_any().into());
                    }
                }
            }
        }
    }

    async fn look_at_orphans(&self, provider: &dyn Provider, machines: &[Machine], suspects: &mut Suspects) {
        if is_planted(Mistake::IgnoresOrphans) {
            return;
        }
        let unclaimed: BTreeMap<&Text, &Machine> = machines
            .iter()
            .filter(|machine| {
                machine.state == MachineState::Running && self.claim_of(machine) != Claimed::Yes
            })
            .map(|machine| (&machine.provider_id, machine))
            .collect();
        suspects.unclaimed.retain(|id, _| unclaimed.contains_key(id));
        for (id, machine) in unclaimed {
            let first = *suspects.unclaimed.entry(id.clone()).or_insert_with(Instant::now);
            if is_planted(Mistake::EndsOrphansAtOnce) {
                self.end(provider, machine).await;
                continue;
            }
            let verdict = self.verdict(machine, first.elapsed());
            if verdict == OrphanVerdict::Wait {
                continue;
            }
            // The index may be behind: the API server itself must know of no claim either.
            match self.live_claim(&machine.tag.claim_uid).await {
                Ok(None) => {}
                Ok(Some(claim)) if has_other_machine(&claim, id) => {}
                Ok(Some(_)) => continue,
                Err(error) => {
                    warn!(machine = %id, %error, "the claims could not be listed, so the machine is left alone");
                    continue;
                }
            }
            match verdict {
                OrphanVerdict::Adopt => self.adopt(machine).await,
                _ => self.end(provider, machine).await,
            }
        }
    }

    /// Ends a machine, after its pods have been asked to leave: they may not care whose machine it is, but they run.
    async fn end(&self, provider: &dyn Provider, machine: &Machine) {
        let id = &machine.provider_id;
        if let Some(node) = self.node_with_pods(machine) {
            match self.shell.clear(&node).await {
                Ok(progress) if progress.remaining == 0 => {}
                Ok(progress) => {
                    info!(machine = %id, node = %node.name, %progress, "clearing a node whose machine no claim stands for");
                    return;
                }
                Err(error) => {
                    warn!(machine = %id, node = %node.name, %error, "the node could not be cleared");
                    return;
                }
            }
        }
        info!(machine = %id, pool = %machine.tag.pool, "ending a machine that no claim stands for");
        if let Err(error) = provider.terminate(id, &machine.tag).await {
            warn!(machine = %id, %error, "the machine could not be ended");
        }
    }

    /// The machine's node, if it is ready and runs pods that would have to go elsewhere.
    fn node_with_pods(&self, machine: &Machine) -> Option<Arc<Node>> {
        let index = self.bus.index.lock();
        let node = index.nodes().find(|node| node.provider_id.as_deref() == Some(&*machine.provider_id))?;
        (node.is_ready() && index.has_keeping_pods(&node.name)).then(|| node.clone())
    }

    fn claim_of(&self, machine: &Machine) -> Claimed {
        let index = self.bus.index.lock();
        let claim = index.claims.name_by_uid(&machine.tag.claim_uid).and_then(|name| index.claims.get(name));
        match claim.map(|claim| claim.status.as_ref().and_then(|status| status.provider_id.clone())) {
            None => Claimed::No,
            Some(Some(own)) if own != *machine.provider_id => Claimed::Surplus,
            Some(_) => Claimed::Yes,
        }
    }

    fn verdict(&self, machine: &Machine, seen_for: Duration) -> OrphanVerdict {
        let runs_pods = self.node_with_pods(machine).is_some();
        let index = self.bus.index.lock();
        let claims = index.claims.model();
        let of_pool = claims.values().filter(|claim| claim.pool == machine.tag.pool);
        let (mut nodes, mut used) = (0, Resources::new());
        for claim in of_pool {
            nodes += 1;
            used.add(&claim.counted());
        }
        let age =
            self.clock.now().duration_since(machine.created_at).max(SignedDuration::ZERO).unsigned_abs();
        let orphan = Orphan {
            pool: index.pool(&machine.tag.pool).map(|pool| &**pool),
            used: (nodes, used),
            capacity: &machine.capacity,
            runs_pods,
            surplus: index.claims.name_by_uid(&machine.tag.claim_uid).is_some(),
            unclaimed_for: seen_for.min(age),
        };
        orphan.verdict(self.settings.orphan_grace)
    }

    async fn adopt(&self, machine: &Machine) {
        let Some(pool) = self.bus.index.lock().definition(&machine.tag.pool).cloned() else { return };
        let claim = adopted_claim(machine, &pool, self.settings.scope.as_deref());
        // The claim's name follows from the machine, so what is not settled now is settled by the next sweep.
        match timeout(self.settings.write_patience, self.executor.create(claim)).await {
            Ok(Ok(claim)) => {
                info!(machine = %machine.provider_id, claim = claim.name_any(), "adopted a machine");
            }
            Ok(Err(error)) => {
                warn!(machine = %machine.provider_id, %error, "the machine could not be adopted");
            }
            Err(_) => {
                warn!(machine = %machine.provider_id, "the API server has given no definite answer about adopting");
            }
        }
    }

    /// A claim with this UID, or one that took over the machine launched under it, according to the API server.
    pub(crate) async fn live_claim(&self, uid: &Text) -> Result<Option<NodeClaim>, kube::Error> {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let claims = api.list(&ListParams::default()).await?.items;
        let stands_for = |claim: &NodeClaim| {
            claim.uid().as_deref() == Some(&**uid)
                || claim.spec.adopt.as_ref().is_some_and(|adopt| *adopt.claim_uid == **uid)
        };
        Ok(claims.into_iter().find(stands_for))
    }

    /// Nodes that carry our marks and have neither claim nor machine.
    async fn look_at_ghosts(
        &self,
        name: &Text,
        provider: &dyn Provider,
        machines: &[Machine],
        suspects: &mut Suspects,
    ) {
        let ghosts: Vec<Arc<Node>> = {
            let index = self.bus.index.lock();
            let is_ghost = |node: &&Arc<Node>| {
                if is_planted(Mistake::DeletesStrangers) {
                    return node.claim_uid.is_none();
                }
                node.held
                    && node.provider.as_ref() == Some(name)
                    && node.labels.get(labels::POOL).is_some()
                    && node.claim_uid.as_ref().is_some_and(|uid| index.claims.name_by_uid(uid).is_none())
                    && !machines.iter().any(|machine| Some(&machine.provider_id) == node.provider_id.as_ref())
            };
            index.nodes().filter(is_ghost).cloned().collect()
        };
        let now = self.clock.now();
        suspects.ghosts.retain(|uid, _| ghosts.iter().any(|node| node.uid == *uid));
        for node in &ghosts {
            let absence = suspects.ghosts.entry(node.uid.clone()).or_default();
            *absence = absence.said_again(now, self.settings.absence_interval);
            let stranger = is_planted(Mistake::DeletesStrangers).then_some(&node.uid);
            let Some(uid) = node.claim_uid.as_ref().or(stranger).filter(|_| absence.is_proven()) else {
                continue;
            };
            if !matches!(self.live_claim(uid).await, Ok(None)) {
                continue;
            }
            // Lists may be wrong: asked for this very machine, the provider must not know it either.
            if let Some(id) = &node.provider_id
                && !matches!(provider.get(id).await, Err(ProviderError::NotFound { .. }))
            {
                continue;
            }
            info!(node = %node.name, "deleting a node that has neither claim nor machine");
            let api: Api<ApiNode> = Api::all(self.client.clone());
            if let Err(error) = delete_node(&api, &node.name, &node.uid).await {
                warn!(node = %node.name, %error, "the node could not be deleted");
            }
        }
    }
}

fn has_other_machine(claim: &NodeClaim, provider_id: &str) -> bool {
    let own = claim.status.as_ref().and_then(|status| status.provider_id.as_deref());
    own.is_some_and(|own| own != provider_id)
}

/// Whether a claim stands for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claimed {
    Yes,
    No,
    /// The claim has another machine.
    Surplus,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_core::model::{Pool, Resources};

    use super::{Orphan, OrphanVerdict};

    const GRACE: Duration = Duration::from_secs(300);

    fn pool(max_nodes: Option<u32>) -> Pool {
        Pool {
            name: "p".into(),
            provider: "s".into(),
            limits: Resources::from_iter([("cpu", 8000)]),
            max_nodes,
            ..Pool::default()
        }
    }

    fn orphan<'a>(pool: Option<&'a Pool>, capacity: &'a Resources) -> Orphan<'a> {
        let used = (1, Resources::from_iter([("cpu", 4000)]));
        Orphan { pool, used, capacity, runs_pods: true, surplus: false, unclaimed_for: Duration::ZERO }
    }

    #[test]
    fn a_machine_that_runs_pods_is_adopted_while_its_pool_has_room() {
        let (capacity, pool) = (Resources::from_iter([("cpu", 4000)]), pool(Some(2)));
        assert_eq!(orphan(Some(&pool), &capacity).verdict(GRACE), OrphanVerdict::Adopt);
    }

    #[test]
    fn a_machine_beyond_its_pools_limits_is_not_adopted() {
        let (fits, large) = (Resources::from_iter([("cpu", 4000)]), Resources::from_iter([("cpu", 4001)]));
        assert_eq!(orphan(Some(&pool(Some(1))), &fits).verdict(GRACE), OrphanVerdict::Wait);
        assert_eq!(orphan(Some(&pool(None)), &large).verdict(GRACE), OrphanVerdict::Wait);
    }

    #[test]
    fn an_idle_or_surplus_machine_is_ended_after_the_grace_period_and_not_before() {
        let (capacity, pool) = (Resources::new(), pool(None));
        let idle = Orphan { runs_pods: false, ..orphan(Some(&pool), &capacity) };
        assert_eq!(idle.verdict(GRACE), OrphanVerdict::Wait);
        assert_eq!(Orphan { unclaimed_for: GRACE, ..idle }.verdict(GRACE), OrphanVerdict::Terminate);
        let surplus = Orphan { surplus: true, unclaimed_for: GRACE, ..orphan(Some(&pool), &capacity) };
        assert_eq!(surplus.verdict(GRACE), OrphanVerdict::Terminate);
        let homeless = Orphan { unclaimed_for: GRACE, ..orphan(None, &capacity) };
        assert_eq!(homeless.verdict(GRACE), OrphanVerdict::Terminate);
    }
}
