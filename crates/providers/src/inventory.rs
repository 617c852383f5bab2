use windlass_core::Text;
use windlass_core::model::Resources;

/// What a provider has, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The version of what is spoken to.
    pub version: Option<Text>,
    /// The hosts that machines run on or that become machines.
    pub hosts: Vec<Host>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: Text,
    /// How it is, in one word such as `Online`, `Free`, `InUse`, `Unreachable`.
    pub state: Text,
    /// What can still be had of it.
    pub free: Resources,
    /// What else there is to know, in a sentence.
    pub message: Option<Text>,
}
