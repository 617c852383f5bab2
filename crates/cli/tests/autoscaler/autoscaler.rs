//! The process of Cluster Autoscaler.

use windlass_testkit::{WindlassProcess, cluster_autoscaler};

use crate::served::Served;
use crate::stage::Stage;

/// The flags that make it fast enough for a test, and tell it of nodes that have joined and are not opened yet.
const QUICK: [&str; 16] = [
    "--cloud-provider=externalgrpc",
    "--startup-taint=windlass.dev/unregistered",
    "--leader-elect=false",
    "--address=127.0.0.1:0",
    "--scan-interval=1s",
    "--scale-down-delay-after-add=2s",
    "--scale-down-delay-after-failure=2s",
    "--scale-down-unneeded-time=2s",
    "--node-delete-delay-after-taint=0s",
    "--max-node-provision-time=30s",
    "--initial-node-group-backoff-duration=20s",
    // Other tests' nodes come and go in the same cluster, and it does nothing while many of them are not ready.
    "--ok-total-unready-count=1000",
    "--max-node-group-backoff-duration=20s",
    // Its own requests are limited to few in a second where it is not told otherwise.
    "--kube-client-qps=100",
    "--kube-client-burst=100",
    "--v=4",
];

/// A running Cluster Autoscaler and its log.
pub struct Autoscaler(WindlassProcess);

impl Autoscaler {
    /// Starts one that knows the groups that are served, with these flags beside the usual ones.
    pub fn start(stage: &Stage, served: &Served, more: &[&str]) -> Self {
        let mut flags: Vec<String> = QUICK.iter().chain(more).map(|&flag| flag.to_owned()).collect();
        flags.push(format!("--cloud-config={}", served.cloud_config.display()));
        flags.push(format!("--kubeconfig={}", stage.plane.kubeconfig_path().display()));
        flags.push(format!("--namespace={}", stage.namespace));
        let log = stage.plane.folder().join(format!("autoscaler-{}.log", stage.name));
        let program = cluster_autoscaler().unwrap();
        Self(WindlassProcess::start(&program, &flags, &[], &log).unwrap())
    }

    /// Panics with its last words if it has ended by itself.
    pub fn must_run(&mut self) {
        if let Some(status) = self.0.exited().unwrap() {
            panic!("Cluster Autoscaler ended with {status}: {}", self.0.log_tail(20));
        }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.0.log_path()).unwrap()
    }
}
