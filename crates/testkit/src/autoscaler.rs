//! A stock Cluster Autoscaler, which is not ours to build.

use std::env;
use std::path::PathBuf;

use crate::error::PlaneUnavailable;

/// Names the program. It has to know the provider `externalgrpc`.
const VARIABLE: &str = "WINDLASS_CLUSTER_AUTOSCALER";

/// The Cluster Autoscaler to test with.
pub fn cluster_autoscaler() -> Result<PathBuf, PlaneUnavailable> {
    let path = env::var_os(VARIABLE).map(PathBuf::from);
    path.ok_or(PlaneUnavailable::NoClusterAutoscaler { variable: VARIABLE })
}
