use std::collections::BTreeSet;
use std::time::Duration;

use jiff::tz::TimeZone;
use windlass_core::model::{
    DisruptionBudget, DisruptionReason, InstanceType, Pool, Readiness, Share, Window,
};

use crate::cluster::{Cluster, NOW};
use crate::shapes::{asks, at, claim, machine, pool};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

fn budget(nodes: Share) -> DisruptionBudget {
    DisruptionBudget { nodes, reasons: BTreeSet::new(), window: None }
}

/// Empty nodes, named by letters, in a pool with budgets.
fn empty(names: &str, budgets: impl IntoIterator<Item = DisruptionBudget>) -> Cluster {
    let pool = Pool { budgets: budgets.into_iter().collect(), ..pool("general", vec![small()]) };
    let nodes = names.chars().map(|name| name.to_string());
    nodes.fold(Cluster::new([pool]), |cluster, name| cluster.standing(&name, "general", &small()))
}

#[test]
fn no_more_empty_nodes_go_at_a_time_than_the_budget_says() {
    let cluster = empty("abcde", [budget(Share::Count(2))]);
    assert_eq!(cluster.removals(), ["a", "b"]);
    assert_eq!(
        cluster.why("c"),
        "empty for 1000 s, but the pool's budgets let 2 nodes of 5 go at a time, and 2 are missing already"
    );
    let (plan, _) = cluster.plan();
    assert!(cluster.after(&plan).plan().0.is_empty(), "those that are going count");
}

#[test]
fn a_budget_of_none_keeps_all_nodes() {
    for none in [Share::Count(0), Share::Percent(0)] {
        let cluster = empty("ab", [budget(none)]);
        assert_eq!(cluster.removals(), Vec::<String>::new());
        assert_eq!(cluster.why("a"), "empty for 1000 s, but the pool's budgets let none of 2 go at a time");
    }
}

#[test]
fn a_budget_larger_than_the_pool_keeps_nothing() {
    assert_eq!(empty("abc", [budget(Share::Count(10))]).removals(), ["a", "b", "c"]);
    assert_eq!(empty("abc", [budget(Share::Percent(100))]).removals(), ["a", "b", "c"]);
}

#[test]
fn a_percentage_is_of_the_pools_nodes_and_rounds_up() {
    assert_eq!(empty("a", [budget(Share::Percent(10))]).removals(), ["a"]);
    assert_eq!(empty("abcdefghijk", [budget(Share::Percent(10))]).removals(), ["a", "b"]);
}

#[test]
fn of_several_budgets_the_strictest_counts() {
    let cluster =
        empty("abcde", [budget(Share::Count(3)), budget(Share::Percent(20)), budget(Share::Count(4))]);
    assert_eq!(cluster.removals(), ["a"]);
}

#[test]
fn a_budget_for_other_reasons_does_not_count() {
    let sick = BTreeSet::from([DisruptionReason::Sick]);
    let cluster = empty("ab", [DisruptionBudget { reasons: sick, ..budget(Share::Count(0)) }]);
    assert_eq!(cluster.removals(), ["a", "b"]);
    let for_empty = BTreeSet::from([DisruptionReason::Empty]);
    let cluster = empty("ab", [DisruptionBudget { reasons: for_empty, ..budget(Share::Count(0)) }]);
    assert_eq!(cluster.removals(), Vec::<String>::new());
}

#[test]
fn a_node_that_is_not_ready_counts_as_if_it_were_going() {
    let cluster = empty("ab", [budget(Share::Count(1))]).standing_but("c", "general", &small(), |_, node| {
        node.readiness = Readiness::NotReady { since: at(NOW - 5) };
    });
    assert_eq!(cluster.removals(), Vec::<String>::new());
    assert_eq!(
        cluster.why("a"),
        "empty for 1000 s, but the pool's budgets let 1 node of 3 go at a time, and 1 is missing already"
    );
}

#[test]
fn what_is_arriving_and_what_was_given_up_before_it_came_is_not_missing() {
    let mut given_up = claim("given-up", "general", &[small()]);
    given_up.deleting = true;
    let cluster = empty("ab", [budget(Share::Count(1))])
        .claim(claim("arriving", "general", &[small()]))
        .claim(given_up);
    assert_eq!(cluster.removals(), ["a"]);
}

#[test]
fn each_pool_has_its_own_budgets() {
    let strict = Pool { budgets: vec![budget(Share::Count(0))], ..pool("strict", vec![small()]) };
    let cluster = Cluster::new([strict, pool("general", vec![small()])])
        .standing("a", "strict", &small())
        .standing("b", "general", &small());
    assert_eq!(cluster.removals(), ["b"]);
}

#[test]
fn a_budget_with_a_schedule_counts_at_its_times_only_and_the_plan_wakes_when_that_changes() {
    // The clusters of these tests live at half past ten in the evening.
    let window = |begins: &str| Window {
        begins: begins.parse().unwrap(),
        zone: TimeZone::UTC,
        lasts: Duration::from_hours(1),
    };
    let scheduled =
        |begins: &str| DisruptionBudget { window: Some(window(begins)), ..budget(Share::Count(0)) };
    let closed = empty("ab", [scheduled("0 22 * * *")]);
    assert_eq!((closed.removals().len(), closed.plan().0.wake_at), (0, Some(at(NOW + 1800))));
    assert_eq!(empty("ab", [scheduled("0 1 * * *")]).removals(), ["a", "b"]);
}

#[test]
fn budgets_do_not_keep_nodes_from_filling_or_pods_from_getting_machines() {
    let cluster = empty("a", [budget(Share::Count(0))]).pending("web", 2, asks(1500, 1024));
    assert_eq!(cluster.launches(), [("small".to_owned(), 1)]);
}
