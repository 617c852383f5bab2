//! Volumes: where they are, where they can be made, and how many a node takes.

use std::sync::Arc;

use windlass_core::model::{Operator, PodId, Requirements, StorageClass, Volume, well_known};

use crate::cluster::Cluster;
use crate::shapes::{machine, pool, term};
use crate::workload::{HOST, Workload, ZONE, app, three_zones, told};

const DRIVER: &str = "disk.csi.example.com";

fn class(waits: bool, places: Vec<Requirements>) -> StorageClass {
    StorageClass { provisioner: DRIVER.into(), waits_for_consumer: waits, allowed_topologies: places }
}

fn in_zone(zone: &str) -> Requirements {
    term(ZONE, Operator::In, &[zone])
}

/// A cluster with a storage class of each kind and a pod that uses the claim `data`.
fn cluster() -> Cluster {
    let mut cluster = three_zones().run(app("web").using("data"));
    let classes = Arc::make_mut(&mut cluster.0.storage_classes);
    classes.insert("anywhere".into(), class(true, vec![]));
    classes.insert("only-b".into(), class(true, vec![in_zone("b")]));
    classes.insert("b-or-c".into(), class(true, vec![in_zone("b"), in_zone("c")]));
    classes.insert("nowhere".into(), class(true, vec![in_zone("z")]));
    classes.insert("at-once".into(), class(false, vec![]));
    cluster
}

fn volume(mut cluster: Cluster, name: &str, places: Vec<Requirements>) -> Cluster {
    let volume = Volume { node_affinity: places, attached_by: Some((DRIVER.into(), name.into())) };
    Arc::make_mut(&mut cluster.0.volumes).insert(name.into(), volume);
    cluster
}

fn deleting(mut cluster: Cluster, claim: &str) -> Cluster {
    Arc::make_mut(&mut cluster.0.volume_claims).get_mut(&PodId::new("default", claim)).unwrap().deleting =
        true;
    cluster
}

/// Pods each with a claim of its own on a volume that is made for it.
fn stateful(cluster: Cluster, count: usize) -> Cluster {
    let claims = (1..=count).fold(cluster, |cluster, number| {
        cluster.volume_claim(&format!("data-db-{number}"), None, Some("anywhere"))
    });
    claims.run(app("db").pods(count).using("data-db-"))
}

#[test]
fn a_bound_volume_decides_the_zone() {
    let cluster = volume(cluster(), "v", vec![in_zone("b")]).volume_claim("data", Some("v"), None);
    assert_eq!(cluster.outcome().zones("web"), told(&[("b", 1)]));
}

#[test]
fn a_volume_that_can_be_used_in_several_zones_leaves_the_choice() {
    let places = vec![in_zone("b"), in_zone("c")];
    let cluster = volume(cluster(), "v", places).volume_claim("data", Some("v"), None);
    let outcome = cluster.outcome();
    assert!(outcome.plan.launches[0].offerings.iter().all(|way| &*way.key.zone != "a"));
}

#[test]
fn a_volume_that_can_be_used_anywhere_demands_nothing() {
    let cluster = volume(cluster(), "v", vec![]).volume_claim("data", Some("v"), None);
    assert_eq!(cluster.outcome().placed("web"), 1);
}

#[test]
fn a_volume_where_no_machine_can_be_had_keeps_its_pod_pending() {
    let cluster = volume(cluster(), "v", vec![in_zone("z")]).volume_claim("data", Some("v"), None);
    assert_eq!(cluster.outcome().pending("web"), 1);
}

#[test]
fn a_volume_on_one_node_keeps_its_pod_there() {
    let on_n1 = term(HOST, Operator::In, &["n1"]);
    let cluster = volume(cluster(), "v", vec![on_n1]).volume_claim("data", Some("v"), None);
    assert_eq!(cluster.outcome().pending("web"), 1);
    assert_eq!(cluster.node_in("n1", "a", 4, 16).outcome().nodes("web"), ["n1"]);
}

#[test]
fn a_volume_that_is_to_be_made_in_some_zones_decides_the_zone() {
    let outcome = cluster().volume_claim("data", None, Some("only-b")).outcome();
    assert_eq!(outcome.zones("web"), told(&[("b", 1)]));
    let outcome = cluster().volume_claim("data", None, Some("b-or-c")).outcome();
    assert!(outcome.plan.launches[0].offerings.iter().all(|way| &*way.key.zone != "a"));
}

