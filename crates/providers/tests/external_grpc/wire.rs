//! The rack as the protocol sees it.

use std::sync::Arc;

use async_trait::async_trait;
use tonic::{Request, Response, Status};
use windlass_externalgrpc::wire::cloud_provider_server::CloudProvider;
use windlass_externalgrpc::wire::instance_status::InstanceState;
use windlass_externalgrpc::wire::*;

use crate::rack::{GroupState, Rack, State};

pub struct Wire(pub Arc<Rack>);

type Answer<T> = Result<Response<T>, Status>;

fn group<'s>(state: &'s mut State, id: &str) -> Result<&'s mut GroupState, Status> {
    state.groups.get_mut(id).ok_or_else(|| Status::not_found(format!("there is no group {id}")))
}

fn unimplemented<T>() -> Answer<T> {
    Err(Status::unimplemented("not here"))
}

#[async_trait]
impl CloudProvider for Wire {
    async fn refresh(&self, _: Request<RefreshRequest>) -> Answer<RefreshResponse> {
        self.0.serve("refresh", |_| Ok(RefreshResponse {})).await
    }

    async fn node_groups(&self, _: Request<NodeGroupsRequest>) -> Answer<NodeGroupsResponse> {
        let listed = |state: &mut State| {
            let each = state.groups.iter().map(|(id, group)| NodeGroup {
                id: id.clone(),
                min_size: 0,
                max_size: group.max,
                debug: String::new(),
            });
            Ok(NodeGroupsResponse { node_groups: each.collect() })
        };
        self.0.serve("groups", listed).await
    }

    async fn node_group_target_size(
        &self,
        request: Request<NodeGroupTargetSizeRequest>,
    ) -> Answer<NodeGroupTargetSizeResponse> {
        let id = request.into_inner().id;
        let told =
            |state: &mut State| Ok(NodeGroupTargetSizeResponse { target_size: group(state, &id)?.target });
        self.0.serve("target", told).await
    }

    async fn node_group_increase_size(
        &self,
        request: Request<NodeGroupIncreaseSizeRequest>,
    ) -> Answer<NodeGroupIncreaseSizeResponse> {
        let NodeGroupIncreaseSizeRequest { delta, id } = request.into_inner();
        let done = |state: &mut State| {
            assert_eq!(delta, 1);
            state.deeds.push(format!("increase {id}"));
            let found = group(state, &id)?;
            found.target += 1;
            if !found.slow {
                found.make(&id);
            }
            Ok(NodeGroupIncreaseSizeResponse {})
        };
        self.0.serve("increase", done).await
    }

    async fn node_group_decrease_target_size(
        &self,
        request: Request<NodeGroupDecreaseTargetSizeRequest>,
    ) -> Answer<NodeGroupDecreaseTargetSizeResponse> {
        let NodeGroupDecreaseTargetSizeRequest { delta, id } = request.into_inner();
        let done = |state: &mut State| {
            assert_eq!(delta, -1);
            state.deeds.push(format!("decrease {id}"));
            let found = group(state, &id)?;
            if usize::try_from(found.target).unwrap() <= found.instances.len() {
                return Err(Status::failed_precondition("all of them are there"));
            }
            found.target -= 1;
            Ok(NodeGroupDecreaseTargetSizeResponse {})
        };
        self.0.serve("decrease", done).await
    }

    async fn node_group_delete_nodes(
        &self,
        request: Request<NodeGroupDeleteNodesRequest>,
    ) -> Answer<NodeGroupDeleteNodesResponse> {
        let NodeGroupDeleteNodesRequest { nodes, id } = request.into_inner();
        let done = |state: &mut State| {
            for node in &nodes {
                state.deeds.push(format!("delete {}", node.provider_id));
                let found = group(state, &id)?;
                let place = found.instances.iter().position(|instance| instance.id == node.provider_id);
                let place = place.ok_or_else(|| Status::not_found("no such instance"))?;
                found.target -= 1;
                if found.lingering {
                    let status = found.instances[place].status.as_mut().unwrap();
                    assert_ne!(
                        status.instance_state(),
                        InstanceState::InstanceDeleting,
                        "it was asked twice"
                    );
                    status.instance_state = InstanceState::InstanceDeleting.into();
                } else {
                    found.instances.remove(place);
                }
            }
            Ok(NodeGroupDeleteNodesResponse {})
        };
        self.0.serve("delete", done).await
    }

    async fn node_group_nodes(
        &self,
        request: Request<NodeGroupNodesRequest>,
    ) -> Answer<NodeGroupNodesResponse> {
        let id = request.into_inner().id;
        let listed = |state: &mut State| {
            Ok(NodeGroupNodesResponse { instances: group(state, &id)?.instances.clone() })
        };
        self.0.serve("nodes", listed).await
    }

    async fn node_group_template_node_info(
        &self,
        request: Request<NodeGroupTemplateNodeInfoRequest>,
    ) -> Answer<NodeGroupTemplateNodeInfoResponse> {
        let id = request.into_inner().id;
        let told = |state: &mut State| {
            Ok(NodeGroupTemplateNodeInfoResponse::with_node(group(state, &id)?.template.clone()))
        };
        self.0.serve("template", told).await
    }

    async fn pricing_node_price(
        &self,
        request: Request<PricingNodePriceRequest>,
    ) -> Answer<PricingNodePriceResponse> {
        let request = request.into_inner();
        let told = |state: &mut State| {
            assert_eq!(request.span().unwrap().as_secs(), 3600);
            let name = request.node.unwrap_or_default().name;
            let id = name.strip_prefix("template-node-for-").unwrap_or_default();
            Ok(PricingNodePriceResponse { price: group(state, id)?.price })
        };
        self.0.serve("price", told).await
    }

    async fn node_group_for_node(
        &self,
        _: Request<NodeGroupForNodeRequest>,
    ) -> Answer<NodeGroupForNodeResponse> {
        unimplemented()
    }

    async fn pricing_pod_price(&self, _: Request<PricingPodPriceRequest>) -> Answer<PricingPodPriceResponse> {
        unimplemented()
    }

    async fn gpu_label(&self, _: Request<GpuLabelRequest>) -> Answer<GpuLabelResponse> {
        unimplemented()
    }

    async fn get_available_gpu_types(
        &self,
        _: Request<GetAvailableGpuTypesRequest>,
    ) -> Answer<GetAvailableGpuTypesResponse> {
        unimplemented()
    }

    async fn cleanup(&self, _: Request<CleanupRequest>) -> Answer<CleanupResponse> {
        unimplemented()
    }

    async fn node_group_get_options(
        &self,
        _: Request<NodeGroupAutoscalingOptionsRequest>,
    ) -> Answer<NodeGroupAutoscalingOptionsResponse> {
        unimplemented()
    }
}
