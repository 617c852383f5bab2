//! The world that the replicas live in: the API server, the cloud, the rest of the cluster, the trouble of the moment, and
//! the court that sees everything.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use windlass_testkit::invariants::Change;

use crate::api::Server;
use crate::bonds::{ended_too_early, let_go_too_early};
use crate::cloud::Cloud;
use crate::cluster::Cluster;
use crate::court::Court;
use crate::history::{History, Side};
use crate::time::{Time, WallClock};
use crate::trace::Trace;
use crate::trouble::{REPLICAS, Trouble};

/// Everything there is, shared by all who act in it.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) time: Time,
    pub(crate) clocks: [WallClock; REPLICAS],
    /// Rung when a replica is to die at once.
    pub(crate) dooms: [Notify; REPLICAS],
    /// Rung when a replica is to end in good order.
    pub(crate) restarts: [Notify; REPLICAS],
    /// Rung when something has changed that the cluster's own controllers may want to look at.
    pub(crate) stirred: Notify,
    state: Mutex<State>,
}

/// What changes.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) server: Server,
    pub(crate) cloud: Cloud,
    pub(crate) cluster: Cluster,
    pub(crate) trouble: Trouble,
    pub(crate) court: Court,
    pub(crate) trace: Trace,
    pub(crate) rng: Rng,
    lives: [Life; REPLICAS],
    /// The version up to which everything has been told.
    told: u64,
    tellers: BTreeMap<String, watch::Sender<u64>>,
}

/// How a replica is.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    incarnation: u64,
    alive: bool,
    down: Duration,
}

/// One life of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplicaId {
    pub(crate) number: usize,
    pub(crate) incarnation: u64,
}

impl World {
    pub(crate) fn new(history: &History, traced: bool) -> Self {
        let time = Time::begin();
        let mut server = Server::new(history.seed);
        server.shuffle_lists(history.setting.shuffled_lists);
        let state = State {
            server,
            cloud: Cloud::new(Instant::now(), time.now()),
            cluster: Cluster::new(&history.setting),
            trouble: Trouble::new(),
            court: Court::new(history.clocks_ahead()),
            trace: Trace::new(time, traced),
            rng: Rng::with_seed(history.seed),
            lives: Default::default(),
            told: 0,
            tellers: BTreeMap::new(),
        };
        Self {
            time,
            clocks: std::array::from_fn(|_| WallClock::new(time)),
            dooms: Default::default(),
            restarts: Default::default(),
            stirred: Notify::new(),
            state: Mutex::new(state),
        }
    }

    /// Does something in the world, and has everyone who looks see what came of it.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = act(&mut state);
        if state.tell(self.time) {
            self.stirred.notify_one();
        }
        outcome
    }

    /// Kills a replica for so long. Nothing that it sends from now on arrives.
    pub(crate) fn kill(&self, state: &mut State, number: usize, down: Duration) {
        let life = &mut state.lives[number];
        life.alive = false;
        life.down = down;
        state.trace.note(|| format!("replica {number} dies for {down:?}"));
        self.dooms[number].notify_one();
    }

    /// Counts an effect that a replica is about to have; whether it dies of it, and on which side.
    pub(crate) fn effect(&self, state: &mut State, replica: ReplicaId) -> Option<Side> {
        if !state.is_alive(replica) {
            return None;
        }
        let (side, down) = state.trouble.replicas[replica.number].effect()?;
        state.court.count(match side {
            Side::Before => "crash before an effect",
            Side::After => "crash after an effect",
        });
        self.kill(state, replica.number, down);
        Some(side)
    }
}

impl State {
    /// A replica comes to life.
    pub(crate) fn birth(&mut self, number: usize) -> ReplicaId {
        let life = &mut self.lives[number];
        life.incarnation += 1;
        life.alive = true;
        ReplicaId { number, incarnation: life.incarnation }
    }

    pub(crate) fn is_alive(&self, replica: ReplicaId) -> bool {
        let life = self.lives[replica.number];
        life.alive && life.incarnation == replica.incarnation
    }

    /// For how long a replica that died stays down.
    pub(crate) fn down(&self, number: usize) -> Duration {
        self.lives[number].down
    }

    /// How long something takes that takes about this many milliseconds, a tenth of them or a few times as long.
    pub(crate) fn latency(&mut self, about: u64) -> Duration {
        let spread = self.rng.u64(about / 10..=about * 2);
        let hiccup = if self.rng.u8(..) < 4 { about * 20 } else { 0 };
        Duration::from_millis(spread + hiccup)
    }

    /// Where the news of a kind come from.
    pub(crate) fn subscribe(&mut self, kind: &str) -> watch::Receiver<u64> {
        let teller = self.tellers.entry(kind.to_owned()).or_insert_with(|| watch::Sender::new(0));
        teller.subscribe()
    }

    /// Wakes the watches of all kinds, which may have to end.
    pub(crate) fn wake_watches(&self) {
        for teller in self.tellers.values() {
            teller.send_modify(|_| {});
        }
    }

    /// Tells everyone what has happened since this was last done; whether anything has.
    fn tell(&mut self, time: Time) -> bool {
        let now = time.now();
        let mut stirred = false;
        for entry in self.cloud.take_journal() {
            self.trace.note(|| format!("cloud: {entry:?}"));
            self.court.journal(&entry, now);
            if let Some(wrong) = ended_too_early(&entry, &self.server, &self.cloud) {
                self.court.find("ends only what is to go", wrong);
            }
            stirred = true;
        }
        for commit in self.server.commits_after(self.told) {
            self.trace.commit(commit);
            self.court.commit(commit, now);
            if let Some(wrong) = let_go_too_early(commit, &self.cloud)
                && !self.court.provider_lied()
            {
                self.court.find("lets go only of what is gone", wrong);
            }
            self.cluster.see(commit);
            if commit.kind.kind == "NodeClaim" && commit.change == Change::Added && self.fills_pool(commit) {
                self.court.count("claim made at the pool's limit");
            }
            if let Some(teller) = self.tellers.get(commit.kind.kind) {
                teller.send_replace(commit.version);
            }
            stirred = true;
        }
        self.told = self.server.version();
        stirred
    }
}
