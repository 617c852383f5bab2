//! Spreading pods over zones and other labels that several nodes have in common.

use windlass_core::model::{
    Labels, Operator, Pool, Requirements, Selector, SpreadConstraint, Taint, well_known,
};

use crate::cluster::Cluster;
use crate::shapes::{machine, offering, pool, taint, term};
use crate::workload::{Workload, ZONE, app, general, spread, three_zones, told, zonal};

fn zones(cluster: Cluster) -> Vec<(String, usize)> {
    cluster.outcome().zones("web")
}

fn web(count: usize) -> Workload {
    app("web").pods(count).spread(ZONE, 1)
}

/// Nodes without room, one in each zone.
fn full_nodes(zones: &[&str]) -> Cluster {
    zones.iter().fold(three_zones(), |cluster, zone| cluster.node_in(&format!("full-{zone}"), zone, 0, 0))
}

#[test]
fn pods_are_balanced_over_the_zones_on_offer() {
    for (count, expected) in [(3, vec![1, 1, 1]), (6, vec![2, 2, 2]), (9, vec![3, 3, 3])] {
        let counts: Vec<usize> =
            zones(three_zones().run(web(count))).into_iter().map(|(_, count)| count).collect();
        assert_eq!(counts, expected);
    }
}

#[test]
fn what_does_not_divide_evenly_stays_within_the_skew() {
    let outcome = three_zones().run(web(7)).outcome();
    let counts: Vec<usize> = outcome.zones("web").into_iter().map(|(_, count)| count).collect();
    assert_eq!((counts.len(), counts.iter().sum::<usize>()), (3, 7));
    assert!(counts.iter().all(|count| (2..=3).contains(count)));
}

#[test]
fn pods_may_be_meant_by_expressions() {
    let selector = Selector::Matching(term("app", Operator::In, &["web", "other"]));
    let constraint = SpreadConstraint { selector, ..spread(ZONE, 1, "web") };
    assert_eq!(zones(three_zones().run(app("web").pods(3).spread_as(constraint))).len(), 3);
}

#[test]
fn a_selector_that_was_left_out_counts_nobody() {
    let constraint = SpreadConstraint { selector: Selector::Nothing, ..spread(ZONE, 1, "web") };
    let outcome = three_zones().run(app("web").pods(6).spread_as(constraint)).outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (1, 6));
}

#[test]
fn a_selector_without_demands_counts_all_pods_of_the_namespace() {
    let everybody =
        SpreadConstraint { selector: Selector::Matching(Requirements::new()), ..spread(ZONE, 1, "web") };
    let cluster = full_nodes(&["a", "b", "c"])
        .run(app("other").pods(2).asking(0, 0).asking_for("pods", 0).on("full-a"));
    let outcome = cluster.run(app("web").pods(2).spread_as(everybody)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("b", 1), ("c", 1)]));
}

#[test]
fn a_label_that_no_node_has_keeps_the_pods_pending() {
    assert_eq!(three_zones().run(app("web").spread("example.com/rack", 1)).outcome().pending("web"), 1);
}

#[test]
fn only_the_zones_of_the_pool_count() {
    let pool = Pool { requirements: term(ZONE, Operator::In, &["a", "b"]), ..general() };
    assert_eq!(zones(Cluster::new([pool]).run(web(4))), told(&[("a", 2), ("b", 2)]));
}

#[test]
fn zones_of_all_pools_count() {
    let one = pool("one", vec![zonal("x", 4, 16, "0.20", &["a"])]);
    let two = pool("two", vec![zonal("y", 4, 16, "0.20", &["b", "c"])]);
    assert_eq!(zones(Cluster::new([one, two]).run(web(6))), told(&[("a", 2), ("b", 2), ("c", 2)]));
}

#[test]
fn a_zone_with_a_node_counts_even_if_no_machine_can_be_had_there() {
    let only_a = Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10")])]);
    let outcome = only_a.node_in("full-b", "b", 0, 0).run(web(3)).outcome();
    assert_eq!((outcome.zones("web"), outcome.pending("web")), (told(&[("a", 1)]), 2));
}

#[test]
fn a_zone_without_nodes_where_nothing_can_be_had_does_not_count() {
    let mut scarce = zonal("small", 2, 8, "0.10", &["a", "b"]);
    scarce.offerings[1].available = Some(0);
    let outcome = Cluster::new([pool("general", vec![scarce])]).run(web(3)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 3)]));
}

