//! The program that is the control plane: `tools/controlplane`.

use std::path::PathBuf;

use crate::error::PlaneUnavailable;
use crate::goprogram::GoProgram;
use crate::programs::Component;

const CONTROL_PLANE: GoProgram = GoProgram {
    name: "controlplane",
    title: "the test control plane",
    module: concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/controlplane"),
    package: ".",
    tags: &[],
    version_of: "k8s.io/kubernetes",
    linker_flags: stamped,
    instead: || format!("point KUBEBUILDER_ASSETS at a folder with {}", Component::names().join(", ")),
};

/// The control plane's binary, built when it is not in the cache yet. This blocks the thread.
pub fn controlplane_binary() -> Result<PathBuf, PlaneUnavailable> {
    CONTROL_PLANE.binary()
}

/// Kubernetes components take their version from the linker; left out, `kubectl version` fails.
fn stamped(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let values =
        [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor), ("gitTreeState", "clean")];
    let mut flags = vec!["-s -w".to_owned()];
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        flags.extend(values.map(|(name, value)| format!("-X {package}.{name}={value}")));
    }
    flags.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_is_stamped_with_the_version() {
        let flags = stamped("v1.36.4");
        assert!(flags.contains("component-base/version.gitVersion=v1.36.4"), "{flags}");
        assert!(flags.contains("client-go/pkg/version.gitMinor=36"), "{flags}");
    }
}
