//! Wishes to be with other pods or away from them.

use serde_json::{Value, json};
use windlass_core::model::well_known;

use super::app::App;
use super::{MadeUp, OURS};

const WITH: &str = "podAffinity";
const AWAY: &str = "podAntiAffinity";

impl App {
    pub fn alone_on_its_host(&mut self, _: &mut MadeUp) {
        self.require_company(AWAY, near(well_known::HOSTNAME, &self.name));
    }

    /// Few of them, as there are few zones.
    pub fn alone_in_its_zone(&mut self, _: &mut MadeUp) {
        self.count = self.count.min(3);
        self.require_company(AWAY, near(well_known::ZONE, &self.name));
    }

    pub fn away_from_others(&mut self, cluster: &mut MadeUp) {
        self.require_company(AWAY, near(well_known::HOSTNAME, &cluster.some_app()));
    }

    pub fn together_in_a_zone(&mut self, _: &mut MadeUp) {
        self.require_company(WITH, near(well_known::ZONE, &self.name));
    }

    pub fn with_others(&mut self, cluster: &mut MadeUp) {
        let key = cluster.one_of(&[well_known::ZONE, well_known::HOSTNAME]);
        self.require_company(WITH, near(key, &cluster.some_app()));
    }

    /// Those of one app in a namespace that is named.
    pub fn with_those_of_a_namespace(&mut self, cluster: &mut MadeUp) {
        let key = cluster.one_of(&[well_known::ZONE, well_known::HOSTNAME]);
        let mut term = near(key, &cluster.some_app());
        term["namespaces"] = json!([cluster.one_of(&[cluster.home.clone(), cluster.annex.clone()])]);
        self.require_company(WITH, term);
    }

    /// Those of one app in namespaces with a label.
    pub fn away_from_those_of_selected_namespaces(&mut self, cluster: &mut MadeUp) {
        let mut term = near(well_known::HOSTNAME, &cluster.some_app());
        let mut labels = json!({OURS: cluster.id});
        if cluster.once_in(2) {
            labels["part"] = json!("annex");
        }
        term["namespaceSelector"] = json!({"matchLabels": labels});
        self.require_company(AWAY, term);
    }

    pub fn would_rather_have_company(&mut self, cluster: &mut MadeUp) {
        self.prefer_company(cluster, WITH);
    }

    pub fn would_rather_be_alone(&mut self, cluster: &mut MadeUp) {
        self.prefer_company(cluster, AWAY);
    }

    fn require_company(&mut self, which: &str, term: Value) {
        self.add(&["affinity", which, "requiredDuringSchedulingIgnoredDuringExecution"], term);
    }

    fn prefer_company(&mut self, cluster: &mut MadeUp, which: &str) {
        let key = cluster.one_of(&[well_known::ZONE, well_known::HOSTNAME]);
        let term = near(key, &cluster.some_app());
        let term = json!({"weight": cluster.random.u8(1..=100), "podAffinityTerm": term});
        self.add(&["affinity", which, "preferredDuringSchedulingIgnoredDuringExecution"], term);
    }
}

fn near(key: &str, app: &str) -> Value {
    json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}})
}
