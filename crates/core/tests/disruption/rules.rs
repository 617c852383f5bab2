//! What pods ask of where they run holds where they move.

use std::sync::Arc;

use windlass_core::model::{Effect, Operator, Requirements, StorageClass, Taint, Volume};

use crate::cluster::{Cluster, NOW};
use crate::nodes::{NOTHING, frugal, half_empty, half_empty_in, stays, thrifty, web};
use crate::shapes::{node, size, term};
use crate::workload::{HOST, Workload, ZONE, app, spread};

/// Two nodes in a zone each, on which nothing may be launched.
fn two_zones() -> Cluster {
    Cluster::new([frugal()]).small_in("a", "a").small_in("b", "b")
}

/// A pod of the workload `web`, on the node of that letter.
fn web_on(number: usize, letter: char) -> Workload {
    let mut pod = app("web").asking(300, 128).on(&format!("node-of-{letter}"));
    pod.name = format!("web-{number}");
    pod
}

#[test]
fn pods_spread_over_zones_are_not_moved_into_one() {
    let spread = |cluster: Cluster, skew| {
        let demand = || spread(ZONE, skew, "web");
        cluster.run(web_on(1, 'a').spread_as(demand())).run(web_on(2, 'b').spread_as(demand()))
    };
    assert_eq!(spread(two_zones().node_in("idle-a", "a", 1, 4), 1).consolidated(), ["a"], "within its zone");
    assert_eq!(spread(two_zones(), 1).consolidated(), NOTHING, "zone a would be left without");
    assert_eq!(spread(two_zones(), 2).consolidated(), ["a"]);
}

#[test]
fn a_node_is_replaced_in_the_zone_where_its_pods_have_to_be() {
    let cluster = Cluster::new([thrifty()]).small_in("a", "a").small_in("b", "b");
    let dear = crate::workload::zonal("large", 8, 32, "0.40", &["c"]);
    let cluster = cluster.standing("c", "general", &dear);
    let cluster = "abc".chars().zip(1..).fold(cluster, |cluster, (letter, number)| {
        cluster.run(web_on(number, letter).asking(1500, 128).spread_as(spread(ZONE, 1, "web")))
    });
    assert_eq!(
        (cluster.consolidated(), cluster.machines()),
        (vec!["c".to_owned()], vec!["small".to_owned()])
    );
    let zones: Vec<String> =
        cluster.plan().0.launches[0].offerings.iter().map(|way| way.key.zone.to_string()).collect();
    assert!(zones.iter().all(|zone| zone == "c"), "{zones:?}");
}

