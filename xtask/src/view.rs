use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::ListParams;
use kube::{Api, Client};
use windlass_api::{NodeClaim, conditions, labels};
use windlass_core::Price;

/// What a person wants to see of a cluster at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) pods: usize,
    pub(crate) running: usize,
    pub(crate) claims: usize,
    pub(crate) ready: usize,
    pub(crate) nodes: usize,
    pub(crate) machines: usize,
    pub(crate) cost: Price,
}

impl View {
    /// Looks at the pods of one namespace and at everything of ours.
    pub(crate) async fn take(client: &Client, namespace: &str) -> Result<Self> {
        let all = ListParams::default();
        let pods = Api::<Pod>::namespaced(client.clone(), namespace).list(&all).await?.items;
        let claims = Api::<NodeClaim>::all(client.clone()).list(&all).await?.items;
        let nodes =
            Api::<Node>::all(client.clone()).list(&ListParams::default().labels(labels::POOL)).await?.items;
        let records = ListParams::default().labels("windlass.dev/simulated-machine");
        let machines = Api::<ConfigMap>::all(client.clone()).list(&records).await?.items;
        let is_running =
            |pod: &&Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
        let price = |claim: &NodeClaim| {
            let actual = claim.status.as_ref().and_then(|status| status.price.clone());
            let planned = || claim.spec.offerings.first().map(|offering| offering.price.clone());
            actual.or_else(planned).and_then(|text| text.parse().ok()).unwrap_or(Price::ZERO)
        };
        let is_ready = |claim: &&NodeClaim| {
            claim
                .status
                .as_ref()
                .is_some_and(|status| conditions::is_true(&status.conditions, conditions::READY))
        };
        Ok(Self {
            pods: pods.len(),
            running: pods.iter().filter(is_running).count(),
            claims: claims.len(),
            ready: claims.iter().filter(is_ready).count(),
            nodes: nodes.len(),
            machines: machines.len(),
            cost: claims.iter().map(price).sum(),
        })
    }
}
