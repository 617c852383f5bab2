use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};
use tracing::{error, info, warn};
use windlass_externalgrpc::kubernetes::encode_node;
use windlass_externalgrpc::wire::cloud_provider_server::CloudProvider;
use windlass_externalgrpc::wire::{
    CleanupRequest, CleanupResponse, GetAvailableGpuTypesRequest, GetAvailableGpuTypesResponse,
    GpuLabelRequest, GpuLabelResponse, NodeGroupAutoscalingOptionsRequest,
    NodeGroupAutoscalingOptionsResponse, NodeGroupDecreaseTargetSizeRequest,
    NodeGroupDecreaseTargetSizeResponse, NodeGroupDeleteNodesRequest, NodeGroupDeleteNodesResponse,
    NodeGroupForNodeRequest, NodeGroupForNodeResponse, NodeGroupIncreaseSizeRequest,
    NodeGroupIncreaseSizeResponse, NodeGroupNodesRequest, NodeGroupNodesResponse, NodeGroupTargetSizeRequest,
    NodeGroupTargetSizeResponse, NodeGroupTemplateNodeInfoRequest, NodeGroupTemplateNodeInfoResponse,
    NodeGroupsRequest, NodeGroupsResponse, PricingNodePriceRequest, PricingNodePriceResponse,
    PricingPodPriceRequest, PricingPodPriceResponse, RefreshRequest, RefreshResponse,
};
use windlass_groups::{GroupError, NodeGroups};

use super::answer::{self, cost, count, refusal};
use super::{ask, options};

/// The protocol, spoken for some groups.
#[derive(Clone)]
pub(super) struct Service {
    groups: Arc<dyn NodeGroups>,
}

impl Service {
    pub(super) fn new(groups: Arc<dyn NodeGroups>) -> Self {
        Self { groups }
    }
}

type Answer<T> = Result<Response<T>, Status>;

#[async_trait]
impl CloudProvider for Service {
    async fn node_groups(&self, _: Request<NodeGroupsRequest>) -> Answer<NodeGroupsResponse> {
        let node_groups = self.groups.groups().map_err(refusal)?.into_iter().map(answer::group).collect();
        Ok(Response::new(NodeGroupsResponse { node_groups }))
    }

    async fn node_group_for_node(
        &self,
        request: Request<NodeGroupForNodeRequest>,
    ) -> Answer<NodeGroupForNodeResponse> {
        let node = ask::node(request.into_inner().node)?;
        let group = self.groups.group_of(&node).map_err(refusal)?.map(answer::group).unwrap_or_default();
        Ok(Response::new(NodeGroupForNodeResponse { node_group: Some(group) }))
    }

    async fn pricing_node_price(
        &self,
        request: Request<PricingNodePriceRequest>,
    ) -> Answer<PricingNodePriceResponse> {
        let request = request.into_inner();
        let span = ask::span(request.span())?;
        let node = ask::node(request.node)?;
        let price = cost(self.groups.node_price(&node).map_err(refusal)?, span);
        Ok(Response::new(PricingNodePriceResponse { price }))
    }

    async fn pricing_pod_price(
        &self,
        request: Request<PricingPodPriceRequest>,
    ) -> Answer<PricingPodPriceResponse> {
        let request = request.into_inner();
        let span = ask::span(request.span())?;
        let pod = ask::pod(&request)?;
        let price = cost(self.groups.pod_price(&pod).map_err(refusal)?, span);
        Ok(Response::new(PricingPodPriceResponse { price }))
    }

    async fn gpu_label(&self, _: Request<GpuLabelRequest>) -> Answer<GpuLabelResponse> {
        Ok(Response::new(GpuLabelResponse { label: self.groups.gpu_label() }))
    }

    async fn get_available_gpu_types(
        &self,
        _: Request<GetAvailableGpuTypesRequest>,
    ) -> Answer<GetAvailableGpuTypesResponse> {
        let types = self.groups.gpu_types().map_err(refusal)?.into_iter();
        let gpu_types = types.map(|kind| (kind, prost_types::Any::default())).collect();
        Ok(Response::new(GetAvailableGpuTypesResponse { gpu_types }))
    }

    async fn cleanup(&self, _: Request<CleanupRequest>) -> Answer<CleanupResponse> {
        Ok(Response::new(CleanupResponse {}))
    }

    /// Everything is always fresh. But this is the one place to stop a round that would go wrong: the caller takes an error
    /// from the groups themselves for an empty list of them.
    async fn refresh(&self, _: Request<RefreshRequest>) -> Answer<RefreshResponse> {
        self.groups.groups().map_err(refusal)?;
        Ok(Response::new(RefreshResponse {}))
    }

