//! Wishes about what the containers use.

use serde_json::{Value, json};

use super::MadeUp;
use super::app::App;

/// The runtime class whose pods take more than their containers ask for.
pub const SANDBOX: &str = "agree-sandbox";

impl App {
    /// With an init container, which needs more than the others for a while.
    pub fn prepares_itself(&mut self, _: &mut MadeUp) {
        self.add_before("2", json!({}));
    }

    pub fn has_a_sidecar(&mut self, cluster: &mut MadeUp) {
        self.add_before(cluster.one_of(&["100m", "500m", "1"]), json!({"restartPolicy": "Always"}));
    }

    pub fn runs_in_a_sandbox(&mut self, _: &mut MadeUp) {
        self.spec["runtimeClassName"] = json!(SANDBOX);
    }

    /// More than all of its containers together.
    pub fn says_what_it_needs_as_a_whole(&mut self, _: &mut MadeUp) {
        self.spec["resources"] = json!({"requests": {"cpu": "7", "memory": "8Gi"}});
    }

    pub fn uses_a_gpu(&mut self, _: &mut MadeUp) {
        self.request("example.com/gpu", "1");
    }

    pub fn uses_a_port_of_its_host(&mut self, cluster: &mut MadeUp) {
        let mut port = json!({
            "containerPort": 80,
            "hostPort": cluster.random.u16(9000..9002),
            "protocol": cluster.one_of(&["TCP", "UDP"]),
        });
        if cluster.once_in(2) {
            port["hostIP"] = json!(cluster.one_of(&["10.0.0.1", "10.0.0.2", "0.0.0.0"]));
        }
        self.spec["containers"][0]["ports"] = json!([port]);
    }

    /// A container that starts before the main one.
    fn add_before(&mut self, cpu: &str, mut container: Value) {
        let number = self.at(&["initContainers"]).as_array().map_or(0, Vec::len);
        container["name"] = json!(format!("before{number}"));
        container["image"] = json!("registry.invalid/pause");
        container["resources"]["requests"]["cpu"] = json!(cpu);
        self.add(&["initContainers"], container);
    }
}
