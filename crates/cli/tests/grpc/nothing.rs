//! No groups at all.

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, Pod};
use windlass_core::Price;
use windlass_groups::{Group, GroupError, GroupOptions, Instance, NodeGroups, NodeRef};

/// What is said all the same.
pub(crate) const LABEL: &str = "nothing/gpu";

pub(crate) struct Nothing;

fn nothing<T>() -> Result<T, GroupError> {
    Err(GroupError::NotFound("there is nothing".to_owned()))
}

#[async_trait]
impl NodeGroups for Nothing {
    fn groups(&self) -> Result<Vec<Group>, GroupError> {
        Ok(Vec::new())
    }

    fn group_of(&self, _: &NodeRef) -> Result<Option<Group>, GroupError> {
        Ok(None)
    }

    fn target_size(&self, _: &str) -> Result<u32, GroupError> {
        nothing()
    }

    fn instances(&self, _: &str) -> Result<Vec<Instance>, GroupError> {
        nothing()
    }

    fn template(&self, _: &str) -> Result<Node, GroupError> {
        nothing()
    }

    fn options(&self, _: &str) -> Result<Option<GroupOptions>, GroupError> {
        nothing()
    }

    fn node_price(&self, _: &NodeRef) -> Result<Price, GroupError> {
        nothing()
    }

    fn pod_price(&self, _: &Pod) -> Result<Price, GroupError> {
        nothing()
    }

    fn gpu_label(&self) -> String {
        LABEL.to_owned()
    }

    fn gpu_types(&self) -> Result<Vec<String>, GroupError> {
        Ok(Vec::new())
    }

    async fn increase(&self, _: &str, _: u32) -> Result<(), GroupError> {
        nothing()
    }

    async fn delete_nodes(&self, _: &str, _: &[NodeRef]) -> Result<(), GroupError> {
        nothing()
    }

    async fn decrease_target(&self, _: &str, _: u32) -> Result<(), GroupError> {
        nothing()
    }
}
