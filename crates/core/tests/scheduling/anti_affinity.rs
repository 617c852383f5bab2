//! Pods that must be away from others.

use windlass_core::model::{AffinityTerm, Labels, Namespaces, Requirements, Selector, well_known};

use crate::cluster::Cluster;
use crate::shapes::{machine, pool};
use crate::workload::{HOST, Workload, ZONE, app, near, three_zones, told};

fn running(name: &str, node: &str) -> Workload {
    app(name).asking(0, 0).asking_for("pods", 0).on(node)
}

#[test]
fn pods_away_from_their_own_kind_get_a_node_each() {
    assert_eq!(three_zones().run(app("web").pods(4).away(HOST, "web")).outcome().hosts("web"), [1; 4]);
}

#[test]
fn others_share_their_nodes() {
    let outcome = three_zones().run(app("web").pods(3).away(HOST, "web")).run(app("job").pods(9)).outcome();
    assert_eq!((outcome.launched(), outcome.placed("job")), (3, 9));
}

#[test]
fn pods_away_from_another_kind_do_not_share_its_node() {
    let cluster = three_zones().run(app("db").pods(3)).run(app("web").pods(3).away(HOST, "db"));
    let outcome = cluster.outcome();
    assert!(outcome.nodes("web").iter().all(|node| !outcome.nodes("db").contains(node)));
    assert_eq!((outcome.launched(), outcome.hosts("web"), outcome.hosts("db")), (2, vec![3], vec![3]));
}

#[test]
fn that_holds_whichever_is_larger() {
    for (db, web) in [(100, 900), (900, 100)] {
        let cluster =
            three_zones().run(app("db").asking(db, 128)).run(app("web").asking(web, 128).away(HOST, "db"));
        assert_eq!(cluster.outcome().launched(), 2);
    }
}

#[test]
fn a_node_that_is_there_with_pods_to_be_away_from_is_not_used() {
    let cluster = three_zones().node_in("n1", "a", 8, 32).run(app("db").on("n1"));
    assert_eq!(cluster.run(app("web").away(HOST, "db")).outcome().launched(), 1);
}

#[test]
fn pods_that_run_keep_others_away_from_them() {
    let cluster = three_zones().node_in("n1", "a", 8, 32).run(app("db").away(HOST, "web").on("n1"));
    assert_eq!(cluster.run(app("web")).outcome().launched(), 1);
}

#[test]
fn pods_on_their_way_out_still_keep_others_away() {
    let cluster = three_zones().node_in("n1", "a", 8, 32).run(app("db").on("n1").deleting());
    assert_eq!(cluster.run(app("web").away(HOST, "db")).outcome().launched(), 1);
}

#[test]
fn pods_away_from_their_own_kind_get_a_zone_each() {
    let outcome = three_zones().run(app("web").pods(5).away(ZONE, "web")).outcome();
    assert_eq!((outcome.zones("web"), outcome.pending("web")), (told(&[("a", 1), ("b", 1), ("c", 1)]), 2));
}

#[test]
fn pods_away_from_another_kind_do_not_enter_its_zone() {
    let cluster = three_zones().node_in("full", "a", 0, 0).run(running("db", "full"));
    let outcome = cluster.run(app("web").pods(4).away(ZONE, "db")).outcome();
    assert!(outcome.placed("web") == 4 && outcome.zones("web").iter().all(|(zone, _)| zone != "a"));
}

#[test]
fn pods_that_run_keep_others_out_of_their_zone() {
    let cluster = three_zones().node_in("full", "a", 0, 0).run(running("db", "full").away(ZONE, "web"));
    let outcome = cluster.run(app("web").pods(4)).outcome();
    assert!(outcome.placed("web") == 4 && outcome.zones("web").iter().all(|(zone, _)| zone != "a"));
}

#[test]
fn where_every_zone_is_taken_pods_stay_pending() {
    let mut cluster = three_zones();
    for zone in ["a", "b", "c"] {
        let guard = Workload { name: format!("db-in-{zone}"), ..running("db", zone) };
        cluster = cluster.node_in(zone, zone, 0, 0).run(guard);
    }
    let outcome = cluster.run(app("web").away(ZONE, "db")).outcome();
    assert_eq!((outcome.launched(), outcome.pending("web")), (0, 1));
}

#[test]
fn two_kinds_that_wait_together_are_kept_in_different_zones() {
    for (db, web) in [(100, 900), (900, 100)] {
        let cluster = three_zones().run(app("db").pods(2).asking(db, 128));
        let outcome = cluster.run(app("web").pods(2).asking(web, 128).away(ZONE, "db")).outcome();
        let zones = |app: &str| outcome.zones(app).into_iter().map(|(zone, _)| zone).collect::<Vec<_>>();
        assert_eq!((outcome.placed("db"), outcome.placed("web")), (2, 2));
        assert!(zones("web").iter().all(|zone| !zones("db").contains(zone)));
    }
}

