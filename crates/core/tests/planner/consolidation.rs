use std::sync::Arc;
use std::time::Duration;

use windlass_core::Plan;
use windlass_core::model::{
    Consolidation, Decision, DisruptionBudget, DisruptionReason, InstanceType, PodBudget, PodId, PodOwner,
    PodShape, Pool, Readiness, Requirements, Selector, Share, Taint,
};
use windlass_core::plan::why_kept;

use crate::cluster::{Cluster, NOW};
use crate::shapes::{asks, at, machine, pool, selecting};

fn small() -> InstanceType {
    machine("small", 2, 8, "0.10")
}

fn large() -> InstanceType {
    machine("large", 8, 32, "0.40")
}

/// A pool whose nodes are given back when their pods can run for less.
fn thrifty() -> Pool {
    Pool { consolidation: Consolidation::Underutilized, ..pool("general", vec![small(), large()]) }
}

/// Small nodes, named by letters, each with a pod that asks for so many thousandths of a core.
fn half_empty(pool: Pool, names: &str, milli: i64) -> Cluster {
    names.chars().fold(Cluster::new([pool]), |cluster, letter| {
        let (name, pod) = (letter.to_string(), format!("web-{letter}"));
        cluster.standing(&name, "general", &small()).bound(
            &pod,
            1,
            asks(milli, 512),
            &format!("node-of-{name}"),
        )
    })
}

/// The claims of the one decision of a plan.
fn decided(plan: &Plan) -> Vec<&str> {
    let [decision] = &plan.disruptions[..] else { panic!("{:?}", plan.disruptions) };
    assert_eq!(decision.reason, DisruptionReason::Underutilized);
    decision.claims.iter().map(|(claim, _)| &**claim).collect()
}

#[test]
fn nodes_go_whose_pods_fit_on_others() {
    let cluster = half_empty(thrifty(), "abcd", 500);
    let (plan, report) = cluster.plan();
    assert_eq!(decided(&plan), ["a", "b", "c"]);
    assert!(plan.launches.is_empty());
    assert_eq!(plan.disruptions[0].message, "3 pods of 3 nodes can move to others, which saves 0.30/h");
    assert_eq!(report.nodes.iter().filter(|node| node.goes).count(), 3);
}

#[test]
fn a_decision_is_carried_out_only_once_the_nodes_are_closed() {
    let cluster = half_empty(thrifty(), "ab", 500);
    let (plan, _) = cluster.plan();
    let waiting = cluster.after(&plan);
    assert!(waiting.plan().0.is_empty());
    assert_eq!(waiting.why("a"), "is to go: underutilized; its node is being closed to new pods");
    let closed = waiting.closed("a");
    assert_eq!(closed.removals(), ["a"]);
    assert_eq!(closed.plan().0.removals[0].reason, DisruptionReason::Underutilized);
}

#[test]
fn a_decision_is_taken_back_when_the_pods_would_find_no_place_any_more() {
    let cluster = half_empty(thrifty(), "ab", 900);
    let (plan, _) = cluster.plan();
    let full = cluster.after(&plan).closed("a").bound("late", 1, asks(900, 512), "node-of-b");
    let (plan, _) = full.plan();
    let [cancelled] = &plan.cancellations[..] else { panic!("{plan:?}") };
    assert_eq!((&*cancelled.claim, &*cancelled.message), ("a", "1 pod of it would find no place"));
    assert!(plan.removals.is_empty());
    assert_eq!(full.after(&plan).plan().0.removals, [], "it is not decided anew");
}

#[test]
fn a_dear_node_gives_way_to_a_cheap_one_and_stays_until_that_stands() {
    let cluster = Cluster::new([thrifty()]).standing("big", "general", &large());
    let cluster = cluster.bound("web", 2, asks(500, 512), "node-of-big");
    let (plan, _) = cluster.plan();
    assert_eq!(decided(&plan), ["big"]);
    assert_eq!(plan.disruptions[0].replacements, [0]);
    assert_eq!(&*plan.launches[0].offerings[0].key.instance_type, "small");
    assert_eq!(plan.launches[0].replaces, ["big".into()]);
    let decided = cluster.after(&plan).closed("big");
    assert_eq!(decided.removals(), Vec::<String>::new());
    let launched = decided.machines_launched(0).nodes_joined();
    assert!(launched.plan().0.is_empty());
    assert!(launched.why("big").contains("waits for its replacement"), "{}", launched.why("big"));
    assert_eq!(launched.nodes_ready().removals(), ["big"]);
}

