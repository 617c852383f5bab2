use std::collections::BTreeMap;

use super::Requirements;
use crate::Text;

/// A claim on a volume, by a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeClaim {
    /// The volume that it is bound to, or on its way to be.
    pub volume: Option<Text>,
    /// The storage class that makes a volume for it where there is none.
    pub class: Option<Text>,
    /// Whether it is being deleted: no pod can use it any more.
    pub deleting: bool,
}

/// A volume that exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Where it can be used: one of these must hold. Empty means anywhere.
    pub node_affinity: Vec<Requirements>,
    /// The CSI driver that attaches it, and its name there; a volume that is not attached has none.
    pub attached_by: Option<(Text, Text)>,
}

/// How volumes are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageClass {
    /// The driver.
    pub provisioner: Text,
    /// Whether a volume is made only once its first pod has a node. Otherwise a pod waits for its volume first.
    pub waits_for_consumer: bool,
    /// Where volumes can be made: one of these must hold. Empty means anywhere.
    pub allowed_topologies: Vec<Requirements>,
}

/// How many volumes each CSI driver can attach to a node, where it says.
pub type AttachLimits = BTreeMap<Text, u32>;
