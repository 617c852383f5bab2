//! Providers whose lists lag, come up empty, fail, repeat themselves or change their order: nothing follows from that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use windlass_providers::{Clock, Machine, Provider, ProviderError, SystemClock};
use windlass_testkit::{ControlPlane, eventually};

use crate::lab::PATIENCE;
use crate::steps::{all_stay, calm_lab, force_away, machine_of, throughout};
use crate::twist::{Twist, twisted};

/// Lists show a machine only when it is three seconds old.
#[derive(Debug)]
struct Lags;

#[async_trait]
impl Twist for Lags {
    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        let (mut machines, now) = (truth.list().await?, SystemClock.now());
        machines.retain(|machine| now.duration_since(machine.created_at) > SignedDuration::from_secs(3));
        Ok(machines)
    }
}

pub async fn a_machine_that_lists_show_late_is_kept(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "lagging").await;
    // Lists without the machine come before and after its node is there.
    lab.plain_provider(&json!({"bootDelay": "2s"})).await;
    lab.pool("pool", &json!({})).await;
    lab.start_with(twisted(&Arc::new(Lags))).await;
    lab.pods("p", 2, "3").await;
    eventually("two claims", PATIENCE, async || (lab.claims().await.len() == 2).then_some(())).await;
    throughout("the claims stay", Duration::from_secs(6), async || all_stay(&lab, 2).await).await;
    lab.all_pods_run().await;
    lab.ready_claims(2).await;
    lab.finish().await;
}

/// Every other list is empty, the others fail, and looks at single machines fail too while this is on.
#[derive(Debug, Default)]
struct Blind {
    on: AtomicBool,
    get_works: bool,
    lists: AtomicUsize,
}

#[async_trait]
impl Twist for Blind {
    async fn get(&self, truth: &dyn Provider, id: &str) -> Result<Machine, ProviderError> {
        if self.on.load(Ordering::SeqCst) && !self.get_works {
            return Err(ProviderError::transient("the provider is not well"));
        }
        truth.get(id).await
    }

    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        if !self.on.load(Ordering::SeqCst) {
            return truth.list().await;
        }
        match self.lists.fetch_add(1, Ordering::SeqCst) % 4 {
            0..3 => Ok(Vec::new()),
            _ => Err(ProviderError::transient("the provider is not well")),
        }
    }
}

async fn blind(plane: Arc<ControlPlane>, name: &str, get_works: bool) {
    let mut lab = calm_lab(plane, name).await;
    lab.plain_provider(&json!({"bootDelay": "6s"})).await;
    lab.pool("pool", &json!({})).await;
    let twist = Arc::new(Blind { on: AtomicBool::new(true), get_works, lists: AtomicUsize::new(0) });
    lab.start_with(twisted(&twist)).await;
    lab.pods("p", 2, "3").await;
    eventually("two machines", PATIENCE, async || (lab.machines().await.len() == 2).then_some(())).await;
    // While they boot and after.
    throughout("claims and machines stay", Duration::from_secs(10), async || {
        all_stay(&lab, 2).await?;
        match lab.machines().await.len() {
            2 => Ok(()),
            other => Err(format!("{other} machines")),
        }
    })
    .await;
    eventually("a few such lists", PATIENCE, async || (twist.lists.load(Ordering::SeqCst) > 4).then_some(()))
        .await;
    all_stay(&lab, 2).await.unwrap();
    lab.all_pods_run().await;
    lab.ready_claims(2).await;
    lab.finish().await;
}

pub async fn an_empty_list_ends_nothing(plane: Arc<ControlPlane>) {
    blind(plane, "empty-list", true).await;
}

pub async fn an_empty_list_ends_nothing_while_single_machines_cannot_be_looked_at(plane: Arc<ControlPlane>) {
    blind(plane, "blind", false).await;
}

pub async fn an_empty_list_does_not_delete_the_node_of_a_machine_without_a_claim(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "no-ghost").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "Never"}})).await;
    let twist = Arc::new(Blind { get_works: true, ..Blind::default() });
    lab.start_with(twisted(&twist)).await;
    let pod = lab.create_pod(lab.pod("p", "3")).await;
    lab.all_pods_run().await;
    let claim = lab.ready_claims(1).await.remove(0);
    let id = machine_of(&lab, &claim.name_any()).await;
    lab.crash().await;
    force_away(&lab, &claim).await;
    twist.on.store(true, Ordering::SeqCst);
    lab.start_with(twisted(&twist)).await;
    let node = claim.status.unwrap().node_name.unwrap();
    throughout("the node stays", Duration::from_secs(6), async || {
        let found = lab.node_api().get_opt(&node).await.map_err(|error| error.to_string())?;
        match found {
            Some(node) if node.metadata.deletion_timestamp.is_none() => Ok(()),
            _ => Err("deleted".to_owned()),
        }
    })
    .await;
    // Once the provider sees its machines again, the pod is found to have been running all along.
    twist.on.store(false, Ordering::SeqCst);
    let adopted = lab.ready_claims(1).await.remove(0);
    assert_eq!(machine_of(&lab, &adopted.name_any()).await, id);
    assert_eq!(lab.pod_api().get("p").await.unwrap().uid(), pod.uid());
    lab.finish().await;
}

/// Each list comes in another order, and names some machines twice.
#[derive(Debug, Default)]
struct Shuffles(AtomicUsize);

#[async_trait]
impl Twist for Shuffles {
    async fn list(&self, truth: &dyn Provider) -> Result<Vec<Machine>, ProviderError> {
        let mut machines = truth.list().await?;
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        fastrand::Rng::with_seed(number as u64).shuffle(&mut machines);
        machines.extend(machines.first().cloned());
        Ok(machines)
    }
}

pub async fn the_order_of_lists_and_repetitions_in_them_mean_nothing(plane: Arc<ControlPlane>) {
    let mut lab = calm_lab(plane, "shuffled").await;
    lab.plain_provider(&json!({})).await;
    lab.pool("pool", &json!({"disruption": {"consolidateAfter": "Never"}})).await;
    let twist = Arc::new(Shuffles::default());
    lab.start_with(twisted(&twist)).await;
    lab.pods("p", 4, "3").await;
    lab.all_pods_run().await;
    let claims = lab.ready_claims(4).await;
    let lists = twist.0.load(Ordering::SeqCst);
    eventually("a few more sweeps", PATIENCE, async || {
        all_stay(&lab, 4).await.unwrap();
        (twist.0.load(Ordering::SeqCst) > lists + 3).then_some(())
    })
    .await;
    let victim = machine_of(&lab, &claims[2].name_any()).await;
    lab.claim_api().delete(&claims[2].name_any(), &DeleteParams::default()).await.unwrap();
    lab.ready_claims(3).await;
    let left = lab.machines().await;
    assert_eq!(left.len(), 3);
    assert!(!left.iter().any(|machine| victim.ends_with(&machine.name_any())));
    lab.finish().await;
}
