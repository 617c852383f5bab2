//! What pods would rather have: it chooses among machines that would all do, and does no more.

use windlass_core::model::{Effect, Operator, Pool, Taint, well_known};

use crate::cluster::Cluster;
use crate::shapes::{machine, pool};
use crate::workload::{HOST, Workload, ZONE, app, general, three_zones, told, zonal};

/// A cheap pool and a dear one, labelled.
fn tiers() -> Cluster {
    let labelled = |name: &str, price: &str| {
        let mut pool = pool(name, vec![machine(name, 4, 16, price)]);
        pool.labels.set("tier", name);
        pool
    };
    Cluster::new([labelled("cheap", "0.10"), labelled("dear", "0.90")])
}

fn discouraged(pool: Pool) -> Pool {
    Pool { taints: vec![Taint::new("old", "", Effect::PreferNoSchedule)], ..pool }
}

fn careless(mut cluster: Cluster) -> Cluster {
    cluster.0.settings.respects_preferences = false;
    cluster
}

#[test]
fn a_preferred_machine_is_taken_although_it_is_dearer() {
    assert_eq!(tiers().run(app("web").preferring(1, "tier", &["dear"])).outcome().pools(), ["dear"]);
}

#[test]
fn a_preferred_zone_is_taken() {
    assert_eq!(
        three_zones().run(app("web").pods(4).preferring(1, ZONE, &["c"])).outcome().zones("web"),
        told(&[("c", 4)])
    );
}

#[test]
fn preferences_are_ignored_where_that_is_set() {
    let cluster = careless(tiers().run(app("web").preferring(100, "tier", &["dear"])));
    assert_eq!(cluster.outcome().pools(), ["cheap"]);
}

#[test]
fn a_preference_that_nothing_meets_keeps_nobody_pending() {
    assert_eq!(tiers().run(app("web").preferring(100, "tier", &["none"])).outcome().pools(), ["cheap"]);
}

#[test]
fn a_preference_that_contradicts_a_demand_keeps_nobody_pending() {
    let pods = app("web").selecting("tier", "cheap").preferring(100, "tier", &["dear"]);
    assert_eq!(tiers().run(pods).outcome().pools(), ["cheap"]);
}

#[test]
fn a_preference_that_agrees_with_a_demand_chooses_among_what_it_allows() {
    let pods = app("web").requiring(ZONE, Operator::In, &["b", "c"]).preferring(1, ZONE, &["c", "a"]);
    assert_eq!(three_zones().run(pods).outcome().zones("web"), told(&[("c", 1)]));
}

#[test]
fn of_preferences_that_contradict_each_other_the_heaviest_counts() {
    let pods =
        app("web").preferring(1, ZONE, &["a"]).preferring(50, ZONE, &["b"]).preferring(2, ZONE, &["c"]);
    assert_eq!(three_zones().run(pods).outcome().zones("web"), told(&[("b", 1)]));
}

#[test]
fn when_the_heaviest_preference_cannot_be_met_the_next_counts() {
    let pods =
        app("web").preferring(100, ZONE, &["z"]).preferring(10, ZONE, &["b"]).preferring(1, ZONE, &["c"]);
    assert_eq!(three_zones().run(pods).outcome().zones("web"), told(&[("b", 1)]));
}

#[test]
fn preferences_that_can_be_met_together_are() {
    let pods = app("web").preferring(10, ZONE, &["b"]).preferring(5, well_known::INSTANCE_TYPE, &["large"]);
    let outcome = three_zones().run(pods).outcome();
    assert_eq!((outcome.zones("web"), outcome.machines()), (told(&[("b", 1)]), vec!["large".to_owned()]));
}

#[test]
fn a_preference_that_contradicts_itself_is_given_up() {
    let mut pods = app("web").preferring(10, ZONE, &["b"]);
    let contradiction = crate::shapes::term(ZONE, Operator::NotIn, &["b"]);
    pods.shape.node_preferences[0].wish.extend(&contradiction);
    assert_eq!(three_zones().run(pods).outcome().placed("web"), 1);
}

#[test]
fn a_preference_buys_no_machine_for_a_pod_that_fits_where_one_is() {
    let cluster = three_zones().node_in("old", "a", 4, 16);
    assert_eq!(cluster.run(app("web").preferring(100, ZONE, &["b"])).outcome().launched(), 0);
}

