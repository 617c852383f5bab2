//! A few groups in memory, which write down what is done to them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::sync::{Semaphore, watch};
use windlass_core::Price;
use windlass_groups::{
    Group, GroupError, GroupOptions, Instance, InstanceError, InstanceState, NodeGroups, NodeRef,
};

/// The most that the group `gpu` may have.
pub(crate) const MOST: u32 = 5;

pub(crate) struct Barn {
    /// What was done, in words.
    pub(crate) deeds: watch::Sender<Vec<String>>,
    /// How many questions were asked.
    pub(crate) questions: watch::Sender<usize>,
    /// How many orders have begun.
    pub(crate) begun: watch::Sender<usize>,
    /// Each order waits for a place here.
    pub(crate) gate: Semaphore,
    /// What every answer is, if it is not the usual.
    pub(crate) trouble: Mutex<Option<GroupError>>,
    pub(crate) options: Mutex<Option<GroupOptions>>,
}

impl Default for Barn {
    fn default() -> Self {
        Self {
            deeds: watch::Sender::default(),
            questions: watch::Sender::default(),
            begun: watch::Sender::default(),
            gate: Semaphore::new(1000),
            trouble: Mutex::default(),
            options: Mutex::default(),
        }
    }
}

impl Barn {
    pub(crate) fn deeds(&self) -> Vec<String> {
        self.deeds.borrow().clone()
    }

    fn asked(&self) -> Result<(), GroupError> {
        self.questions.send_modify(|count| *count += 1);
        self.trouble.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn known(&self, group: &str) -> Result<(), GroupError> {
        self.asked()?;
        match group {
            "gpu" | "cpu" => Ok(()),
            other => Err(GroupError::NotFound(format!("there is no group {other}"))),
        }
    }

    async fn order(&self, group: &str, deed: String) -> Result<(), GroupError> {
        self.known(group)?;
        self.begun.send_modify(|count| *count += 1);
        self.gate.acquire().await.unwrap().forget();
        self.deeds.send_modify(|deeds| deeds.push(deed));
        Ok(())
    }
}

pub(crate) fn group(id: &str) -> Group {
    Group { id: id.to_owned(), min: 1, max: MOST, debug: format!("group {id}") }
}

pub(crate) fn template(group: &str) -> Node {
    let mut node = Node::default();
    node.metadata.name = Some(format!("template-{group}"));
    node.metadata.labels = Some(BTreeMap::from([("group".to_owned(), group.to_owned())]));
    node
}

pub(crate) fn instances() -> Vec<Instance> {
    let error = |code: &str, out_of_resources| InstanceError {
        code: code.to_owned(),
        message: "there is none".to_owned(),
        out_of_resources,
    };
    let instance = |id: &str, state, error| Instance { id: id.to_owned(), state, error };
    vec![
        instance("lab://1", InstanceState::Running, None),
        instance("lab://2", InstanceState::Creating, None),
        instance("lab://3", InstanceState::Creating, Some(error("Capacity", true))),
        instance("lab://4", InstanceState::Creating, Some(error("", false))),
        instance("lab://5", InstanceState::Deleting, None),
    ]
}

#[async_trait]
impl NodeGroups for Barn {
    fn groups(&self) -> Result<Vec<Group>, GroupError> {
        self.asked()?;
        Ok(vec![group("cpu"), Group { max: u32::MAX, ..group("gpu") }])
    }

    fn group_of(&self, node: &NodeRef) -> Result<Option<Group>, GroupError> {
        self.asked()?;
        Ok(node.provider_id.starts_with("lab://").then(|| group("gpu")))
    }

    fn target_size(&self, group: &str) -> Result<u32, GroupError> {
        self.known(group)?;
        Ok(if group == "gpu" { 3 } else { u32::MAX })
    }

    fn instances(&self, group: &str) -> Result<Vec<Instance>, GroupError> {
        self.known(group)?;
        Ok(instances())
    }

    fn template(&self, group: &str) -> Result<Node, GroupError> {
        self.known(group)?;
        Ok(if group == "gpu" { template(group) } else { Node::default() })
    }

    fn options(&self, group: &str) -> Result<Option<GroupOptions>, GroupError> {
        self.known(group)?;
        Ok(self.options.lock().unwrap().clone())
    }

    fn node_price(&self, node: &NodeRef) -> Result<Price, GroupError> {
        self.asked()?;
        let unknown = || GroupError::NotFound(format!("node {} is in no group", node.name));
        node.labels.get("group").map(|_| Price::from_micros(192_000)).ok_or_else(unknown)
    }

    /// A dollar for each container.
    fn pod_price(&self, pod: &Pod) -> Result<Price, GroupError> {
        self.asked()?;
        let containers = pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
        Ok(Price::from_micros(i64::try_from(containers).unwrap() * 1_000_000))
    }

    fn gpu_label(&self) -> String {
        "lab/gpu".to_owned()
    }

    fn gpu_types(&self) -> Result<Vec<String>, GroupError> {
        self.asked()?;
        Ok(vec!["a100".to_owned(), "h100".to_owned()])
    }

    async fn increase(&self, group: &str, delta: u32) -> Result<(), GroupError> {
        if delta > MOST {
            return Err(GroupError::Refused(format!("group {group} may have no more than {MOST} nodes")));
        }
        self.order(group, format!("increase {group} {delta}")).await
    }

    async fn delete_nodes(&self, group: &str, nodes: &[NodeRef]) -> Result<(), GroupError> {
        if let Some(foreign) = nodes.iter().find(|node| !node.provider_id.starts_with("lab://")) {
            return Err(GroupError::Refused(format!("node {} is not of group {group}", foreign.name)));
        }
        let ids: Vec<&str> = nodes.iter().map(|node| node.provider_id.as_str()).collect();
        self.order(group, format!("delete {group} {}", ids.join(" "))).await
    }

    async fn decrease_target(&self, group: &str, by: u32) -> Result<(), GroupError> {
        if by > MOST {
            return Err(GroupError::Refused(format!("group {group} has not so many on their way")));
        }
        self.order(group, format!("decrease {group} {by}")).await
    }
}
