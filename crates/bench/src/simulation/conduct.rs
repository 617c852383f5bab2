use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::model::{Claim, Decision, PodId};
use windlass_core::plan::{Disruption, Target};
use windlass_core::{Plan, Text};

use super::agenda::{Agenda, Event};
use super::cluster::Cluster;
use super::ledger::Ledger;
use super::{DRAIN, START_UP};

impl Cluster {
    /// Carries a plan out, as the controller does.
    pub(super) fn carry_out(
        &mut self,
        plan: &Plan,
        agenda: &mut Agenda,
        ledger: &mut Ledger,
        now: Timestamp,
    ) {
        let names: Vec<Text> = plan.launches.iter().map(|launch| self.name(&launch.pool)).collect();
        for (launch, name) in plan.launches.iter().zip(&names) {
            self.launch(name, launch, now);
            ledger.launched();
            agenda.add(now + START_UP, Event::Ready(name.clone()));
        }
        for disruption in &plan.disruptions {
            self.disrupt(disruption, &names, now);
        }
        for cancellation in &plan.cancellations {
            self.change(&cancellation.claim, |claim| (claim.disrupted, claim.decision) = (None, None));
            self.close(&cancellation.claim, false);
            ledger.taken_back();
        }
        for removal in &plan.removals {
            self.remove(&removal.claim, ledger, now);
            agenda.add(now + DRAIN, Event::Drained(removal.claim.clone()));
        }
        let expected = plan.placements.iter().filter_map(|placement| {
            let node = match &placement.target {
                Target::Node(name) | Target::Claim(name) => name,
                Target::Launch(number) => names.get(*number)?,
            };
            Some((placement.pod.clone(), node.clone()))
        });
        self.expected = expected.collect();
    }

    fn name(&mut self, pool: &str) -> Text {
        self.made += 1;
        format!("{pool}-{:06}", self.made).into()
    }

    fn change(&mut self, name: &Text, how: impl FnOnce(&mut Claim)) {
        if let Some(claim) = Arc::make_mut(&mut self.snapshot.claims).get_mut(name) {
            how(Arc::make_mut(claim));
        }
    }

    /// Writes down that claims are to go, and closes their nodes.
    fn disrupt(&mut self, disruption: &Disruption, names: &[Text], now: Timestamp) {
        let replacements = disruption.replacements.iter().filter_map(|number| names.get(*number).cloned());
        let message = disruption.message.as_str().into();
        let decision = Decision { since: now, replacements: replacements.collect(), message };
        for (name, _) in &disruption.claims {
            self.change(name, |claim| {
                (claim.disrupted, claim.decision) = (Some(disruption.reason), Some(decision.clone()));
            });
            self.close(name, true);
        }
    }

    /// Deletes a claim: its pods are evicted at once, and its machine is paid for until it is drained.
    fn remove(&mut self, name: &Text, ledger: &mut Ledger, now: Timestamp) {
        self.change(name, |claim| claim.deleting = true);
        self.close(name, true);
        if let Some(node) = Arc::make_mut(&mut self.snapshot.nodes).get_mut(name) {
            Arc::make_mut(node).deleting = true;
        }
        let pods = self.snapshot.pods.values().filter(|pod| pod.node() == Some(name));
        let pods: Vec<PodId> = pods.map(|pod| pod.id.clone()).collect();
        for pod in &pods {
            self.evict(pod, now);
            ledger.moved(now);
        }
    }
}
