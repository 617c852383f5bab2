//! The trouble that the world is in at present: what history has brought and what has not passed yet.

use std::time::Duration;

use tokio::time::Instant;

use crate::history::{Call, CallFault, Failure, Side, WatchedKind};

/// How many replicas of the controller there are.
pub(crate) const REPLICAS: usize = 2;

/// Everything that is wrong just now.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) replicas: [ReplicaTrouble; REPLICAS],
    /// Until when the API server answers nobody.
    pub(crate) outage: Option<Instant>,
    calls: Vec<(Call, CallFault, u32)>,
    /// How many of the next machines never become nodes.
    pub(crate) never_join: u32,
}

/// What is wrong with one replica and its connections.
#[derive(Debug, Default)]
pub(crate) struct ReplicaTrouble {
    trap: Option<Trap>,
    failures: Vec<(Failure, u32)>,
    /// Until when it cannot reach the API server.
    pub(crate) outage: Option<Instant>,
    lags: Vec<(Option<WatchedKind>, Instant)>,
    cuts: Vec<Option<WatchedKind>>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    Reads,
    /// It makes something that a claim's life consists of, an eviction too.
    Makes,
    /// It changes or ends such a thing.
    Changes,
    Reports,
}

/// Where a replica dies.
#[derive(Clone, Copy, Debug)]
struct Trap {
    effects_left: u32,
    side: Side,
    down: Duration,
}

impl Trouble {
    pub(crate) fn new() -> Self {
        Self { replicas: Default::default(), outage: None, calls: Vec::new(), never_join: 0 }
    }

    /// Nothing is wrong any more.
    pub(crate) fn heal(&mut self) {
        *self = Self::new();
    }

    pub(crate) fn api_answers(&self, replica: usize, now: Instant) -> bool {
        let over = |until: Option<Instant>| until.is_none_or(|until| until <= now);
        over(self.outage) && over(self.replicas[replica].outage)
    }

    pub(crate) fn strike_calls(&mut self, call: Call, how: CallFault, calls: u32) {
        self.calls.push((call, how, calls));
    }

    /// What befalls this call to the provider, if anything.
    pub(crate) fn take_call(&mut self, call: Call) -> Option<CallFault> {
        let found = self.calls.iter_mut().find(|(struck, _, left)| *struck == call && *left > 0)?;
        found.2 -= 1;
        Some(found.1)
    }
}

impl ReplicaTrouble {
    pub(crate) fn set_trap(&mut self, effect: u32, side: Side, down: Duration) {
        self.trap = Some(Trap { effects_left: effect.max(1), side, down });
    }

    /// Counts an effect of the replica: whether it dies of it, on which side, and for how long.
    pub(crate) fn effect(&mut self) -> Option<(Side, Duration)> {
        let trap = self.trap.as_mut()?;
        trap.effects_left -= 1;
        if trap.effects_left > 0 {
            return None;
        }
        let sprung = (trap.side, trap.down);
        self.trap = None;
        Some(sprung)
    }

    pub(crate) fn fail(&mut self, how: Failure, requests: u32) {
        self.failures.push((how, requests));
    }

    /// How the next request fails, if it does. Nobody is told of a conflict who only reads, and only what has an effect can
    /// have it late.
    pub(crate) fn take_failure(&mut self, aim: Aim) -> Option<Failure> {
        let possible = |how: Failure| match how {
            Failure::Refused(409) => aim != Aim::Reads,
            Failure::Late => aim == Aim::Makes,
            Failure::LateChange => aim == Aim::Changes,
            _ => true,
        };
        let found = self.failures.iter_mut().find(|(how, left)| *left > 0 && possible(*how))?;
        found.1 -= 1;
        Some(found.0)
    }

    pub(crate) fn lag(&mut self, kind: Option<WatchedKind>, until: Instant) {
        self.lags.push((kind, until));
    }

    /// Until when nothing is told of this kind.
    pub(crate) fn lags_until(&self, kind: &str, now: Instant) -> Option<Instant> {
        let lags = self.lags.iter().filter(|(lagging, until)| concerns(*lagging, kind) && *until > now);
        lags.map(|(_, until)| *until).max()
    }

    pub(crate) fn cut(&mut self, kind: Option<WatchedKind>) {
        self.cuts.push(kind);
    }

    /// How often watches of this kind were cut.
    pub(crate) fn cuts(&self, kind: &str) -> usize {
        self.cuts.iter().filter(|cut| concerns(**cut, kind)).count()
    }
}

fn concerns(kind: Option<WatchedKind>, asked: &str) -> bool {
    kind.is_none_or(|kind| kind.as_str() == asked)
}
