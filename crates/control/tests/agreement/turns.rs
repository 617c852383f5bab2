//! Letting pods go to where they were planned, and seeing what the scheduler makes of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::made_up::priority;
use crate::watch::Watch;

/// How long the scheduler has for one pod, and in the end for those whose turn came too early.
const PATIENCE: Duration = Duration::from_secs(20);

/// In which order pods of the same priority go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    ByName,
    /// Of those that must be spread, one to each node, then a second one.
    OneToEach,
}

/// The pods that were planned, and the node that each was planned for.
pub struct Turns<'a> {
    pub client: &'a Client,
    pub order: Order,
    pub pods: Vec<(&'a Pod, String)>,
}

impl Turns<'_> {
    /// Lets the pods go one after another as the scheduler takes them: those of higher priority first.
    ///
    /// All are nominated beforehand, so that nobody takes another's room. Only those that must be spread are not
    /// nominated before their turn: the scheduler counts all that are nominated to a node as if they were there
    /// already, but not those that are nominated to the nodes that keep the balance.
    pub async fn take(mut self, mut watch: Watch<Pod>) -> Result<(), String> {
        self.sort();
        let early = self.pods.iter().filter(|(pod, _)| !must_spread(pod));
        let nominated = early.map(|(pod, node)| self.nominate(pod, node));
        stream::iter(nominated).buffer_unordered(8).collect::<Vec<()>>().await;
        for (pod, node) in &self.pods {
            if must_spread(pod) {
                self.nominate(pod, node).await;
            }
            self.open(pod).await;
            // The scheduler takes pods as they come. Where the next must see what became of this one it has to wait.
            if must_spread(pod) {
                let name = pod.name_any();
                let answered = watch.until(PATIENCE, |pods| match pods.get(&name).map(answer) {
                    Some(Answer::Bound(_) | Answer::Refused) => Ok(()),
                    _ => Err(format!("the scheduler says nothing of {name}")),
                });
                answered.await?;
            }
        }
        watch.until(PATIENCE, |pods| self.outcome(pods)).await
    }

    fn sort(&mut self) {
        self.pods.sort_by_key(|(pod, _)| (Reverse(priority(pod)), pod.name_any()));
        if self.order == Order::OneToEach {
            let mut gone_there: BTreeMap<String, usize> = BTreeMap::new();
            self.pods.sort_by_cached_key(|(pod, node)| {
                let turn = gone_there.entry(node.clone()).or_default();
                *turn += usize::from(must_spread(pod));
                (Reverse(priority(pod)), if must_spread(pod) { *turn } else { 0 })
            });
        }
    }

    fn outcome(&self, pods: &BTreeMap<String, Pod>) -> Result<(), String> {
        let found = |pod: &Pod| pods.get(&pod.name_any());
        let (mut unbound, mut strayed) = (Vec::new(), Vec::new());
        for (pod, node) in &self.pods {
            let name = pod.name_any();
            match found(pod).map(answer) {
                Some(Answer::Bound(other)) if other == *node => {}
                Some(Answer::Bound(other)) => strayed.push(format!("{name} to {other} and not {node}")),
                _ => unbound
                    .push(format!("{name} on {node}: {}", found(pod).map_or("it is gone", what_was_said))),
            }
        }
        if unbound.is_empty() {
            return Ok(());
        }
        Err(format!("the scheduler did not bind {}; and it bound {}", unbound.join("; "), strayed.join(", ")))
    }

    fn api(&self, pod: &Pod) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &pod.namespace().unwrap())
    }

    async fn nominate(&self, pod: &Pod, node: &str) {
        let status = json!({"status": {"nominatedNodeName": node}});
        let patch = Patch::Merge(status);
        self.api(pod).patch_status(&pod.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }

    async fn open(&self, pod: &Pod) {
        let open = Patch::Merge(json!({"spec": {"schedulingGates": []}}));
        self.api(pod).patch(&pod.name_any(), &PatchParams::default(), &open).await.unwrap();
    }
}

/// What the scheduler says of a pod.
enum Answer {
    Bound(String),
    Refused,
    Nothing,
}

fn answer(pod: &Pod) -> Answer {
    if let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()) {
        return Answer::Bound(node);
    }
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let refused =
        conditions.into_iter().flatten().any(|each| each.reason.as_deref() == Some("Unschedulable"));
    if refused { Answer::Refused } else { Answer::Nothing }
}

fn what_was_said(pod: &Pod) -> &str {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let said = conditions.into_iter().flatten().find(|each| each.type_ == "PodScheduled");
    said.and_then(|condition| condition.message.as_deref()).unwrap_or_default()
}

fn must_spread(pod: &Pod) -> bool {
    let constraints = pod.spec.as_ref().and_then(|spec| spec.topology_spread_constraints.as_ref());
    constraints.into_iter().flatten().any(|each| each.when_unsatisfiable == "DoNotSchedule")
}