#[test]
fn pods_that_would_rather_be_spread_move_all_the_same() {
    let wish = |pod: Workload| {
        let mut demand = spread(ZONE, 1, "web");
        demand.required = false;
        pod.spread_as(demand)
    };
    let cluster = two_zones().run(wish(web_on(1, 'a'))).run(wish(web_on(2, 'b')));
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn pods_that_must_not_share_a_node_do_not_come_to_share_one() {
    let away = |pod: Workload| pod.away(HOST, "web");
    let cluster = two_zones().run(away(web_on(1, 'a'))).run(away(web_on(2, 'b')));
    assert_eq!(cluster.consolidated(), NOTHING);
    assert_eq!(cluster.node_in("idle", "c", 1, 4).consolidated(), ["a"], "one of them finds another node");
}

#[test]
fn pods_that_keep_others_away_from_their_zone_keep_them_away_when_they_move() {
    let shy = app("shy").asking(300, 128).away(ZONE, "web").on("node-of-b");
    let cluster = two_zones().run(web_on(1, 'a')).run(shy);
    assert_eq!(cluster.consolidated(), NOTHING, "neither moves to the other");
}

#[test]
fn a_preference_to_be_apart_does_not_keep_a_node() {
    for respected in [true, false] {
        let apart = |pod: Workload| pod.rather_away(100, HOST, "web");
        let mut cluster = two_zones().run(apart(web_on(1, 'a'))).run(apart(web_on(2, 'b')));
        cluster.0.settings.respects_preferences = respected;
        assert_eq!(cluster.consolidated(), ["a"]);
    }
}

#[test]
fn pods_that_must_be_together_move_together() {
    let cluster = two_zones().run(web_on(1, 'b')).run(web_on(2, 'a'));
    let friend = app("friend").asking(300, 128).with(HOST, "web").on("node-of-a");
    let cluster = cluster.run(friend).pod_changed("node-of-b", NOW);
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn a_pod_stays_with_those_that_it_must_be_with() {
    let pinned = web_on(1, 'a').selecting(HOST, "node-of-a");
    let friend = app("friend").asking(300, 128).with(HOST, "web").on("node-of-a");
    let cluster = two_zones().run(pinned).run(friend).run(web('b', 300)).pod_changed("node-of-b", NOW);
    assert_eq!(cluster.consolidated(), NOTHING);
}

#[test]
fn a_pod_that_names_its_node_keeps_it() {
    let cluster = half_empty("b", 500).small("a").run(web('a', 500).selecting(HOST, "node-of-a"));
    assert_eq!(cluster.consolidated(), ["b"]);
    let affine = web('a', 500).requiring(HOST, Operator::In, &["node-of-a"]);
    assert_eq!(half_empty("b", 500).small("a").run(affine).consolidated(), ["b"]);
}

#[test]
fn of_several_terms_of_node_affinity_one_has_to_hold_elsewhere() {
    let either = |zone| {
        let pod = web_on(1, 'a').requiring(ZONE, Operator::In, &["a"]).requiring(ZONE, Operator::In, &[zone]);
        two_zones().run(pod).run(web('b', 300)).pod_changed("node-of-b", NOW)
    };
    assert_eq!(either("c").consolidated(), NOTHING);
    assert_eq!(either("b").consolidated(), ["a"]);
}

#[test]
fn a_taint_that_only_discourages_does_not_keep_pods_away() {
    let soft = Taint::new("busy", "", Effect::PreferNoSchedule);
    let cluster = half_empty_in(frugal(), "ab", 500).pod_changed("node-of-b", NOW);
    assert_eq!(cluster.node_but("b", |node| node.taints.push(soft)).consolidated(), ["a"]);
}

#[test]
fn two_pods_of_one_host_port_do_not_come_to_share_a_node() {
    let cluster = |port| two_zones().run(web_on(1, 'a').port(80)).run(web('b', 300).port(port));
    assert_eq!(cluster(80).consolidated(), NOTHING);
    assert_eq!(cluster(81).consolidated(), ["a"]);
}

const DRIVER: &str = "disk.csi.example.com";

/// Gives the pod on node `a` a volume that can be used where these demands hold.
fn with_volume(places: Vec<Requirements>) -> Cluster {
    let mut cluster = two_zones().run(web_on(1, 'a').using("data")).run(web('b', 300));
    let volume = Volume { node_affinity: places, attached_by: Some((DRIVER.into(), "v".into())) };
    Arc::make_mut(&mut cluster.0.volumes).insert("v".into(), volume);
    cluster.volume_claim("data", Some("v"), None).pod_changed("node-of-b", NOW)
}

#[test]
fn a_pod_moves_only_where_its_volume_can_be_used() {
    assert_eq!(with_volume(vec![]).consolidated(), ["a"]);
    assert_eq!(with_volume(vec![term(ZONE, Operator::In, &["a"])]).consolidated(), NOTHING);
    let both = with_volume(vec![term(ZONE, Operator::In, &["a", "b"])]);
    assert_eq!(both.consolidated(), ["a"]);
}

#[test]
fn a_volume_on_the_nodes_own_disk_keeps_the_node() {
    let local = with_volume(vec![term(HOST, Operator::In, &["node-of-a"])]);
    assert_eq!(local.node(node("roomy", size(8, 32))).consolidated(), NOTHING);
}

#[test]
fn a_node_that_can_attach_no_more_volumes_takes_no_pod_that_needs_one() {
    assert_eq!(with_volume(vec![]).attach_limit("node-of-b", DRIVER, 0).consolidated(), NOTHING);
    assert_eq!(with_volume(vec![]).attach_limit("node-of-b", DRIVER, 1).consolidated(), ["a"]);
}

#[test]
fn a_pod_whose_volume_claim_is_on_its_way_out_keeps_its_node() {
    let mut cluster = with_volume(vec![]);
    let decided = cluster.going_on();
    let claims = Arc::make_mut(&mut cluster.0.volume_claims);
    for claim in claims.values_mut() {
        claim.deleting = true;
    }
    assert_eq!(cluster.consolidated(), NOTHING);
    let mut late = decided;
    Arc::make_mut(&mut late.0.volume_claims).clear();
    let why = "pod default/web-1-1 could run nowhere else: volume claim default/data does not exist";
    assert_eq!(late.taken_back(), stays("a", why));
}

#[test]
fn a_volume_that_is_yet_to_be_made_can_be_made_where_its_class_allows() {
    let cluster = |zone| {
        let mut cluster = two_zones().run(web_on(1, 'a').using("data")).run(web('b', 300));
        let class = StorageClass {
            provisioner: DRIVER.into(),
            waits_for_consumer: true,
            allowed_topologies: vec![term(ZONE, Operator::In, &[zone])],
        };
        Arc::make_mut(&mut cluster.0.storage_classes).insert("zonal".into(), class);
        cluster.volume_claim("data", None, Some("zonal")).pod_changed("node-of-b", NOW)
    };
    assert_eq!(cluster("a").consolidated(), NOTHING);
    assert_eq!(cluster("b").consolidated(), ["a"]);
}

#[test]
fn a_pod_of_higher_priority_pushes_nobody_out_to_let_a_node_go() {
    let cluster = two_zones().run(web_on(1, 'a').asking(1500, 128).priority(1000));
    assert_eq!(cluster.run(web('b', 1500)).consolidated(), NOTHING);
}

#[test]
fn moving_pods_find_out_together_that_there_is_room_for_one_only() {
    let cluster = half_empty("", 0).small("a").small("b").run(web('a', 1200)).run(web('b', 1200));
    let cluster = cluster.node_in("theirs", "a", 2, 8).run(app("x").asking(500, 128).on("theirs"));
    assert_eq!(cluster.consolidated(), ["a"]);
}

#[test]
fn half_empty_nodes_of_different_zones_are_merged_where_nothing_speaks_against_it() {
    assert_eq!(
        half_empty("", 0)
            .small_in("a", "a")
            .small_in("b", "b")
            .run(web('a', 500))
            .run(web('b', 500))
            .consolidated(),
        ["a"]
    );
    let zonal = |letter, zone| web(letter, 500).selecting(ZONE, zone);
    let bound =
        half_empty("", 0).small_in("a", "a").small_in("b", "b").run(zonal('a', "a")).run(zonal('b', "b"));
    assert_eq!(bound.consolidated(), NOTHING);
}
