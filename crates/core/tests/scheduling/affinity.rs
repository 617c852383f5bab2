//! Pods that must be with others.

use windlass_core::model::{AffinityTerm, Labels, Namespaces, Operator, Requirements, Selector, well_known};

use crate::cluster::Cluster;
use crate::shapes::{machine, pool, term};
use crate::workload::{HOST, Workload, ZONE, app, near, three_zones, told, zonal};

#[test]
fn a_pod_without_terms_goes_anywhere() {
    assert_eq!(three_zones().run(app("web")).outcome().placed("web"), 1);
}

#[test]
fn followers_share_the_new_node_of_those_they_follow() {
    let cluster = three_zones().run(app("db").asking(500, 512)).run(app("web").pods(4).with(HOST, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.launched(), outcome.nodes("web")), (1, outcome.nodes("db")));
}

#[test]
fn the_machine_is_large_enough_for_all_that_must_be_together() {
    let cluster = three_zones()
        .run(app("db").asking(1500, 512))
        .run(app("web").pods(4).asking(1000, 512).with(HOST, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.machines(), outcome.placed("web")), (vec!["large".to_owned()], 4));
}

#[test]
fn followers_that_are_larger_than_those_they_follow_come_along_too() {
    let cluster = three_zones().run(app("db")).run(app("web").asking(7000, 1024).with(HOST, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.machines(), outcome.pending("web")), (vec!["large".to_owned()], 0));
}

#[test]
fn followers_are_divided_among_the_nodes_of_those_they_follow() {
    let cluster = three_zones().run(app("db").pods(2).away(HOST, "db").asking(1000, 1024));
    let outcome = cluster.run(app("web").pods(16).asking(1000, 1024).with(HOST, "db")).outcome();
    assert_eq!((outcome.placed("web"), outcome.nodes("web")), (16, outcome.nodes("db")));
}

#[test]
fn two_kinds_of_followers_fit_beside_the_only_one_they_follow() {
    let cluster = three_zones().run(app("db"));
    let cluster = cluster.run(app("web").pods(3).asking(1000, 512).with(HOST, "db"));
    let outcome = cluster.run(app("log").pods(3).asking(1000, 512).with(HOST, "db")).outcome();
    assert_eq!(
        (outcome.machines(), outcome.pending("web") + outcome.pending("log")),
        (vec!["large".to_owned()], 0)
    );
}

#[test]
fn followers_go_to_the_node_where_those_they_follow_run() {
    let cluster = three_zones().node_in("n1", "a", 8, 32).node_in("n2", "a", 8, 32).run(app("db").on("n2"));
    let outcome = cluster.run(app("web").pods(3).with(HOST, "db")).outcome();
    assert_eq!((outcome.nodes("web"), outcome.launched()), (vec!["n2".to_owned()], 0));
}

#[test]
fn a_new_node_does_not_help_those_whose_leader_runs_on_a_full_one() {
    let cluster = three_zones().node_in("n1", "a", 1, 1).run(app("db").asking(1000, 512).on("n1"));
    let outcome = cluster.run(app("web").with(HOST, "db")).outcome();
    assert_eq!((outcome.launched(), outcome.pending("web")), (0, 1));
}

#[test]
fn followers_wait_for_a_machine_that_is_on_its_way_with_those_they_follow() {
    let cluster = three_zones().run(app("db"));
    let (plan, _) = cluster.plan();
    let outcome = cluster.after(&plan).run(app("web").with(HOST, "db")).outcome();
    assert_eq!((outcome.launched(), outcome.placed("web")), (0, 1));
}

#[test]
fn a_chain_of_followers_shares_a_node() {
    let cluster = three_zones().run(app("a")).run(app("b").with(HOST, "a")).run(app("c").with(HOST, "b"));
    let outcome = cluster.outcome();
    assert_eq!(outcome.launched(), 1);
    assert_eq!(outcome.nodes("c"), outcome.nodes("a"));
}

#[test]
fn pods_that_must_be_with_their_own_kind_share_one_node() {
    for (count, machine) in [(2, "small"), (10, "large")] {
        let outcome = three_zones().run(app("web").pods(count).asking(900, 512).with(HOST, "web")).outcome();
        assert_eq!((outcome.machines(), outcome.hosts("web")), (vec![machine.to_owned()], vec![count]));
    }
}

#[test]
fn of_pods_that_must_all_share_one_node_those_that_do_not_fit_stay_pending() {
    let outcome = three_zones().run(app("web").pods(20).asking(1000, 512).with(HOST, "web")).outcome();
    assert_eq!((outcome.hosts("web"), outcome.pending("web")), (vec![16], 4));
}

