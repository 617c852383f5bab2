//! The simulated cloud at work: it lets machines boot, fail and vanish as their records say. All it knows is read from
//! the cluster, so that it goes on after a restart where it stopped.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, FuturesUnordered};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::runtime::watcher::{Config, Error, Event};
use kube::runtime::{WatchStreamExt, watcher};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info, warn};
use windlass_core::Text;

use super::agenda::{Agenda, Duty};
use super::mirror::Mirror;
use super::node::is_lively;
use super::nodes::{Nodes, Registration, Silence};
use super::pace::Pace;
use super::record::Stored;
use super::records::Records;
use crate::{Clock, ProviderError, WatchRetries};

/// How many things are done at the same time.
const HANDS: usize = 32;
/// How long to gather what happens before the next look at what is due.
const GATHER: Duration = Duration::from_millis(20);
/// How long the watch has to show what was done before it is done again.
const SHOWN: Duration = Duration::from_secs(5);
/// How long until what failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long until a machine whose name another node has tries to register again.
const NAME_TAKEN: Duration = Duration::from_secs(30);
/// How long one thing may take: what hangs must not keep everything else from happening.
const TIMEOUT: Duration = Duration::from_secs(20);
/// After this long at most the time of day is looked at again, as it may have been set.
const LOOK: Duration = Duration::from_mins(1);

/// The simulated cloud of one provider.
#[derive(Debug)]
pub(super) struct Cloud<'a> {
    pub provider: &'a Text,
    pub records: &'a Records,
    pub nodes: &'a Nodes,
    pub clock: &'a Arc<dyn Clock>,
}

enum Seen {
    Machine(Box<Result<Event<ConfigMap>, Error>>),
    Node(Box<Result<Event<Node>, Error>>),
}

/// One thing to do, as it was when it was found to be due.
struct Task {
    name: String,
    duty: Duty,
    stored: Option<Stored>,
    now: Timestamp,
}

#[derive(Debug)]
struct View {
    machines: Mirror<Option<Stored>>,
    nodes: Mirror<bool>,
}

