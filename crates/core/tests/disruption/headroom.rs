//! Free capacity that is kept ready.

use std::sync::Arc;

use windlass_core::model::{Consolidation, Pod, PodId, PodShape, PodState, Pool, Utilization};
use windlass_core::plan::LaunchPurpose;

use crate::cluster::Cluster;
use crate::nodes::{NOTHING, half_empty_in, large, small, web};
use crate::shapes::{asks, at, pool};

fn sparing(nodes: u32) -> Pool {
    Pool { spare_nodes: nodes, ..pool("general", vec![small(), large()]) }
}

fn used(floor: Option<u32>, ceiling: Option<u32>) -> Pool {
    let utilization = vec![Utilization { resource: "cpu".into(), floor, ceiling }];
    Pool { utilization, ..pool("general", vec![small(), large()]) }
}

impl Cluster {
    /// Room is to be kept for so many pods that nobody has made.
    pub fn reserving(mut self, name: &str, count: usize, shape: PodShape) -> Self {
        let id = PodId::new("buffers", name);
        let pod = Pod {
            id: id.clone(),
            uid: "".into(),
            shape: Arc::new(shape),
            labels: Arc::default(),
            volume_claims: Arc::default(),
            nominated: None,
            state: PodState::Waiting { since: at(0) },
            deleting: false,
            stays_until: None,
            may_go: false,
            bound_at: None,
        };
        Arc::make_mut(&mut self.0.reserves).extend(std::iter::repeat_n(Arc::new(pod), count));
        self
    }
}

