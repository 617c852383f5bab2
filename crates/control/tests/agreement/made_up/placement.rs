//! Wishes about the node itself.

use serde_json::{Value, json};
use windlass_core::model::well_known;

use super::MadeUp;
use super::app::App;

impl App {
    pub fn in_a_zone(&mut self, cluster: &mut MadeUp) {
        self.select(well_known::ZONE, &cluster.some_zone());
    }

    pub fn of_an_architecture(&mut self, cluster: &mut MadeUp) {
        self.select(well_known::ARCH, cluster.one_of(&["arm64", "amd64"]));
    }

    pub fn of_a_capacity_type(&mut self, cluster: &mut MadeUp) {
        self.select(well_known::CAPACITY_TYPE, cluster.one_of(&["on-demand", "spot", "reserved"]));
    }

    /// By a label that only pools which ask for it have.
    pub fn in_a_lane(&mut self, cluster: &mut MadeUp) {
        self.select("lane", cluster.one_of(&["fast", "slow"]));
    }

    /// One of two terms must hold.
    pub fn with_more_or_fewer_cores(&mut self, cluster: &mut MadeUp) {
        let cores = expression("cores", cluster.one_of(&["Gt", "Lt"]), &["4"]);
        self.require(json!([term(cores), term(expression("tier", "In", &["front"]))]));
    }

    pub fn in_some_racks(&mut self, cluster: &mut MadeUp) {
        let operator = cluster.one_of(&["NotIn", "In"]);
        self.require(json!([term(expression(&cluster.rack_key(), operator, &["r0", "r1"]))]));
    }

    pub fn tolerates_the_dedicated(&mut self, _: &mut MadeUp) {
        self.add(&["tolerations"], json!({"key": "dedicated", "operator": "Exists"}));
    }

    pub fn would_rather_be_in_a_tier(&mut self, cluster: &mut MadeUp) {
        let tier = cluster.one_of(&["front", "back"]);
        self.prefer(cluster, expression("tier", "In", &[tier]));
    }

    pub fn would_rather_be_on_spot(&mut self, cluster: &mut MadeUp) {
        self.prefer(cluster, expression(well_known::CAPACITY_TYPE, "In", &["spot"]));
    }

    fn select(&mut self, key: &str, value: &str) {
        self.spec["nodeSelector"][key] = json!(value);
    }

    fn require(&mut self, terms: Value) {
        let required = ["affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
        *self.at(&required) = json!({"nodeSelectorTerms": terms});
    }

    fn prefer(&mut self, cluster: &mut MadeUp, wanted: Value) {
        let preferred = ["affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"];
        self.add(&preferred, json!({"weight": cluster.random.u8(1..=100), "preference": term(wanted)}));
    }
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

fn term(expression: Value) -> Value {
    json!({"matchExpressions": [expression]})
}