    async fn node_group_target_size(
        &self,
        request: Request<NodeGroupTargetSizeRequest>,
    ) -> Answer<NodeGroupTargetSizeResponse> {
        let target_size =
            count(self.groups.target_size(ask::group(&request.get_ref().id)?).map_err(refusal)?);
        Ok(Response::new(NodeGroupTargetSizeResponse { target_size }))
    }

    async fn node_group_increase_size(
        &self,
        request: Request<NodeGroupIncreaseSizeRequest>,
    ) -> Answer<NodeGroupIncreaseSizeResponse> {
        let NodeGroupIncreaseSizeRequest { delta, id } = request.into_inner();
        ask::group(&id)?;
        let delta = ask::increase(delta)?;
        let (groups, deed) = (self.groups.clone(), format!("add {delta} nodes to group {id}"));
        finish(deed, async move { groups.increase(&id, delta).await }).await?;
        Ok(Response::new(NodeGroupIncreaseSizeResponse {}))
    }

    async fn node_group_delete_nodes(
        &self,
        request: Request<NodeGroupDeleteNodesRequest>,
    ) -> Answer<NodeGroupDeleteNodesResponse> {
        let NodeGroupDeleteNodesRequest { nodes, id } = request.into_inner();
        ask::group(&id)?;
        let nodes = ask::nodes(nodes)?;
        let (groups, deed) = (self.groups.clone(), format!("delete {} nodes of group {id}", nodes.len()));
        finish(deed, async move { groups.delete_nodes(&id, &nodes).await }).await?;
        Ok(Response::new(NodeGroupDeleteNodesResponse {}))
    }

    async fn node_group_decrease_target_size(
        &self,
        request: Request<NodeGroupDecreaseTargetSizeRequest>,
    ) -> Answer<NodeGroupDecreaseTargetSizeResponse> {
        let NodeGroupDecreaseTargetSizeRequest { delta, id } = request.into_inner();
        ask::group(&id)?;
        let by = ask::decrease(delta)?;
        let (groups, deed) = (self.groups.clone(), format!("give up {by} nodes of group {id}"));
        finish(deed, async move { groups.decrease_target(&id, by).await }).await?;
        Ok(Response::new(NodeGroupDecreaseTargetSizeResponse {}))
    }

    async fn node_group_nodes(
        &self,
        request: Request<NodeGroupNodesRequest>,
    ) -> Answer<NodeGroupNodesResponse> {
        let instances = self.groups.instances(ask::group(&request.get_ref().id)?).map_err(refusal)?;
        let instances = instances.into_iter().map(answer::instance).collect();
        Ok(Response::new(NodeGroupNodesResponse { instances }))
    }

    async fn node_group_template_node_info(
        &self,
        request: Request<NodeGroupTemplateNodeInfoRequest>,
    ) -> Answer<NodeGroupTemplateNodeInfoResponse> {
        let template = self.groups.template(ask::group(&request.get_ref().id)?).map_err(refusal)?;
        Ok(Response::new(NodeGroupTemplateNodeInfoResponse::with_node(encode_node(&template))))
    }

    /// Cluster Autoscaler before 1.29 would take any options for no time to join at all, and give up every node that is on its
    /// way; and to say that there are none it takes for a failure. An empty answer it understands.
    async fn node_group_get_options(
        &self,
        request: Request<NodeGroupAutoscalingOptionsRequest>,
    ) -> Answer<NodeGroupAutoscalingOptionsResponse> {
        let NodeGroupAutoscalingOptionsRequest { id, defaults } = request.into_inner();
        let asked = self.groups.options(ask::group(&id)?).map_err(refusal)?;
        let defaults =
            defaults.ok_or_else(|| Status::invalid_argument("the request has no default options"))?;
        if !defaults.know_time_to_join() {
            return Ok(Response::new(NodeGroupAutoscalingOptionsResponse::default()));
        }
        let asked = asked.ok_or_else(|| Status::unimplemented("the group has no options of its own"))?;
        let node_group_autoscaling_options = Some(options::options(defaults, &asked));
        Ok(Response::new(NodeGroupAutoscalingOptionsResponse { node_group_autoscaling_options }))
    }
}

/// Does something to the end, even if the caller stops waiting: a call is dropped at its deadline, and what it does would
/// be left half done.
async fn finish(
    deed: String,
    act: impl Future<Output = Result<(), GroupError>> + Send + 'static,
) -> Result<(), Status> {
    let done = tokio::spawn(async move {
        let outcome = act.await;
        match &outcome {
            Ok(()) => info!(deed, "an order of Cluster Autoscaler is carried out"),
            Err(error) => warn!(deed, %error, "an order of Cluster Autoscaler is not carried out"),
        }
        outcome
    });
    let outcome = done.await.map_err(|error| {
        error!(%error, "an order of Cluster Autoscaler failed in an unforeseen way");
        Status::internal("this failed in an unforeseen way; the log of windlass says more")
    })?;
    outcome.map_err(refusal)
}
