use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use crate::{NodeClaim, NodePool, NodeProvider};

/// The definitions of all custom resources, in the order in which to apply them.
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![NodeProvider::crd(), NodePool::crd(), NodeClaim::crd()]
}
