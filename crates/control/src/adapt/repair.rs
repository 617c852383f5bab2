use std::time::Duration;

use windlass_api::{LimitedDuration, Repair as ApiRepair};
use windlass_core::Text;

/// When nodes of a pool are taken for sick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// How long a node may be not ready, where the pool says so.
    pub after: Option<LimitedDuration>,
    /// Conditions that make a node sick although it is ready: type, status, and how long that has to last.
    pub conditions: Vec<(Text, Text, Duration)>,
}

impl Repair {
    /// For nodes that others look after.
    pub(super) fn never() -> Self {
        Self { after: Some(LimitedDuration::Never), conditions: Vec::new() }
    }
}

/// When nodes of a pool are taken for sick.
pub(super) fn repair(repair: &ApiRepair) -> Repair {
    let conditions = repair.conditions.iter().filter_map(|condition| {
        let after = condition.after.limit()?;
        Some((condition.kind.as_str().into(), condition.status.as_str().into(), after))
    });
    Repair { after: repair.after, conditions: conditions.collect() }
}