#[test]
fn nothing_is_replaced_when_the_replacement_does_not_come_about() {
    let cluster = Cluster::new([thrifty()]).standing("big", "general", &large());
    let cluster = cluster.bound("web", 2, asks(500, 512), "node-of-big");
    let (plan, _) = cluster.plan();
    let mut failed = cluster.after(&plan).closed("big");
    let replacement = failed.names_of_replacements("big").remove(0);
    Arc::make_mut(&mut failed.0.claims).remove(&*replacement);
    let (plan, _) = failed.plan();
    assert_eq!(plan.cancellations.len(), 1);
    assert!(plan.cancellations[0].message.contains("did not come about"));
}

#[test]
fn full_nodes_and_equal_machines_stay() {
    assert!(half_empty(thrifty(), "abc", 1800).plan().0.is_empty());
    let alone = Cluster::new([thrifty()]).standing("only", "general", &small());
    assert!(alone.bound("web", 1, asks(100, 128), "node-of-only").plan().0.is_empty());
}

#[test]
fn several_small_nodes_give_way_to_one_that_is_cheaper_than_all() {
    let cheap = Pool {
        consolidation: Consolidation::Underutilized,
        ..pool("general", vec![small(), machine("bargain", 8, 32, "0.15")])
    };
    let cluster = half_empty(cheap, "abcd", 1900);
    let (plan, _) = cluster.plan();
    assert_eq!(decided(&plan), ["a", "b", "c", "d"]);
    assert_eq!(plan.launches.len(), 1);
    assert_eq!(&*plan.launches[0].offerings[0].key.instance_type, "bargain");
}

#[test]
fn a_pool_that_gives_back_only_empty_nodes_keeps_those_that_run_pods() {
    let keeps = Pool { consolidation: Consolidation::Empty, ..thrifty() };
    assert!(half_empty(keeps, "abcd", 500).plan().0.is_empty());
    let never = Pool { consolidate_after: None, ..thrifty() };
    assert!(half_empty(never, "abcd", 500).plan().0.is_empty());
}

#[test]
fn a_node_on_which_something_changed_lately_is_left_alone_and_may_take_pods() {
    let cluster = half_empty(thrifty(), "ab", 500).pod_changed("node-of-a", NOW - 5);
    assert_eq!(decided(&cluster.plan().0), ["b"]);
}

#[test]
fn it_is_planned_again_when_a_node_has_been_left_alone_for_long_enough() {
    let cluster =
        half_empty(Pool { consolidate_after: Some(Duration::from_secs(30)), ..thrifty() }, "a", 500);
    assert_eq!(cluster.plan().0.wake_at, None, "it has been, and nothing comes of it");
    let changed = |ago| cluster.clone().pod_changed("node-of-a", NOW - ago).plan().0.wake_at;
    assert_eq!(changed(5), Some(at(NOW + 25)));
    let soon = cluster.clone().pod_changed("node-of-a", NOW - 30).pod_changed("node-of-a", NOW - 29);
    assert_eq!(soon.plan().0.wake_at, Some(at(NOW + 1)));
}

#[test]
fn moves_must_save_enough_for_each_pod() {
    let dear = |each: &str| Pool { min_savings_per_move: each.parse().unwrap(), ..thrifty() };
    assert_eq!(decided(&half_empty(dear("0.09"), "ab", 500).plan().0), ["a"]);
    assert!(half_empty(dear("0.11"), "ab", 500).plan().0.is_empty());
}

#[test]
fn a_replacement_must_pay_for_the_time_that_it_takes_to_start() {
    let nearly = Pool {
        consolidation: Consolidation::Underutilized,
        ..pool("general", vec![large(), machine("hardly-cheaper", 8, 32, "0.39")])
    };
    let cluster = Cluster::new([nearly]).standing("old", "general", &large());
    let cluster = cluster.bound("web", 4, asks(1900, 512), "node-of-old");
    assert!(cluster.plan().0.is_empty(), "a fortieth is not worth it");
}

