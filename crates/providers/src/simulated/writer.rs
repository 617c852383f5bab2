//! Who writes: what the pretended infrastructure does to the cluster is not the controller's doing, and is told apart from
//! it in the managed fields of objects.

use kube::api::{PatchParams, PostParams};

const MANAGER: &str = "simulated-machine";

pub(super) fn posting() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}

pub(super) fn patching() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}
