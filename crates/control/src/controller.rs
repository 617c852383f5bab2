use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::{Api, Client, ResourceExt};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};
use windlass_api::{NodeClaim, NodePool, NodeProvider};
use windlass_core::Text;
use windlass_providers::{Clock, ProviderFactory};

use crate::buffers::Buffers;
use crate::catalogue::{Keeper, Providers};
use crate::events::{EventWriter, Events, events};
use crate::groups::{Clerk, Desk, PoolGroups};
use crate::index::{Changed, SharedIndex};
use crate::joining::{Joining, SecretSource};
use crate::leader::{Elector, Leadership, LeaseSettings, gated_client};
use crate::lifecycle::Shell;
use crate::planning::{Executor, Planner};
use crate::queue::Queue;
use crate::status::PoolReporter;
use crate::sweep::Sweeper;
use crate::watch::{Watched, watch};
use crate::{Metrics, Settings};

/// All that the controller needs from outside.
pub struct Dependencies {
    /// The client to the API server, not gated.
    pub client: Client,
    /// Makes providers.
    pub factory: Arc<dyn ProviderFactory>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Where the names of claims come from.
    pub random: fastrand::Rng,
    /// Where bootstrap tokens come from.
    pub secrets: Arc<dyn SecretSource>,
    /// Whether this process leads. Providers that write to the cluster should use a client gated by it.
    pub leadership: Leadership,
    /// What is counted.
    pub metrics: Metrics,
    /// Every delay, deadline and interval.
    pub settings: Settings,
}

/// How the parts tell each other that something has changed.
#[derive(Debug)]
pub(crate) struct Bus {
    pub(crate) index: SharedIndex,
    pub(crate) plan: Notify,
    pub(crate) claims: Queue,
    pub(crate) providers: Notify,
    pub(crate) status: Notify,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
}

impl Bus {
    pub(crate) fn new(events: Events, metrics: Metrics) -> Self {
        Self {
            index: SharedIndex::default(),
            plan: Notify::new(),
            claims: Queue::default(),
            providers: Notify::new(),
            status: Notify::new(),
            events,
            metrics,
        }
    }

    /// Tells everyone whom a change concerns.
    pub(crate) fn announce(&self, changed: Changed) {
        self.announce_to_planner(&changed);
        if changed.providers {
            self.providers.notify_one();
            self.status.notify_one();
        }
        for claim in changed.claims {
            self.claims.add(claim);
        }
    }

    /// Tells the planner of a change that the lifecycle itself has made.
    pub(crate) fn announce_to_planner(&self, changed: &Changed) {
        if changed.plan {
            self.plan.notify_one();
            self.status.notify_one();
        }
    }
}

/// Whether the controller is fit to serve.
#[derive(Clone, Debug)]
pub struct Health {
    index: SharedIndex,
    leadership: Leadership,
    patience: Duration,
}

impl Health {
    /// Why the process is not ready, if it is not.
    pub fn unready(&self) -> Option<String> {
        let index = self.index.lock();
        if let Some(missing) = index.unlisted() {
            Some(missing)
        } else if !self.leadership.has_heard_within(self.patience) {
            let unknown = || "the API server has not answered about the lease yet".to_owned();
            Some(self.leadership.trouble().unwrap_or_else(unknown))
        } else {
            index.failing_watch(self.patience, Instant::now())
        }
    }

    /// Whether this process holds the lease.
    pub fn leads(&self) -> bool {
        self.leadership.may_write()
    }
}

/// The whole controller.
pub struct Controller {
    client: Client,
    gated: Client,
    factory: Arc<dyn ProviderFactory>,
    clock: Arc<dyn Clock>,
    random: Arc<Mutex<fastrand::Rng>>,
    secrets: Arc<dyn SecretSource>,
    leadership: Leadership,
    settings: Arc<Settings>,
    bus: Arc<Bus>,
    event_writer: EventWriter,
    desk: Desk,
    stopping: watch::Sender<bool>,
}

