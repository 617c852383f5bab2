//! The controller's node groups as they are served to Cluster Autoscaler, and the flags that say where.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use async_trait::async_trait;
use clap::Args;
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::net::TcpListener;
use tracing::{info, warn};
use windlass_control::groups as ours;
use windlass_serve::grpc::{
    Group, GroupError, GroupOptions, Instance, InstanceError, InstanceState, NodeGroups, NodeRef, Security,
    TlsFiles, serve_grpc,
};

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

impl Bridge {
    /// Listens, if it is to; what is returned serves until it is dropped.
    pub(crate) async fn open(
        self,
        groups: ours::NodeGroups,
    ) -> Result<Option<impl Future<Output = Result<()>>>> {
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
        let groups = Arc::new(Groups(groups));
        Ok(Some(async move {
            let served = serve_grpc(listener, security, groups, std::future::pending());
            served.await.context("cannot serve node groups to Cluster Autoscaler")
        }))
    }
}

/// The controller's groups.
struct Groups(ours::NodeGroups);

#[async_trait]
impl NodeGroups for Groups {
    fn groups(&self) -> Result<Vec<Group>, GroupError> {
        Ok(self.0.groups().map_err(error)?.into_iter().map(group).collect())
    }

    fn group_of(&self, node: &NodeRef) -> Result<Option<Group>, GroupError> {
        Ok(self.0.group_of(&node_ref(node)).map_err(error)?.map(group))
    }

    fn target_size(&self, group: &str) -> Result<u32, GroupError> {
        self.0.target_size(group).map_err(error)
    }

    fn instances(&self, group: &str) -> Result<Vec<Instance>, GroupError> {
        Ok(self.0.instances(group).map_err(error)?.into_iter().map(instance).collect())
    }

    fn template(&self, group: &str) -> Result<Node, GroupError> {
        self.0.template(group).map_err(error)
    }

    fn options(&self, group: &str) -> Result<Option<GroupOptions>, GroupError> {
        Ok(self.0.options(group).map_err(error)?.map(options))
    }

    fn node_price(&self, node: &NodeRef) -> Result<i64, GroupError> {
        Ok(self.0.node_price(&node_ref(node)).map_err(error)?.micros())
    }

    fn pod_price(&self, pod: &Pod) -> Result<i64, GroupError> {
        Ok(self.0.pod_price(pod).map_err(error)?.micros())
    }

    fn gpu_label(&self) -> String {
        self.0.gpu_label().to_owned()
    }

    fn gpu_types(&self) -> Result<Vec<String>, GroupError> {
        self.0.gpu_types().map_err(error)
    }

    async fn increase(&self, group: &str, delta: u32) -> Result<(), GroupError> {
        self.0.increase(group, delta).await.map_err(error)
    }

    async fn delete_nodes(&self, group: &str, nodes: &[NodeRef]) -> Result<(), GroupError> {
        self.0.delete_nodes(group, nodes.iter().map(node_ref).collect()).await.map_err(error)
    }

    async fn decrease_target(&self, group: &str, by: u32) -> Result<(), GroupError> {
        self.0.decrease_target(group, by).await.map_err(error)
    }
}

fn group(group: ours::Group) -> Group {
    let ours::Group { id, min, max, debug } = group;
    Group { id, min, max, debug }
}

fn node_ref(node: &NodeRef) -> ours::NodeRef {
    let NodeRef { provider_id, name, labels, annotations } = node.clone();
    ours::NodeRef { provider_id, name, labels, annotations }
}

fn instance(instance: ours::Instance) -> Instance {
    let state = match instance.state {
        ours::InstanceState::Running => InstanceState::Running,
        ours::InstanceState::Creating => InstanceState::Creating,
        ours::InstanceState::Deleting => InstanceState::Deleting,
    };
    let error = instance.error.map(|error| {
        let ours::InstanceError { code, message, out_of_resources } = error;
        InstanceError { code, message, out_of_resources }
    });
    Instance { id: instance.id, state, error }
}

fn options(options: ours::GroupOptions) -> GroupOptions {
    let ours::GroupOptions {
        scale_down_utilization_percent,
        scale_down_gpu_utilization_percent,
        scale_down_unneeded_time,
        scale_down_unready_time,
        max_node_provision_time,
        ignore_daemon_sets_utilization,
    } = options;
    GroupOptions {
        scale_down_utilization_percent,
        scale_down_gpu_utilization_percent,
        scale_down_unneeded_time,
        scale_down_unready_time,
        max_node_provision_time,
        ignore_daemon_sets_utilization,
    }
}

fn error(error: ours::GroupError) -> GroupError {
    match error {
        ours::GroupError::NotFound(why) => GroupError::NotFound(why),
        ours::GroupError::Invalid(why) => GroupError::Invalid(why),
        ours::GroupError::Refused(why) => GroupError::Refused(why),
        ours::GroupError::NotLeading(why) => GroupError::NotLeading(why),
        ours::GroupError::Unavailable(why) => GroupError::Unavailable(why),
    }
}
