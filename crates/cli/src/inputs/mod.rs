//! Where the cluster that is planned for comes from: files, a live cluster, or both.

pub(crate) mod files;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use windlass_control::Settings;
use windlass_control::leader::{Leadership, gated_client};
use windlass_control::offline::Cluster;
use windlass_manifests::{Manifests, apply};
use windlass_providers::{Clock, Factory, GuardSettings, SystemClock};

use crate::connection::Connection;
use crate::installation::Installation;
use crate::output;
use crate::planning::Planning;

/// Where objects come from.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    /// Manifests: a file, a folder (all *.yaml, *.yml and *.json in it and below), or - for standard input. May be given
    /// several times.
    #[arg(long = "filename", short = 'f', value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Look at the cluster. Together with -f, the objects in the files are added to the cluster's or replace them.
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    installation: Installation,
}

impl Inputs {
    /// Whether anything was named to look at.
    pub(crate) fn are_given(&self) -> bool {
        self.live || !self.files.is_empty()
    }

    /// Looks at the cluster where nothing else was named.
    pub(crate) fn or_live(&mut self) {
        self.live |= self.files.is_empty();
    }

    /// How to plan for a cluster that was put together.
    pub(crate) fn settings(&self, planning: &Planning, cluster: &Cluster) -> windlass_core::model::Settings {
        let paused = cluster.paused(&self.installation.namespace);
        windlass_core::model::Settings { paused, ..planning.settings() }
    }

    /// Puts together what is to be planned for. What is left out is said on standard error.
    pub(crate) fn gather(&self) -> Result<Cluster> {
        // Files first: a slip in one of them should not wait for a cluster.
        let sources = files::read(&self.files)?;
        let manifests = Manifests::read(&sources)?;
        let skipped: Vec<String> =
            manifests.skipped().map(|(kind, count)| format!("{count} {kind}")).collect();
        if !skipped.is_empty() {
            output::note(&format!("skipped, as plans do not depend on them: {}", skipped.join(", ")));
        }
        if self.live {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            return runtime.block_on(self.gather_live(manifests));
        }
        let mut cluster = Cluster::new(SystemClock.now());
        notes(apply(manifests.into_objects(), &mut cluster));
        notes(cluster.read_offers());
        Ok(cluster)
    }

    async fn gather_live(&self, manifests: Manifests) -> Result<Cluster> {
        // Whoever never leads never writes: nothing here can change the cluster.
        let client = gated_client(self.connection.connect().await?, Leadership::default());
        let cluster_id = self.installation.cluster_id(&client).await?;
        let namespace = self.installation.namespace.clone();
        let scope = self.installation.scope.clone();
        let settings =
            Settings { scope, ..Settings::new(cluster_id.clone(), namespace.clone(), String::new()) };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut cluster = Cluster::new(clock.now());
        let listed = cluster.list(&client, &settings.scope_selector()).await;
        notes(listed.context("the cluster cannot be looked at")?);
        notes(apply(manifests.into_objects(), &mut cluster));
        let factory = Factory { client, clock, cluster_id, namespace };
        notes(cluster.ask(&factory, GuardSettings::default(), &mut fastrand::Rng::new()).await);
        Ok(cluster)
    }
}

fn notes(notes: Vec<String>) {
    for note in notes {
        output::note(&note);
    }
}
