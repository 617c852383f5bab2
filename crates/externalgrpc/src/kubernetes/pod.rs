use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};

use super::messages;
use super::meta::{api_quantities, said};

impl From<messages::Pod> for Pod {
    fn from(pod: messages::Pod) -> Self {
        Self {
            metadata: pod.metadata.unwrap_or_default().into(),
            spec: pod.spec.map(Into::into),
            ..Self::default()
        }
    }
}

impl From<messages::PodSpec> for PodSpec {
    fn from(spec: messages::PodSpec) -> Self {
        let containers =
            |list: Vec<messages::Container>| list.into_iter().map(Into::into).collect::<Vec<_>>();
        Self {
            containers: containers(spec.containers),
            init_containers: Some(containers(spec.init_containers)).filter(|list| !list.is_empty()),
            node_selector: Some(spec.node_selector).filter(|selector| !selector.is_empty()),
            overhead: api_quantities(spec.overhead),
            resources: spec.resources.map(Into::into),
            ..Self::default()
        }
    }
}

impl From<messages::Container> for Container {
    fn from(container: messages::Container) -> Self {
        Self {
            name: container.name,
            resources: container.resources.map(Into::into),
            restart_policy: said(container.restart_policy),
            ..Self::default()
        }
    }
}

impl From<messages::ResourceRequirements> for ResourceRequirements {
    fn from(resources: messages::ResourceRequirements) -> Self {
        Self {
            limits: api_quantities(resources.limits),
            requests: api_quantities(resources.requests),
            ..Self::default()
        }
    }
}
