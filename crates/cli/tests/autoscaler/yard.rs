//! One test's Windlass, the Cluster Autoscaler that drives its pool, and what can be seen of both.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::PostParams;
use serde_json::{Value, json};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use windlass_externalgrpc::wire::cloud_provider_client::CloudProviderClient;
use windlass_externalgrpc::wire::{NodeGroupTargetSizeRequest, NodeGroupsRequest};
use windlass_testkit::objects::PodBuilder;
use windlass_testkit::{ControlPlane, eventually};

use crate::autoscaler::Autoscaler;
use crate::served::Served;
use crate::sights::Instead;
use crate::stage::{PATIENCE, Stage, merge};
use crate::windlass::Windlass;

pub struct Yard {
    pub stage: Stage,
    pub served: Served,
    pub windlass: Windlass,
}

impl Yard {
    /// A Windlass with machines and a pool that are like this, of which Cluster Autoscaler does not know yet.
    pub async fn new(plane: Arc<ControlPlane>, name: &str, provider: &Value, pool: &Value) -> Self {
        let stage = Stage::on(plane, name).await;
        stage.provider(provider).await;
        let mut driven = json!({"driver": "ClusterAutoscaler"});
        merge(&mut driven, pool);
        stage.pool(&driven).await;
        let served = Served::new().await;
        let mut windlass = served.start(&stage);
        stage.led_by(&mut windlass).await;
        Self { stage, served, windlass }
    }

    /// Starts a Cluster Autoscaler, once there are groups for it to know.
    pub async fn driven(&self, more: &[&str]) -> Autoscaler {
        eventually("groups are served", PATIENCE, async || {
            let targets = self.targets().await.map_err(|error| error.to_string())?;
            if targets.is_empty() { Err("no group".to_owned()) } else { Ok(()) }
        })
        .await;
        Autoscaler::start(&self.stage, &self.served, more)
    }

    /// The target size of each group, as any client of the server can ask it.
    pub async fn targets(&self) -> Result<BTreeMap<String, i32>, Box<dyn std::error::Error>> {
        let mut client = CloudProviderClient::new(self.channel().await?);
        let groups = client.node_groups(NodeGroupsRequest {}).await?.into_inner().node_groups;
        let mut targets = BTreeMap::new();
        for group in groups {
            let request = NodeGroupTargetSizeRequest { id: group.id.clone() };
            targets.insert(group.id, client.node_group_target_size(request).await?.into_inner().target_size);
        }
        Ok(targets)
    }

    async fn channel(&self) -> Result<Channel, Box<dyn std::error::Error>> {
        let read = |name: &str| std::fs::read(self.served.file(name));
        let tls = ClientTlsConfig::new()
            .domain_name("localhost")
            .ca_certificate(Certificate::from_pem(read("ca.crt")?))
            .identity(Identity::from_pem(read("client.crt")?, read("client.key")?));
        let endpoint = Endpoint::from_shared(format!("https://{}", self.served.address))?;
        Ok(endpoint.tls_config(tls)?.connect().await?)
    }

    /// Waits until there are exactly these claims, by kind of machine and zone, all of them ready.
    pub async fn has(&self, wanted: &[(&str, &str, usize)]) {
        let wanted: BTreeMap<_, _> =
            wanted.iter().map(|(kind, zone, count)| (format!("{kind} in {zone}"), *count)).collect();
        eventually(&format!("ready claims are {wanted:?}"), PATIENCE, async || {
            let claims = self.stage.claims().await?;
            let mut seen: BTreeMap<String, usize> = BTreeMap::new();
            for claim in &claims {
                let status = claim.status.clone().unwrap_or_default();
                let ready = windlass_api::conditions::is_true(&status.conditions, "Ready");
                let kind = status.instance_type.unwrap_or_else(|| claim.name_any());
                let kind = if ready { kind } else { format!("{kind} (not ready)") };
                let place = format!("{kind} in {}", status.zone.unwrap_or_default());
                *seen.entry(place).or_default() += 1;
            }
            if seen == wanted { Ok(()) } else { Err(Instead(format!("{seen:?}"))) }
        })
        .await;
    }

    /// Makes a pod of this test's that asks for so much.
    pub async fn pod(&self, pod: PodBuilder) {
        let pod = pod.node_selector("stage", &self.stage.name).build();
        self.stage.pod_api().create(&PostParams::default(), &pod).await.unwrap();
    }

    /// Ends the test: both still run, and no invariant was broken.
    pub async fn finish(mut self, mut autoscaler: Autoscaler) {
        self.windlass.must_run();
        autoscaler.must_run();
        drop(autoscaler);
        self.stage.finish().await;
    }
}

/// A kind of machine that the tests' provider has in one zone.
pub fn machine(name: &str, cores: u32, price: &str) -> Value {
    json!({
        "name": name, "capacity": {"cpu": cores, "memory": format!("{}Gi", 4 * cores)},
        "offerings": [{"zone": "zone-a", "price": price}],
    })
}
