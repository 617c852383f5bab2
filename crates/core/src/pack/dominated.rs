//! Machines that another one makes useless: it holds at least as much for no more money.

use super::model::Machine;
use super::problem::Pool;

/// Drops them. Only what there is no end of can stand for others, or within one pool what counts for no more against
/// the pool's limits. Machines come in the order of their prices, so that each has to be compared with those that
/// were kept.
pub(super) fn drop(
    machines: Vec<Machine>,
    pools: &[Pool],
    usable: impl Fn(usize, i64) -> i64,
) -> Vec<Machine> {
    let mut kept: Vec<Machine> = Vec::new();
    let holds = |better: &Machine, worse: &Machine| {
        let pairs = better.capacity.iter().zip(&worse.capacity).enumerate();
        pairs.into_iter().all(|(dim, (better, worse))| usable(dim, *better) >= usable(dim, *worse))
    };
    let stands_for = |better: &Machine, worse: &Machine| {
        better.admission == worse.admission
            && better.available == u64::MAX
            && (better.endless(pools)
                || better.pool == worse.pool
                    && better.counted.iter().zip(&worse.counted).all(|(better, worse)| better <= worse))
            && holds(better, worse)
    };
    for machine in machines {
        if !kept.iter().any(|better| stands_for(better, &machine)) {
            kept.push(machine);
        }
    }
    kept
}
