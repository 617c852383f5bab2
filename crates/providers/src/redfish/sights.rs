//! What was last seen of each host.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;
use windlass_core::Text;
use windlass_core::model::Resources;

use super::bmc::{Failure, Power, System};

/// What was last seen of each host. It is worth as much as it is fresh: before anything is done, its BMC is asked again.
#[derive(Debug, Default)]
pub(super) struct Sights(Mutex<BTreeMap<Text, Sight>>);

/// What was last seen of a host.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub power: Result<Power, Failure>,
    /// The cpu and memory that its BMC has ever named.
    pub size: Resources,
    pub version: Option<Text>,
    /// Since when each look has found it off.
    pub off_since: Option<Instant>,
}

impl Sights {
    pub fn of(&self, host: &str) -> Option<Sight> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(host).cloned()
    }

    /// Takes in what a BMC has just answered.
    pub fn saw(&self, host: &Text, looked: &Result<System, Failure>) {
        let mut sights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sights.get(host);
        let mut sight = Sight {
            power: looked.as_ref().map(|system| system.power).map_err(Clone::clone),
            size: before.map(|before| before.size.clone()).unwrap_or_default(),
            version: before.and_then(|before| before.version.clone()),
            off_since: before.and_then(|before| before.off_since),
        };
        if let Ok(system) = looked {
            if !system.size.is_empty() {
                sight.size.clone_from(&system.size);
            }
            sight.version.clone_from(&system.version);
            sight.off_since =
                (system.power == Power::Off).then(|| sight.off_since.unwrap_or_else(Instant::now));
        }
        sights.insert(host.clone(), sight);
    }
}
