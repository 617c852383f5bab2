//! A replica of the controller, unmodified, with the simulated world for its client, providers, clock and chance. It is
//! killed and started anew as history has it.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::Notify;
use tokio::time::sleep;
use windlass_control::joining::SystemSecrets;
use windlass_control::leader::Leadership;
use windlass_control::{Controller, Dependencies, Metrics, Settings};
use windlass_core::model;
use windlass_providers::GuardSettings;

use crate::cloud::CLUSTER;
use crate::network::Wire;
use crate::rack::Rack;
use crate::world::{ReplicaId, World};

/// How long a replica that was told to end is given before it is killed.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long after its end in good order a replica is started again.
const ROLLS: Duration = Duration::from_secs(2);

/// Runs a replica, life after life, for ever.
pub(crate) async fn live(world: Arc<World>, number: usize) {
    loop {
        let replica = world.with(|state| state.birth(number));
        world.with(|state| state.trace.note(|| format!("replica {number} starts")));
        let client = Client::new(Wire { world: world.clone(), replica }, "windlass-system");
        let leadership = Leadership::default();
        let controller = Controller::new(Dependencies {
            client,
            factory: Arc::new(Rack { world: world.clone(), replica }),
            clock: Arc::new(world.clocks[number].clone()),
            random: world.with(|state| state.rng.fork()),
            // No pool in these worlds tells its machines how to join.
            secrets: Arc::new(SystemSecrets::default()),
            leadership,
            metrics: Metrics::default(),
            settings: settings(replica),
        });
        let asked_to_end = Arc::new(Notify::new());
        let shutdown = asked_to_end.clone();
        let mut task = tokio::spawn(controller.run(async move { shutdown.notified().await }));
        tokio::select! {
            biased;
            () = world.dooms[number].notified() => {
                task.abort();
                let _ = task.await;
                let down = world.with(|state| state.down(number));
                sleep(down).await;
            }
            () = world.restarts[number].notified() => {
                asked_to_end.notify_one();
                if tokio::time::timeout(PATIENCE, &mut task).await.is_err() {
                    task.abort();
                    let _ = task.await;
                }
                world.with(|state| {
                    state.court.count("replica restarted in good order");
                    state.trace.note(|| format!("replica {number} has ended"));
                });
                sleep(ROLLS).await;
            }
            ended = &mut task => {
                let why = ended.err().map_or_else(|| "it returned".to_owned(), |error| error.to_string());
                world.with(|state| {
                    state.court.find("the controller goes on", format!("replica {number} ended by itself: {why}"));
                });
                return;
            }
        }
    }
}

/// The settings of a replica: as by default, but with deadlines that come within a run.
/// A process that is started again is another one to the lease, which it has to wait for like anybody else.
fn settings(replica: ReplicaId) -> Settings {
    let identity = format!("replica-{}-{}", replica.number, replica.incarnation);
    let seconds = Duration::from_secs;
    let plan = model::Settings {
        search_steps: 30,
        start_up: seconds(30),
        // What pays only when nodes have been there for longer would be decided long after all has healed.
        pays_within: seconds(300),
        moves_apart: seconds(60),
        decision_patience: seconds(180),
        ..model::Settings::default()
    };
    Settings {
        lease_duration: seconds(30),
        renew_deadline: seconds(20),
        lease_retry: seconds(8),
        launch_deadline: seconds(120),
        registration_deadline: seconds(150),
        repair_after: seconds(120),
        orphan_grace: seconds(90),
        sweep_interval: seconds(30),
        // So seldom that what should have been planned for, and was not, shows.
        plan_interval: seconds(240),
        buffer_interval: seconds(120),
        avoid_base: seconds(20),
        avoid_max: seconds(120),
        retry_max: seconds(30),
        watch_timeout: seconds(290),
        search_time: None,
        provider_calls: GuardSettings { timeout: seconds(30), ..GuardSettings::default() },
        plan,
        ..Settings::new(CLUSTER.into(), "windlass-system".to_owned(), identity)
    }
}
