//! What can be seen of a stage, and what is waited for.

use std::collections::BTreeSet;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use windlass_api::{NodeClaim, conditions, labels};
use windlass_testkit::eventually;

use crate::stage::{PATIENCE, Stage};
use crate::windlass::Windlass;

impl Stage {
    /// The pods that run.
    pub async fn running(&self) -> kube::Result<Vec<Pod>> {
        let mut pods = self.pod_api().list(&ListParams::default()).await?.items;
        pods.retain(|pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running"));
        Ok(pods)
    }

    pub async fn claims(&self) -> kube::Result<Vec<NodeClaim>> {
        let all = Api::<NodeClaim>::all(self.client.clone()).list(&ListParams::default()).await?.items;
        Ok(all.into_iter().filter(|claim| self.is_pool(&claim.spec.pool_ref.name)).collect())
    }

    pub async fn nodes(&self) -> kube::Result<Vec<Node>> {
        let labelled = ListParams::default().labels("windlass.dev/simulated-machine");
        let all = Api::<Node>::all(self.client.clone()).list(&labelled).await?.items;
        let ours =
            |node: &Node| node.labels().get("windlass.dev/simulated-machine") == Some(&self.named("sim"));
        Ok(all.into_iter().filter(ours).collect())
    }

    /// The records of this test's machines.
    pub async fn machines(&self) -> kube::Result<Vec<ConfigMap>> {
        let cluster = self.scope.as_ref().map(|scope| format!(",windlass.dev/cluster-id=stage.{scope}"));
        let selector =
            format!("windlass.dev/simulated-machine={}{}", self.named("sim"), cluster.unwrap_or_default());
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(api.list(&ListParams::default().labels(&selector)).await?.items)
    }

    fn is_pool(&self, name: &str) -> bool {
        self.scope.is_none() || name.starts_with(&format!("{}-", self.name))
    }

    pub async fn lease(&self) -> kube::Result<Option<Lease>> {
        let scope = self.scope.as_ref().map(|scope| format!("-{scope}")).unwrap_or_default();
        Api::namespaced(self.client.clone(), &self.namespace).get_opt(&format!("windlass{scope}")).await
    }

    /// Waits until a process holds the lease.
    pub async fn led_by(&self, process: &mut Windlass) -> Lease {
        let what = format!("{} holds the lease", process.identity);
        eventually(&what, PATIENCE, async || {
            process.must_run();
            let lease = self.lease().await.map_err(|error| error.to_string())?.ok_or("no lease")?;
            let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
            if holder.as_ref() == Some(&process.identity) { Ok(lease) } else { Err(format!("{holder:?}")) }
        })
        .await
    }

    /// Waits until so many pods run, on exactly as many ready claims, each with one machine.
    pub async fn grown(&self, count: usize) {
        self.grown_for(count, |running| running.len()).await;
    }

    /// The same where the scheduler may have put two of the pods on one node: a scheduler that does not hear that its
    /// binding was taken gives the room away again.
    pub async fn grown_despite_double_booking(&self, count: usize) {
        let nodes = |running: &[Pod]| {
            let nodes = running.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone());
            nodes.collect::<BTreeSet<String>>().len()
        };
        self.grown_for(count, nodes).await;
    }

    /// Waits until so many pods run, on as many ready claims as they need, each with one machine.
    async fn grown_for(&self, count: usize, needed: impl Fn(&[Pod]) -> usize) {
        eventually(
            &format!("{count} pods run and each of their claims has one machine"),
            PATIENCE,
            async || {
                let (running, claims) = (self.running().await?, self.claims().await?);
                let ready = |claim: &&NodeClaim| {
                    let status = claim.status.as_ref();
                    status.is_some_and(|status| conditions::is_true(&status.conditions, conditions::READY))
                };
                let ready = claims.iter().filter(ready).count();
                let mut tagged: Vec<String> = self
                    .machines()
                    .await?
                    .iter()
                    .filter_map(|machine| machine.labels().get(labels::CLAIM_UID).cloned())
                    .collect();
                let mut uids: Vec<String> = claims.iter().filter_map(ResourceExt::uid).collect();
                tagged.sort();
                uids.sort();
                let seen = (running.len(), claims.len(), ready, tagged.len());
                let needed = needed(&running);
                let done = seen == (count, needed, needed, needed) && tagged == uids;
                if done {
                    Ok(())
                } else {
                    Err(Instead(format!("(running, claims, ready, machines) = {seen:?}")))
                }
            },
        )
        .await;
    }

    /// Waits until nothing of the test's is left: no claim, no machine, no node.
    pub async fn gone(&self) {
        eventually("no claim, machine or node is left", PATIENCE, async || {
            let counts =
                (self.claims().await?.len(), self.machines().await?.len(), self.nodes().await?.len());
            let done = counts == (0, 0, 0);
            if done { Ok(()) } else { Err(Instead(format!("(claims, machines, nodes) = {counts:?}"))) }
        })
        .await;
    }
}

/// What is there instead of what is awaited, which may be that the API server does not answer.
pub struct Instead(pub String);

impl std::fmt::Display for Instead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<kube::Error> for Instead {
    fn from(error: kube::Error) -> Self {
        Self(error.to_string())
    }
}
