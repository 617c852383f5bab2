use std::collections::HashSet;

use jiff::Timestamp;
use kube::ResourceExt as _;
use serde::Serialize;

use super::event::{ApiEvent, Change, Event, JournalEntry, Kind, ObjectName, Writer};
use super::facts::{Budget, Claim, Machine, Node, Pod, amounts};
use super::history::History;
use super::options::Options;
use super::rules::{
    Case, ForeignThings, Limits, Orphans, Replacements, Storms, claim_gets_machine, claim_goes_on,
    claim_made, machine_appears, node_leaves, pod_leaves,
};
use super::violation::{Finding, Invariant, Violation};
use super::world::{Step, World};

/// Tells at each event whether the invariants still hold.
///
/// It is synchronous, keeps no time of its own and decides by its input alone, so the same judge serves tests on a real
/// API server, where an [`InvariantWatcher`](super::InvariantWatcher) feeds it, and deterministic simulations.
#[derive(Debug)]
pub struct Judge {
    options: Options,
    now: Timestamp,
    world: World,
    history: History,
    excused: HashSet<(Invariant, ObjectName)>,
    foreign: ForeignThings,
    orphans: Orphans,
    limits: Limits,
    replacements: Replacements,
    storms: Storms,
}

impl Judge {
    /// A judge who has seen nothing yet.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            now: Timestamp::MIN,
            world: World::default(),
            history: History::default(),
            excused: HashSet::default(),
            foreign: ForeignThings::default(),
            orphans: Orphans::default(),
            limits: Limits::default(),
            replacements: Replacements::default(),
            storms: Storms::default(),
        }
    }

    /// Declares an object foreign: from now on it has to stay as it is here. Of a machine in a provider's journal only
    /// the name matters.
    pub fn foreign(&mut self, name: ObjectName, object: &impl Serialize) -> Result<(), serde_json::Error> {
        self.foreign.declare(name, serde_json::to_value(object)?);
        Ok(())
    }

    /// Leaves violations of an invariant unreported when they concern this object, for a test that itself does what
    /// Windlass must not, such as deleting a pod that a budget protects.
    pub fn excuse(&mut self, invariant: Invariant, object: ObjectName) {
        self.excused.insert((invariant, object));
    }

    /// Takes note of an event and returns what it violates. Time never goes back: an event from before the last one
    /// counts as simultaneous with it.
    pub fn observe(&mut self, event: &Event, at: Timestamp) -> Vec<Violation> {
        self.now = self.now.max(at);
        let mut findings = Vec::new();
        match event {
            Event::Api(event) => self.api(event, &mut findings),
            Event::Provider(entry) => self.journal(entry, &mut findings),
            Event::Tick => {}
        }
        let mut case = case(&self.world, &self.options, self.now, &mut findings);
        self.orphans.expire(&mut case);
        self.sentence(findings)
    }

    fn api(&mut self, event: &ApiEvent, findings: &mut Vec<Finding>) {
        let name = event.name();
        self.history.record_api(self.now, name.clone(), event);
        let in_scope = match event.kind {
            Kind::NodeClaim => self.claim(&name, event, findings),
            Kind::NodePool => self.pool(&name, event, findings),
            Kind::Machine => self.machine_record(event, findings),
            Kind::Node => self.node(&name, event, findings),
            Kind::Pod => self.pod(&name, event, findings),
            Kind::PodDisruptionBudget => self.budget(event),
            Kind::NodeProvider => self.options.scope.includes_pool(&name.name),
        };
        let mut case = case(&self.world, &self.options, self.now, findings);
        self.foreign.judge(&mut case, &name, event);
        if in_scope {
            self.storms.count(&mut case, &name, event);
        }
        if event.change == Change::Deleted {
            self.storms.forget(&case, &name);
        }
    }

    /// Like its siblings, says whether the object is in scope.
    fn claim(&mut self, name: &ObjectName, event: &ApiEvent, findings: &mut Vec<Finding>) -> bool {
        let uid = event.object.uid().unwrap_or_default();
        let before = self.world.claim(&uid).cloned();
        let after = event.present().map(|object| Claim::read(object, before.as_deref()));
        if let Some(id) = after.as_ref().and_then(|claim| claim.provider_id.as_deref()) {
            self.foreign.know_machine(id);
        }
        let step = self.world.put_claim(&uid, after);
        let mut case = case(&self.world, &self.options, self.now, findings);
        claim_gets_machine(&mut case, &step);
        claim_goes_on(&mut case, &step, event.writer);
        self.limits.book(&mut case, &step, event.change != Change::Found);
        self.replacements.claim_leaves(&mut case, &step, event.writer);
        let Some(claim) = step.after.as_ref().or(step.before.as_ref()) else {
            return false;
        };
        if step.before.is_some() != step.after.is_some() {
            for tag in claim.adopted_uid.iter().chain([&claim.uid]) {
                self.orphans.review_claim(&case, tag);
            }
        }
        let in_scope = self.options.scope.includes_pool(&claim.pool);
        if in_scope && event.change == Change::Added && event.writer != Writer::Other {
            self.storms.claim_created(&mut case, &claim.pool, name);
            claim_made(&mut case, claim);
        }
        in_scope
    }

    fn pool(&mut self, name: &ObjectName, event: &ApiEvent, findings: &mut Vec<Finding>) -> bool {
        let limits = event.present().and_then(|object| object.data.pointer("/spec/limits"));
        let case = case(&self.world, &self.options, self.now, findings);
        self.limits.set(&case, &name.name, amounts(limits));
        self.options.scope.includes_pool(&name.name)
    }

    fn machine_record(&mut self, event: &ApiEvent, findings: &mut Vec<Finding>) -> bool {
        let machine = Machine::read(&event.object);
        let in_scope = self.options.scope.includes_cluster(&machine.cluster_id);
        let vanishes = machine.vanishes;
        let id = machine.provider_id.clone();
        let step = self.world.put_machine(&id, event.present().map(|_| machine));
        self.machine(&id, &step, !vanishes, findings);
        in_scope
    }

    fn journal(&mut self, entry: &JournalEntry, findings: &mut Vec<Finding>) {
        let id = entry.provider_id();
        let name = ObjectName::new(Kind::Machine, id);
        self.history.record_journal(self.now, name.clone(), entry);
        let known = self.world.machine(id).cloned();
        let mut case = case(&self.world, &self.options, self.now, findings);
        self.foreign.judge_journal(&mut case, &name, entry, known.as_deref());
        if !matches!(entry, JournalEntry::Changed { .. }) {
            let step = self.world.put_machine(id, Machine::launched(entry));
            self.machine(id, &step, matches!(entry, JournalEntry::Terminated { .. }), findings);
        }
    }

    /// `on_purpose` says whether a machine that ends here may have been ended by Windlass.
    fn machine(&mut self, id: &str, step: &Step<Machine>, on_purpose: bool, findings: &mut Vec<Finding>) {
        self.foreign.know_machine(id);
        let mut case = case(&self.world, &self.options, self.now, findings);
        machine_appears(&mut case, step);
        self.orphans.review(&case, id);
        let was_live = step.before.as_ref().is_some_and(|machine| machine.live);
        let is_live = step.after.as_ref().is_some_and(|machine| machine.live);
        if on_purpose && was_live && !is_live {
            for node in self.world.nodes_of(id) {
                node_leaves(&mut case, node, &format!("the machine of node {} was ended", node.name));
            }
        }
    }

    fn node(&mut self, name: &ObjectName, event: &ApiEvent, findings: &mut Vec<Finding>) -> bool {
        let step = self.world.put_node(&name.name, event.present().map(Node::read));
        let mut case = case(&self.world, &self.options, self.now, findings);
        if let (Some(before), None) = (&step.before, &step.after)
            && event.writer != Writer::Other
        {
            node_leaves(&mut case, before, &format!("node {} was removed", before.name));
        }
        let pool = step.after.as_ref().and_then(|node| node.pool.as_deref());
        pool.is_some_and(|pool| self.options.scope.includes_pool(pool))
    }

    fn pod(&mut self, name: &ObjectName, event: &ApiEvent, findings: &mut Vec<Finding>) -> bool {
        let last = Pod::read(&event.object);
        let step = self.world.put_pod(&name.name, event.present().map(Pod::read));
        let before = step.before.as_deref();
        let mut case = case(&self.world, &self.options, self.now, findings);
        pod_leaves(&mut case, before, &last, step.after.is_none(), event.writer);
        self.replacements.pod_evicted(&mut case, before, &last, event.writer);
        false
    }

    fn budget(&mut self, event: &ApiEvent) -> bool {
        let budget = Budget::read(&event.object);
        match event.present() {
            Some(_) => self.world.put_budget(budget),
            None => self.world.remove_budget(&budget),
        }
        false
    }

    fn sentence(&self, findings: Vec<Finding>) -> Vec<Violation> {
        let is_excused = |finding: &Finding| {
            !self.excused.is_empty()
                && finding
                    .objects
                    .iter()
                    .any(|object| self.excused.contains(&(finding.invariant, object.clone())))
        };
        let kept = findings.into_iter().filter(|finding| !is_excused(finding));
        kept.map(|finding| Violation {
            invariant: finding.invariant,
            at: self.now,
            events: self.history.about(&finding.objects),
            message: finding.message,
            objects: finding.objects,
        })
        .collect()
    }
}

fn case<'a>(
    world: &'a World,
    options: &'a Options,
    now: Timestamp,
    findings: &'a mut Vec<Finding>,
) -> Case<'a> {
    Case { world, options, now, findings }
}
