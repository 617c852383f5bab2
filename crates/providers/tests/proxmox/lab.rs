//! One fake cluster and its provider, of a test's own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use windlass_core::Price;
use windlass_core::model::{Labels, OfferingKey, Resources};
use windlass_providers::proxmox::{Pace, Proxmox};
use windlass_providers::{
    LaunchRequest, Machine, MachineTag, Provider, ProviderError, SystemClock, Termination,
};
use windlass_testkit::proxmox::{FakeProxmox, SECRET, TOKEN};
use windlass_testkit::{ControlPlane, eventually};

/// How long to wait for what takes moments.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Lab {
    pub client: Client,
    pub fake: FakeProxmox,
    pub name: String,
    pub spec: Value,
    pub pace: Pace,
}

impl Lab {
    /// A lab of two hosts whose machines boot from the network.
    pub async fn new(plane: &ControlPlane, name: &str) -> Self {
        let client = plane.client().unwrap();
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(format!("pve-{name}"));
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let fake = FakeProxmox::start(&["pve1", "pve2"]).await.unwrap();
        let spec = json!({
            "endpoints": [{"url": format!("https://{}", fake.address)}],
            "caBundle": fake.certificate,
            "credentialsSecretRef": {"name": "proxmox"},
            "vmids": {"first": 5000, "last": 5199},
            "storage": "local",
            "tags": ["kubernetes"],
            "options": {"cpu": "host"},
            "networkBoot": {"diskGib": 8, "interfaces": [{"bridge": "vmbr0", "vlan": 12, "macPrefix": "BC:24:11"}]},
            "shapes": {"cpus": [2, 4], "memory": ["4Gi", "8Gi"]},
        });
        let pace = Pace { wait: PATIENCE, poll: Duration::from_millis(5), doubt: Duration::from_secs(5) };
        let lab = Self { client, fake, name: name.to_owned(), spec, pace };
        lab.write_secret(&[("tokenID", TOKEN), ("secret", SECRET)]).await;
        lab
    }

    /// A lab whose machines are clones of a template on shared storage.
    pub async fn cloning(plane: &ControlPlane, name: &str) -> Self {
        let mut lab = Self::new(plane, name).await;
        lab.spec["networkBoot"] = Value::Null;
        lab.spec["storage"] = Value::Null;
        lab.spec["clone"] = json!({"template": "debian-12", "isoStorage": "shared"});
        lab.fake.add_template(9000, "pve1", "debian-12", "shared");
        lab
    }

    pub async fn write_secret(&self, data: &[(&str, &str)]) {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &format!("pve-{}", self.name));
        _ = secrets.delete("proxmox", &DeleteParams::default()).await;
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec())));
        let mut secret = Secret { data: Some(data.collect::<BTreeMap<_, _>>()), ..Secret::default() };
        secret.metadata.name = Some("proxmox".to_owned());
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }

    pub fn provider(&self) -> Arc<Proxmox> {
        self.provider_at(self.pace).unwrap()
    }

    /// A provider that waits for nothing.
    pub fn impatient(&self) -> Arc<Proxmox> {
        self.provider_at(Pace { wait: Duration::ZERO, ..self.pace }).unwrap()
    }

    pub fn provider_at(&self, pace: Pace) -> Result<Arc<Proxmox>, ProviderError> {
        let spec = serde_json::from_value(self.spec.clone()).unwrap();
        let (name, clock) = (self.name.as_str().into(), Arc::new(SystemClock));
        let namespace = format!("pve-{}", self.name);
        Proxmox::new(name, &spec, "cluster".into(), &namespace, self.client.clone(), clock, pace)
            .map(Arc::new)
    }

    /// The ids of the machines in the range.
    pub fn ids(&self) -> Vec<u32> {
        self.fake.world().vms.keys().copied().filter(|id| (5000..=5199).contains(id)).collect()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let violations = std::mem::take(&mut self.fake.world().violations);
        if !std::thread::panicking() {
            assert!(violations.is_empty(), "Proxmox VE takes no such requests: {violations:#?}");
        }
    }
}

/// Launches, however often it takes.
pub async fn launch(provider: &dyn Provider, request: &LaunchRequest) -> Machine {
    let what = format!("a machine for {}", request.tag.claim_name);
    eventually(&what, PATIENCE, async || provider.launch(request).await).await
}

/// Ends a machine, and waits until it is gone.
pub async fn end(provider: &dyn Provider, machine: &Machine) {
    eventually(&format!("the end of {}", machine.provider_id), PATIENCE, async || {
        match provider.terminate(&machine.provider_id, &machine.tag).await {
            Ok(Termination::Gone) | Err(ProviderError::NotFound { .. }) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

/// A request for a claim's small machine on `pve1`.
pub fn request(claim: &str) -> LaunchRequest {
    request_on("pve1", claim)
}

pub fn request_on(host: &str, claim: &str) -> LaunchRequest {
    LaunchRequest {
        tag: MachineTag {
            cluster_id: "cluster".into(),
            claim_uid: format!("uid-of-{claim}").into(),
            claim_name: claim.into(),
            pool: "pool".into(),
        },
        offering: OfferingKey {
            instance_type: "2cpu-4gi".into(),
            zone: host.into(),
            capacity_type: "on-demand".into(),
        },
        capacity: Resources::new(),
        allocatable: Resources::new(),
        price: Price::ZERO,
        labels: Labels::new(),
        taints: Vec::new(),
        join: None,
    }
}
