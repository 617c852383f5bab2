//! Objects for tests, as short as they can be said.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Container, Namespace, Node, NodeCondition, NodeSpec, NodeStatus, Pod, PodSpec, PodTemplateSpec,
    ResourceRequirements, ServiceAccount, Taint, Toleration,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};

use crate::wait::eventually;

/// The annotation of nodes that KWOK manages, and its value.
pub const KWOK_NODE: (&str, &str) = ("kwok.x-k8s.io/node", "fake");
/// On a node, with the value `true`: KWOK does not make it ready.
pub const UNREADY: &str = "kwok.windlass.dev/unready";
/// On a pod, with the value `true`: once deleted it stays Terminating.
pub const LINGER: &str = "kwok.windlass.dev/linger";

/// Creates a namespace with a name of its own and waits until pods can be created in it.
pub async fn namespace(client: &Client, prefix: &str) -> kube::Result<String> {
    let namespace = Namespace {
        metadata: ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() },
        ..Namespace::default()
    };
    let name = Api::all(client.clone()).create(&PostParams::default(), &namespace).await?.name_any();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &name);
    eventually("the namespace's default service account", Duration::from_secs(30), async || {
        accounts.get("default").await
    })
    .await;
    Ok(name)
}

/// A pod, or the pods of a [`deployment`].
#[derive(Debug, Clone, Default)]
pub struct PodBuilder {
    metadata: ObjectMeta,
    requests: BTreeMap<String, Quantity>,
    spec: PodSpec,
}

impl PodBuilder {
    /// A pod that asks for nothing.
    pub fn new(name: &str) -> Self {
        Self { metadata: named(name), ..Self::default() }
    }

    /// The namespace it is in, which is otherwise that of the `Api` it is created with.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.metadata.namespace = Some(namespace.to_owned());
        self
    }

    /// Requests CPU, as `500m`.
    #[must_use]
    pub fn cpu(self, quantity: &str) -> Self {
        self.resource("cpu", quantity)
    }

    /// Requests memory, as `1Gi`.
    #[must_use]
    pub fn memory(self, quantity: &str) -> Self {
        self.resource("memory", quantity)
    }

    /// Requests any resource. It is the limit too, since extended resources are not admitted without.
    #[must_use]
    pub fn resource(mut self, name: &str, quantity: &str) -> Self {
        self.requests.insert(name.to_owned(), Quantity(quantity.to_owned()));
        self
    }

    /// Sets a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.metadata.labels.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    /// Sets an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    /// Asks for nodes with a label.
    #[must_use]
    pub fn node_selector(mut self, key: &str, value: &str) -> Self {
        self.spec.node_selector.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    /// Tolerates every taint with this key.
    #[must_use]
    pub fn tolerates(mut self, key: &str) -> Self {
        self.spec.tolerations.get_or_insert_default().push(Toleration {
            key: Some(key.to_owned()),
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        });
        self
    }

    /// Changes what has no method here.
    #[must_use]
    pub fn spec(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// The pod.
    pub fn build(self) -> Pod {
        let (metadata, spec) = self.parts();
        Pod { metadata, spec: Some(spec), status: None }
    }

    fn parts(self) -> (ObjectMeta, PodSpec) {
        let mut spec = self.spec;
        spec.containers.push(Container {
            name: "main".to_owned(),
            image: Some("registry.invalid/pause".to_owned()),
            resources: Some(ResourceRequirements {
                limits: Some(self.requests.clone()),
                requests: Some(self.requests),
                claims: None,
            }),
            ..Container::default()
        });
        (self.metadata, spec)
    }
}

/// A deployment of pods as `pod` describes them, which get a label `app` with the deployment's name.
pub fn deployment(name: &str, replicas: i32, pod: PodBuilder) -> Deployment {
    let selector = LabelSelector { match_labels: Some(app(name)), ..LabelSelector::default() };
    let (mut metadata, spec) = pod.label("app", name).parts();
    metadata.name = None;
    let namespace = metadata.namespace.take();
    Deployment {
        metadata: ObjectMeta { namespace, ..named(name) },
        spec: Some(DeploymentSpec {
            replicas: Some(replicas),
            selector,
            template: PodTemplateSpec { metadata: Some(metadata), spec: Some(spec) },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// A budget that keeps `min_available` of the pods with the label `app` of this value.
pub fn budget(app_name: &str, min_available: i32) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: named(app_name),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(min_available)),
            selector: Some(LabelSelector { match_labels: Some(app(app_name)), ..LabelSelector::default() }),
            ..PodDisruptionBudgetSpec::default()
        }),
        status: None,
    }
}

/// A node that nobody provisioned. KWOK makes it ready and runs its pods.
#[derive(Debug, Clone)]
pub struct NodeBuilder {
    node: Node,
}

impl NodeBuilder {
    /// A node with room for 110 pods and, until told otherwise, 4 CPUs and 16 GiB.
    pub fn new(name: &str) -> Self {
        let mut metadata = named(name);
        metadata.labels = Some(BTreeMap::from([("kubernetes.io/hostname".to_owned(), name.to_owned())]));
        metadata.annotations = Some(BTreeMap::from([(KWOK_NODE.0.to_owned(), KWOK_NODE.1.to_owned())]));
        let not_ready = NodeCondition {
            type_: "Ready".to_owned(),
            status: "False".to_owned(),
            reason: Some("Starting".to_owned()),
            ..NodeCondition::default()
        };
        let status = NodeStatus { conditions: Some(vec![not_ready]), ..NodeStatus::default() };
        let node = Node { metadata, spec: Some(NodeSpec::default()), status: Some(status) };
        Self { node }.resource("cpu", "4").resource("memory", "16Gi").resource("pods", "110")
    }

    /// Sets how much of a resource it has, all of it allocatable.
    #[must_use]
    pub fn resource(mut self, name: &str, quantity: &str) -> Self {
        let status = self.node.status.get_or_insert_default();
        for resources in [&mut status.capacity, &mut status.allocatable] {
            resources.get_or_insert_default().insert(name.to_owned(), Quantity(quantity.to_owned()));
        }
        self
    }

    /// Sets a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.node.labels_mut().insert(key.to_owned(), value.to_owned());
        self
    }

    /// Sets an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.node.annotations_mut().insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a taint, with an effect such as `NoSchedule`.
    #[must_use]
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        self.node.spec.get_or_insert_default().taints.get_or_insert_default().push(Taint {
            key: key.to_owned(),
            value: Some(value.to_owned()),
            effect: effect.to_owned(),
            time_added: None,
        });
        self
    }

    /// The node.
    pub fn build(self) -> Node {
        self.node
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn app(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("app".to_owned(), name.to_owned())])
}