#[test]
fn a_volume_that_can_be_made_nowhere_keeps_its_pod_pending() {
    assert_eq!(cluster().volume_claim("data", None, Some("nowhere")).outcome().pending("web"), 1);
}

#[test]
fn the_zone_of_a_volume_and_a_demand_of_the_pod_must_both_hold() {
    let base = |zone: &str| {
        let pods = Workload { name: "other".to_owned(), ..app("web").using("data").selecting(ZONE, zone) };
        cluster().volume_claim("data", None, Some("only-b")).run(pods).outcome().placed("other")
    };
    assert_eq!((base("a"), base("b")), (0, 1));
}

#[test]
fn the_zone_of_a_volume_is_not_given_up_for_a_preference() {
    let pods =
        Workload { name: "other".to_owned(), ..app("web").using("data").preferring(100, ZONE, &["a"]) };
    let outcome = cluster().volume_claim("data", None, Some("only-b")).run(pods).outcome();
    assert_eq!(outcome.zones("other"), told(&[("b", 1)]));
}

#[test]
fn each_of_several_volumes_must_be_usable() {
    let both = |first: &str, second: &str| {
        let cluster =
            volume(volume(cluster(), "v1", vec![in_zone(first)]), "v2", vec![in_zone(second), in_zone("c")]);
        let cluster = cluster.volume_claim("one", Some("v1"), None).volume_claim("two", Some("v2"), None);
        cluster.run(app("both").using("one").using("two")).outcome().placed("both")
    };
    assert_eq!((both("a", "a"), both("a", "b"), both("c", "b")), (1, 0, 1));
}

#[test]
fn a_claim_that_does_not_exist_holds_up_its_pod_and_no_other() {
    let outcome = cluster().run(app("other")).outcome();
    assert_eq!((outcome.pending("web"), outcome.placed("other")), (1, 1));
    assert_eq!(outcome.why(), "volume claim default/data does not exist");
}

#[test]
fn claims_that_cannot_be_served_hold_up_their_pods() {
    for (volume, class, why) in [
        (Some("gone"), None, "volume gone of claim default/data does not exist"),
        (None, None, "volume claim default/data is not bound and no storage class makes a volume for it"),
        (
            None,
            Some("unknown"),
            "volume claim default/data is not bound and no storage class makes a volume for it",
        ),
        (None, Some("at-once"), "volume claim default/data waits for its volume to be made"),
    ] {
        let outcome = cluster().volume_claim("data", volume, class).outcome();
        assert_eq!((outcome.pending("web"), outcome.why().as_str()), (1, why));
    }
}

#[test]
fn a_claim_that_is_being_deleted_holds_up_its_pod() {
    let cluster = deleting(cluster().volume_claim("data", None, Some("anywhere")), "data");
    assert_eq!(cluster.outcome().why(), "volume claim default/data is being deleted");
}

#[test]
fn a_bound_claim_needs_no_storage_class() {
    for class in [None, Some("unknown"), Some("at-once")] {
        let cluster = volume(cluster(), "v", vec![]).volume_claim("data", Some("v"), class);
        assert_eq!(cluster.outcome().placed("web"), 1, "{class:?}");
    }
}

#[test]
fn a_volume_that_is_not_attached_counts_for_nothing() {
    let mut cluster = cluster().volume_claim("data", Some("nfs"), None);
    Arc::make_mut(&mut cluster.0.volumes).insert("nfs".into(), Volume::default());
    assert_eq!(cluster.outcome().placed("web"), 1);
}

#[test]
fn a_node_takes_only_so_many_volumes() {
    let cluster = stateful(cluster(), 3).node_in("old", "a", 16, 64).attach_limit("old", DRIVER, 2);
    let outcome = cluster.outcome();
    assert_eq!((outcome.launched(), outcome.hosts("db")), (1, vec![1, 2]));
}