#[test]
fn what_has_come_lately_is_replaced_only_if_that_pays_as_soon() {
    let sizes = || vec![small(), large(), machine("medium", 6, 24, "0.30")];
    let varied = || Pool { consolidation: Consolidation::Underutilized, ..pool("general", sizes()) };
    let come = |before: i64, pods: usize| {
        let cluster = Cluster::new([varied()]).standing_but("big", "general", &large(), |claim, _| {
            (claim.created_at, claim.initialized_at) = (at(NOW - before), Some(at(NOW - before + 90)));
        });
        cluster.bound("web", pods, asks(1900, 512), "node-of-big")
    };
    assert_eq!(decided(&come(900, 3).plan().0), ["big"]);
    assert!(come(240, 3).plan().0.is_empty(), "a quarter of the price, after four minutes");
    assert_eq!(decided(&come(240, 1).plan().0), ["big"], "three quarters are another matter");
}

#[test]
fn what_is_decided_because_the_pods_fit_in_one_order_is_not_taken_back_because_they_do_not_in_another() {
    let cluster = [("a", vec![2000, 1500, 1500]), ("b", vec![5000]), ("c", vec![6000])].into_iter().fold(
        Cluster::new([thrifty()]),
        |cluster, (name, pods)| {
            let node = format!("node-of-{name}");
            let pods = pods.into_iter().enumerate();
            pods.fold(cluster.standing(name, "general", &large()), |cluster, (number, milli)| {
                cluster.bound(&format!("{name}-{number}"), 1, asks(milli, 512), &node)
            })
        },
    );
    let mut cluster = cluster.closed("a");
    let goes = Arc::make_mut(Arc::make_mut(&mut cluster.0.claims).get_mut("a").unwrap());
    goes.disrupted = Some(DisruptionReason::Underutilized);
    goes.decision = Some(Decision { since: at(NOW), replacements: Vec::new(), message: "".into() });
    let (next, _) = cluster.plan();
    assert_eq!((next.removals.len(), next.cancellations), (1, Vec::new()));
}

#[test]
fn pods_that_must_not_be_disturbed_keep_their_node() {
    let owned = |owner| PodShape { owner, ..asks(500, 512) };
    let bare = half_empty(thrifty(), "ab", 500).bound("bare", 1, owned(PodOwner::Nobody), "node-of-a");
    assert_eq!(decided(&bare.plan().0), ["b"]);
    let foreign = PodShape { foreign_scheduler: true, ..asks(500, 512) };
    let foreign = half_empty(thrifty(), "ab", 500).bound("foreign", 1, foreign, "node-of-a");
    assert_eq!(decided(&foreign.plan().0), ["b"]);
    let mut until = half_empty(thrifty(), "ab", 500);
    let pod = Arc::make_mut(&mut until.0.pods).get_mut(&PodId::new("default", "web-a-1")).unwrap();
    Arc::make_mut(pod).stays_until = Some(at(NOW + 1));
    assert_eq!(decided(&until.plan().0), ["b"]);
    let pod = Arc::make_mut(&mut until.0.pods).get_mut(&PodId::new("default", "web-a-1")).unwrap();
    Arc::make_mut(pod).stays_until = Some(at(NOW));
    assert_eq!(decided(&until.plan().0), ["a"], "its time has passed");
}

#[test]
fn a_node_that_must_not_be_disturbed_is_not() {
    let mut cluster = half_empty(thrifty(), "ab", 500);
    let node = Arc::make_mut(&mut cluster.0.nodes).get_mut("node-of-a").unwrap();
    Arc::make_mut(node).stays_until = Some(at(i64::from(i32::MAX)));
    assert_eq!(decided(&cluster.plan().0), ["b"]);
}

