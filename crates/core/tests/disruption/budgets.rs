//! How many nodes of a pool may be on their way out at the same time.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::tz::{Offset, TimeZone};
use windlass_core::model::{DisruptionBudget, DisruptionReason, Pool, Share, Window};

use crate::cluster::{Cluster, NOW};
use crate::nodes::{NOTHING, half_empty_in, large, small, soon, thrifty, web};
use crate::shapes::{asks, claim, node, size};

fn budget(nodes: Share) -> DisruptionBudget {
    DisruptionBudget { nodes, reasons: BTreeSet::new(), window: None }
}

fn only(reason: DisruptionReason, nodes: Share) -> DisruptionBudget {
    DisruptionBudget { reasons: BTreeSet::from([reason]), ..budget(nodes) }
}

fn thrifty_within(budgets: impl IntoIterator<Item = DisruptionBudget>) -> Pool {
    Pool { budgets: budgets.into_iter().collect(), ..thrifty() }
}

/// Empty nodes, named by letters.
fn empty(pool: Pool, names: &str) -> Cluster {
    let nodes = names.chars().map(|name| name.to_string());
    nodes.fold(Cluster::new([pool]), |cluster, name| cluster.small(&name))
}

#[test]
fn so_many_nodes_as_the_budget_says_are_consolidated() {
    let cluster = half_empty_in(thrifty_within([budget(Share::Count(3))]), "abcdefgh", 100);
    assert_eq!(cluster.consolidated(), ["a", "b", "c"]);
    let percent = half_empty_in(thrifty_within([budget(Share::Percent(25))]), "abcdefgh", 100);
    assert_eq!(percent.consolidated(), ["a", "b"]);
}

#[test]
fn a_budget_of_none_keeps_nodes_from_being_cleared_and_replaced() {
    let none = || thrifty_within([budget(Share::Count(0))]);
    assert_eq!(half_empty_in(none(), "abcd", 100).consolidated(), NOTHING);
    let big = Cluster::new([none()]).large("a").run(web('a', 100));
    assert_eq!(big.consolidated(), NOTHING);
}

#[test]
fn each_reason_has_budgets_of_its_own() {
    let keeps_empty = || thrifty_within([only(DisruptionReason::Empty, Share::Count(0))]);
    assert_eq!(half_empty_in(keeps_empty(), "ab", 500).consolidated(), ["a"]);
    assert_eq!(empty(keeps_empty(), "ab").emptied(), NOTHING);
    let keeps_busy = || thrifty_within([only(DisruptionReason::Underutilized, Share::Count(0))]);
    assert_eq!(half_empty_in(keeps_busy(), "ab", 500).consolidated(), NOTHING);
    assert_eq!(empty(keeps_busy(), "ab").emptied(), ["a", "b"]);
}

#[test]
fn a_budget_for_several_reasons_counts_for_each() {
    let both = BTreeSet::from([DisruptionReason::Empty, DisruptionReason::Underutilized]);
    let pool = || thrifty_within([DisruptionBudget { reasons: both.clone(), ..budget(Share::Count(1)) }]);
    assert_eq!(half_empty_in(pool(), "abcd", 100).consolidated(), ["a"]);
    assert_eq!(empty(pool(), "abcd").emptied(), ["a"]);
}

#[test]
fn a_budget_for_a_reason_counts_beside_one_for_all() {
    let pool = || thrifty_within([budget(Share::Count(3)), only(DisruptionReason::Empty, Share::Count(1))]);
    assert_eq!(empty(pool(), "abcd").emptied(), ["a"]);
    assert_eq!(half_empty_in(pool(), "abcdefgh", 100).consolidated(), ["a", "b", "c"]);
}

#[test]
fn two_pools_each_let_their_own_number_go() {
    let two = |name: &str| Pool { name: name.into(), ..thrifty_within([budget(Share::Count(2))]) };
    let mut cluster = Cluster::new([two("one"), two("other")]);
    for (letter, pool) in "abcdef".chars().zip(["one", "other"].into_iter().cycle()) {
        cluster = cluster.standing(&letter.to_string(), pool, &small());
    }
    assert_eq!(cluster.emptied(), ["a", "b", "c", "d"]);
    let busy = "abcdef".chars().fold(cluster, |cluster, letter| cluster.run(web(letter, 100)));
    assert_eq!(busy.consolidated(), ["a", "b", "c", "d"]);
}