#[test]
fn a_preference_buys_no_machine_for_a_pod_that_waits_for_one() {
    let cluster = tiers().run(app("other"));
    let (plan, _) = cluster.plan();
    assert_eq!(
        cluster.after(&plan).run(app("web").preferring(100, "tier", &["dear"])).outcome().launched(),
        0
    );
}

#[test]
fn a_pool_of_higher_weight_does_not_outweigh_a_preference() {
    let heavy = Pool { weight: 100, ..pool("heavy", vec![machine("h", 4, 16, "0.10")]) };
    let mut light = pool("light", vec![machine("l", 4, 16, "0.10")]);
    light.labels.set("tier", "light");
    let outcome = Cluster::new([heavy, light]).run(app("web").preferring(1, "tier", &["light"])).outcome();
    assert_eq!(outcome.pools(), ["light"]);
}

#[test]
fn what_the_preferred_pool_cannot_serve_goes_to_others() {
    let mut cluster = tiers().run(app("web").pods(8).asking(1000, 1024).preferring(1, "tier", &["dear"]));
    let pools = std::sync::Arc::make_mut(&mut cluster.0.pools);
    std::sync::Arc::make_mut(pools.get_mut("dear").unwrap()).max_nodes = Some(1);
    let outcome = cluster.outcome();
    assert_eq!((outcome.pools(), outcome.pending("web")), (vec!["cheap".to_owned(), "dear".to_owned()], 0));
}

#[test]
fn a_preference_that_a_demand_on_other_pods_stands_against_is_given_up() {
    // The only preferred zone is one that the pods may not all enter.
    let cluster = three_zones().node_in("full", "b", 0, 0);
    let outcome = cluster.run(app("web").pods(3).away(ZONE, "web").preferring(100, ZONE, &["a"])).outcome();
    assert_eq!((outcome.placed("web"), outcome.zones("web").len()), (3, 3));
}

#[test]
fn a_pool_with_a_taint_that_discourages_is_asked_last() {
    let cluster = Cluster::new([discouraged(pool("old", vec![machine("o", 4, 16, "0.01")])), general()]);
    assert_eq!(cluster.clone().run(app("web")).outcome().pools(), ["general"]);
    assert_eq!(cluster.clone().run(app("web").tolerating("old")).outcome().pools(), ["old"]);
    assert_eq!(careless(cluster.run(app("web"))).outcome().pools(), ["old"]);
}

#[test]
fn a_taint_that_discourages_counts_more_than_a_preference() {
    let mut old = discouraged(pool("old", vec![machine("o", 4, 16, "0.01")]));
    old.labels.set("tier", "old");
    let outcome = Cluster::new([old, general()]).run(app("web").preferring(100, "tier", &["old"])).outcome();
    assert_eq!(outcome.pools(), ["general"]);
}

#[test]
fn a_discouraged_pool_is_used_when_no_other_will_do() {
    let old = discouraged(pool("old", vec![machine("o", 64, 256, "9.00")]));
    let outcome = Cluster::new([old, general()]).run(app("web").asking(30_000, 1024)).outcome();
    assert_eq!(outcome.pools(), ["old"]);
}

#[test]
fn pods_that_would_rather_be_with_others_get_machines_in_their_zone() {
    let cluster =
        three_zones().node_in("full", "c", 0, 0).run(app("db").asking(0, 0).asking_for("pods", 0).on("full"));
    assert_eq!(
        cluster.clone().run(app("web").rather_with(1, ZONE, "db")).outcome().zones("web"),
        told(&[("c", 1)])
    );
    assert_eq!(careless(cluster.run(app("web").rather_with(1, ZONE, "db"))).outcome().placed("web"), 1);
}

#[test]
fn pods_that_would_rather_be_with_nobody_there_are_placed() {
    assert_eq!(three_zones().run(app("web").rather_with(100, ZONE, "nobody")).outcome().placed("web"), 1);
}

#[test]
fn wanting_to_be_with_others_gives_way_to_a_demand() {
    let cluster =
        three_zones().node_in("full", "c", 0, 0).run(app("db").asking(0, 0).asking_for("pods", 0).on("full"));
    let outcome = cluster.run(app("web").selecting(ZONE, "a").rather_with(100, ZONE, "db")).outcome();
    assert_eq!(outcome.zones("web"), told(&[("a", 1)]));
}