#[test]
fn a_pod_that_may_not_be_evicted_just_now_keeps_its_node() {
    let budget = |allowed| PodBudget { selector: Selector::Matching(Requirements::new()), allowed };
    let with = |allowed| {
        let mut cluster = half_empty(thrifty(), "ab", 500);
        Arc::make_mut(&mut cluster.0.pod_budgets).insert(PodId::new("default", "web"), budget(allowed));
        cluster
    };
    assert!(with(0).plan().0.is_empty());
    assert_eq!(decided(&with(1).plan().0), ["a"]);
}

#[test]
fn a_node_stays_whose_pods_fit_elsewhere_only_if_each_goes_where_it_is_planned() {
    let with = |on_b: i64| {
        let cluster = half_empty(thrifty(), "a", 600).bound("tiny", 8, asks(10, 16), "node-of-a");
        let cluster = cluster.standing("b", "general", &small()).bound("b", 1, asks(on_b, 512), "node-of-b");
        cluster.standing("c", "general", &small()).bound("c", 1, asks(1380, 512), "node-of-c")
    };
    assert_eq!(decided(&with(1200).plan().0).len(), 1, "there is room on both of the others");
    assert!(with(1900).plan().0.is_empty(), "tiny ones go where only the large one would fit");
}

#[test]
fn a_budget_that_is_spent_on_the_other_nodes_of_a_decision_is_waited_for() {
    let mut cluster = half_empty(thrifty(), "abcd", 500);
    let (plan, _) = cluster.plan();
    cluster = cluster.after(&plan).closed("a").closed("b").closed("c");
    let budget = PodBudget { selector: Selector::Matching(Requirements::new()), allowed: 0 };
    Arc::make_mut(&mut cluster.0.pod_budgets).insert(PodId::new("default", "web"), budget);
    let leaving = Arc::make_mut(&mut cluster.0.claims).get_mut("a").unwrap();
    Arc::make_mut(leaving).deleting = true;
    assert!(cluster.plan().0.is_empty(), "their turn comes when the first is gone");
    Arc::make_mut(&mut cluster.0.pod_budgets).clear();
    assert_eq!(cluster.removals(), ["b", "c"]);
}

#[test]
fn no_more_nodes_go_than_budgets_and_the_pools_minimum_allow() {
    let budget = DisruptionBudget { nodes: Share::Count(1), reasons: [].into(), window: None };
    let limited = Pool { budgets: vec![budget], ..thrifty() };
    assert_eq!(decided(&half_empty(limited, "abcd", 500).plan().0), ["a"]);
    let minimum = Pool { min_nodes: 3, ..thrifty() };
    assert_eq!(decided(&half_empty(minimum, "abcd", 500).plan().0), ["a"]);
}

#[test]
fn pods_move_only_where_they_may_run() {
    let tainted = |cluster: Cluster| {
        cluster.standing_but("b", "general", &small(), |_, node| {
            node.taints.push(Taint::new("special", "", windlass_core::model::Effect::NoSchedule));
        })
    };
    let cluster = tainted(half_empty(thrifty(), "a", 500)).bound("x", 1, asks(1600, 512), "node-of-b");
    assert!(cluster.plan().0.is_empty());
    let picky = selecting("topology.kubernetes.io/zone", "elsewhere", asks(500, 512));
    let stuck = half_empty(thrifty(), "ab", 500).bound("picky", 1, picky, "node-of-a");
    assert_eq!(decided(&stuck.plan().0), ["b"]);
}

#[test]
fn nodes_are_not_consolidated_while_others_are() {
    let cluster = half_empty(thrifty(), "abcd", 900);
    let (plan, _) = cluster.plan();
    assert!(cluster.after(&plan).plan().0.disruptions.is_empty());
}

#[test]
fn a_node_that_pods_are_expected_on_is_left_alone() {
    let cluster = half_empty(thrifty(), "ab", 500).pending("new", 2, asks(1400, 512));
    assert!(cluster.plan().0.is_empty());
}

#[test]
fn nothing_is_consolidated_in_a_plan_that_gets_machines() {
    let cluster = half_empty(thrifty(), "ab", 500).pending("huge", 1, asks(7000, 512));
    let (plan, _) = cluster.plan();
    assert_eq!((plan.launches.len(), plan.disruptions.len()), (1, 0));
}