#[test]
fn nodes_that_are_being_given_back_count() {
    let cluster = empty(thrifty_within([budget(Share::Count(2))]), "abcd");
    let cluster = cluster.claim_but("d", |claim| claim.deleting = true);
    assert_eq!(cluster.emptied(), ["a"]);
    assert_eq!(
        cluster.why("b"),
        "empty for 1000 s, but the pool's budgets let 2 nodes of 4 go at a time, and 2 are missing already"
    );
}

#[test]
fn a_node_that_somebody_deletes_counts_before_its_claim_does() {
    let cluster = empty(thrifty_within([budget(Share::Count(1))]), "ab");
    assert_eq!(cluster.node_but("b", |node| node.deleting = true).emptied(), NOTHING);
}

#[test]
fn sick_nodes_count_and_go_all_the_same() {
    let ill = |cluster: Cluster| {
        cluster.not_ready("c", 0).claim_but("c", |claim| claim.disrupted = Some(DisruptionReason::Sick))
    };
    let cluster = ill(empty(thrifty_within([budget(Share::Count(1))]), "abc"));
    assert_eq!((cluster.emptied(), cluster.removed()), (vec![], vec!["c".to_owned()]));
    let none = ill(empty(thrifty_within([budget(Share::Count(0))]), "abc"));
    assert_eq!(none.removed(), ["c"], "a budget keeps no dead node");
}

#[test]
fn more_missing_nodes_than_the_budget_allows_let_none_go() {
    let cluster = empty(thrifty_within([budget(Share::Count(1))]), "abcd");
    let cluster = cluster.not_ready("c", NOW - 5).not_ready("d", NOW - 5);
    assert_eq!(cluster.emptied(), NOTHING);
    assert!(cluster.why("a").ends_with("let 1 node of 4 go at a time, and 2 are missing already"));
}

#[test]
fn a_percentage_counts_neither_what_is_arriving_nor_what_is_not_ours() {
    let cluster = empty(thrifty_within([budget(Share::Percent(50))]), "ab");
    let cluster = (0..6).fold(cluster, |cluster, number| {
        let cluster = cluster.node(node(&format!("theirs-{number}"), size(1, 1)));
        cluster.claim(claim(&format!("new-{number}"), "general", &[small()]))
    });
    assert_eq!(cluster.emptied(), ["a"]);
}

#[test]
fn what_is_decided_counts_until_it_is_gone() {
    let cluster = empty(thrifty_within([budget(Share::Count(2))]), "abcd");
    let decided = cluster.going_on();
    assert_eq!((decided.emptied().len(), decided.removed()), (0, vec!["a".to_owned(), "b".to_owned()]));
    let one_gone = decided.without_claim("a");
    assert_eq!(one_gone.emptied(), ["c"], "another takes its turn");
}

#[test]
fn empty_nodes_use_the_budget_before_busy_ones_do() {
    let cluster = half_empty_in(thrifty_within([budget(Share::Count(1))]), "ab", 500).small("c");
    assert_eq!((cluster.emptied(), cluster.consolidated()), (vec!["c".to_owned()], vec![]));
    let going = cluster.going_on();
    assert_eq!(going.consolidated(), NOTHING, "it is on its way");
    let node_gone = going.without_claim("c");
    assert_eq!(node_gone.node_but("c", |node| node.deleting = true).consolidated(), ["a"]);
}

#[test]
fn a_budget_that_shrinks_after_the_decision_does_not_take_it_back() {
    let decided = half_empty_in(thrifty(), "ab", 500).going_on();
    let shrunk = decided.pool_but("general", |pool| pool.budgets = vec![budget(Share::Count(0))]);
    assert_eq!((shrunk.taken_back(), shrunk.removed()), (vec![], vec!["a".to_owned()]));
}

