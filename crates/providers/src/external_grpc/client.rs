//! The calls to the server.

use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::{Timestamp, ToSpan as _};
use k8s_openapi::api::core::v1::Node;
use tokio::time::Instant;
use tonic::transport::Channel;
use tonic::{Response, Status};
use windlass_api::labels::PENDING_INSTANCE;
use windlass_externalgrpc::kubernetes::decode_node;
use windlass_externalgrpc::wire::cloud_provider_client::CloudProviderClient;
use windlass_externalgrpc::wire::instance_status::InstanceState as WireState;
use windlass_externalgrpc::wire::{
    ExternalGrpcNode, Instance, NodeGroup, NodeGroupDecreaseTargetSizeRequest, NodeGroupDeleteNodesRequest,
    NodeGroupIncreaseSizeRequest, NodeGroupNodesRequest, NodeGroupTargetSizeRequest,
    NodeGroupTemplateNodeInfoRequest, NodeGroupsRequest, PricingNodePriceRequest, RefreshRequest,
};

use super::connection::Connection;
use super::failure::{Failure, FailureKind};
use super::ledger::{CreationError, InstanceState, Seen};
use crate::ProviderError;

const OUT_OF_RESOURCES: i32 = 1;

/// The server, as far as it is needed.
#[derive(Debug)]
pub(super) struct Client {
    connection: Connection,
    /// How often the server is told to look at its infrastructure anew, as Cluster Autoscaler does before each of its
    /// rounds: many servers answer from what they saw then.
    refresh_every: Duration,
    refreshed: Mutex<Option<Instant>>,
}

type Service = CloudProviderClient<Channel>;

impl Client {
    pub fn new(connection: Connection, refresh_every: Duration) -> Self {
        Self { connection, refresh_every, refreshed: Mutex::new(None) }
    }

    /// All groups.
    pub async fn groups(&self) -> Result<Vec<NodeGroup>, Failure> {
        self.refresh().await?;
        let answer = self.call("listing its node groups", |mut service| async move {
            service.node_groups(NodeGroupsRequest {}).await
        });
        Ok(answer.await?.node_groups)
    }

    /// How many instances a group is to have.
    pub async fn target(&self, group: &str) -> Result<i32, Failure> {
        let doing = format!("telling the target size of group {group}");
        let request = NodeGroupTargetSizeRequest { id: group.to_owned() };
        let answer =
            self.call(&doing, |mut service| async move { service.node_group_target_size(request).await });
        Ok(answer.await?.target_size)
    }

    /// The instances of a group.
    pub async fn instances(&self, group: &str) -> Result<Vec<Seen>, Failure> {
        self.refresh().await?;
        let doing = format!("listing the instances of group {group}");
        let request = NodeGroupNodesRequest { id: group.to_owned() };
        let answer = self.call(&doing, |mut service| async move { service.node_group_nodes(request).await });
        Ok(answer.await?.instances.into_iter().filter_map(seen).collect())
    }

    /// What the nodes of a group look like.
    pub async fn template(&self, group: &str) -> Result<Node, Failure> {
        let doing = format!("telling the template of group {group}");
        let request = NodeGroupTemplateNodeInfoRequest { id: group.to_owned() };
        let answer = self
            .call(&doing, |mut service| async move { service.node_group_template_node_info(request).await });
        let answer = answer.await?;
        let malformed = |message: String| Failure {
            kind: FailureKind::Answered,
            error: ProviderError::transient(format!("{doing}: {message}")),
        };
        match answer.encoded_node() {
            [] => Err(malformed("the answer has no node".to_owned())),
            encoded => decode_node(encoded).map_err(|error| malformed(error.to_string())),
        }
    }