#[test]
fn pods_do_not_move_to_nodes_that_go_because_they_are_empty() {
    let cluster = half_empty(thrifty(), "a", 1100).standing("b", "general", &small());
    let cluster = cluster.standing("c", "general", &large()).bound("web", 1, asks(6900, 512), "node-of-c");
    let (plan, _) = cluster.plan();
    let reasons: Vec<_> = plan.disruptions.iter().map(|each| each.reason).collect();
    assert_eq!(reasons, [DisruptionReason::Empty]);
    let (next, _) = cluster.after(&plan).plan();
    assert_eq!(decided(&next), ["a"], "onto the large one");
}

#[test]
fn a_decision_about_a_node_that_is_not_ready_is_taken_back() {
    let mut cluster = half_empty(thrifty(), "ab", 500);
    let (plan, _) = cluster.plan();
    cluster = cluster.after(&plan).closed("a");
    let node = Arc::make_mut(&mut cluster.0.nodes).get_mut("node-of-a").unwrap();
    Arc::make_mut(node).readiness = Readiness::NotReady { since: at(NOW) };
    let (plan, _) = cluster.plan();
    assert_eq!((plan.cancellations.len(), plan.removals.len()), (1, 0));
}

#[test]
fn after_a_plan_its_pods_come_to_rest_before_the_next() {
    let mut cluster = half_empty(thrifty(), "abcd", 500).pod_changed("node-of-d", NOW - 5);
    assert_eq!(decided(&cluster.plan().0), ["a", "b", "c"]);
    Arc::make_mut(&mut cluster.0.recent).consolidated = Some(at(NOW - 20));
    let (plan, _) = cluster.plan();
    assert_eq!((plan.disruptions, plan.wake_at), (Vec::new(), Some(at(NOW + 25))), "node d is quiet by then");
    let why = why_kept(&cluster.0, at(NOW), "a").unwrap();
    assert_eq!(
        why,
        "pods have just been moved and come to rest first; it is looked at in 40 s at the latest"
    );
    let calm = cluster.clone().pod_changed("node-of-d", NOW - 30);
    assert_eq!(decided(&calm.plan().0), ["a", "b", "c"], "all have come to rest");
    Arc::make_mut(&mut cluster.0.recent).consolidated = Some(at(NOW - 60));
    assert_eq!(decided(&cluster.plan().0), ["a", "b", "c"], "there is always something that moves somewhere");
}

#[test]
fn after_a_plan_budgets_that_it_has_used_up_are_waited_for() {
    let mut cluster = half_empty(thrifty(), "abcd", 500);
    Arc::make_mut(&mut cluster.0.recent).consolidated = Some(at(NOW - 20));
    assert_eq!(decided(&cluster.plan().0).len(), 3);
    let used_up = PodBudget { selector: Selector::Matching(Requirements::new()), allowed: 0 };
    Arc::make_mut(&mut cluster.0.pod_budgets).insert(PodId::new("default", "web"), used_up);
    let (plan, _) = cluster.plan();
    assert_eq!((plan.disruptions, plan.wake_at), (Vec::new(), Some(at(NOW + 40))));
}

#[test]
fn a_little_is_left_for_an_hour_after_a_plan_and_more_is_not() {
    let full = "efghijklmnopqrstuvwxyz".chars().fold(half_empty(thrifty(), "ab", 900), |cluster, letter| {
        let (name, pod) = (letter.to_string(), format!("web-{letter}"));
        let big = machine("large", 8, 32, "0.40");
        let cluster = cluster.standing(&name, "general", &big);
        cluster.bound(&pod, 1, asks(7900, 512), &format!("node-of-{name}"))
    });
    assert_eq!(decided(&full.plan().0), ["a"]);
    let soon = |mut cluster: Cluster, ended: i64| {
        Arc::make_mut(&mut cluster.0.recent).consolidated = Some(at(ended));
        cluster.plan().0
    };
    assert!(soon(full.clone(), NOW - 120).is_empty(), "0.10 of 9.00");
    assert_eq!(decided(&soon(full, NOW - 3600)), ["a"]);
    assert_eq!(decided(&soon(half_empty(thrifty(), "ab", 900), NOW - 120)), ["a"], "0.10 of 0.20");
}
