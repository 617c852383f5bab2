//! `windlass grpc`: what is needed to serve Cluster Autoscaler.

mod certs;
mod papers;

use anyhow::Result;
use clap::Subcommand;

/// What to do for the gRPC server.
#[derive(Debug, Subcommand)]
pub(crate) enum Grpc {
    /// Make an authority, a server's and a client's certificate, and print the cloud-config for Cluster Autoscaler.
    #[command(
        after_help = "Example:\n  windlass grpc certs --out certs --server-name windlass.windlass-system.svc > cloud-config.yaml"
    )]
    Certs(certs::Certs),
}

impl Grpc {
    pub(crate) fn execute(self) -> Result<()> {
        match self {
            Self::Certs(certs) => certs.execute(),
        }
    }
}