#[test]
fn pods_that_run_already_count() {
    let cluster = full_nodes(&["a", "b", "c"]).run(app("web").pods(0));
    let running = app("web").asking(0, 0).asking_for("pods", 0);
    let cluster = cluster.run(Workload { name: "old".to_owned(), ..running.pods(2).on("full-a") });
    assert_eq!(zones(cluster.run(web(4))), told(&[("b", 2), ("c", 2)]));
}

#[test]
fn pods_of_other_namespaces_other_labels_or_on_their_way_out_do_not_count() {
    let base = |name: &str| {
        let running = app("web").pods(2).asking(0, 0).asking_for("pods", 0).on("full-a");
        Workload { name: name.to_owned(), ..running }
    };
    let elsewhere = base("elsewhere").in_namespace("elsewhere");
    let other = base("other").labelled("app", "other");
    let leaving = base("leaving").deleting();
    let cluster = full_nodes(&["a", "b", "c"]).run(elsewhere).run(other).run(leaving);
    assert_eq!(zones(cluster.run(web(3))), told(&[("a", 1), ("b", 1), ("c", 1)]));
}

#[test]
fn pods_go_only_to_the_zones_with_fewest_when_the_skew_is_too_large_already() {
    let running = app("web").pods(5).asking(0, 0).asking_for("pods", 0).on("full-a");
    let cluster = full_nodes(&["a", "b", "c"]).run(Workload { name: "old".to_owned(), ..running });
    assert_eq!(zones(cluster.run(web(4))), told(&[("b", 2), ("c", 2)]));
}

#[test]
fn a_larger_skew_allows_more_in_one_zone() {
    let only_a =
        Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10")])]).node_in("full-b", "b", 0, 0);
    let outcome = only_a.run(app("web").pods(5).spread(ZONE, 3)).outcome();
    assert_eq!((outcome.placed("web"), outcome.pending("web")), (3, 2));
}

#[test]
fn a_node_with_room_is_used_before_one_is_got() {
    let cluster = full_nodes(&["b"]).node_in("old", "a", 4, 16);
    let outcome = cluster.run(web(3)).outcome();
    assert_eq!(outcome.pending("web"), 0);
    assert!(outcome.nodes("web").contains(&"old".to_owned()));
    let by_zone = outcome.zones("web");
    let in_a = by_zone.iter().find(|(zone, _)| zone == "a").map(|(_, count)| *count).unwrap();
    assert_eq!(
        outcome.by(crate::workload::HOST, "web").iter().find(|(node, _)| node == "old").unwrap().1,
        in_a
    );
}

#[test]
fn pods_spread_over_nodes_that_are_there() {
    let cluster = Cluster::default().node_in("n1", "a", 4, 16).node_in("n2", "b", 4, 16);
    let outcome = cluster.run(web(4)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2)]));
}

#[test]
fn a_single_zone_with_nodes_takes_all_that_fit() {
    let cluster = three_zones().node_in("old", "a", 4, 16);
    let outcome = cluster.run(web(4)).outcome();
    assert_eq!((outcome.launched(), outcome.zones("web")), (0, told(&[("a", 4)])));
}

#[test]
fn too_few_zones_count_as_one_that_is_empty() {
    let two = |least| {
        let pool = pool("general", vec![zonal("small", 2, 8, "0.10", &["a", "b"])]);
        let constraint = SpreadConstraint { min_domains: Some(least), ..spread(ZONE, 1, "web") };
        let outcome = Cluster::new([pool]).run(app("web").pods(6).spread_as(constraint)).outcome();
        (outcome.placed("web"), outcome.pending("web"))
    };
    assert_eq!(two(3), (2, 4));
    assert_eq!(two(2), (6, 0));
    assert_eq!(two(1), (6, 0));
}

#[test]
fn more_zones_than_asked_for_are_fine() {
    let constraint = SpreadConstraint { min_domains: Some(2), ..spread(ZONE, 1, "web") };
    assert_eq!(
        zones(three_zones().run(app("web").pods(6).spread_as(constraint))),
        told(&[("a", 2), ("b", 2), ("c", 2)])
    );
}

#[test]
fn a_node_selector_limits_the_zones_that_count() {
    let outcome = full_nodes(&["b", "c"]).run(web(3).selecting(ZONE, "a")).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 3)]));
}

#[test]
fn required_node_affinity_limits_the_zones_that_count() {
    let outcome = full_nodes(&["c"]).run(web(4).requiring(ZONE, Operator::In, &["a", "b"])).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2)]));
}