impl Controller {
    /// Puts the controller together; nothing happens before [`Controller::run`].
    pub fn new(dependencies: Dependencies) -> Self {
        let Dependencies { client, factory, clock, random, secrets, leadership, metrics, settings } =
            dependencies;
        let gated = gated_client(client.clone(), leadership.clone());
        let (events, event_writer) =
            events(gated.clone(), clock.clone(), settings.identity.clone(), metrics.clone());
        let bus = Bus::new(events, metrics);
        Self {
            client,
            gated,
            factory,
            clock,
            random: Arc::new(Mutex::new(random)),
            secrets,
            leadership,
            settings: Arc::new(settings),
            bus: Arc::new(bus),
            event_writer,
            desk: Desk::default(),
            stopping: watch::Sender::new(false),
        }
    }

    /// How the controller is, also while it runs.
    pub fn health(&self) -> Health {
        Health {
            index: self.bus.index.clone(),
            leadership: self.leadership.clone(),
            patience: self.settings.unready_after,
        }
    }

    /// The pools about which Cluster Autoscaler decides, also while the controller runs.
    pub fn node_groups(&self) -> PoolGroups {
        let (bus, leadership) = (self.bus.clone(), self.leadership.clone());
        PoolGroups::new(bus, leadership, self.settings.clone(), self.clock.clone(), self.desk.clone())
    }

    /// Runs until the shutdown comes. Work under way is then finished, within bounds, and the lease released.
    ///
    /// That the future can be sent to another thread is also the proof that no lock is held across an await.
    pub fn run(self, shutdown: impl Future<Output = ()> + Send) -> impl Future<Output = ()> + Send {
        self.work_until(shutdown)
    }

    async fn work_until(self, shutdown: impl Future<Output = ()> + Send) {
        {
            // A task of its own, so that it goes on while another thread plans. It ends with the set.
            let (mut elector, mut electing) = (self.elector(), JoinSet::new());
            electing.spawn(async move { elector.run().await });
            let background = async {
                tokio::join!(self.watch_everything(), self.event_writer.run(), electing.join_next())
            };
            let overdue = async {
                shutdown.await;
                info!("shutting down");
                self.stopping.send_replace(true);
                sleep(self.settings.shutdown_grace).await;
            };
            tokio::select! {
                _ = background => {}
                () = self.lead_when_elected() => info!("all work under way has ended"),
                () = overdue => warn!("work under way did not end in time and is left for the next process"),
            }
        }
        // What was sent has to be there before another process looks. It renews no more, so there is not much time.
        if timeout(self.settings.renew_deadline / 2, self.leadership.writes_ended()).await.is_err() {
            warn!("the API server has not answered the last writes");
        }
        self.elector().release().await;
    }

    fn elector(&self) -> Elector {
        let suffix = self.settings.scope.as_ref().map(|scope| format!("-{scope}")).unwrap_or_default();
        let lease = LeaseSettings {
            namespace: self.settings.namespace.clone(),
            name: format!("windlass{suffix}"),
            identity: self.settings.identity.clone(),
            duration: self.settings.lease_duration,
            renew_deadline: self.settings.renew_deadline,
            retry: self.settings.lease_retry,
        };
        Elector::new(self.client.clone(), lease, self.leadership.clone(), self.clock.clone())
    }

    async fn watch_everything(&self) {
        let seconds = u32::try_from(self.settings.watch_timeout.as_secs()).unwrap_or(u32::MAX);
        let all = watcher::Config::default().timeout(seconds);
        let ours = all.clone().labels(&self.settings.scope_selector());
        let mut watches = JoinSet::new();
        self.watch_kind::<Pod>(&mut watches, &all);
        self.watch_kind::<Node>(&mut watches, &all);
        self.watch_kind::<DaemonSet>(&mut watches, &all);
        self.watch_kind::<Namespace>(&mut watches, &all);
        self.watch_kind::<PodDisruptionBudget>(&mut watches, &all);
        self.watch_kind::<PersistentVolumeClaim>(&mut watches, &all);
        self.watch_kind::<PersistentVolume>(&mut watches, &all);
        self.watch_kind::<StorageClass>(&mut watches, &all);
        self.watch_kind::<CSINode>(&mut watches, &all);
        self.watch_kind::<NodeProvider>(&mut watches, &ours);
        self.watch_kind::<NodePool>(&mut watches, &ours);
        self.watch_kind::<NodeClaim>(&mut watches, &ours);
        // None of them ever ends by itself, and without one of them nothing is known for certain.
        if let Some(Err(broken)) = watches.join_next().await
            && let Ok(panic) = broken.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }

    /// Watches one kind in a task of its own, so that it is looked at only when it has news.
    fn watch_kind<K: Watched>(&self, watches: &mut JoinSet<()>, config: &watcher::Config) {
        watches.spawn(watch::<K>(self.client.clone(), config.clone(), self.bus.clone(), self.clock.clone()));
    }

    /// Leads whenever this process is elected, until it is told to stop.
    async fn lead_when_elected(&self) {
        let mut stopping = self.stopping.subscribe();
        loop {
            tokio::select! {
                () = self.leadership.gained() => {}
                _ = stopping.wait_for(|stop| *stop) => return,
            }
            self.bus.metrics.leads(true);
            tokio::select! {
                () = self.lead() => return,
                () = self.leadership.lost() => warn!("this process leads no more"),
            }
            self.bus.metrics.leads(false);
        }
    }

    /// Does the leader's work until told to stop. Whatever an earlier leader wrote, this process too, is read first, past
    /// any cache.
    async fn lead(&self) {
        self.leadership.writes_ended().await;
        self.read_claims().await;
        let (client, bus, clock, settings) = (&self.gated, &self.bus, &self.clock, &self.settings);
        let providers = Arc::new(Providers::default());
        let joining =
            Arc::new(Joining::new(client.clone(), clock.clone(), settings.clone(), self.secrets.clone()));
        let shell = Arc::new(Shell::new(
            client.clone(),
            bus.clone(),
            providers.clone(),
            joining.clone(),
            clock.clone(),
            settings.clone(),
        ));
        let executor = Arc::new(Executor::new(
            client.clone(),
            bus.clone(),
            clock.clone(),
            settings.clone(),
            self.random.clone(),
        ));
        let keeper = Keeper {
            client: client.clone(),
            bus: bus.clone(),
            providers: providers.clone(),
            factory: self.factory.clone(),
            leadership: self.leadership.clone(),
            random: self.random.clone(),
            clock: clock.clone(),
            settings: settings.clone(),
        };
        let planner = Planner {
            bus: bus.clone(),
            executor: executor.clone(),
            clock: clock.clone(),
            settings: settings.clone(),
        };
        let reporter = PoolReporter {
            client: client.clone(),
            bus: bus.clone(),
            clock: clock.clone(),
            settings: settings.clone(),
        };
        let buffers = Buffers {
            client: client.clone(),
            bus: bus.clone(),
            clock: clock.clone(),
            settings: settings.clone(),
        };
        let clerk = Clerk {
            bus: bus.clone(),
            executor: executor.clone(),
            clock: clock.clone(),
            settings: settings.clone(),
            desk: self.desk.clone(),
        };
        let sweeper = Sweeper {
            client: client.clone(),
            bus: bus.clone(),
            providers,
            shell: shell.clone(),
            executor,
            joining,
            clock: clock.clone(),
            settings: settings.clone(),
        };
        // The keeper goes first, so that the shell finds the providers that the index knows of.
        tokio::select! {
            biased;
            _ = async {
                tokio::join!(
                    keeper.run(), sweeper.run(), buffers.run(), planner.run(), clerk.run(), reporter.run()
                )
            } => {}
            () = shell.run(&self.stopping) => {}
        }
    }

    async fn read_claims(&self) {
        let api: Api<NodeClaim> = Api::all(self.client.clone());
        let ours = ListParams::default().labels(&self.settings.scope_selector());
        let mut errors = 0;
        let claims = loop {
            match timeout(self.settings.renew_deadline, api.list(&ours)).await {
                Ok(Ok(claims)) => break claims.items,
                Ok(Err(error)) => warn!(%error, "the claims could not be listed"),
                Err(_) => warn!("the claims could not be listed: the API server does not answer"),
            }
            errors += 1;
            sleep(self.settings.retry_after(errors)).await;
        };
        let seen: BTreeSet<String> = claims.iter().map(ResourceExt::name_any).collect();
        let mut index = self.bus.index.lock();
        let mut changed = Changed::plan();
        index.claims.forget_intentions();
        for claim in claims {
            changed |= index.claims.saw(claim);
        }
        changed |= index.claims.retain(&seen, self.clock.now());
        changed.claims.extend(seen.iter().map(|name| Text::from(name.as_str())));
        drop(index);
        self.bus.announce(changed);
    }
}