#[test]
fn pods_of_one_kind_join_those_that_run() {
    let cluster = three_zones().node_in("n1", "a", 8, 32).node_in("n2", "a", 8, 32);
    let cluster = cluster.run(Workload { name: "old".to_owned(), ..app("web").on("n2") });
    let outcome = cluster.run(app("web").pods(3).with(HOST, "web")).outcome();
    assert_eq!(outcome.nodes("web"), ["n2"]);
}

#[test]
fn two_kinds_with_the_same_label_are_one_party() {
    let party = |name: &str| {
        let pods = app("party").pods(2).asking(1000, 512).with(HOST, "party");
        Workload { name: name.to_owned(), ..pods }
    };
    let mut large = party("two");
    large.shape.requests.set("memory", 1 << 30);
    let outcome = three_zones().run(party("one")).run(large).outcome();
    assert_eq!((outcome.launched(), outcome.placed("one"), outcome.placed("two")), (1, 2, 2));
}

#[test]
fn followers_share_the_zone_of_those_they_follow() {
    let cluster = three_zones().run(app("db").selecting(ZONE, "b")).run(app("web").pods(4).with(ZONE, "db"));
    assert_eq!(cluster.outcome().zones("web"), told(&[("b", 4)]));
}

#[test]
fn followers_share_the_zone_of_those_who_may_go_anywhere() {
    for (leader, follower) in [(100, 1000), (1000, 100)] {
        let cluster = three_zones().run(app("db").asking(leader, 128));
        let outcome = cluster.run(app("web").pods(3).asking(follower, 128).with(ZONE, "db")).outcome();
        assert_eq!(outcome.placed("web"), 3);
        assert_eq!(outcome.zones("web")[0].0, outcome.zones("db")[0].0);
    }
}

#[test]
fn those_who_may_go_anywhere_go_where_their_followers_can() {
    let cluster = three_zones().run(app("db")).run(app("web").selecting(ZONE, "c").with(ZONE, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.zones("db"), outcome.pending("web")), (told(&[("c", 1)]), 0));
}

#[test]
fn those_they_follow_may_be_on_a_node_that_has_room_for_all() {
    let cluster = three_zones().node_in("n1", "a", 4, 16);
    let outcome =
        cluster.run(app("db").asking(100, 128)).run(app("web").asking(1000, 128).with(ZONE, "db")).outcome();
    assert_eq!((outcome.launched(), outcome.placed("web"), outcome.placed("db")), (0, 1, 1));
}

#[test]
fn followers_get_machines_in_the_zone_where_those_they_follow_run() {
    let cluster =
        three_zones().node_in("full", "c", 0, 0).run(app("db").asking(0, 0).asking_for("pods", 0).on("full"));
    assert_eq!(cluster.run(app("web").pods(2).with(ZONE, "db")).outcome().zones("web"), told(&[("c", 2)]));
}

#[test]
fn pods_that_must_be_with_their_own_kind_share_one_zone() {
    let outcome = three_zones().run(app("web").pods(40).asking(1000, 512).with(ZONE, "web")).outcome();
    assert_eq!((outcome.zones("web").len(), outcome.placed("web")), (1, 40));
}

#[test]
fn one_zone_is_chosen_among_those_that_pods_of_one_kind_may_enter() {
    let pods = app("web").pods(3).with(ZONE, "web").requiring(ZONE, Operator::In, &["b"]);
    assert_eq!(three_zones().run(pods).outcome().zones("web"), told(&[("b", 3)]));
}

#[test]
fn pods_share_an_architecture_with_those_they_follow() {
    let mut arm = machine("arm", 2, 8, "0.50");
    arm.labels.set(well_known::ARCH, "arm64");
    let cluster = Cluster::new([pool("general", vec![machine("amd", 2, 8, "0.10"), arm])]);
    let cluster = cluster.run(app("db").selecting(well_known::ARCH, "arm64"));
    let outcome = cluster.run(app("web").pods(2).with(well_known::ARCH, "db")).outcome();
    assert_eq!(outcome.by(well_known::ARCH, "web"), told(&[("arm64", 2)]));
}

#[test]
fn nobody_follows_a_pod_that_is_not_there() {
    for key in [HOST, ZONE] {
        let outcome = three_zones().run(app("web").with(key, "nobody")).outcome();
        assert_eq!((outcome.launched(), outcome.pending("web")), (0, 1), "{key}");
    }
}

#[test]
fn two_that_wait_for_each_other_wait_for_ever() {
    for key in [HOST, ZONE] {
        let outcome = three_zones().run(app("a").with(key, "b")).run(app("b").with(key, "a")).outcome();
        assert_eq!((outcome.launched(), outcome.pending("a"), outcome.pending("b")), (0, 1, 1), "{key}");
    }
}

