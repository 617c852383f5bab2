use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use windlass_control::joining::SystemSecrets;
use windlass_control::leader::{Leadership, gated_client};
use windlass_control::{Controller, Dependencies, Metrics, Settings};
use windlass_core::Text;
use windlass_providers::{Clock, Factory, SystemClock};
use windlass_serve::Probes;

use crate::connection::{Connection, connect_by};
use crate::duration::{parse as duration, parse_interval as interval};
use crate::groups::Bridge;
use crate::installation::Installation;
use crate::joining::Joining;
use crate::logging;
use crate::planning::Planning;

/// Run the controller.
#[derive(Debug, Args)]
#[command(next_line_help = false)]
pub(crate) struct Run {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    installation: Installation,
    /// Who this process is in the lease; two replicas with one name would both lead. Default: the host's name and a
    /// random suffix.
    #[arg(long, env = "WINDLASS_IDENTITY", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    identity: Option<String>,
    /// Where to serve /healthz, /readyz and /metrics; port 0 takes a free one, which the log names.
    #[arg(long, env = "WINDLASS_LISTEN", default_value = "0.0.0.0:8080", value_name = "ADDRESS")]
    listen: SocketAddr,

    /// What to log: a level, or per module as in `info,windlass_control=debug`.
    #[arg(long, env = "WINDLASS_LOG", default_value = "info", value_name = "FILTER")]
    log: String,
    /// How to write the log.
    #[arg(long, env = "WINDLASS_LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    log_format: logging::Format,

    #[command(flatten)]
    planning: Planning,
    /// How long to look for a cheaper plan after the first answer, which takes milliseconds.
    #[arg(long, env = "WINDLASS_SEARCH_TIME", default_value = "300ms", value_parser = interval, value_name = "TIME", help_heading = "Planning")]
    search_time: Duration,
    /// Whether to tell the scheduler which node each pod was planned for, by `status.nominatedNodeName`.
    #[arg(
        long,
        env = "WINDLASS_NOMINATIONS",
        default_value = "auto",
        value_name = "CHOICE",
        help_heading = "Planning"
    )]
    nominations: Nominations,
    #[command(flatten)]
    bridge: Bridge,
    #[command(flatten)]
    joining: Joining,
    #[command(flatten)]
    times: Times,
}

/// Whether pods are nominated to the nodes that they were planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Nominations {
    /// Where the cluster's scheduler heeds nominations, which it does from Kubernetes 1.35 on.
    Auto,
    /// Nowhere: the scheduler places pods as it likes.
    Never,
}

/// The first minor version of Kubernetes 1 whose scheduler heeds nominations of others by default.
const HEEDS_NOMINATIONS: u32 = 35;

/// Delays, deadlines and intervals.
#[derive(Debug, Args)]
#[command(next_help_heading = "Delays, deadlines and intervals")]
struct Times {
    /// Plan when nothing has changed for this long.
    #[arg(long, env = "WINDLASS_BATCH_IDLE", default_value = "500ms", value_parser = duration, value_name = "TIME")]
    batch_idle: Duration,
    /// Plan at the latest this long after the first change.
    #[arg(long, env = "WINDLASS_BATCH_MAX", default_value = "1s", value_parser = duration, value_name = "TIME")]
    batch_max: Duration,
    /// How long a claim may be without a machine before it is given up.
    #[arg(long, env = "WINDLASS_LAUNCH_DEADLINE", default_value = "5m", value_parser = duration, value_name = "TIME")]
    launch_deadline: Duration,
    /// How long a machine may take to become a node before it is given back.
    #[arg(long, env = "WINDLASS_REGISTRATION_DEADLINE", default_value = "15m", value_parser = duration, value_name = "TIME")]
    registration_deadline: Duration,
    /// How long a node may be not ready before it is replaced.
    #[arg(long, env = "WINDLASS_REPAIR_AFTER", default_value = "10m", value_parser = duration, value_name = "TIME")]
    repair_after: Duration,
    /// How long a claim that came to nothing is kept for Cluster Autoscaler to see, where it decides.
    #[arg(long, env = "WINDLASS_FAILURE_SHOWN", default_value = "5m", value_parser = duration, value_name = "TIME")]
    failure_shown: Duration,
    /// How long a machine may be without a claim before it is ended.
    #[arg(long, env = "WINDLASS_ORPHAN_GRACE", default_value = "5m", value_parser = duration, value_name = "TIME")]
    orphan_grace: Duration,
    /// How far apart two answers of a provider must be that together prove that a machine is gone.
    #[arg(long, env = "WINDLASS_ABSENCE_INTERVAL", default_value = "5s", value_parser = duration, value_name = "TIME")]
    absence_interval: Duration,
    /// How long a request that went unanswered may still have its effect. For as long after its creation a claim's name stays
    /// taken, and after its deletion one counts whose launch was not answered.
    #[arg(long, env = "WINDLASS_NAME_KEPT", default_value = "60s", value_parser = duration, value_name = "TIME")]
    name_kept: Duration,
    /// How often the providers' machines are compared with the claims.
    #[arg(long, env = "WINDLASS_SWEEP_INTERVAL", default_value = "60s", value_parser = interval, value_name = "TIME")]
    sweep_interval: Duration,
    /// How often the providers' offers are read.
    #[arg(long, env = "WINDLASS_CATALOGUE_INTERVAL", default_value = "60s", value_parser = interval, value_name = "TIME")]
    catalogue_interval: Duration,
    /// How often a claim that waits for something outside the cluster is looked at.
    #[arg(long, env = "WINDLASS_POLL_INTERVAL", default_value = "5s", value_parser = interval, value_name = "TIME")]
    poll_interval: Duration,
    /// How long an offering that could not be had is avoided at first; it doubles each time.
    #[arg(long, env = "WINDLASS_AVOID_BASE", default_value = "60s", value_parser = duration, value_name = "TIME")]
    avoid_base: Duration,
    /// The longest time for which an offering is avoided.
    #[arg(long, env = "WINDLASS_AVOID_MAX", default_value = "1h", value_parser = duration, value_name = "TIME")]
    avoid_max: Duration,
    /// How long a lease is held without renewal before another replica takes it.
    #[arg(long, env = "WINDLASS_LEASE_DURATION", default_value = "15s", value_parser = interval, value_name = "TIME")]
    lease_duration: Duration,
    /// How long after its last renewal the holder of the lease stops writing.
    #[arg(long, env = "WINDLASS_RENEW_DEADLINE", default_value = "10s", value_parser = interval, value_name = "TIME")]
    renew_deadline: Duration,
    /// How often the lease is renewed or asked for.
    #[arg(long, env = "WINDLASS_LEASE_RETRY", default_value = "2s", value_parser = interval, value_name = "TIME")]
    lease_retry: Duration,
}

