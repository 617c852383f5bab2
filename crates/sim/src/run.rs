//! One run: a world, two replicas in it, a history that befalls them, and what came of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, sleep_until};

use crate::cluster;
use crate::court::Finding;
use crate::fate::happen;
use crate::history::History;
use crate::replica;
use crate::trouble::REPLICAS;
use crate::world::World;

/// How long the world has trouble.
pub(crate) const TROUBLED: Duration = Duration::from_mins(10);
/// How long it may take to come to rest once all has healed.
const COMES_TO_REST: SignedDuration = SignedDuration::from_mins(15);
/// How long nothing may be written after that.
const RESTS: SignedDuration = SignedDuration::from_mins(30);
/// How often it is looked whether the world is at rest.
const LOOK: Duration = Duration::from_secs(10);

/// What came of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What must not be; the run ends with the first.
    pub findings: Vec<Finding>,
    /// A number that stands for all that happened, in its order.
    pub hash: u64,
    /// How often things occurred.
    pub counts: BTreeMap<String, u64>,
    /// The last that happened, oldest first.
    pub last: Vec<String>,
    /// How much time passed in the world.
    pub simulated: Duration,
}

/// How a history is played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// Whether everything that happens is printed.
    pub traced: bool,
    /// The mistake that the controller makes.
    #[cfg(feature = "planted")]
    pub mistake: Option<windlass_control::planted::Mistake>,
}

/// Plays a history, on a thread of its own. It takes the same course in each process that plays it first: tokio counts its
/// runtimes, and the count goes into what it draws. What is to be repeated is therefore played in a process of its own.
pub fn play(history: &History, manner: Manner) -> Outcome {
    let (played, seed) = (history.clone(), history.seed);
    let run = thread::Builder::new().name(format!("seed {seed}")).spawn(move || {
        windlass_entropy::follow(seed);
        #[cfg(feature = "planted")]
        windlass_control::planted::plant(manner.mistake);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        match runtime {
            Ok(runtime) => runtime.block_on(live_through(&played, manner.traced)),
            Err(error) => failed(format!("there is no runtime: {error}")),
        }
    });
    let ended = run
        .map_err(|error| error.to_string())
        .and_then(|thread| thread.join().map_err(|_| "the simulation itself panicked".to_owned()));
    ended.unwrap_or_else(failed)
}

fn failed(why: String) -> Outcome {
    let finding = Finding { rule: "simulation".to_owned(), message: why };
    Outcome {
        findings: vec![finding],
        hash: 0,
        counts: BTreeMap::new(),
        last: Vec::new(),
        simulated: Duration::ZERO,
    }
}

async fn live_through(history: &History, traced: bool) -> Outcome {
    let begun = Instant::now();
    let world = Arc::new(World::new(history, traced));
    world.with(|state| state.furnish(&history.setting.pools, &world));
    tokio::spawn(cluster::play(world.clone()));
    for number in 0..REPLICAS {
        tokio::spawn(replica::live(world.clone(), number));
    }
    for event in &history.events {
        wait_until(&world, begun + Duration::from_millis(event.at.into())).await;
        if in_trouble(&world) {
            break;
        }
        happen(&world, event);
    }
    wait_until(&world, begun + TROUBLED).await;
    if !in_trouble(&world) {
        world.clocks.iter().for_each(|clock| clock.set_right());
        world.with(|state| state.heal(&world));
        come_to_rest(&world, history.clocks_ahead()).await;
    }
    world.with(|state| Outcome {
        findings: state.court.findings().to_vec(),
        hash: state.trace.hash(),
        counts: state.court.counts().clone(),
        last: state.trace.last(),
        simulated: begun.elapsed(),
    })
}

/// Whether something has been found that must not be.
fn in_trouble(world: &World) -> bool {
    world.with(|state| !state.court.findings().is_empty())
}

/// Waits, and lets the court sit now and then.
async fn wait_until(world: &World, then: Instant) {
    while Instant::now() < then && !in_trouble(world) {
        sleep_until(then.min(Instant::now() + LOOK)).await;
        world.with(|state| state.court.tick(world.time.now()));
    }
}

/// Waits until nothing has been written for long enough, and sees whether all is as it should be then. Clocks that were
/// ahead have left times that are still to come.
async fn come_to_rest(world: &World, clocks_ahead: SignedDuration) {
    let healed = world.time.now();
    let latest = healed.checked_add(COMES_TO_REST.saturating_add(clocks_ahead)).unwrap_or(healed);
    loop {
        sleep(LOOK).await;
        let now = world.time.now();
        let done = world.with(|state| {
            state.court.tick(now);
            let (written, what) = state.court.last_write().cloned().unwrap_or((healed, String::new()));
            if written > latest {
                let message = format!(
                    "{what} was still written {:#} after all had healed",
                    written.duration_since(healed)
                );
                state.court.find("comes to rest", message);
            } else if now.duration_since(written.max(healed)) >= RESTS
                && let Some(unrest) = state.unrest()
            {
                state.court.find("is in order at rest", unrest);
            }
            !state.court.findings().is_empty() || now.duration_since(written.max(healed)) >= RESTS
        });
        if done {
            return;
        }
    }
}
