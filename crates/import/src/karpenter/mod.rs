//! Karpenter's kinds.

mod budgets;
mod claim;
mod disruption;
mod keys;
mod labels;
mod pool;
mod requirements;
mod taints;

pub(crate) use claim::claim;
pub(crate) use pool::pool;
