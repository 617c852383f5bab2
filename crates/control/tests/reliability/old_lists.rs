//! Providers whose lists are behind while a machine is given back, in one way or the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use windlass_api::NodeClaim;
use windlass_core::Text;
use windlass_providers::{Machine, MachineTag, Provider, ProviderError, Termination};
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::{Lab, PATIENCE};
use crate::steps::{calm_lab, kept_pod, release_pod, throughout};
use crate::twist::{Twist, twisted};

/// What is wrong with the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Old {
    /// They still show what is gone.
    Remember,
    /// They do not show this machine, which is there.
    Forget,
}

/// Lists that are old while this is on.
#[derive(Debug)]
struct OldLists {
    how: Old,
    on: AtomicBool,
    /// The machine that is not shown.
    forgotten: Mutex<String>,
    /// All that was ever listed.
    seen: Mutex<BTreeMap<Text, Machine>>,
    /// How many lists were old.
    lists: AtomicUsize,
    /// The machines that were to be ended.
    ended: Mutex<BTreeSet<String>>,
}

impl OldLists {
    fn new(how: Old) -> Arc<Self> {
        Arc::new(Self {
            how,
            on: AtomicBool::new(false),
            forgotten: Mutex::default(),
            seen: Mutex::default(),
            lists: AtomicUsize::new(0),
            ended: Mutex::default(),
        })
    }

    fn are_old_about(&self, machine: &str) {
        machine.clone_into(&mut self.forgotten.lock().unwrap());
        self.on.store(true, Ordering::SeqCst);
    }

    /// Waits for so many more old lists.
    async fn more(&self, lists: usize) {
        let until = self.lists.load(Ordering::SeqCst) + lists;
        eventually("more lists", PATIENCE, async || {
            (self.lists.load(Ordering::SeqCst) >= until).then_some(())
        })
        .await;
    }

    fn ended(&self) -> Vec<String> {
        self.ended.lock().unwrap().iter().cloned().collect()
    }
}

#[async_trait]
impl Twist for OldLists {
    async fn terminate(
        &self,
        truth: &dyn Provider,
        id: &str,
        tag: &MachineTag,
    ) -> Result<Termination, ProviderError> {
        self.ended.lock().unwrap().insert(id.to_owned());
        truth.terminate(id, tag).await
    }

    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        let mut machines = truth.list().await?;
        let mut seen = self.seen.lock().unwrap();
        seen.extend(machines.iter().map(|machine| (machine.provider_id.clone(), machine.clone())));
        if self.on.load(Ordering::SeqCst) {
            self.lists.fetch_add(1, Ordering::SeqCst);
            match self.how {
                Old::Remember => machines = seen.values().cloned().collect(),
                Old::Forget => {
                    let forgotten = self.forgotten.lock().unwrap();
                    machines.retain(|machine| *machine.provider_id != **forgotten);
                }
            }
        }
        Ok(machines)
    }
}

/// A pool of two nodes whose provider has such lists, and the claim and machine that are to go.
async fn two_nodes(plane: Arc<ControlPlane>, name: &str, lists: &Arc<OldLists>) -> (Lab, NodeClaim, String) {
    let mut lab = calm_lab(plane, name).await;
    lab.plain_provider(&json!({"bootDelay": "0s"})).await;
    lab.pool("pool", &json!({"minNodes": 2})).await;
    lab.start_with(twisted(lists)).await;
    let goes = lab.ready_claims(2).await.remove(0);
    let machine = goes.status.as_ref().unwrap().provider_id.clone().unwrap();
    eventually("both machines to be listed", PATIENCE, async || {
        (lists.seen.lock().unwrap().len() == 2).then_some(())
    })
    .await;
    (lab, goes, machine)
}

/// Waits until a claim is gone and two others have a machine and a node each.
async fn made_up_for(lab: &Lab, gone: &NodeClaim) -> Vec<String> {
    eventually("one machine for each of two other claims", PATIENCE, async || {
        let names: Vec<String> = lab.claims().await.iter().map(ResourceExt::name_any).collect();
        let counts = (names.len(), lab.machines().await.len(), lab.nodes().await.len());
        if counts == (2, 2, 2) && !names.contains(&gone.name_any()) {
            Ok(())
        } else {
            Err(format!("{names:?} {counts:?}"))
        }
    })
    .await;
    let mut names: Vec<String> = lab.ready_claims(2).await.iter().map(ResourceExt::name_any).collect();
    names.sort();
    names
}

pub async fn a_machine_that_lists_still_show_after_its_end_is_let_go_of(plane: Arc<ControlPlane>) {
    let lists = OldLists::new(Old::Remember);
    let (lab, goes, machine) = two_nodes(plane, "remember", &lists).await;
    lists.are_old_about(&machine);
    lab.claim_api().delete(&goes.name_any(), &DeleteParams::default()).await.unwrap();
    let left = made_up_for(&lab, &goes).await;
    // Long enough for a machine without a claim to be adopted or ended.
    lists.more(7).await;
    assert_eq!(made_up_for(&lab, &goes).await, left, "no claim was made for what is only in the list");
    assert_eq!(lists.ended(), [machine], "no other machine was touched");
    lab.finish().await;
}

pub async fn a_machine_that_lists_lack_while_its_claim_leaves_is_drained_and_then_ended(
    plane: Arc<ControlPlane>,
) {
    let lists = OldLists::new(Old::Forget);
    let (lab, ..) = two_nodes(plane, "forget", &lists).await;
    kept_pod(&lab, "db", "1").await;
    lab.all_pods_run().await;
    let node = lab.pod_api().get("db").await.unwrap().spec.unwrap().node_name.unwrap();
    let claims = lab.claims().await;
    let on_node = |claim: &&NodeClaim| {
        claim.status.as_ref().is_some_and(|status| status.node_name.as_deref() == Some(&node))
    };
    let goes = claims.iter().find(on_node).unwrap();
    let machine = goes.status.as_ref().unwrap().provider_id.clone().unwrap();
    lists.are_old_about(&machine);
    lab.claim_api().delete(&goes.name_any(), &DeleteParams::default()).await.unwrap();
    throughout("the pod and its machine stay", Duration::from_secs(5), async || {
        let pod = lab.pod_api().get("db").await.map_err(|error| error.to_string())?;
        if pod.metadata.deletion_timestamp.is_some() {
            return Err("the pod was evicted".to_owned());
        }
        let ended = lists.ended();
        if ended.is_empty() { Ok(()) } else { Err(format!("{ended:?} were ended")) }
    })
    .await;
    lists.more(1).await;
    release_pod(&lab, "db").await;
    made_up_for(&lab, goes).await;
    assert_eq!(lists.ended(), [machine], "no other machine was touched");
    lab.finish().await;
}
