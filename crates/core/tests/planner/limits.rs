use windlass_core::model::{Claim, InstanceType, PodShape, Pool, Resources};

use crate::cluster::Cluster;
use crate::cluster::NOW;
use crate::shapes::{asks, at, claim, launched, machine, offering, pool};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

fn limited(limit: Resources) -> Pool {
    Pool { limits: limit, ..pool("general", vec![small()]) }
}

fn cores(cores: i64) -> Resources {
    Resources::from_iter([("cpu", cores * 1000)])
}

#[test]
fn a_limit_is_never_exceeded() {
    let cluster = Cluster::new([limited(cores(5))]).pending("web", 9, asks(2000, 1024));
    assert_eq!(cluster.launches().len(), 2);
    assert_eq!(cluster.excuse(), "pool general: the limit of 5 cpu is reached");
    assert_eq!(cluster.plan().1.unplaced[0].pods.len(), 7);
}

#[test]
fn claims_that_are_going_count_until_they_are_gone() {
    let going = Claim { deleting: true, ..launched(claim("old", "general", &[small()]), 0) };
    let cluster = Cluster::new([limited(cores(4))]).claim(going).pending("web", 2, asks(2000, 1024));
    assert_eq!(cluster.launches().len(), 1);
}

#[test]
fn a_claim_without_a_machine_counts_for_the_largest_it_may_become() {
    let open = claim("new", "general", &[small(), machine("large", 8, 32, "0.40")]);
    let cluster = Cluster::new([limited(cores(8))]).claim(open).pending("web", 2, asks(2000, 1024));
    assert_eq!(cluster.launches(), []);
}

#[test]
fn the_number_of_nodes_is_limited_too() {
    let few = Pool { max_nodes: Some(3), ..pool("general", vec![small()]) };
    let cluster =
        Cluster::new([few]).claim(claim("new", "general", &[small()])).pending("web", 9, asks(2000, 1024));
    assert_eq!(cluster.launches().len(), 2);
    assert_eq!(cluster.excuse(), "pool general: the limit of 3 nodes is reached");
}

#[test]
fn alternatives_take_only_what_the_first_choices_leave_of_a_limit() {
    let machines = vec![small(), machine("wide", 4, 8, "0.15")];
    let cluster = Cluster::new([Pool { limits: cores(6), ..pool("general", machines) }]);
    let (plan, _) = cluster.pending("web", 2, asks(1000, 5 * 1024)).plan();
    let ways: Vec<usize> = plan.launches.iter().map(|launch| launch.offerings.len()).collect();
    assert_eq!(ways, [2, 1]);
}

#[test]
fn a_full_pool_hands_over_to_the_next() {
    let first = Pool { weight: 5, ..limited(cores(2)) };
    let second = pool("second", vec![machine("other", 2, 8, "0.50")]);
    let cluster = Cluster::new([first, second]).pending("web", 2, asks(2000, 1024));
    assert_eq!(cluster.launches(), [("other".to_owned(), 1), ("small".to_owned(), 1)]);
}

#[test]
fn no_more_is_launched_of_an_offering_than_can_be_had() {
    let mut scarce = small();
    scarce.offerings[0].available = Some(2);
    let machines = vec![scarce, machine("plenty", 2, 8, "0.30")];
    let launches = Cluster::new([pool("general", machines)]).pending("web", 3, asks(2000, 1024)).launches();
    assert_eq!(launches, [("plenty".to_owned(), 1), ("small".to_owned(), 1), ("small".to_owned(), 1)]);
}

#[test]
fn pools_of_one_provider_share_what_it_has() {
    let mut scarce = small();
    scarce.offerings[0].available = Some(1);
    let pools = [pool("a", vec![scarce.clone()]), pool("b", vec![scarce])];
    let cluster = Cluster::new(pools).pending("web", 3, asks(2000, 1024));
    assert_eq!(cluster.launches().len(), 1);
    let excuse = "1 offerings would fit, and none of them can be had at present";
    assert_eq!(cluster.excuse(), format!("pool a: {excuse}; pool b: {excuse}"));
}

#[test]
fn machines_that_the_provider_has_not_been_asked_for_yet_are_not_promised_twice() {
    let mut scarce = small();
    scarce.offerings[0].available = Some(1);
    let cluster = Cluster::new([pool("general", vec![scarce.clone()])]).pending("web", 2, asks(2000, 1024));
    assert_eq!(cluster.claim(claim("new", "general", &[scarce])).launches(), []);
}

#[test]
fn an_offering_that_could_not_be_had_is_left_alone_for_a_while() {
    let mut zoned = small();
    zoned.offerings = vec![offering("a", "0.10"), offering("b", "0.20")];
    zoned.offerings[0].avoid_until = Some(at(NOW + 60));
    let cluster =
        |machine| Cluster::new([pool("general", vec![machine])]).pending("web", 1, asks(1000, 1024));
    let (plan, _) = cluster(zoned.clone()).plan();
    assert_eq!(plan.launches[0].offerings.len(), 1);
    assert_eq!((&*plan.launches[0].offerings[0].key.zone, plan.wake_at), ("b", None));
    zoned.offerings[1].avoid_until = Some(at(NOW + 30));
    let (plan, _) = cluster(zoned.clone()).plan();
    assert_eq!((plan.launches.len(), plan.wake_at), (0, Some(at(NOW + 30))));
    zoned.offerings[1].avoid_until = Some(at(NOW));
    assert_eq!(cluster(zoned).launches().len(), 1);
}

#[test]
fn when_there_is_not_enough_for_all_priority_decides() {
    let machines = vec![small(), machine("memory", 2, 64, "0.90")];
    let cluster = Cluster::new([Pool { max_nodes: Some(1), ..pool("general", machines) }]);
    let urgent = PodShape { priority: 1000, ..asks(1000, 32 * 1024) };
    let cluster = cluster.pending("web", 20, asks(500, 512)).pending("urgent", 1, urgent);
    assert_eq!(cluster.launches(), [("memory".to_owned(), 3)]);
}

#[test]
fn a_pool_that_cannot_be_used_launches_nothing_and_says_why() {
    let broken =
        Pool { unusable: Some("the provider does not answer".into()), ..pool("general", vec![small()]) };
    let cluster = Cluster::new([broken]).pending("web", 1, asks(1000, 1024));
    assert_eq!(cluster.launches(), []);
    assert_eq!(cluster.excuse(), "pool general: the provider does not answer");
}
