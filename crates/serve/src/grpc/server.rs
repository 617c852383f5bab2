use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use windlass_externalgrpc::wire::cloud_provider_server::CloudProviderServer;
use windlass_groups::NodeGroups;

use super::certificates::{CertificateError, Certificates};
use super::incoming::authenticated;
use super::security::{Kind, Security};
use super::service::Service;

/// How often a caller that says nothing is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// Why groups are not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The certificates cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificateError),
    /// The server failed.
    #[error("cannot serve gRPC")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves groups to Cluster Autoscaler until the shutdown comes. Calls that are under way are finished.
pub async fn serve_grpc(
    listener: TcpListener,
    security: Security,
    groups: Arc<dyn NodeGroups>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let service = CloudProviderServer::new(Service::new(groups));
    let server = Server::builder().http2_keepalive_interval(Some(KEEPALIVE));
    match security.0 {
        Kind::Plaintext => {
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            server.serve_with_incoming_shutdown(service, incoming, shutdown).await?;
        }
        Kind::MutualTls(files) => {
            let incoming = authenticated(listener, Certificates::load(files)?);
            server.serve_with_incoming_shutdown(service, incoming, shutdown).await?;
        }
    }
    Ok(())
}
