use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use windlass_api::NodeClaim;
use windlass_api::labels::{CLAIM_UID, FIELD_MANAGER, FINALIZER};
use windlass_testkit::invariants::{Invariant, InvariantWatcher, Options, Scope, Violation};
use windlass_testkit::{ControlPlane, install_crds};

/// A controller in a few lines, with pools and a cluster id of its own, and a watcher who looks at just these.
pub(super) struct Mini {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) watcher: InvariantWatcher,
}

impl Mini {
    pub(super) async fn start(plane: &ControlPlane, name: &str) -> Self {
        // A refused eviction is an answer, not a failure to try again after.
        let mut config = plane.config();
        config.default_retry = false;
        let client = Client::try_from(config).unwrap();
        install_crds(&client).await.unwrap();
        let scope = Scope { cluster_id: Some(name.to_owned()), pool_prefix: name.to_owned() };
        let options = Options { scope, orphan_grace: SignedDuration::from_secs(2), ..Options::default() };
        let watcher = InvariantWatcher::start(client.clone(), options).await.unwrap();
        Self { client, name: name.to_owned(), watcher }
    }

    pub(super) fn claims(&self) -> Api<NodeClaim> {
        Api::all(self.client.clone())
    }

    pub(super) fn machines(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "default")
    }

    pub(super) fn nodes(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    pub(super) async fn claim(&self, suffix: &str) -> NodeClaim {
        self.create_claim(suffix, &json!({})).await
    }

    pub(super) async fn create_claim(&self, suffix: &str, annotations: &Value) -> NodeClaim {
        let capacity = json!({"cpu": 4, "memory": "8Gi"});
        let claim = json!({
            "apiVersion": "windlass.dev/v1alpha1",
            "kind": "NodeClaim",
            "metadata": {
                "name": format!("{}-{suffix}", self.name),
                "finalizers": [FINALIZER],
                "annotations": annotations,
            },
            "spec": {
                "poolRef": {"name": self.name},
                "providerRef": {"name": self.name},
                "reason": {"purpose": "PendingPods"},
                "offerings": [{
                    "instanceType": "cpu-4", "zone": "a", "capacityType": "on-demand", "price": "0.1",
                    "capacity": capacity, "allocatable": capacity,
                }],
            },
        });
        self.claims().create(&as_windlass(), &serde_json::from_value(claim).unwrap()).await.unwrap()
    }

    pub(super) async fn set_status(&self, claim: &NodeClaim, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let params = PatchParams { field_manager: as_windlass().field_manager, ..PatchParams::default() };
        self.claims().patch_status(&claim.name_any(), &params, &patch).await.unwrap();
    }

    pub(super) async fn initialize(&self, claim: &NodeClaim) {
        let condition = json!({
            "type": "Initialized", "status": "True", "reason": "Fine", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        self.set_status(claim, json!({"providerID": self.provider_id(claim), "conditions": [condition]}))
            .await;
    }

    pub(super) async fn delete(&self, claim: &NodeClaim) {
        self.claims().delete(&claim.name_any(), &DeleteParams::default()).await.unwrap();
    }

    /// Lets go of a claim that is being deleted.
    pub(super) async fn release(&self, claim: &NodeClaim) {
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        self.claims().patch(&claim.name_any(), &PatchParams::default(), &patch).await.unwrap();
    }

    pub(super) async fn launch(&self, claim: &NodeClaim, suffix: &str) -> ConfigMap {
        let machine = json!({
            "metadata": {
                "name": format!("{}{suffix}", claim.name_any()),
                "labels": {
                    "windlass.dev/simulated-machine": self.name,
                    "windlass.dev/cluster-id": self.name,
                    CLAIM_UID: claim.uid(),
                },
            },
        });
        self.machines().create(&as_windlass(), &serde_json::from_value(machine).unwrap()).await.unwrap()
    }

    pub(super) fn provider_id(&self, claim: &NodeClaim) -> String {
        format!("simulated://{}/{}", self.name, claim.name_any())
    }

    #[track_caller]
    pub(super) fn is_caught(&self, violations: &[Violation], invariant: Invariant, words: &[&str]) {
        let texts: Vec<_> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 1, "{}", texts.join("\n"));
        assert_eq!(violations[0].invariant, invariant, "{}", texts[0]);
        for word in words {
            assert!(texts[0].contains(&format!("{}{word}", self.name)), "{word:?} is not in: {}", texts[0]);
        }
    }

    /// Everything up to here was right.
    pub(super) async fn is_clean(&self) {
        self.watcher.settle().await.unwrap();
        self.watcher.check();
    }
}

pub(super) fn as_windlass() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}
