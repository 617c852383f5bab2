//! `windlass grpc`: what is needed to serve Cluster Autoscaler.

mod certs;
mod papers;

use anyhow::Result;
use clap::Subcommand;

use crate::run::Run;

/// What to do for the gRPC server.
#[derive(Debug, Subcommand)]
pub(crate) enum Grpc {
    /// Make an authority, a server's and a client's certificate, and print the cloud-config for Cluster Autoscaler.
    #[command(
        after_help = "Example:\n  windlass grpc certs --out certs --server-name windlass.windlass-system.svc > cloud-config.yaml"
    )]
    Certs(certs::Certs),
    /// Run the controller and serve the pools with `driver: ClusterAutoscaler` as node groups: like `windlass run`, at
    /// 127.0.0.1:8086 if `--grpc-addr` does not say where.
    Serve(Box<Run>),
}

impl Grpc {
    pub(crate) fn execute(self) -> Result<()> {
        match self {
            Self::Certs(certs) => certs.execute(),
            Self::Serve(run) => run.serving_groups().execute(),
        }
    }
}
