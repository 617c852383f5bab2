//! A pool's limits hold at every instant, whatever becomes of the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use tokio::task::JoinHandle;
use windlass_api::NodeClaim;
use windlass_testkit::{ControlPlane, eventually};

use crate::sights::Instead;
use crate::stage::{PATIENCE, Stage};
use crate::windlass::Dice;

/// Counts a pool's claims all the time, and writes down when there are too many.
struct Sampler {
    most: Arc<AtomicUsize>,
    excesses: Arc<Mutex<Vec<String>>>,
    samples: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Sampler {
    fn start(stage: &Stage, most: usize) -> Self {
        let (most, excesses) = (Arc::new(AtomicUsize::new(most)), Arc::default());
        let samples: Arc<AtomicUsize> = Arc::default();
        let (api, pool): (Api<NodeClaim>, _) = (Api::all(stage.client.clone()), stage.named("pool"));
        let (limit, found, count) = (Arc::clone(&most), Arc::clone(&excesses), Arc::clone(&samples));
        let task = tokio::spawn(async move {
            loop {
                let claims = api.list(&ListParams::default()).await.unwrap().items;
                let ours = claims.iter().filter(|claim| claim.spec.pool_ref.name == pool).count();
                let limit = limit.load(Ordering::SeqCst);
                if ours > limit {
                    let excesses: &Mutex<Vec<String>> = &found;
                    excesses.lock().unwrap().push(format!("{ours} claims, {limit} are allowed"));
                }
                count.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        Self { most, excesses, samples, task }
    }

    fn raise(&self, most: usize) {
        self.most.store(most, Ordering::SeqCst);
    }

    fn finish(self) {
        assert!(!self.task.is_finished() && self.samples.load(Ordering::SeqCst) > 20);
        self.task.abort();
        assert_eq!(*self.excesses.lock().unwrap(), Vec::<String>::new());
    }
}

pub async fn limits_hold_at_every_instant_and_more_comes_once_they_are_raised(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "limits").await;
    let mut dice = Dice::new(6);
    stage.provider(&json!({"bootDelay": "1s"})).await;
    // Nodes have 4 cores, so it is the cores that are short at first.
    stage.pool(&json!({"limits": {"nodes": 7, "cpu": "22"}})).await;
    let sampler = Sampler::start(&stage, 5);
    let mut windlass = stage.start();
    stage.led_by(&mut windlass).await;
    stage.pods(0..60).await;
    for _ in 0..4 {
        dice.moment(50..900).await;
        windlass.kill().await;
        windlass = stage.start();
        stage.led_by(&mut windlass).await;
    }
    full(&stage, 5).await;

    sampler.raise(7);
    stage.pool(&json!({"limits": {"nodes": 7, "cpu": "100"}})).await;
    dice.moment(50..900).await;
    windlass.kill().await;
    windlass = stage.start();
    full(&stage, 7).await;

    sampler.raise(9);
    stage.pool(&json!({"limits": {"nodes": 9, "cpu": "100"}})).await;
    full(&stage, 9).await;

    stage.delete_pods(0..60).await;
    stage.gone().await;
    sampler.finish();
    windlass.must_run();
    stage.finish().await;
}

/// Waits until so many pods run, all that the limits allow.
async fn full(stage: &Stage, nodes: usize) {
    eventually(&format!("{nodes} pods run"), PATIENCE, async || {
        let (running, claims) = (stage.running().await?.len(), stage.claims().await?.len());
        let done = (running, claims) == (nodes, nodes);
        if done { Ok(()) } else { Err(Instead(format!("{running} pods run on {claims} claims"))) }
    })
    .await;
}
