//! Machines that are cut from hosts of limited size.

use std::sync::Arc;

use windlass_core::Text;
use windlass_core::model::{Claim, Consolidation, Draw, InstanceType, Pool, Resources};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{asks, at, claim, launched, machine, offering, pool, size};

/// A machine that takes what it has of a host, which has so many cores and GiB left.
fn cut(name: &str, (cores, gib, price): (i64, i64, &str), host: &str, left: (i64, i64)) -> InstanceType {
    let mut machine = machine(name, cores, gib, price);
    machine.offerings[0].draws = Some(draw((cores, gib), host, left));
    machine
}

fn draw(takes: (i64, i64), host: &str, left: (i64, i64)) -> Draw {
    let amounts = |(cores, gib)| Resources::from_iter([("cpu", cores * 1000), ("memory", gib << 30)]);
    Draw { from: host.into(), left: amounts(left), takes: amounts(takes) }
}

/// Machines of two, four and eight cores, all cut from one host.
fn shapes(host: &str, left: (i64, i64)) -> Vec<InstanceType> {
    let cut = |cores: i64, price| cut(&format!("{host}-{cores}"), (cores, cores * 2, price), host, left);
    vec![cut(2, "0.02"), cut(4, "0.04"), cut(8, "0.08")]
}

fn cores_of(cluster: &Cluster) -> i64 {
    let (plan, _) = cluster.plan();
    let first = plan.launches.iter().filter_map(|launch| launch.offerings.first());
    first.map(|way| way.capacity.get("cpu") / 1000).sum()
}

#[test]
fn a_plan_takes_no_more_of_a_host_than_it_has() {
    let general = || pool("general", shapes("pve1", (16, 40)));
    for pods in [(40, asks(1000, 512)), (7, asks(3500, 2048)), (3, asks(7000, 4096))] {
        let cluster = Cluster::new([general()]).pending("web", pods.0, pods.1);
        assert_eq!(cores_of(&cluster), 16);
    }
}

#[test]
fn what_there_is_least_of_decides() {
    let cluster = Cluster::new([pool("general", shapes("pve1", (16, 9)))]).pending("web", 9, asks(1900, 512));
    assert_eq!(cores_of(&cluster), 4, "there are two GiB for each core");
}

#[test]
fn what_a_host_cannot_hold_is_got_elsewhere() {
    let mut machines = shapes("pve1", (4, 40));
    machines.extend(shapes("pve2", (2, 40)));
    let cluster = Cluster::new([pool("general", machines)]).pending("web", 3, asks(1900, 512));
    let launches = cluster.launches();
    assert_eq!(launches.iter().filter(|(name, _)| name.starts_with("pve2")).count(), 1);
    assert_eq!(cores_of(&cluster), 6);
}

#[test]
fn the_cheapest_mix_is_found_within_what_there_is() {
    let left = (10, 100);
    let machines = vec![
        cut("wide", (6, 12, "0.09"), "pve1", left),
        cut("slim", (4, 8, "0.05"), "pve1", left),
        machine("cloud", 8, 16, "0.40"),
    ];
    // Two slim machines leave two cores that no shape can have, and one pod would have to go to the cloud.
    let cluster = Cluster::new([pool("general", machines)]).pending("web", 5, asks(2000, 1024));
    assert_eq!(cluster.launches(), [("slim".to_owned(), 2), ("wide".to_owned(), 3)]);
}

#[test]
fn pools_of_one_provider_draw_on_the_same_host() {
    let pools = ["a", "b"].map(|name| pool(name, shapes("pve1", (8, 40))));
    let cluster = Cluster::new(pools.clone()).pending("web", 20, asks(1000, 512));
    assert_eq!(cores_of(&cluster), 8);
    let [first, second] = pools;
    let weighed = Cluster::new([Pool { weight: 5, ..first }, second]).pending("web", 20, asks(1000, 512));
    assert_eq!(cores_of(&weighed), 8);
}