#[test]
fn preferred_node_affinity_does_not_limit_the_zones_that_count() {
    let outcome = full_nodes(&["a", "b", "c"]).run(web(3).preferring(100, ZONE, &["a"])).outcome();
    assert_eq!((outcome.placed("web"), outcome.zones("web").len()), (3, 3));
}

#[test]
fn zones_that_a_pod_may_not_enter_count_where_affinity_is_ignored() {
    let constraint = SpreadConstraint { honors_node_affinity: false, ..spread(ZONE, 1, "web") };
    let pods = app("web").pods(3).spread_as(constraint).selecting(ZONE, "a");
    let outcome = full_nodes(&["b"]).run(pods.clone()).outcome();
    assert_eq!((outcome.placed("web"), outcome.pending("web")), (1, 2));
    assert_eq!(three_zones().run(pods).outcome().placed("web"), 3);
}

#[test]
fn tainted_nodes_count_unless_taints_are_honoured() {
    let placed = |honors_taints| {
        let mut full = crate::shapes::node("full-b", crate::shapes::size(0, 0));
        full.labels.set(ZONE, "b");
        full.taints.push(taint("closed"));
        let cluster = Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10")])]).node(full);
        let constraint = SpreadConstraint { honors_taints, ..spread(ZONE, 1, "web") };
        cluster.run(app("web").pods(3).spread_as(constraint)).outcome().placed("web")
    };
    assert_eq!((placed(false), placed(true)), (1, 3));
}

#[test]
fn a_pool_whose_taint_is_not_tolerated_is_no_place_to_spread_to() {
    for honors_taints in [false, true] {
        let taints: Vec<Taint> = vec![taint("closed")];
        let closed = Pool { taints, ..pool("closed", vec![zonal("x", 4, 16, "0.10", &["c"])]) };
        let open = pool("open", vec![zonal("y", 4, 16, "0.10", &["a", "b"])]);
        let constraint = SpreadConstraint { honors_taints, ..spread(ZONE, 1, "web") };
        let outcome = Cluster::new([closed, open]).run(app("web").pods(4).spread_as(constraint)).outcome();
        assert_eq!(outcome.zones("web"), told(&[("a", 2), ("b", 2)]));
    }
}

#[test]
fn pods_spread_over_capacity_types() {
    let mut both = machine("both", 2, 8, "0.20");
    both.offerings = vec![offering("a", "0.20"), offering("a", "0.05")];
    both.offerings[1].capacity_type = "spot".into();
    let cluster = Cluster::new([pool("general", vec![both])]);
    let outcome = cluster.run(app("web").pods(4).spread(well_known::CAPACITY_TYPE, 1)).outcome();
    assert_eq!(outcome.by(well_known::CAPACITY_TYPE, "web"), told(&[("on-demand", 2), ("spot", 2)]));
}

#[test]
fn pods_spread_over_architectures() {
    let mut arm = machine("arm", 2, 8, "0.05");
    arm.labels.set(well_known::ARCH, "arm64");
    let cluster = Cluster::new([pool("general", vec![machine("amd", 2, 8, "0.10"), arm])]);
    let outcome = cluster.run(app("web").pods(4).spread(well_known::ARCH, 1)).outcome();
    assert_eq!(outcome.by(well_known::ARCH, "web"), told(&[("amd64", 2), ("arm64", 2)]));
}

#[test]
fn pods_spread_over_a_label_that_pools_define() {
    let labelled = |name: &str, value: &str| {
        let mut pool = pool(name, vec![machine(name, 2, 8, "0.10")]);
        pool.labels.set("example.com/row", value);
        pool
    };
    let cluster = Cluster::new([labelled("one", "left"), labelled("two", "right")]);
    let outcome = cluster.run(app("web").pods(4).spread("example.com/row", 1)).outcome();
    assert_eq!(outcome.by("example.com/row", "web"), told(&[("left", 2), ("right", 2)]));
}

#[test]
fn pods_spread_over_the_values_that_a_pool_lists_for_its_own_label() {
    let pool = Pool { requirements: term("example.com/row", Operator::In, &["left", "right"]), ..general() };
    let outcome = Cluster::new([pool]).run(app("web").pods(4).spread("example.com/row", 1)).outcome();
    assert_eq!(outcome.by("example.com/row", "web"), told(&[("left", 2), ("right", 2)]));
}

