//! A server on loopback, and its client.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use windlass_externalgrpc::wire::cloud_provider_client::CloudProviderClient;
use windlass_externalgrpc::wire::{ExternalGrpcNode, NodeGroupTargetSizeRequest};
use windlass_serve::grpc::{Security, ServeError, TlsFiles, serve_grpc};

use crate::barn::Barn;

pub(crate) type Client = CloudProviderClient<Channel>;

pub(crate) struct Stage {
    pub(crate) barn: Arc<Barn>,
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Result<(), ServeError>>,
}

impl Stage {
    pub(crate) async fn set(files: Option<TlsFiles>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, barn) = (listener.local_addr().unwrap(), Arc::new(Barn::default()));
        let security = Security::choose(address, files, false).unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let server = tokio::spawn(serve_grpc(listener, security, barn.clone(), shutdown));
        Self { barn, address, stop, server }
    }

    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        endpoint.connect().await.unwrap()
    }

    pub(crate) async fn client(&self) -> Client {
        CloudProviderClient::new(self.channel().await)
    }

    /// Ends when the server has ended.
    pub(crate) async fn strike(self) {
        let _ = self.stop.send(());
        self.server.await.unwrap().unwrap();
    }
}

/// A stage without certificates, and a client.
pub(crate) async fn set() -> (Stage, Client) {
    let stage = Stage::set(None).await;
    let client = stage.client().await;
    (stage, client)
}

/// Asks something that every server answers.
pub(crate) async fn ask(client: &mut Client) -> Result<i32, Status> {
    let answer = client.node_group_target_size(NodeGroupTargetSizeRequest { id: "gpu".to_owned() }).await?;
    Ok(answer.into_inner().target_size)
}

pub(crate) fn node(provider_id: &str, name: &str) -> ExternalGrpcNode {
    ExternalGrpcNode { provider_id: provider_id.to_owned(), name: name.to_owned(), ..Default::default() }
}