#[test]
fn hosts_of_different_providers_are_different_ones_whatever_their_names() {
    let mut pools = ["a", "b"].map(|name| pool(name, shapes("pve1", (8, 40))));
    pools[1].provider = "other".into();
    let cluster = Cluster::new(pools).pending("web", 20, asks(1000, 512));
    assert_eq!(cores_of(&cluster), 16);
}

#[test]
fn what_claims_wait_for_is_set_aside() {
    let shapes = shapes("pve1", (8, 40));
    let cluster = || Cluster::new([pool("general", shapes.clone())]).pending("web", 20, asks(1000, 512));
    let waits = || claim("new", "general", &shapes[1..]);
    assert_eq!(cores_of(&cluster().claim(waits())), 4, "it counts for its first choice");
    assert_eq!(cores_of(&cluster().claim(launched(waits(), 0))), 8, "its provider knows of it");
    assert_eq!(cores_of(&cluster().claim(Claim { deleting: true, ..waits() })), 8);
    assert_eq!(cores_of(&cluster().claim(Claim { given_up: true, ..waits() })), 8);
}

#[test]
fn what_was_launched_after_the_provider_was_asked_is_set_aside_as_well() {
    let asked = Pool { offered_at: Some(at(NOW - 20)), ..pool("general", shapes("pve1", (8, 40))) };
    let cluster = Cluster::new([asked.clone()]).pending("web", 20, asks(1000, 512));
    let made = |second| {
        let mut claim = launched(claim("new", "general", &asked.instance_types[1..]), 0);
        claim.launched.as_mut().unwrap().at = Some(at(NOW + second));
        claim
    };
    assert_eq!(cores_of(&cluster.clone().claim(made(-21))), 8);
    assert_eq!(cores_of(&cluster.clone().claim(made(-20))), 4);
    assert_eq!(
        cores_of(&cluster.claim(Claim { deleting: true, ..made(-1) })),
        4,
        "it is there until it is gone"
    );
}

#[test]
fn machines_that_are_kept_for_no_pod_draw_on_it_too() {
    let kept = Pool { min_nodes: 9, ..pool("general", shapes("pve1", (6, 40))) };
    let cluster = Cluster::new([kept]);
    assert_eq!(cluster.launches().len(), 3);
    let short = &cluster.plan().1.short_pools[0].exclusion;
    assert_eq!(
        short.to_string(),
        "pve1 has 0 of cpu left beside 6 for machines that are on their way, and a machine that would fit takes 2"
    );
}

#[test]
fn alternatives_are_cut_only_from_what_the_first_choices_leave() {
    let mut zoned = machine("small", 2, 4, "0");
    zoned.offerings = vec![offering("a", "0.10"), offering("b", "0.11"), offering("c", "0.12")];
    for (place, left) in [(2, 4), (4, 8)].into_iter().enumerate() {
        let host = if place == 0 { "pve1" } else { "pve2" };
        zoned.offerings[place].draws = Some(draw((2, 4), host, left));
    }
    let (plan, _) = Cluster::new([pool("general", vec![zoned])]).pending("web", 1, asks(1900, 512)).plan();
    let zones = |number: usize| -> Vec<&str> {
        plan.launches[number].offerings.iter().map(|way| &*way.key.zone).collect()
    };
    assert_eq!(zones(0), ["a", "b", "c"]);
    let mut tight = machine("small", 2, 4, "0");
    tight.offerings = vec![offering("a", "0.10"), offering("b", "0.11")];
    for offering in &mut tight.offerings {
        offering.draws = Some(draw((2, 4), "pve1", (3, 8)));
    }
    let (plan, _) = Cluster::new([pool("general", vec![tight])]).pending("web", 1, asks(1900, 512)).plan();
    assert_eq!(plan.launches[0].offerings.len(), 1, "there is no second machine in what is left");
}