impl Cloud<'_> {
    /// Works until it is dropped, which may be at any moment. What happens is taken in while things are being done,
    /// or one would fall behind and do things twice.
    pub async fn run(&self) {
        let machines = watcher(self.records.api.clone(), Config::default().labels(&self.records.selector()));
        let nodes = watcher(self.nodes.api.clone(), Config::default().labels(&self.nodes.selector()));
        let machines = machines.backoff(WatchRetries::default()).map(|event| Seen::Machine(Box::new(event)));
        let nodes = nodes.backoff(WatchRetries::default()).map(|event| Seen::Node(Box::new(event)));
        let mut events = pin!(stream::select(machines, nodes));
        let mut view = View { machines: Mirror::new(), nodes: Mirror::new() };
        let mut pace = Pace::default();
        let mut doing = FuturesUnordered::new();
        let mut wake = Instant::now() + LOOK;
        loop {
            tokio::select! {
                biased;
                () = sleep_until(wake) => {
                    let (due, next) = self.look(&view, &mut pace, HANDS - doing.len());
                    doing.extend(due.into_iter().map(|task| self.attempt(task)));
                    wake = next;
                }
                Some((key, hold)) = doing.next() => {
                    pace.hold(key, Instant::now() + hold);
                    wake = wake.min(Instant::now() + GATHER);
                }
                Some(seen) = events.next() => {
                    self.take_in(&mut view, seen);
                    wake = wake.min(Instant::now() + GATHER);
                }
            }
        }
    }

    fn take_in(&self, view: &mut View, seen: Seen) {
        let applied = match seen {
            Seen::Machine(event) => event.map(|event| view.machines.apply(event, |object| self.read(object))),
            Seen::Node(event) => event.map(|event| {
                view.nodes.apply(event, |node| self.nodes.are_ours(node) && is_lively(node));
            }),
        };
        if let Err(error) = applied {
            warn!(provider = %self.provider, %error, "cannot watch the simulated machines and their nodes");
        }
    }

    /// A record that cannot be read still says that there is a machine.
    fn read(&self, config_map: &ConfigMap) -> Option<Stored> {
        let stored = Stored::read(config_map, self.provider);
        let left_alone =
            |error| warn!(provider = %self.provider, %error, "a simulated machine is left alone");
        stored.map_err(left_alone).ok()
    }

    /// Finds what is to be done now, as far as there are hands, and when to look again.
    fn look(&self, view: &View, pace: &mut Pace, hands: usize) -> (Vec<Task>, Instant) {
        let (now, instant) = (self.clock.now(), Instant::now());
        let (Some(machines), Some(nodes)) = (view.machines.seen(), view.nodes.seen()) else {
            return (Vec::new(), instant + LOOK);
        };
        let agenda = Agenda::at(now, machines, nodes);
        let admitted = pace.admit(agenda.due, instant, hands);
        let task = |(name, duty): (String, Duty)| {
            let stored = machines.get(&name).cloned().flatten();
            Task { name, duty, stored, now }
        };
        let until = |next: Timestamp| Duration::try_from(next.duration_since(now)).unwrap_or_default();
        let next = instant + agenda.next.map_or(LOOK, until).min(LOOK);
        (admitted.into_iter().map(task).collect(), pace.next(instant).map_or(next, |held| held.min(next)))
    }

    /// Does one thing, and says how long not to do it again.
    async fn attempt(&self, task: Task) -> ((String, Duty), Duration) {
        let Task { name, duty, stored, now } = task;
        let done = timeout(TIMEOUT, self.act(&name, duty, stored.as_ref(), now)).await;
        let hold = done.map_err(Failure::from).flatten().unwrap_or_else(|error| {
            let provider = self.provider;
            warn!(%provider, machine = name, ?duty, %error, "a simulated machine could not do what it was about to");
            AGAIN
        });
        ((name, duty), hold)
    }

    async fn act(
        &self,
        name: &str,
        duty: Duty,
        stored: Option<&Stored>,
        now: Timestamp,
    ) -> Result<Duration, Failure> {
        match (duty, stored) {
            (Duty::Register, Some(stored)) => self.register(stored, now).await,
            (Duty::Vanish, Some(stored)) => self.vanish(stored).await,
            (Duty::Register | Duty::Vanish, None) => Ok(SHOWN),
            (Duty::Sicken, _) => self.silence(name, Silence::Sick, now).await,
            (Duty::Bury, _) => self.bury(name, now).await,
        }
    }

    async fn register(&self, stored: &Stored, now: Timestamp) -> Result<Duration, Failure> {
        let (provider, machine) = (self.provider, &stored.name);
        match self.nodes.register(stored, now).await? {
            Registration::NameTaken => {
                warn!(%provider, %machine, "a simulated machine cannot register: another node has its name");
                Ok(NAME_TAKEN)
            }
            Registration::Registered(at) => {
                self.records.note_registration(stored, at).await?;
                info!(%provider, %machine, "a simulated machine registered as a node");
                Ok(SHOWN)
            }
        }
    }

    async fn vanish(&self, stored: &Stored) -> Result<Duration, Failure> {
        self.records.delete(stored).await?;
        info!(provider = %self.provider, machine = %stored.name, "a simulated machine vanished");
        Ok(SHOWN)
    }

    async fn silence(&self, name: &str, why: Silence, now: Timestamp) -> Result<Duration, Failure> {
        self.nodes.silence(name, why, now).await?;
        debug!(provider = %self.provider, node = name, ?why, "the node of a simulated machine fell silent");
        Ok(SHOWN)
    }

    /// The watch may be behind another process that launched the machine, so the record is looked for first.
    async fn bury(&self, name: &str, now: Timestamp) -> Result<Duration, Failure> {
        if self.records.exists(name).await? {
            return Ok(NAME_TAKEN);
        }
        self.silence(name, Silence::Gone, now).await
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Api(#[from] kube::Error),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error("no answer within {TIMEOUT:?}")]
    Late(#[from] Elapsed),
}