#[test]
fn a_machine_for_pods_that_are_kept_apart_is_got_in_the_zone_that_was_chosen() {
    let outcome = three_zones().run(app("web").pods(2).away(ZONE, "web")).outcome();
    for launch in &outcome.plan.launches {
        assert!(launch.offerings.iter().all(|way| way.key.zone == launch.offerings[0].key.zone));
    }
}

#[test]
fn pods_are_kept_on_different_architectures() {
    let mut arm = machine("arm", 2, 8, "0.10");
    arm.labels.set(well_known::ARCH, "arm64");
    let cluster = Cluster::new([pool("general", vec![machine("amd", 2, 8, "0.10"), arm])]);
    let outcome = cluster.run(app("web").pods(2).away(well_known::ARCH, "web")).outcome();
    assert_eq!(outcome.by(well_known::ARCH, "web"), told(&[("amd64", 1), ("arm64", 1)]));
}

#[test]
fn a_node_without_the_label_is_away_from_everybody() {
    let cluster = Cluster::default().node_with("bare", 8, 32, &[]).node_in("zoned", "a", 0, 0);
    let cluster = cluster.run(running("db", "zoned"));
    assert_eq!(cluster.run(app("web").pods(2).away(ZONE, "web")).outcome().hosts("web"), [2]);
}

#[test]
fn a_machine_on_its_way_keeps_others_away_from_what_it_is_for() {
    let cluster = three_zones().run(app("db"));
    let (plan, _) = cluster.plan();
    let outcome = cluster.after(&plan).run(app("web").away(HOST, "db")).outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (1, 1));
}

#[test]
fn pods_of_other_namespaces_are_not_meant_unless_they_are_named() {
    let with = |namespaces| {
        let cluster = three_zones().node_in("n1", "a", 8, 32).run(app("db").in_namespace("shop").on("n1"));
        let term = AffinityTerm { namespaces, ..near(HOST, "db") };
        cluster.run(app("web").away_from(term)).outcome().launched()
    };
    assert_eq!((with(Namespaces::only("default".into())), with(Namespaces::only("shop".into()))), (0, 1));
}

#[test]
fn an_empty_selector_means_everybody() {
    let term = AffinityTerm { selector: Selector::Matching(Requirements::new()), ..near(HOST, "x") };
    let outcome = three_zones().run(app("hermit").pods(2).away_from(term)).run(app("web").pods(2)).outcome();
    assert_eq!(outcome.hosts("hermit"), [1, 1]);
    assert_eq!(outcome.launched(), 3);
}

#[test]
fn revisions_told_apart_by_a_label_share_nodes() {
    let revision = |hash: &str| {
        let labels = Labels::new().with("app", "web").with("hash", hash);
        let term = AffinityTerm {
            selector: Selector::Matching(Requirements::from_labels(&labels)),
            ..near(HOST, "web")
        };
        Workload { name: format!("web{hash}"), ..app("web").pods(2).labelled("hash", hash).away_from(term) }
    };
    assert_eq!(three_zones().run(revision("1")).run(revision("2")).outcome().launched(), 2);
}

#[test]
fn three_kinds_that_are_all_away_from_each_other_get_a_node_each() {
    let mut cluster = three_zones();
    for (name, others) in [("a", ["b", "c"]), ("b", ["a", "c"]), ("c", ["a", "b"])] {
        cluster =
            cluster.run(others.into_iter().fold(app(name).pods(2), |pods, other| pods.away(HOST, other)));
    }
    let outcome = cluster.outcome();
    assert_eq!(outcome.launched(), 3);
    assert_eq!((outcome.hosts("a"), outcome.hosts("b"), outcome.hosts("c")), (vec![2], vec![2], vec![2]));
}

#[test]
fn a_pod_that_fits_nowhere_does_not_hold_up_one_that_is_away_from_it() {
    let cluster = three_zones().run(app("db").asking(99_000, 128)).run(app("web").away(HOST, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.pending("db"), outcome.placed("web")), (1, 1));
}

#[test]
fn away_from_one_and_with_another() {
    let cluster = three_zones().run(app("db").selecting(ZONE, "a")).run(app("noise").pods(4));
    let outcome = cluster.run(app("web").pods(2).with(ZONE, "db").away(HOST, "noise")).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 2)]));
    assert!(outcome.nodes("web").iter().all(|node| !outcome.nodes("noise").contains(node)));
}