#[test]
fn a_pool_keeps_so_many_nodes_empty_beside_those_that_are_used() {
    let cluster = half_empty_in(sparing(2), "a", 500);
    let (plan, _) = cluster.plan();
    assert_eq!(plan.launches.len(), 2);
    assert!(plan.launches.iter().all(|launch| launch.purpose == LaunchPurpose::Headroom));
    assert_eq!(plan.launches[0].message, "the pool keeps 2 nodes empty");
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn empty_nodes_are_kept_as_far_as_the_pool_wants_them_ready() {
    let cluster = Cluster::new([sparing(1)]).small("a").small("b");
    assert_eq!(cluster.emptied(), ["a"]);
    assert_eq!(cluster.why("b"), "kept ready: its pool keeps 1 nodes empty");
}

#[test]
fn when_pods_take_the_spare_node_another_is_launched() {
    let cluster = Cluster::new([sparing(1)]).small("a").pending("new", 1, asks(1500, 128));
    let (plan, _) = cluster.plan();
    assert_eq!((plan.launches.len(), plan.placements.len()), (1, 1));
    assert!(plan.launches[0].pods.is_empty());
}

#[test]
fn spare_nodes_stay_within_limits() {
    let cluster = Cluster::new([Pool { max_nodes: Some(1), ..sparing(3) }]);
    let (plan, report) = cluster.plan();
    assert_eq!((plan.launches.len(), report.short_pools.len()), (1, 1));
}

#[test]
fn pods_are_not_moved_onto_spare_nodes_to_save_money() {
    let thrifty = Pool { consolidation: Consolidation::Underutilized, ..sparing(1) };
    assert_eq!(half_empty_in(thrifty, "a", 500).small("b").consolidated(), NOTHING);
}

#[test]
fn nodes_are_added_while_more_is_asked_for_than_is_to_be() {
    let cluster = half_empty_in(used(None, Some(50)), "ab", 1500);
    let (plan, _) = cluster.plan();
    assert_eq!(plan.launches.len(), 1, "three of four cores are asked for; of six that is half");
    assert_eq!(plan.launches[0].message, "more of the pool's nodes is asked for than is to be");
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn pods_that_wait_count_as_asking() {
    let cluster = Cluster::new([used(None, Some(50))]).pending("new", 1, asks(1500, 128));
    let (plan, _) = cluster.plan();
    assert_eq!(plan.launches.len(), 2);
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn an_empty_node_stays_where_the_others_would_be_too_full_without_it() {
    let cluster = half_empty_in(used(None, Some(60)), "a", 1500).small("b").small("c");
    assert_eq!(cluster.emptied(), ["b"]);
    assert_eq!(cluster.why("c"), "kept so that no more than 60% of the pool's cpu is asked for");
}

#[test]
fn nodes_are_given_back_while_less_is_asked_for_than_is_to_be() {
    let cluster = half_empty_in(used(Some(60), None), "abcd", 500);
    assert_eq!(cluster.consolidated(), ["a", "b", "c"], "a quarter is asked for, and one node holds all");
    assert_eq!(half_empty_in(used(Some(20), None), "abcd", 500).consolidated(), NOTHING);
}

#[test]
fn no_more_nodes_are_given_back_than_bring_the_pool_to_its_floor() {
    let cluster = half_empty_in(used(Some(40), None), "abcd", 500);
    assert_eq!(cluster.consolidated(), ["a", "b"]);
}

#[test]
fn a_floor_counts_for_nodes_that_cost_nothing() {
    let mut free = small();
    for offering in &mut free.offerings {
        offering.price = windlass_core::Price::ZERO;
    }
    let pool = Pool { instance_types: Arc::new(vec![free.clone()]), ..used(Some(60), None) };
    let cluster = ["a", "b"].into_iter().fold(Cluster::new([pool]), |cluster, name| {
        cluster.standing(name, "general", &free).run(web(name.chars().next().unwrap(), 500))
    });
    assert_eq!(cluster.consolidated().len(), 1);
}

#[test]
fn room_is_launched_for_pods_that_nobody_has_made() {
    let cluster = Cluster::new([sparing(0)]).reserving("burst", 2, asks(900, 128));
    let (plan, report) = cluster.plan();
    assert_eq!(plan.launches.len(), 1);
    assert_eq!((plan.launches[0].purpose, plan.launches[0].pods.len()), (LaunchPurpose::Headroom, 0));
    assert_eq!((report.reserves[0].wanted, report.reserves[0].ready, report.reserves[0].coming), (2, 0, 2));
    assert!(plan.placements.is_empty());
    assert!(cluster.after(&plan).plan().0.is_empty());
}

#[test]
fn room_that_is_there_is_kept() {
    let cluster = half_empty_in(sparing(0), "a", 500).small("b").reserving("burst", 2, asks(700, 128));
    let (plan, report) = cluster.plan();
    assert!(plan.launches.is_empty());
    assert_eq!(report.reserves[0].ready, 2);
    assert_eq!(cluster.emptied(), ["b"], "both fit beside the pod that is there");
    let three = half_empty_in(sparing(0), "a", 500).small("b").reserving("burst", 3, asks(700, 128));
    assert_eq!(three.emptied(), NOTHING);
}

#[test]
fn pods_that_somebody_has_made_come_before_those_that_nobody_has() {
    let cluster = Cluster::new([sparing(0)]).small("a").reserving("burst", 1, asks(1500, 128)).pending(
        "new",
        1,
        asks(1500, 128),
    );
    let (plan, _) = cluster.plan();
    assert_eq!(plan.placements.len(), 1);
    assert_eq!((plan.launches.len(), plan.launches[0].purpose), (1, LaunchPurpose::Headroom));
}

#[test]
fn reserves_that_find_no_place_are_told_apart_from_pods_that_wait() {
    let cluster =
        Cluster::new([Pool { max_nodes: Some(0), ..sparing(0) }]).reserving("burst", 1, asks(900, 128));
    let (_, report) = cluster.plan();
    assert!(report.unplaced.is_empty());
    assert_eq!((report.reserves[0].wanted, report.reserves[0].ready + report.reserves[0].coming), (1, 0));
}

#[test]
fn nodes_are_not_cleared_into_room_that_is_kept() {
    let thrifty = Pool { consolidation: Consolidation::Underutilized, max_nodes: Some(2), ..sparing(0) };
    let plain = half_empty_in(thrifty.clone(), "ab", 500);
    assert_eq!(plain.consolidated(), ["a"]);
    let kept = half_empty_in(thrifty, "ab", 500).reserving("burst", 2, asks(1200, 128));
    assert_eq!(kept.consolidated(), NOTHING);
}
