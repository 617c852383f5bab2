//! What is not Windlass's stays as it is, however much it looks like it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use windlass_api::{NodeClaim, NodePool, NodeProvider, labels};
use windlass_testkit::ControlPlane;
use windlass_testkit::invariants::{Foreign, Kind};
use windlass_testkit::objects::NodeBuilder;

use crate::stage::Stage;

/// Where foreign things are put, and compared afterwards.
struct Strangers<'a> {
    stage: &'a Stage,
    captured: Foreign,
}

impl Strangers<'_> {
    async fn cluster_wide<K>(&mut self, kind: Kind, object: &K)
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::ClusterResourceScope>,
        K: Clone + std::fmt::Debug + Serialize + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.stage.client.clone());
        let created = api.create(&PostParams::default(), object).await.unwrap();
        self.captured.capture(&created).await.unwrap();
        self.stage.watcher().foreign(kind, &created).unwrap();
    }

    async fn config_map(&mut self, object: &ConfigMap) {
        let api: Api<ConfigMap> = Api::namespaced(self.stage.client.clone(), &self.stage.namespace);
        let created = api.create(&PostParams::default(), object).await.unwrap();
        self.captured.capture(&created).await.unwrap();
    }

    async fn node(&mut self, name: &str, provider_id: Option<&str>, marks: &[(&str, &str)]) {
        let mut node: Node = NodeBuilder::new(name).build();
        node.spec.get_or_insert_default().provider_id = provider_id.map(ToOwned::to_owned);
        for (key, value) in marks {
            if *key == labels::POOL {
                node.labels_mut().insert((*key).to_owned(), (*value).to_owned());
            } else {
                node.annotations_mut().insert((*key).to_owned(), (*value).to_owned());
            }
        }
        self.cluster_wide(Kind::Node, &node).await;
    }
}

pub async fn what_is_foreign_stays_as_it_is_while_nodes_come_and_go(plane: Arc<ControlPlane>) {
    let stage = Stage::on(plane, "foreign").await;
    let mut strangers = Strangers { stage: &stage, captured: Foreign::new(stage.client.clone()) };
    let (pool, provider) = (stage.named("pool"), stage.named("sim"));
    let no_claim = "00000000-0000-0000-0000-000000000000";
    strangers.node("stranger", None, &[]).await;
    strangers.node("stranger-of-a-cloud", Some("aws:///zone-a/i-0123456789"), &[]).await;
    strangers.node("stranger-of-our-provider", Some(&format!("simulated://{provider}/none")), &[]).await;
    strangers.node("stranger-with-our-pool", None, &[(labels::POOL, &pool)]).await;
    // All the marks of ours but the finalizer, which only Windlass sets.
    let marks = [(labels::POOL, &*pool), (labels::PROVIDER, &*provider), (labels::CLAIM_UID, no_claim)];
    strangers.node("stranger-with-our-marks", Some("simulated://elsewhere/none"), &marks).await;

    let elsewhere: NodeProvider = serde_json::from_value(json!({
        "metadata": {"name": "elsewhere-sim", "labels": {labels::SCOPE: "elsewhere"}},
        "spec": {"simulated": {"catalogue": "general", "bootDelay": "1s"}},
    }))
    .unwrap();
    strangers.cluster_wide(Kind::NodeProvider, &elsewhere).await;
    let mut pool_elsewhere: NodePool = serde_json::from_value(json!({
        "metadata": {"name": "elsewhere-pool", "labels": {labels::SCOPE: "elsewhere"}},
        "spec": {"providerRef": {"name": "elsewhere-sim"}, "template": {}, "minNodes": 2},
    }))
    .unwrap();
    strangers.cluster_wide(Kind::NodePool, &pool_elsewhere).await;

    stage.provider(&json!({})).await;
    stage.pool(&json!({})).await;
    let windlass = stage.start();
    stage.pods(0..3).await;
    stage.grown(3).await;

    // Now that there are claims and machines, there can be what looks like them.
    let claim = stage.claims().await.unwrap().remove(0);
    strangers.node(&claim.name_any(), None, &[]).await;
    let mut claim_elsewhere = NodeClaim::new("elsewhere-pool-abcdef", claim.spec.clone());
    claim_elsewhere.spec.pool_ref.name = pool_elsewhere.name_any();
    claim_elsewhere.labels_mut().insert(labels::SCOPE.to_owned(), "elsewhere".to_owned());
    strangers.cluster_wide(Kind::NodeClaim, &claim_elsewhere).await;
    pool_elsewhere.metadata = ObjectMeta { name: Some("scopeless-pool".to_owned()), ..ObjectMeta::default() };
    strangers.cluster_wide(Kind::NodePool, &pool_elsewhere).await;
    let record = stage.machines().await.unwrap().remove(0);
    let record = serde_json::to_string(&ConfigMap {
        metadata: ObjectMeta {
            name: Some("machine-of-another-cluster".to_owned()),
            labels: record.metadata.labels.clone(),
            ..ObjectMeta::default()
        },
        ..record
    });
    let record = record.unwrap().replace("stage.foreign", "another").replace(&claim.uid().unwrap(), no_claim);
    strangers.config_map(&serde_json::from_str(&record).unwrap()).await;
    let settings =
        ConfigMap { data: Some([("key".to_owned(), "value".to_owned())].into()), ..ConfigMap::default() };
    let metadata = ObjectMeta { name: Some("settings".to_owned()), ..ObjectMeta::default() };
    strangers.config_map(&ConfigMap { metadata, ..settings }).await;

    windlass.kill().await;
    let mut windlass = stage.start();
    stage.pods(3..6).await;
    stage.grown(6).await;
    stage.delete_pods(0..6).await;
    stage.gone().await;
    windlass.must_run();
    strangers.captured.assert_unchanged().await.unwrap();
    drop(strangers);
    stage.finish().await;
}