#[test]
fn a_machine_is_not_replaced_by_one_for_which_its_host_has_no_room_beside_it() {
    let consolidated = |left| {
        let large = cut("large", (8, 16, "0.80"), "pve1", left);
        let small = cut("small", (2, 4, "0.02"), "pve1", left);
        let machines = pool("general", vec![small, large.clone()]);
        Cluster::new([Pool { consolidation: Consolidation::Underutilized, ..machines }])
            .standing("old", "general", &large)
            .bound("web", 1, asks(1000, 512), "node-of-old")
            .removals()
    };
    assert_eq!(consolidated((2, 4)), ["old"]);
    assert_eq!(consolidated((1, 4)), [""; 0]);
}

#[test]
fn pods_for_which_no_host_has_enough_are_told_what_is_left() {
    let general = |left| Cluster::new([pool("general", shapes("pve1", left))]);
    assert_eq!(
        general((0, 0)).pending("web", 1, asks(1000, 512)).excuse(),
        "pool general: pve1 has 0 of cpu left, and a machine that would fit takes 2"
    );
    assert_eq!(
        general((6, 64)).pending("web", 2, asks(3000, 512)).excuse(),
        "pool general: pve1 has 2 of cpu left beside 4 for machines that are on their way, and a machine that would fit \
         takes 4"
    );
    assert_eq!(
        general((16, 1)).pending("web", 1, asks(1000, 512)).excuse(),
        "pool general: pve1 has 1Gi of memory left, and a machine that would fit takes 4Gi"
    );
}

#[test]
fn of_several_hosts_the_one_that_comes_nearest_is_named() {
    let mut machines = shapes("pve1", (1, 64));
    machines.extend(shapes("pve2", (3, 64)));
    let cluster = Cluster::new([pool("general", machines)]).pending("web", 1, asks(3000, 512));
    assert_eq!(
        cluster.excuse(),
        "pool general: pve2 has 3 of cpu left, and a machine that would fit takes 4; it is the nearest of 2 that have too \
         little left"
    );
}

#[test]
fn a_limit_that_is_reached_is_told_where_the_host_has_enough() {
    let few = Pool { max_nodes: Some(0), ..pool("general", shapes("pve1", (16, 64))) };
    let excuse = Cluster::new([few]).pending("web", 1, asks(1000, 512)).excuse();
    assert_eq!(excuse, "pool general: the limit of 0 nodes is reached");
}

#[test]
fn of_what_a_host_does_not_name_it_has_nothing_and_where_it_is_named_twice_the_least_counts() {
    let mut unnamed = shapes("pve1", (16, 64));
    for draw in unnamed.iter_mut().filter_map(|shape| shape.offerings[0].draws.as_mut()) {
        draw.left = Resources::from_iter([("cpu", 16_000)]);
    }
    let cores = |machines| {
        let pool = Pool { instance_types: Arc::new(machines), ..pool("general", Vec::new()) };
        cores_of(&Cluster::new([pool]).pending("web", 40, asks(1000, 512)))
    };
    assert_eq!(cores(unnamed), 0);
    let mut differing = shapes("pve1", (16, 64));
    differing[1] = cut("pve1-4", (4, 8, "0.04"), "pve1", (6, 64));
    assert_eq!(cores(differing), 6);
}

#[test]
fn an_offering_that_names_no_store_reads_as_before() {
    let old = serde_json::json!({
        "zone": "a", "capacity_type": "spot", "price": "0.10", "available": null, "avoid_until": null,
    });
    let read: windlass_core::model::Offering = serde_json::from_value(old).unwrap();
    assert_eq!(read.draws, None);
    let host: Text = "pve1".into();
    let drawn = Draw { from: host, left: size(4, 8), takes: size(2, 4) };
    let told = serde_json::to_value(&drawn).unwrap();
    assert_eq!(serde_json::from_value::<Draw>(told).unwrap(), drawn);
}
