//! Whose turn it is when there is not enough for all.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::model::{PodId, PodState, Pool};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{at, machine, pool};
use crate::workload::{HOST, Workload, ZONE, app, general, three_zones};

fn one_node() -> Cluster {
    Cluster::new([Pool { max_nodes: Some(1), ..pool("general", vec![machine("small", 2, 8, "0.10")]) }])
}

#[test]
fn the_higher_priority_gets_the_only_node() {
    for (low, high) in [(1500, 1000), (1000, 1500)] {
        let cluster =
            one_node().run(app("low").asking(low, 128)).run(app("high").asking(high, 128).priority(10));
        let outcome = cluster.outcome();
        assert_eq!((outcome.placed("high"), outcome.pending("low")), (1, 1));
    }
}

#[test]
fn the_higher_priority_gets_the_room_on_a_node_that_is_there() {
    let cluster = three_zones().node_in("old", "a", 1, 4);
    let outcome =
        cluster.run(app("low").asking(900, 128)).run(app("high").asking(800, 128).priority(10)).outcome();
    assert_eq!((outcome.nodes("high"), outcome.launched()), (vec!["old".to_owned()], 1));
}

#[test]
fn what_the_higher_priority_leaves_goes_to_the_lower() {
    let cluster =
        one_node().run(app("low").pods(5).asking(500, 128)).run(app("high").asking(1000, 128).priority(10));
    let outcome = cluster.outcome();
    assert_eq!((outcome.placed("high"), outcome.placed("low")), (1, 2));
}

#[test]
fn where_there_is_enough_priorities_make_no_difference() {
    let cluster = three_zones().run(app("low").pods(4)).run(app("high").pods(4).priority(10));
    assert_eq!(cluster.outcome().launched(), 1);
}

#[test]
fn pods_below_the_cut_off_get_no_machine() {
    let mut cluster = three_zones().run(app("spare").priority(-10)).run(app("web"));
    cluster.0.settings.min_priority = -5;
    let outcome = cluster.outcome();
    assert_eq!((outcome.placed("web"), outcome.pending("spare")), (1, 1));
    assert_eq!(outcome.why(), "priority -10 is below -5, the lowest for which machines are got");
}

#[test]
fn pods_that_a_new_node_did_not_help_get_the_next_one_when_it_is_time() {
    let mut cluster = three_zones().run(app("stuck")).run(app("web"));
    let (stuck, until) = (PodId::new("default", "stuck-1"), at(NOW + 60));
    cluster.0.held = Arc::new(BTreeMap::from([(stuck, until)]));
    let outcome = cluster.outcome();
    assert_eq!((outcome.placed("web"), outcome.pending("stuck")), (1, 1));
    let mut alone = three_zones().run(app("stuck"));
    alone.0.held = cluster.0.held.clone();
    let (plan, report) = alone.plan();
    assert_eq!((plan.launches.len(), plan.wake_at), (0, Some(until)));
    let why = report.unplaced.first().unwrap().summary();
    assert!(
        why.starts_with("the node that was launched for this pod does not take it; the next is tried at")
    );
    let (plan, _) = windlass_core::plan(&alone.0, until);
    assert_eq!(plan.launches.len(), 1);
}

#[test]
fn pods_below_the_cut_off_use_room_that_is_there() {
    let mut cluster = three_zones().node_in("old", "a", 4, 16).run(app("spare").pods(2).priority(-10));
    cluster.0.settings.min_priority = -5;
    assert_eq!(cluster.outcome().nodes("spare"), ["old"]);
}

#[test]
fn pods_below_the_cut_off_take_no_room_from_others() {
    let mut cluster = three_zones().node_in("old", "a", 1, 4);
    cluster = cluster.run(app("spare").asking(900, 128).priority(-10)).run(app("web").asking(300, 128));
    cluster.0.settings.min_priority = -5;
    let outcome = cluster.outcome();
    assert_eq!(
        (outcome.nodes("web"), outcome.pending("spare"), outcome.launched()),
        (vec!["old".to_owned()], 1, 0)
    );
}

#[test]
fn the_cut_off_itself_is_high_enough() {
    let mut cluster = three_zones().run(app("web").priority(-5));
    cluster.0.settings.min_priority = -5;
    assert_eq!(cluster.outcome().placed("web"), 1);
}

#[test]
fn a_pod_that_pushes_others_out_takes_their_room() {
    let cluster =
        three_zones().node_in("old", "a", 2, 8).run(app("victim").asking(1500, 128).on("old").deleting());
    let preemptor = app("urgent").asking(1500, 128).priority(100).nominated_to("old");
    assert_eq!(cluster.run(preemptor).plan().0.launches.len(), 0);
}

#[test]
fn a_pod_is_not_expected_where_nobody_makes_room_for_it() {
    let cluster = three_zones().node_in("old", "a", 2, 8).run(app("other").asking(1500, 128).on("old"));
    let hopeful = app("urgent").asking(1500, 128).priority(100).nominated_to("old");
    assert_eq!(cluster.run(hopeful).outcome().launched(), 1);
}

#[test]
fn pods_that_leave_make_no_room_for_pods_of_their_own_priority() {
    let cluster =
        three_zones().node_in("old", "a", 2, 8).run(app("equal").asking(1500, 128).on("old").deleting());
    assert_eq!(cluster.run(app("web").asking(1500, 128).nominated_to("old")).outcome().launched(), 1);
}

#[test]
fn a_pod_goes_to_the_node_that_it_is_expected_on() {
    let cluster = three_zones().node_in("n1", "a", 4, 16).node_in("n2", "a", 4, 16);
    assert_eq!(cluster.run(app("web").nominated_to("n2")).outcome().nodes("web"), ["n2"]);
}

#[test]
fn a_pod_that_may_not_be_on_the_node_that_it_is_expected_on_goes_elsewhere() {
    let cluster = three_zones().node_in("n1", "a", 4, 16).node_in("n2", "b", 4, 16);
    assert_eq!(
        cluster.run(app("web").selecting(ZONE, "a").nominated_to("n2")).outcome().nodes("web"),
        ["n1"]
    );
}

#[test]
fn the_age_of_pods_does_not_matter_to_what_is_got() {
    let old = app("old").in_state(PodState::Unschedulable { since: at(0) });
    let young = app("young").in_state(PodState::Unschedulable { since: at(NOW - 1) });
    assert_eq!(three_zones().run(old).run(young).outcome().launched(), 1);
}

#[test]
fn the_higher_priority_gets_the_zone_that_both_want_for_themselves() {
    let only_a = Pool {
        requirements: crate::shapes::term(ZONE, windlass_core::model::Operator::In, &["a"]),
        ..general()
    };
    let loner = |name: &str, priority| Workload {
        name: name.to_owned(),
        ..app("loner").away(ZONE, "loner").priority(priority)
    };
    let outcome = Cluster::new([only_a]).run(loner("low", 0)).run(loner("high", 9)).outcome();
    assert_eq!((outcome.placed("high"), outcome.pending("low")), (1, 1));
}

#[test]
fn followers_of_lower_priority_still_share_the_node() {
    let cluster = three_zones().run(app("db").priority(9)).run(app("web").pods(2).with(HOST, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (1, 2));
}

#[test]
fn those_that_are_followed_may_have_the_lower_priority() {
    let cluster = three_zones().run(app("db")).run(app("web").pods(2).priority(9).with(HOST, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (1, 2));
}
