//! Apps: pods that are all alike and have wishes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, from_value, json};

use super::storage::Disks;
use super::{MadeUp, OURS};

/// Pods that are all alike.
pub struct App {
    pub name: String,
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: Value,
    pub spec: Value,
    pub count: usize,
    pub disks: Option<Disks>,
}

/// Makes an app ask for something.
type Wish = fn(&mut App, &mut MadeUp);

const WISHES: &[Wish] = &[
    App::in_a_zone,
    App::of_an_architecture,
    App::of_a_capacity_type,
    App::in_a_lane,
    App::with_more_or_fewer_cores,
    App::in_some_racks,
    App::tolerates_the_dedicated,
    App::would_rather_be_in_a_tier,
    App::would_rather_be_on_spot,
    App::spread_over_zones,
    App::spread_over_hosts,
    App::spread_over_racks,
    App::spread_among_others,
    App::would_rather_be_spread,
    App::alone_on_its_host,
    App::alone_in_its_zone,
    App::away_from_others,
    App::together_in_a_zone,
    App::with_others,
    App::with_those_of_a_namespace,
    App::away_from_those_of_selected_namespaces,
    App::would_rather_have_company,
    App::would_rather_be_alone,
    App::prepares_itself,
    App::has_a_sidecar,
    App::runs_in_a_sandbox,
    App::says_what_it_needs_as_a_whole,
    App::uses_a_gpu,
    App::uses_a_port_of_its_host,
    App::has_a_priority,
    App::has_a_scheduler_of_its_own,
    App::has_disks_already,
    App::gets_disks_in_its_zone,
    App::gets_disks_in_some_zones,
    App::gets_disks_for_everywhere,
    App::waits_for_disks,
];

impl MadeUp {
    /// An app whose pods wait. It has few wishes, so that many pods have a place and many do not.
    pub(super) fn add_app(&mut self, number: usize) {
        let mut app = App::new(self, &format!("app{number}"));
        app.request("cpu", self.one_of(&["100m", "250m", "500m", "1", "1500m", "3"]));
        app.request("memory", self.one_of(&["128Mi", "512Mi", "1Gi", "2Gi", "6Gi"]));
        app.spec["nodeSelector"][OURS] = json!(self.id);
        app.count = self.random.usize(1..=12);
        for _ in 0..self.random.usize(0..=3) {
            let wish = self.one_of(WISHES);
            wish(&mut app, self);
        }
        for pod in 0..app.count {
            let mut pod = app.pod(&format!("{}-{pod}", app.name));
            self.attach_disks(&app, &mut pod);
            self.pods.push(pod);
        }
    }
}

impl App {
    /// An app that asks for nothing.
    pub fn new(cluster: &mut MadeUp, name: &str) -> Self {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let version = cluster.one_of(&["1", "2"]);
        let labels = [label(OURS, &cluster.id), label("app", name), label("version", version)];
        let namespace = if cluster.once_in(4) { &cluster.annex } else { &cluster.home };
        Self {
            name: name.to_owned(),
            namespace: namespace.clone(),
            labels: labels.into(),
            annotations: json!({}),
            spec: json!({"containers": [{"name": "main", "image": "registry.invalid/pause"}]}),
            count: 1,
            disks: None,
        }
    }

    /// Asks for an amount, which is the limit too, since extended resources are not admitted without.
    pub fn request(&mut self, resource: &str, quantity: &str) {
        for kind in ["requests", "limits"] {
            self.spec["containers"][0]["resources"][kind][resource] = json!(quantity);
        }
    }

    /// What is at a path of the spec.
    pub fn at(&mut self, path: &[&str]) -> &mut Value {
        path.iter().fold(&mut self.spec, |at, part| &mut at[*part])
    }

    /// Adds to a list at a path of the spec.
    pub fn add(&mut self, path: &[&str], item: Value) {
        match self.at(path) {
            Value::Array(list) => list.push(item),
            nothing => *nothing = json!([item]),
        }
    }

    /// One of its pods.
    pub fn pod(&self, name: &str) -> Pod {
        let Self { namespace, labels, annotations, spec, .. } = self;
        let metadata =
            json!({"name": name, "namespace": namespace, "labels": labels, "annotations": annotations});
        from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }
}