#[test]
fn a_workload_that_does_not_count_itself_follows_the_balance_of_others() {
    let running = app("web").pods(2).asking(0, 0).asking_for("pods", 0).on("full-a");
    let cluster = full_nodes(&["a", "b", "c"]).run(running);
    let outcome = cluster.run(app("side").pods(5).spread_as(spread(ZONE, 1, "web"))).outcome();
    assert_eq!(outcome.placed("side"), 5);
    assert!(outcome.zones("side").iter().all(|(zone, _)| zone != "a"));
}

#[test]
fn two_workloads_are_each_balanced_on_their_own() {
    let outcome = three_zones().run(web(3)).run(app("api").pods(3).spread(ZONE, 1)).outcome();
    assert_eq!((outcome.zones("web").len(), outcome.zones("api").len()), (3, 3));
    assert_eq!(outcome.launched(), 3);
}

#[test]
fn two_workloads_that_count_each_other_are_balanced_together() {
    let both = Selector::Matching(term("app", Operator::In, &["web", "api"]));
    let constraint = SpreadConstraint { selector: both, ..spread(ZONE, 1, "web") };
    let cluster = three_zones().run(app("web").pods(2).spread_as(constraint.clone()));
    let outcome = cluster.run(app("api").pods(4).spread_as(constraint)).outcome();
    let mut sums = std::collections::BTreeMap::new();
    for (zone, count) in outcome.zones("web").into_iter().chain(outcome.zones("api")) {
        *sums.entry(zone).or_insert(0) += count;
    }
    assert_eq!(sums.into_values().collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn revisions_told_apart_by_a_label_are_balanced_on_their_own() {
    let revision = |hash: &str| {
        let selector = Labels::new().with("app", "web").with("pod-template-hash", hash);
        let selector = Selector::Matching(Requirements::from_labels(&selector));
        let constraint = SpreadConstraint { selector, ..spread(ZONE, 1, "web") };
        let pods = app("web").pods(3).labelled("pod-template-hash", hash).spread_as(constraint);
        Workload { name: format!("web{hash}"), ..pods }
    };
    let outcome = three_zones().run(revision("1")).run(revision("2")).outcome();
    assert_eq!((outcome.zones("web1").len(), outcome.zones("web2").len()), (3, 3));
}

#[test]
fn among_equally_empty_zones_the_cheapest_is_taken() {
    let mut dear = zonal("small", 2, 8, "0.10", &["a", "b", "c"]);
    dear.offerings[0].price = "0.50".parse().unwrap();
    dear.offerings[1].price = "0.30".parse().unwrap();
    let outcome = Cluster::new([pool("general", vec![dear])]).run(web(1)).outcome();
    assert_eq!(outcome.zones("web"), told(&[("c", 1)]));
}

#[test]
fn a_node_without_the_label_is_no_place_for_pods_that_are_spread() {
    let cluster = Cluster::default().node_with("bare", 4, 16, &[]);
    assert_eq!(cluster.run(web(1)).outcome().pending("web"), 1);
}

#[test]
fn machines_on_their_way_count_as_zones() {
    let cluster = three_zones().run(web(3));
    let (plan, _) = cluster.plan();
    let later = cluster.after(&plan).run(Workload { name: "more".to_owned(), ..web(3) });
    let outcome = later.outcome();
    assert_eq!(outcome.zones("more"), told(&[("a", 1), ("b", 1), ("c", 1)]));
    assert_eq!(outcome.launched(), 0);
}

#[test]
fn a_node_that_has_just_joined_counts_where_its_claim_says_it_is() {
    let cluster = three_zones().run(web(3));
    let (plan, _) = cluster.plan();
    let joined = cluster.after(&plan).machines_launched(0).nodes_joined();
    let outcome = joined.run(Workload { name: "more".to_owned(), ..web(3) }).outcome();
    assert_eq!((outcome.launched(), outcome.zones("more").len()), (0, 3));
}

#[test]
fn a_machine_that_may_come_to_be_in_any_zone_is_no_place_for_pods_that_are_spread() {
    let cluster = three_zones().run(app("job"));
    let (plan, _) = cluster.plan();
    assert!(plan.launches[0].offerings.len() > 1);
    let outcome = cluster.after(&plan).run(web(1)).outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (1, 1));
}

#[test]
fn pods_that_others_are_spread_among_are_spread_too() {
    let looks_on = app("watcher").pods(6).spread_as(spread(ZONE, 1, "web"));
    let outcome = three_zones().run(app("web").pods(9)).run(looks_on).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 3), ("b", 3), ("c", 3)]));
    assert_eq!(outcome.pending("watcher"), 0);
}