#[test]
fn a_chain_of_followers_shares_a_zone() {
    let cluster = three_zones().run(app("a").selecting(ZONE, "c"));
    let cluster = cluster
        .run(app("b").asking(900, 128).with(ZONE, "a"))
        .run(app("c").asking(1800, 128).with(ZONE, "b"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.zones("b"), outcome.zones("c")), (told(&[("c", 1)]), told(&[("c", 1)])));
}

#[test]
fn demands_that_contradict_those_of_whom_one_follows_leave_pods_pending() {
    let cluster = three_zones()
        .run(app("db").selecting(ZONE, "a"))
        .run(app("web").selecting(ZONE, "b").with(ZONE, "db"));
    let outcome = cluster.outcome();
    assert_eq!((outcome.placed("db"), outcome.pending("web")), (1, 1));
}

#[test]
fn a_pod_must_meet_all_terms_of_those_who_follow_it() {
    // kube-scheduler looks for one pod that both terms mean, not for one of each.
    let pods = || app("web").with(ZONE, "db").with(ZONE, "cache");
    let cluster = three_zones().run(app("db")).run(app("cache"));
    assert_eq!(cluster.run(pods()).outcome().pending("web"), 1);
    let tier = AffinityTerm {
        selector: Selector::Matching(Requirements::from_labels(&Labels::new().with("tier", "data"))),
        ..near(ZONE, "db")
    };
    let cluster = three_zones().run(app("db").labelled("tier", "data"));
    assert_eq!(cluster.run(app("web").with(ZONE, "db").with_those(tier)).outcome().placed("web"), 1);
}

fn elsewhere(namespaces: Namespaces) -> usize {
    let cluster =
        three_zones().namespace("shop", Labels::new().with("team", "a")).namespace("default", Labels::new());
    let cluster = cluster.run(app("db").in_namespace("shop"));
    let term = AffinityTerm { namespaces, ..near(ZONE, "db") };
    cluster.run(app("web").with_those(term)).outcome().placed("web")
}

#[test]
fn pods_of_other_namespaces_are_not_meant_unless_they_are_named() {
    assert_eq!(elsewhere(Namespaces::only("default".into())), 0);
    assert_eq!(elsewhere(Namespaces::only("shop".into())), 1);
}

#[test]
fn namespaces_may_be_meant_by_their_labels() {
    let by = |requirements| Namespaces { listed: [].into(), selector: Selector::Matching(requirements) };
    assert_eq!(elsewhere(by(Requirements::new())), 1);
    assert_eq!(elsewhere(by(term("team", Operator::In, &["a"]))), 1);
    assert_eq!(elsewhere(by(term("team", Operator::In, &["b"]))), 0);
}

#[test]
fn a_selector_that_was_left_out_means_nobody_to_be_with() {
    let term = AffinityTerm { selector: Selector::Nothing, ..near(ZONE, "web") };
    assert_eq!(three_zones().run(app("web").with_those(term)).outcome().pending("web"), 1);
}

#[test]
fn a_node_without_the_label_is_with_nobody() {
    let cluster = Cluster::default().node_with("bare", 8, 32, &[]);
    assert_eq!(cluster.run(app("web").with(ZONE, "web")).outcome().pending("web"), 1);
}

#[test]
fn being_first_is_for_those_who_are_meant_themselves() {
    let outcome = three_zones().run(app("web").pods(2).with(ZONE, "web")).outcome();
    assert_eq!(outcome.placed("web"), 2);
    let outcome = three_zones().run(app("web").pods(2).with(ZONE, "other")).outcome();
    assert_eq!(outcome.placed("web"), 0);
}

#[test]
fn the_first_of_a_kind_goes_where_the_whole_kind_is_cheapest() {
    let mut machine = zonal("small", 2, 8, "0.10", &["a", "b"]);
    machine.offerings[0].price = "0.90".parse().unwrap();
    let outcome = Cluster::new([pool("general", vec![machine])])
        .run(app("web").pods(6).asking(1000, 128).with(ZONE, "web"));
    assert_eq!(outcome.outcome().zones("web"), told(&[("b", 6)]));
}

#[test]
fn followers_on_one_node_respect_ports_and_spread_too() {
    let cluster = three_zones().run(app("db").pods(2).away(HOST, "db"));
    let outcome = cluster.run(app("web").pods(2).with(HOST, "db").port(80)).outcome();
    assert_eq!((outcome.hosts("web"), outcome.nodes("web")), (vec![1, 1], outcome.nodes("db")));
}
