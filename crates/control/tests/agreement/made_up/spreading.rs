//! Wishes to be spread.

use serde_json::{Value, json};
use windlass_core::model::well_known;

use super::MadeUp;
use super::app::App;

impl App {
    pub fn spread_over_zones(&mut self, cluster: &mut MadeUp) {
        let mut constraint = self.evenly(cluster, well_known::ZONE);
        if cluster.once_in(2) {
            constraint["minDomains"] = json!(2);
        }
        self.spread(constraint);
    }

    pub fn spread_over_hosts(&mut self, cluster: &mut MadeUp) {
        let constraint = self.evenly(cluster, well_known::HOSTNAME);
        self.spread(constraint);
    }

    /// Over a label that nodes of other clusters do not have, so that whether the node selector counts can be left open.
    pub fn spread_over_racks(&mut self, cluster: &mut MadeUp) {
        let mut constraint = self.evenly(cluster, &cluster.rack_key());
        constraint["nodeAffinityPolicy"] = json!("Ignore");
        constraint["nodeTaintsPolicy"] = json!(cluster.one_of(&["Ignore", "Honor"]));
        self.spread(constraint);
    }

    /// Where others are fewest, whom it is not one of.
    pub fn spread_among_others(&mut self, cluster: &mut MadeUp) {
        let mut constraint = self.evenly(cluster, well_known::ZONE);
        constraint["labelSelector"] = json!({"matchLabels": {"app": cluster.some_app()}});
        self.spread(constraint);
    }

    pub fn would_rather_be_spread(&mut self, cluster: &mut MadeUp) {
        let key = cluster.one_of(&[well_known::ZONE, well_known::HOSTNAME]);
        let mut constraint = self.evenly(cluster, key);
        constraint["whenUnsatisfiable"] = json!("ScheduleAnyway");
        self.spread(constraint);
    }

    fn evenly(&self, cluster: &mut MadeUp, key: &str) -> Value {
        let mut constraint = json!({
            "maxSkew": cluster.random.u8(1..=2), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": self.name}},
        });
        if cluster.once_in(4) {
            constraint["matchLabelKeys"] = json!(["version"]);
        }
        constraint
    }

    /// Adds a constraint. There can be only one of a kind for each label.
    fn spread(&mut self, constraint: Value) {
        let list = self.at(&["topologySpreadConstraints"]);
        if let Value::Array(others) = list {
            others.retain(|other| other["topologyKey"] != constraint["topologyKey"]);
        }
        self.add(&["topologySpreadConstraints"], constraint);
    }
}