#[test]
fn volumes_of_pods_that_run_are_attached_already() {
    let cluster = volume(cluster(), "v", vec![]).volume_claim("old", Some("v"), None);
    let cluster = cluster
        .node_in("old", "a", 16, 64)
        .attach_limit("old", DRIVER, 2)
        .run(app("old").using("old").on("old"));
    assert_eq!(stateful(cluster, 2).outcome().hosts("db"), [1, 1]);
}

#[test]
fn limits_of_other_drivers_do_not_matter() {
    let cluster =
        stateful(cluster(), 3).node_in("old", "a", 16, 64).attach_limit("old", "other.example.com", 0);
    assert_eq!(cluster.outcome().launched(), 0);
}

#[test]
fn a_new_node_takes_as_many_volumes_as_its_provider_says() {
    let mut limited = machine("limited", 16, 64, "0.50");
    limited.allocatable.set(&format!("attachable-volumes-csi-{DRIVER}"), 2);
    let mut cluster = cluster();
    Arc::make_mut(&mut cluster.0.pools).insert("general".into(), Arc::new(pool("general", vec![limited])));
    assert_eq!(stateful(cluster, 5).outcome().hosts("db"), [1, 2, 2]);
}

#[test]
fn a_new_node_takes_as_many_volumes_as_others_of_its_kind() {
    let large = machine("large", 16, 64, "0.80");
    let cluster = cluster().standing_but("old", "general", &large, |_, node| node.unschedulable = true);
    let cluster = cluster.attach_limit("node-of-old", DRIVER, 2);
    let mut only_large = crate::workload::general();
    only_large.instance_types = Arc::new(vec![large]);
    let mut cluster = stateful(cluster, 5);
    Arc::make_mut(&mut cluster.0.pools).insert("general".into(), Arc::new(only_large));
    let (plan, _) = cluster.plan();
    let mut counts: Vec<usize> = plan.launches.iter().map(|launch| launch.pods.len()).collect();
    counts.sort_unstable();
    assert_eq!(counts, [1, 2, 2]);
    assert!(cluster.after(&plan).machines_launched(0).nodes_joined().plan().0.launches.is_empty());
}

#[test]
fn where_nobody_knows_a_limit_there_is_none() {
    let outcome = stateful(cluster(), 100).outcome();
    assert_eq!(outcome.hosts("db"), [20; 5]);
}

#[test]
fn pods_that_share_a_volume_attach_it_once() {
    let cluster = volume(cluster(), "v", vec![]).volume_claim("shared", Some("v"), None);
    let cluster = cluster.node_in("old", "a", 16, 64).attach_limit("old", DRIVER, 1);
    let outcome = cluster.run(app("reader").pods(5).using("shared")).outcome();
    assert_eq!((outcome.launched(), outcome.nodes("reader")), (0, vec!["old".to_owned()]));
}

#[test]
fn a_pod_joins_others_that_have_attached_its_volume() {
    let cluster = volume(cluster(), "v", vec![]).volume_claim("shared", Some("v"), None);
    let cluster = cluster.node_in("old", "a", 16, 64).attach_limit("old", DRIVER, 1);
    let cluster = cluster.run(app("old").using("shared").on("old"));
    assert_eq!(cluster.run(app("reader").using("shared")).outcome().launched(), 0);
}

#[test]
fn spread_over_zones_works_with_volumes_that_are_made_anywhere() {
    let mut spread = app("db").pods(6).using("data-db-").spread(ZONE, 1);
    spread.shape.spread[0].min_domains = Some(3);
    let cluster = (1..=6).fold(cluster(), |cluster, number| {
        cluster.volume_claim(&format!("data-db-{number}"), None, Some("anywhere"))
    });
    assert_eq!(cluster.run(spread).outcome().zones("db"), told(&[("a", 2), ("b", 2), ("c", 2)]));
}

#[test]
fn a_volume_may_be_bound_to_a_region_or_any_other_label() {
    let mut cluster = volume(cluster(), "v", vec![term("region", Operator::In, &["north"])]).volume_claim(
        "data",
        Some("v"),
        None,
    );
    assert_eq!(cluster.outcome().pending("web"), 1);
    let mut north = crate::workload::general();
    north.labels.set("region", "north");
    Arc::make_mut(&mut cluster.0.pools).insert("general".into(), Arc::new(north));
    assert_eq!(cluster.outcome().by(well_known::POOL, "web"), told(&[("general", 1)]));
}