/// No node goes from the beginning of the window until its end. It is half past ten on a Tuesday evening.
fn closed_from(begins: &str, zone: TimeZone, hours: u64) -> DisruptionBudget {
    let window = Window { begins: begins.parse().unwrap(), zone, lasts: Duration::from_hours(hours) };
    DisruptionBudget { window: Some(window), ..budget(Share::Count(0)) }
}

#[test]
fn a_window_is_by_the_clocks_of_its_time_zone() {
    let evening = |zone| empty(thrifty_within([closed_from("0 22 * * *", zone, 1)]), "a");
    assert_eq!(evening(TimeZone::UTC).emptied(), NOTHING);
    let tokyo = TimeZone::fixed(Offset::from_hours(9).unwrap());
    assert_eq!(evening(tokyo.clone()).emptied(), ["a"], "half past seven in the morning there");
    let morning = empty(thrifty_within([closed_from("0 7 * * wed", tokyo, 1)]), "a");
    assert_eq!(morning.emptied(), NOTHING, "and Wednesday already");
}

#[test]
fn a_window_may_go_past_midnight() {
    let night = |begins| empty(thrifty_within([closed_from(begins, TimeZone::UTC, 30)]), "a");
    assert_eq!(night("0 20 * * mon").emptied(), NOTHING, "since yesterday evening");
    assert_eq!(night("0 16 * * mon").emptied(), ["a"], "over since ten");
}

#[test]
fn outside_the_window_the_other_budgets_count() {
    let budgets = [closed_from("0 1 * * *", TimeZone::UTC, 8), budget(Share::Count(1))];
    assert_eq!(empty(thrifty_within(budgets), "abc").emptied(), ["a"]);
}

#[test]
fn within_overlapping_windows_the_strictest_counts() {
    let one = DisruptionBudget { nodes: Share::Count(1), ..closed_from("0 20 * * *", TimeZone::UTC, 8) };
    let two = DisruptionBudget { nodes: Share::Count(2), ..closed_from("0 22 * * *", TimeZone::UTC, 8) };
    assert_eq!(empty(thrifty_within([two, one]), "abcd").emptied(), ["a"]);
}

#[test]
fn the_plan_wakes_at_the_next_change_of_any_window() {
    let late = closed_from("0 20 * * *", TimeZone::UTC, 8);
    let soonest = DisruptionBudget { nodes: Share::Count(5), ..closed_from("45 22 * * *", TimeZone::UTC, 1) };
    let cluster = empty(thrifty_within([late, soonest]), "a");
    assert_eq!(cluster.plan().0.wake_at, Some(soon(900)), "at a quarter to eleven");
}

#[test]
fn a_window_for_a_reason_keeps_only_what_would_go_for_it() {
    let reasons = BTreeSet::from([DisruptionReason::Underutilized]);
    let office = DisruptionBudget { reasons, ..closed_from("0 22 * * *", TimeZone::UTC, 1) };
    let cluster = half_empty_in(thrifty_within([office]), "ab", 500);
    assert_eq!(cluster.consolidated(), NOTHING);
    assert_eq!(cluster.small("c").emptied(), ["c"]);
}

#[test]
fn a_replacement_does_not_use_the_budget() {
    let pool = thrifty_within([budget(Share::Count(2))]);
    let cluster = Cluster::new([pool]).large("a").large("b").run(web('a', 1900)).run(web('b', 1900));
    assert_eq!((cluster.consolidated(), cluster.machines().len()), (vec!["a".to_owned(), "b".to_owned()], 2));
}

#[test]
fn a_pool_without_nodes_of_its_own_does_not_limit_others() {
    let strict = Pool { name: "strict".into(), ..thrifty_within([budget(Share::Count(0))]) };
    let cluster = Cluster::new([strict, thrifty()]).small("a").standing("b", "general", &large());
    let cluster = cluster.run(web('a', 100)).bound("busy", 3, asks(2000, 512), "node-of-b");
    assert_eq!(cluster.consolidated(), ["a"]);
}
