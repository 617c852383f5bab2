//! Between which sizes the groups of a pool may be.

/// What the bounds of a group depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// How many it has or will have.
    pub(super) target: u32,
    /// How many of these will not come.
    pub(super) failed: u32,
    /// How many more it may get as things are.
    pub(super) room: u32,
    /// What one costs, in millionths of a dollar per hour.
    pub(super) price: i64,
    /// Whether it was not to be had lately.
    pub(super) avoided: bool,
}

/// The least and the most of each group of a pool that is to have so many nodes at least.
///
/// The minimum is the pool's, and groups have one only as far as it takes: where the pool has more, each group may give back
/// what is too much of the pool; where it has less, each keeps what it has and the cheapest one that is to be had is to
/// get what is missing. Who raises each group to its minimum so raises the pool to its own, and not to a multiple of it. All
/// groups share what the pool may still get, so that the most of each is what it would be if it got all of that.
pub(super) fn bounds(least: u32, groups: &[Standing]) -> Vec<(u32, u32)> {
    let coming = |group: &Standing| group.target.saturating_sub(group.failed);
    let all = groups.iter().map(coming).fold(0, u32::saturating_add);
    let spare = all.saturating_sub(least);
    let mut bounds: Vec<(u32, u32)> = groups
        .iter()
        .map(|group| (coming(group).saturating_sub(spare), group.target.saturating_add(group.room)))
        .collect();
    let mut missing = least.saturating_sub(all);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|number| groups.get(*number).map(|group| (group.avoided, group.price, *number)));
    for number in order {
        if let (Some(group), Some((min, _))) = (groups.get(number), bounds.get_mut(number)) {
            let gets = missing.min(group.room);
            if gets > 0 {
                *min = group.target.saturating_add(gets);
            }
            missing -= gets;
        }
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::{Standing, bounds};

    fn of(target: u32, price: i64) -> Standing {
        Standing { target, failed: 0, room: 10, price, avoided: false }
    }

    fn least(minimum: u32, groups: &[Standing]) -> Vec<u32> {
        bounds(minimum, groups).into_iter().map(|(min, _)| min).collect()
    }

    #[test]
    fn a_pool_without_a_minimum_may_give_back_all() {
        assert_eq!(bounds(0, &[of(3, 1), of(0, 2)]), [(0, 13), (0, 10)]);
    }

    #[test]
    fn the_cheapest_group_makes_up_for_what_the_pool_lacks_and_no_other() {
        assert_eq!(least(3, &[of(0, 2), of(0, 1), of(0, 3)]), [0, 3, 0]);
        assert_eq!(least(3, &[of(1, 2), of(0, 1), of(1, 3)]), [1, 1, 1], "what is there stays");
        assert_eq!(least(3, &[of(1, 2), of(1, 1), of(1, 3)]), [1, 1, 1], "nothing is missing");
    }

    #[test]
    fn raising_each_group_to_its_minimum_raises_the_pool_to_its_own() {
        for (a, b, c) in [(0, 0, 0), (1, 0, 0), (2, 1, 0), (0, 5, 0), (1, 1, 1), (0, 2, 2)] {
            let groups = [of(a, 3), of(b, 2), of(c, 1)];
            let raised: u32 =
                least(4, &groups).iter().zip(&groups).map(|(min, group)| group.target.max(*min)).sum();
            assert_eq!(raised, (a + b + c).max(4), "{groups:?}");
        }
    }

    #[test]
    fn each_group_may_give_back_what_is_too_much_of_the_pool() {
        assert_eq!(least(3, &[of(3, 1), of(1, 2)]), [2, 0]);
        assert_eq!(least(3, &[of(5, 1), of(5, 2)]), [0, 0]);
    }

    #[test]
    fn what_cannot_be_had_is_made_up_for_by_the_next() {
        let sold_out = Standing { room: 0, ..of(0, 1) };
        let scarce = Standing { room: 1, ..of(0, 1) };
        let lately = Standing { avoided: true, ..of(0, 1) };
        assert_eq!(least(3, &[sold_out, of(0, 2)]), [0, 3]);
        assert_eq!(least(3, &[scarce, of(0, 2)]), [1, 2]);
        assert_eq!(least(3, &[lately, of(0, 2)]), [0, 3]);
        assert_eq!(least(3, &[sold_out]), [0]);
    }

    #[test]
    fn what_will_not_come_is_neither_kept_nor_counted() {
        let failed = Standing { failed: 1, ..of(1, 1) };
        assert_eq!(least(1, &[failed, of(0, 2)]), [2, 0]);
        let backed_off = Standing { avoided: true, ..failed };
        assert_eq!(least(1, &[backed_off, of(0, 2)]), [0, 1]);
    }
}
