//! One server and its provider, of a test's own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Server, ServerTlsConfig};
use windlass_externalgrpc::wire::cloud_provider_server::CloudProviderServer;
use windlass_providers::external_grpc::{ExternalGrpc, Pace};
use windlass_providers::{LaunchRequest, Machine, Provider, ProviderError, SystemClock, Termination};
use windlass_testkit::{ControlPlane, eventually};

use crate::rack::Rack;
pub use crate::requests::plain_request_in as request_in;
use crate::wire::Wire;

/// How long to wait for what takes moments.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Lab {
    pub client: Client,
    pub rack: Arc<Rack>,
    pub address: SocketAddr,
    pub name: String,
    pub spec: Value,
    pub pace: Pace,
}

impl Lab {
    pub async fn new(plane: &ControlPlane, name: &str) -> Self {
        Self::secured(plane, name, None).await
    }

    /// A lab whose server has certificates.
    pub async fn secured(plane: &ControlPlane, name: &str, tls: Option<ServerTlsConfig>) -> Self {
        let client = plane.client().unwrap();
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(format!("rack-{name}"));
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let (rack, listener) = (Rack::new(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        let mut server = Server::builder();
        if let Some(tls) = tls {
            server = server.tls_config(tls).unwrap();
        }
        let service = CloudProviderServer::new(Wire(Arc::clone(&rack)));
        // It ends with the test's runtime.
        tokio::spawn(server.serve_with_incoming(service, TcpIncoming::from(listener)));
        let spec = json!({"endpoint": address.to_string()});
        let pace = Pace {
            wait: PATIENCE,
            poll: Duration::from_millis(10),
            doubt: Duration::ZERO,
            refresh: Duration::from_hours(1),
        };
        Self { client, rack, address, name: name.to_owned(), spec, pace }
    }

    pub fn namespace(&self) -> String {
        format!("rack-{}", self.name)
    }

    pub fn ledgers(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace())
    }

    pub fn provider(&self) -> Arc<ExternalGrpc> {
        self.provider_at(self.client.clone(), self.pace).unwrap()
    }

    /// A provider that gives up waiting for an instance at once.
    pub fn impatient(&self) -> Arc<ExternalGrpc> {
        self.provider_at(self.client.clone(), Pace { wait: Duration::ZERO, ..self.pace }).unwrap()
    }

    /// A provider that can be killed after each of its effects.
    pub fn mortal(&self) -> Arc<ExternalGrpc> {
        self.provider_at(self.rack.effects.counting(self.client.clone()), self.pace).unwrap()
    }

    pub fn provider_at(&self, client: Client, pace: Pace) -> Result<Arc<ExternalGrpc>, ProviderError> {
        let spec = serde_json::from_value(self.spec.clone()).unwrap();
        let (name, clock) = (self.name.as_str().into(), Arc::new(SystemClock));
        ExternalGrpc::new(name, &spec, "cluster".into(), &self.namespace(), client, clock, pace).map(Arc::new)
    }
}

/// Ends a machine, and waits until it is gone.
pub async fn end(provider: &dyn Provider, machine: &Machine) {
    eventually(&format!("the end of {}", machine.provider_id), PATIENCE, async || {
        match provider.terminate(&machine.provider_id, &machine.tag).await {
            Ok(Termination::Gone) | Err(ProviderError::NotFound { .. }) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

/// A request for a claim's machine of group `a`.
pub fn request(claim: &str) -> LaunchRequest {
    request_in("zone-a", claim)
}
