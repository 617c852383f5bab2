//! Groups of an index that is filled by hand.

mod finding;
mod handle;
mod leaving;
mod prices;
mod sizes;
mod templates;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_api::NodeClaim;
use windlass_core::Price;
use windlass_core::model::{InstanceType, Labels, Offering, Resources};

use super::NodeRef;
use super::table::Table;
use crate::Settings;
use crate::adapt;
use crate::index::{Catalogue, Index, Kind};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A cluster with a provider and what a test puts into it.
struct Lab {
    index: Index,
    settings: Settings,
    version: u32,
}

impl Lab {
    /// With a pool `web` of small and large machines in two zones, about which Cluster Autoscaler decides.
    fn new(pool: Value) -> Self {
        let mut lab = Self { index: Index::default(), settings: settings(), version: 0 };
        for kind in Kind::ALL {
            lab.index.listed(kind);
        }
        let provider = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeProvider", "metadata": {"name": "s", "uid": "s"},
            "spec": {"simulated": {}},
        });
        lab.index.saw_provider(serde_json::from_value(provider).unwrap());
        lab.offers(vec![machine("small", 2, 100_000), machine("large", 8, 400_000)]);
        lab.pool("web", pool);
        lab
    }

    fn offers(&mut self, types: Vec<InstanceType>) {
        self.index.saw_catalogue("s", Catalogue::Known(Arc::new(types)));
    }

    fn pool(&mut self, name: &str, more: Value) {
        let mut spec = json!({"providerRef": {"name": "s"}, "driver": "ClusterAutoscaler"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let object = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodePool", "metadata": {"name": name, "uid": name},
            "spec": spec,
        });
        self.index.saw_pool(adapt::pool(&serde_json::from_value(object).unwrap()));
    }

    /// A claim `<name>` with the UID `u-<name>` for a machine in zone a, changed as the test wants.
    fn claim_but(&mut self, name: &str, pool: &str, kind: &str, change: impl FnOnce(&mut Value)) {
        self.version += 1;
        let cores = if kind == "small" { 2 } else { 8 };
        let amounts = json!({"cpu": cores, "memory": format!("{}Gi", 4 * cores)});
        let offering = json!({"instanceType": kind, "zone": "a", "capacityType": "on-demand", "price": "0.10",
                              "capacity": amounts, "allocatable": amounts});
        let mut object = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim",
            "metadata": {"name": name, "uid": format!("u-{name}"), "resourceVersion": self.version.to_string(),
                         "creationTimestamp": "1970-01-01T00:00:00Z"},
            "spec": {"poolRef": {"name": pool}, "providerRef": {"name": "s"},
                     "reason": {"purpose": "ClusterAutoscaler"}, "offerings": [offering]},
        });
        change(&mut object);
        self.index.claims.saw(serde_json::from_value(object).unwrap());
    }

    fn claim(&mut self, name: &str, kind: &str) {
        self.claim_but(name, "web", kind, |_| {});
    }

    /// A claim that has become the node `node-<name>` with the machine `sim://<name>`.
    fn node(&mut self, name: &str, pool: &str, kind: &str) {
        self.claim_but(name, pool, kind, |claim| claim["status"] = running(name, kind));
        let node = json!({"metadata": {"name": format!("node-{name}"), "uid": name}, "spec": {"providerID": format!("sim://{name}")}});
        self.index.saw_node(adapt::seen_node(&serde_json::from_value(node).unwrap()));
    }

    /// A claim for which there was no machine to be had.
    fn failed(&mut self, name: &str, kind: &str) {
        self.claim_but(name, "web", kind, |claim| {
            claim["status"] =
                json!({"launch": {"offering": 0}, "conditions": [condition("Launched", "False", "Quota")]});
        });
    }

    fn table(&self) -> Table {
        Table::new(&self.index, &self.settings, NOW)
    }

    /// Each group's least, target and most, those aside that have none and may have none.
    fn sizes(&self) -> BTreeMap<String, (u32, u32, u32)> {
        let table = self.table();
        let sizes = table.iter().map(|entry| (entry.name.clone(), (entry.min, entry.target, entry.max)));
        sizes.filter(|(_, sizes)| *sizes != (0, 0, 0)).collect()
    }

    fn size(&self, group: &str) -> (u32, u32, u32) {
        self.sizes().get(group).copied().unwrap_or_default()
    }

    fn get(&self, claim: &str) -> Arc<NodeClaim> {
        self.index.claims.get(claim).unwrap()
    }
}

fn settings() -> Settings {
    Settings::new("c".into(), "ns".into(), "me".into())
}

fn running(name: &str, kind: &str) -> Value {
    json!({
        "providerID": format!("sim://{name}"), "instanceType": kind, "zone": "a", "capacityType": "on-demand",
        "price": "0.10", "nodeName": format!("node-{name}"), "launch": {"offering": 0},
        "conditions": [condition("Launched", "True", "Launched"), condition("Registered", "True", "Registered")],
    })
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "so it is",
           "lastTransitionTime": "1970-01-01T00:00:00Z"})
}

/// A machine with four GiB for each core, on demand in the zones a and b.
fn machine(name: &str, cores: i64, micros: i64) -> InstanceType {
    let offering = |zone: &str| Offering {
        zone: zone.into(),
        capacity_type: "on-demand".into(),
        price: Price::from_micros(micros),
        available: None,
        avoid_until: None,
        draws: None,
    };
    let amounts = Resources::from_iter([("cpu", cores * 1000), ("memory", cores << 32), ("pods", 110)]);
    InstanceType {
        name: name.into(),
        capacity: amounts.clone(),
        allocatable: amounts,
        labels: Labels::new().with("kubernetes.io/arch", "arm64").with("kubernetes.io/os", "linux"),
        offerings: ["a", "b"].map(offering).into(),
    }
}

const SMALL_A: &str = "web/small/a/on-demand";
const LARGE_A: &str = "web/large/a/on-demand";

fn by_id(id: &str) -> NodeRef {
    NodeRef { provider_id: id.to_owned(), ..NodeRef::default() }
}