#[test]
fn pods_that_would_rather_be_away_get_machines_in_another_zone() {
    let mut cluster = three_zones();
    for zone in ["a", "b"] {
        let db =
            Workload { name: format!("db{zone}"), ..app("db").asking(0, 0).asking_for("pods", 0).on(zone) };
        cluster = cluster.node_in(zone, zone, 0, 0).run(db);
    }
    assert_eq!(
        cluster.run(app("web").pods(2).rather_away(1, ZONE, "db")).outcome().zones("web"),
        told(&[("c", 2)])
    );
}

#[test]
fn pods_that_would_rather_be_away_from_everywhere_are_placed() {
    let mut cluster = three_zones();
    for zone in ["a", "b", "c"] {
        let db =
            Workload { name: format!("db{zone}"), ..app("db").asking(0, 0).asking_for("pods", 0).on(zone) };
        cluster = cluster.node_in(zone, zone, 0, 0).run(db);
    }
    assert_eq!(cluster.run(app("web").pods(2).rather_away(100, ZONE, "db")).outcome().placed("web"), 2);
}

#[test]
fn those_whom_others_would_rather_be_away_from_go_anywhere() {
    let cluster =
        three_zones().node_in("n1", "a", 8, 32).run(app("db").rather_away(100, ZONE, "web").on("n1"));
    assert_eq!(cluster.run(app("web")).outcome().nodes("web"), ["n1"]);
}

#[test]
fn of_pod_wishes_the_heavier_counts() {
    let mut cluster = three_zones();
    for (zone, name) in [("a", "db"), ("b", "cache")] {
        cluster =
            cluster.node_in(zone, zone, 0, 0).run(app(name).asking(0, 0).asking_for("pods", 0).on(zone));
    }
    let pods = |db, cache| app("web").rather_with(db, ZONE, "db").rather_with(cache, ZONE, "cache");
    assert_eq!(cluster.clone().run(pods(9, 1)).outcome().zones("web"), told(&[("a", 1)]));
    assert_eq!(cluster.run(pods(1, 9)).outcome().zones("web"), told(&[("b", 1)]));
}

#[test]
fn pods_that_would_rather_be_spread_are_spread_over_zones() {
    let pods = || app("web").pods(6).rather_spread(ZONE, 1);
    assert_eq!(three_zones().run(pods()).outcome().zones("web"), told(&[("a", 2), ("b", 2), ("c", 2)]));
    assert_eq!(careless(three_zones().run(pods())).outcome().launched(), 1);
}

#[test]
fn pods_that_would_rather_be_spread_are_placed_also_where_they_cannot_be() {
    let cluster =
        Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10")])]).node_in("full", "b", 0, 0);
    assert_eq!(
        cluster.run(app("web").pods(5).rather_spread(ZONE, 1)).outcome().zones("web"),
        told(&[("a", 5)])
    );
}

#[test]
fn pods_that_would_rather_be_spread_over_a_label_that_nobody_has_are_placed() {
    assert_eq!(
        three_zones().run(app("web").pods(3).rather_spread("example.com/rack", 1)).outcome().placed("web"),
        3
    );
}

#[test]
fn no_machine_is_bought_for_a_wish_about_sharing_a_node() {
    for pods in [
        app("web").pods(4).rather_spread(HOST, 1),
        app("web").pods(4).rather_away(100, HOST, "web"),
        app("web").pods(4).rather_with(100, HOST, "nobody"),
    ] {
        assert_eq!(three_zones().run(pods).outcome().launched(), 1);
    }
}

#[test]
fn wishes_of_one_workload_do_not_bind_another() {
    let cluster =
        tiers().run(app("web").preferring(1, "tier", &["dear"])).run(app("job").selecting("tier", "cheap"));
    assert_eq!(cluster.outcome().pools(), ["cheap", "dear"]);
}

#[test]
fn a_machine_that_is_wished_for_can_be_got_another_way_when_it_is_sold_out() {
    let machines = vec![zonal("small", 2, 8, "0.10", &["a", "b"])];
    let outcome =
        Cluster::new([pool("general", machines)]).run(app("web").preferring(1, ZONE, &["b"])).outcome();
    let zones: Vec<&str> = outcome.plan.launches[0].offerings.iter().map(|way| &*way.key.zone).collect();
    assert_eq!(zones[0], "b");
}