impl Run {
    /// The same, serving node groups also if it is not said where.
    pub(crate) fn serving_groups(mut self) -> Self {
        self.bridge.open_by_default();
        self
    }

    pub(crate) fn execute(self) -> Result<()> {
        logging::start(&self.log, self.log_format)?;
        // Two workers: one may be busy planning while the other renews the lease.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(self.run())
    }

    async fn run(self) -> Result<()> {
        ensure!(
            self.times.renew_deadline < self.times.lease_duration,
            "--renew-deadline must be shorter than --lease-duration, or two replicas could write at the same time"
        );
        ensure!(
            self.times.lease_retry < self.times.renew_deadline,
            "--lease-retry must be shorter than --renew-deadline, or the lease would run out between two renewals"
        );
        let config = self.connection.config().await?;
        let joining = self.joining.settings(&config)?;
        let client = connect_by(config).await?;
        let cluster_id = self.installation.cluster_id(&client).await?;
        let mut random = fastrand::Rng::new();
        let identity = self.identity.clone().unwrap_or_else(|| default_identity(&mut random));
        let mut settings = self.settings(cluster_id, identity);
        settings.joining = joining;
        settings.nominates = self.nominations == Nominations::Auto && heeds_nominations(&client).await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (leadership, metrics) = (Leadership::default(), Metrics::default());
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let factory = Factory {
            client: gated_client(client.clone(), leadership.clone()),
            clock: clock.clone(),
            cluster_id: settings.cluster_id.clone(),
            namespace: settings.namespace.clone(),
        };
        info!(cluster_id = %settings.cluster_id, identity = settings.identity, "windlass starts");
        let controller = Controller::new(Dependencies {
            client,
            factory: Arc::new(factory),
            clock,
            random,
            secrets: Arc::new(SystemSecrets::default()),
            leadership,
            metrics,
            settings,
        });
        let listener = TcpListener::bind(self.listen)
            .await
            .with_context(|| format!("cannot listen on {}", self.listen))?;
        info!(address = %listener.local_addr()?, "serving /healthz, /readyz and /metrics");
        let health = controller.health();
        let unready = Arc::new(move || health.unready());
        let probes = windlass_serve::serve(
            listener,
            Probes { unready, registry: Arc::new(registry) },
            std::future::pending(),
        );
        let bridge = self.bridge.open(controller.node_groups()).await?;
        let bridge = async {
            match bridge {
                Some(bridge) => bridge.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = controller.run(asked_to_stop()?) => Ok(()),
            served = probes => served.context("cannot serve the probes"),
            served = bridge => served,
        }
    }

    fn settings(&self, cluster_id: Text, identity: String) -> Settings {
        let times = &self.times;
        let defaults = Settings::new(cluster_id, self.installation.namespace.clone(), identity);
        Settings {
            plan: self.planning.settings(),
            search_time: Some(self.search_time),
            scope: self.installation.scope.clone(),
            lease_duration: times.lease_duration,
            renew_deadline: times.renew_deadline,
            lease_retry: times.lease_retry,
            batch_idle: times.batch_idle,
            batch_max: times.batch_max,
            launch_deadline: times.launch_deadline,
            registration_deadline: times.registration_deadline,
            repair_after: times.repair_after,
            failure_shown: times.failure_shown,
            orphan_grace: times.orphan_grace,
            absence_interval: times.absence_interval,
            name_kept: times.name_kept,
            sweep_interval: times.sweep_interval,
            catalogue_interval: times.catalogue_interval,
            poll_interval: times.poll_interval,
            avoid_base: times.avoid_base,
            avoid_max: times.avoid_max,
            ..defaults
        }
    }
}

/// Whether the cluster is new enough for nominations. A minor version may be written as `35+`.
async fn heeds_nominations(client: &Client) -> Result<bool> {
    let version = client.apiserver_version().await.context("cannot read the API server's version")?;
    let digits: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    Ok(version.major == "1" && digits.parse::<u32>().is_ok_and(|minor| minor >= HEEDS_NOMINATIONS))
}

fn default_identity(random: &mut fastrand::Rng) -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host
        .or_else(|| std::fs::read_to_string("/etc/hostname").ok())
        .unwrap_or_else(|| "windlass".to_owned());
    format!("{}-{:06x}", host.trim(), random.u32(..0x0100_0000))
}

/// Ends when the process is asked to stop, by SIGTERM or SIGINT.
fn asked_to_stop() -> Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
