use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, ResourceExt};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use windlass_control::leader::{Leadership, gated_client};
use windlass_control::{Controller, Dependencies, Metrics, Settings};
use windlass_core::Text;
use windlass_providers::{Clock, Factory, SystemClock};
use windlass_serve::Probes;

use crate::connection::Connection;
use crate::duration::{parse as duration, parse_interval as interval};
use crate::logging;

/// Run the controller.
#[derive(Debug, Args)]
#[command(next_line_help = false)]
pub(crate) struct Run {
    #[command(flatten)]
    connection: Connection,
    /// The namespace for the lease and for the records that Windlass keeps. It has to exist.
    #[arg(long, env = "WINDLASS_NAMESPACE", default_value = "windlass-system", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    namespace: String,
    /// The name by which this cluster's machines are told apart from others'. Default: the UID of the namespace
    /// kube-system.
    #[arg(long, env = "WINDLASS_CLUSTER_ID", value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    cluster_id: Option<String>,
    /// Manage only pools, providers and claims with this value of the label windlass.dev/scope, for several
    /// installations beside each other. Default: those without the label.
    #[arg(long, env = "WINDLASS_SCOPE", value_name = "NAME", value_parser = scope_name)]
    scope: Option<String>,
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
    times: Times,
}

/// Delays, deadlines and intervals.
#[derive(Debug, Args)]
#[command(next_help_heading = "Delays, deadlines and intervals")]
struct Times {
    /// Plan when nothing has changed for this long.
    #[arg(long, env = "WINDLASS_BATCH_IDLE", default_value = "1s", value_parser = duration, value_name = "TIME")]
    batch_idle: Duration,
    /// Plan at the latest this long after the first change.
    #[arg(long, env = "WINDLASS_BATCH_MAX", default_value = "2s", value_parser = duration, value_name = "TIME")]
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
    /// How long a machine may be without a claim before it is ended.
    #[arg(long, env = "WINDLASS_ORPHAN_GRACE", default_value = "5m", value_parser = duration, value_name = "TIME")]
    orphan_grace: Duration,
    /// How far apart two answers of a provider must be that together prove that a machine is gone.
    #[arg(long, env = "WINDLASS_ABSENCE_INTERVAL", default_value = "5s", value_parser = duration, value_name = "TIME")]
    absence_interval: Duration,
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
        let client = self.connection.connect().await?;
        let cluster_id = self.cluster_id(&client).await?;
        let mut random = fastrand::Rng::new();
        let identity = self.identity.clone().unwrap_or_else(|| default_identity(&mut random));
        let settings = self.settings(cluster_id, identity);
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
        tokio::select! {
            () = controller.run(asked_to_stop()?) => Ok(()),
            served = probes => served.context("cannot serve the probes"),
        }
    }

    /// Machines of another installation in the same cluster are others' machines, so the scope is part of the name.
    async fn cluster_id(&self, client: &Client) -> Result<Text> {
        let cluster = if let Some(id) = &self.cluster_id {
            id.clone()
        } else {
            let namespaces: Api<Namespace> = Api::all(client.clone());
            let system = namespaces.get("kube-system").await;
            let system = system
                .context("cannot read the namespace kube-system for the cluster's id: give --cluster-id")?;
            system.uid().context("the namespace kube-system has no UID: give --cluster-id")?
        };
        Ok(match &self.scope {
            Some(scope) => format!("{cluster}.{scope}").into(),
            None => cluster.into(),
        })
    }

    fn settings(&self, cluster_id: Text, identity: String) -> Settings {
        let times = &self.times;
        Settings {
            scope: self.scope.clone(),
            lease_duration: times.lease_duration,
            renew_deadline: times.renew_deadline,
            lease_retry: times.lease_retry,
            batch_idle: times.batch_idle,
            batch_max: times.batch_max,
            launch_deadline: times.launch_deadline,
            registration_deadline: times.registration_deadline,
            repair_after: times.repair_after,
            orphan_grace: times.orphan_grace,
            absence_interval: times.absence_interval,
            sweep_interval: times.sweep_interval,
            catalogue_interval: times.catalogue_interval,
            poll_interval: times.poll_interval,
            avoid_base: times.avoid_base,
            avoid_max: times.avoid_max,
            ..Settings::new(cluster_id, self.namespace.clone(), identity)
        }
    }
}

/// The scope becomes a label's value and a part of the lease's name.
fn scope_name(text: &str) -> Result<String, String> {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = (1..=26).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-');
    if is_name {
        Ok(text.to_owned())
    } else {
        Err("write 1 to 26 lower-case letters, digits and dashes".to_owned())
    }
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