    /// What the server takes for an hour of such a node, in dollars.
    pub async fn price(&self, node: ExternalGrpcNode, now: Timestamp) -> Result<f64, Failure> {
        let doing = format!("pricing {}", node.name);
        let moment = |time: Timestamp| {
            Some(prost_types::Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() })
        };
        let end = now.saturating_add(1.hour()).unwrap_or(now);
        let request = PricingNodePriceRequest {
            node: Some(node),
            start_time: moment(now),
            end_time: moment(end),
            start_timestamp: moment(now),
            end_timestamp: moment(end),
        };
        let answer =
            self.call(&doing, |mut service| async move { service.pricing_node_price(request).await });
        Ok(answer.await?.price)
    }

    /// Has one more.
    pub async fn increase(&self, group: &str) -> Result<(), Failure> {
        let doing = format!("increasing group {group}");
        let request = NodeGroupIncreaseSizeRequest { delta: 1, id: group.to_owned() };
        let answer =
            self.call(&doing, |mut service| async move { service.node_group_increase_size(request).await });
        answer.await.map(drop)
    }

    /// Has one less of those that are not there yet.
    pub async fn decrease(&self, group: &str) -> Result<(), Failure> {
        let doing = format!("decreasing the target size of group {group}");
        let request = NodeGroupDecreaseTargetSizeRequest { delta: -1, id: group.to_owned() };
        let answer =
            self.call(
                &doing,
                |mut service| async move { service.node_group_decrease_target_size(request).await },
            );
        answer.await.map(drop)
    }

    /// Ends an instance.
    pub async fn delete(&self, group: &str, instance: &str) -> Result<(), Failure> {
        let doing = format!("deleting {instance} of group {group}");
        let node = ExternalGrpcNode {
            provider_id: instance.to_owned(),
            name: instance.to_owned(),
            ..ExternalGrpcNode::default()
        };
        let request = NodeGroupDeleteNodesRequest { nodes: vec![node], id: group.to_owned() };
        let answer =
            self.call(&doing, |mut service| async move { service.node_group_delete_nodes(request).await });
        answer.await.map(drop)
    }

    async fn refresh(&self) -> Result<(), Failure> {
        let fresh = |at: Instant| at.elapsed() < self.refresh_every;
        if self.refreshed.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(fresh) {
            return Ok(());
        }
        let answer = self.call("looking at its infrastructure", |mut service| async move {
            service.refresh(RefreshRequest {}).await
        });
        match answer.await {
            Ok(_) => {}
            Err(failure) if failure.kind == FailureKind::Unimplemented => {}
            Err(failure) => return Err(failure),
        }
        *self.refreshed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }

    async fn call<T, F>(&self, doing: &str, ask: impl FnOnce(Service) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let channel = self.connection.channel().await.map_err(Failure::unsent)?;
        match come_what_may(ask(Service::new(channel))).await {
            Ok(answer) => Ok(answer.into_inner()),
            Err(status) => {
                let failure = Failure::of(&status, &self.connection.server, doing);
                let failure = failure.with_credentials(self.connection.credentials());
                if failure.kind == FailureKind::Lost {
                    self.connection.give_up().await;
                }
                Err(failure)
            }
        }
    }
}

/// A call to a server that may answer anything: tonic panics where the details of an error are not what they should be.
async fn come_what_may<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let outcome = AssertUnwindSafe(call).catch_unwind().await;
    outcome.unwrap_or_else(|_| Err(Status::unknown("the server's answer cannot be read")))
}

/// An instance as it matters here. One without an id cannot be anybody's, and one that another Windlass is yet to get will
/// go by another id once it is there.
fn seen(instance: Instance) -> Option<Seen> {
    let status = instance.status.unwrap_or_default();
    let state = match status.instance_state() {
        WireState::InstanceDeleting => InstanceState::Deleting,
        WireState::Unspecified | WireState::InstanceRunning | WireState::InstanceCreating => {
            InstanceState::Present
        }
    };
    let runs = status.instance_state() == WireState::InstanceRunning;
    let error = status.error_info.filter(|error| !error.error_code.is_empty() && !runs);
    let error = error.map(|error| CreationError {
        words: format!("{}: {}", error.error_code, error.error_message),
        out_of_resources: error.instance_error_class == OUT_OF_RESOURCES,
    });
    let comes = error.is_none() && instance.id.starts_with(PENDING_INSTANCE);
    (!instance.id.is_empty() && !comes).then(|| Seen { id: instance.id.into(), state, error })
}

#[cfg(test)]
#[allow(clippy::panic, reason = "it is to panic")]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use tonic::{Code, Status};

    use super::come_what_may;

    #[tokio::test]
    async fn an_answer_that_makes_the_client_panic_is_an_error() {
        let unreadable = poll_fn(|_| -> Poll<Result<(), Status>> { panic!("not base64") });
        assert_eq!(come_what_may(unreadable).await.unwrap_err().code(), Code::Unknown);
        assert_eq!(come_what_may(async { Ok(7) }).await.unwrap(), 7);
    }
}
