//! Where the controller's node groups are served to Cluster Autoscaler.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::TcpListener;
use tracing::{info, warn};
use windlass_control::groups::PoolGroups;
use windlass_serve::grpc::{Security, TlsFiles, serve_grpc};

/// Where and to whom node groups are served.
#[derive(Debug, Args)]
#[command(next_help_heading = "Serving Cluster Autoscaler")]
#[expect(clippy::struct_field_names, reason = "they are named as the flags are")]
pub(crate) struct Bridge {
    /// Where to serve the pools with `driver: ClusterAutoscaler` as node groups, by the protocol `externalgrpc`; port 0
    /// takes a free one, which the log names. Without it they are not served.
    #[arg(long, env = "WINDLASS_GRPC_ADDR", value_name = "ADDRESS")]
    grpc_addr: Option<SocketAddr>,
    /// The server's certificate, in PEM; read again when it changes. `windlass grpc certs` makes a set.
    #[arg(long, env = "WINDLASS_GRPC_CERT", value_name = "FILE", requires_all = ["grpc_key", "grpc_client_ca"])]
    grpc_cert: Option<PathBuf>,
    /// The key of that certificate.
    #[arg(long, env = "WINDLASS_GRPC_KEY", value_name = "FILE", requires = "grpc_cert")]
    grpc_key: Option<PathBuf>,
    /// The authorities whose clients may call.
    #[arg(long, env = "WINDLASS_GRPC_CLIENT_CA", value_name = "FILE", requires = "grpc_cert")]
    grpc_client_ca: Option<PathBuf>,
    /// Serve without certificates also where others can reach it: whoever does can launch and end machines.
    #[arg(long, env = "WINDLASS_GRPC_PLAINTEXT")]
    grpc_plaintext: bool,
}

/// Where node groups are served if it is not said where: to those on the same machine.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8086);

impl Bridge {
    /// Serves node groups also if it is not said where.
    pub(crate) fn open_by_default(&mut self) {
        self.grpc_addr.get_or_insert(DEFAULT_ADDRESS);
    }

    /// Listens, if it is to; what is returned serves until it is dropped.
    pub(crate) async fn open(self, groups: PoolGroups) -> Result<Option<impl Future<Output = Result<()>>>> {
        let Some(address) = self.grpc_addr else { return Ok(None) };
        let files = self.grpc_cert.zip(self.grpc_key).zip(self.grpc_client_ca);
        let files = files.map(|((certificate, key), client_ca)| TlsFiles { certificate, key, client_ca });
        let security = Security::choose(address, files, self.grpc_plaintext)?;
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        info!(%address, "serving node groups to Cluster Autoscaler");
        if security.is_plaintext() {
            warn!(%address, "whoever reaches this address can launch and end machines: it asks for no certificate");
        }
        let groups = Arc::new(groups);
        Ok(Some(async move {
            let served = serve_grpc(listener, security, groups, std::future::pending());
            served.await.context("cannot serve node groups to Cluster Autoscaler")
        }))
    }
}
