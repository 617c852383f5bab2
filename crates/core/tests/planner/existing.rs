use windlass_core::model::{Operator, PodOwner, PodShape, PodState, Readiness, well_known};
use windlass_core::plan::Target;

use crate::cluster::{Cluster, NOW, just_made};
use crate::shapes::{asks, at, machine, node, pool, selecting, size, taint, term, tolerating};

fn cluster() -> Cluster {
    Cluster::new([pool("general", vec![machine("small", 2, 8, "0.10"), machine("large", 16, 64, "0.80")])])
}

fn targets(cluster: &Cluster) -> Vec<Target> {
    cluster.plan().0.placements.into_iter().map(|placement| placement.target).collect()
}

#[test]
fn nothing_happens_in_a_cluster_where_nothing_waits() {
    assert!(cluster().plan().0.is_empty());
    assert!(Cluster::default().plan().0.is_empty());
}

#[test]
fn a_pod_that_fits_on_a_ready_node_gets_no_new_one() {
    let cluster = cluster().node(node("old", size(4, 16))).pending("web", 4, asks(1000, 1024));
    assert_eq!(cluster.launches(), []);
    assert_eq!(targets(&cluster), vec![Target::Node("old".into()); 4]);
}

#[test]
fn pods_on_a_node_take_their_room_even_while_they_are_deleted() {
    let cluster =
        cluster().node(node("old", size(4, 16))).bound("gone", 1, asks(3000, 1024), "old").deleting_pods();
    assert_eq!(cluster.pending("web", 2, asks(1000, 1024)).launches(), [("small".to_owned(), 1)]);
}

#[test]
fn places_for_pods_run_out_like_any_resource() {
    let crowded = node("old", size(64, 256).with("pods", 3));
    let cluster = cluster().node(crowded).bound("a", 2, asks(1, 1), "old").pending("web", 2, asks(1, 1));
    assert_eq!(cluster.launches(), [("small".to_owned(), 1)]);
}

#[test]
fn a_node_that_is_cordoned_or_being_deleted_takes_no_pods() {
    for change in [|node: &mut _| cordon(node), |node: &mut windlass_core::model::Node| node.deleting = true]
    {
        let mut old = node("old", size(4, 16));
        change(&mut old);
        assert_eq!(
            cluster().node(old).pending("web", 1, asks(1000, 1024)).launches(),
            [("small".to_owned(), 1)]
        );
    }
}

fn cordon(node: &mut windlass_core::model::Node) {
    node.unschedulable = true;
}

#[test]
fn a_taint_keeps_off_the_pods_that_do_not_tolerate_it() {
    let mut old = node("old", size(4, 16));
    old.taints.push(taint("gpu"));
    let cluster = cluster().node(old);
    assert_eq!(cluster.clone().pending("web", 1, asks(1000, 1024)).launches().len(), 1);
    assert_eq!(cluster.pending("web", 1, tolerating("gpu", asks(1000, 1024))).launches(), []);
}

#[test]
fn node_selector_and_any_term_of_node_affinity_must_match() {
    let mut old = node("old", size(8, 32));
    old.labels.set("disk", "ssd");
    old.labels.set("cores", "8");
    let cluster = cluster().node(old);
    let affine = |terms| PodShape { node_affinity: terms, ..selecting("disk", "ssd", asks(100, 128)) };
    let fits = |terms| cluster.clone().pending("web", 1, affine(terms)).plan().0.placements.len() == 1;
    assert!(fits(vec![]));
    assert!(fits(vec![term("cores", Operator::Gt, &["16"]), term("cores", Operator::Lte, &["8"])]));
    assert!(fits(vec![term("cores", Operator::NotIn, &["4"])]));
    assert!(fits(vec![term("gpu", Operator::DoesNotExist, &[])]));
    assert!(!fits(vec![term("cores", Operator::Gt, &["16"]), term("gpu", Operator::Exists, &[])]));
    assert!(!fits(vec![windlass_core::model::Requirements::new()]));
}

#[test]
fn a_pod_that_names_a_node_gets_no_new_one_for_it() {
    let cluster = cluster().pending("web", 1, selecting(well_known::HOSTNAME, "gone", asks(100, 128)));
    assert_eq!(cluster.launches(), []);
    assert_eq!(cluster.excuse(), "pool general: no machine has label kubernetes.io/hostname in [gone]");
}

#[test]
fn a_pod_that_only_avoids_a_node_gets_a_new_one() {
    let away = vec![term(well_known::HOSTNAME, Operator::NotIn, &["old"])];
    let cluster = cluster().node(node("old", size(4, 16)));
    let cluster = cluster.pending("web", 1, PodShape { node_affinity: away, ..asks(100, 128) });
    assert_eq!(cluster.launches(), [("small".to_owned(), 1)]);
}

#[test]
fn pods_of_other_schedulers_of_daemonsets_and_pods_on_their_way_out_need_no_place() {
    let foreign = PodShape { foreign_scheduler: true, ..asks(100, 128) };
    let daemon = PodShape { owner: PodOwner::DaemonSet, ..asks(100, 128) };
    assert!(
        cluster().pending("foreign", 3, foreign).pending("daemon", 3, daemon).plan().0.placements.is_empty()
    );
    assert!(cluster().pending("gone", 3, asks(100, 128)).deleting_pods().plan().0.placements.is_empty());
}

#[test]
fn pods_that_the_scheduler_has_not_looked_at_or_that_are_gated_launch_nothing() {
    let waiting = cluster().pods("new", 3, asks(1000, 1024), &just_made());
    assert_eq!(waiting.launches(), []);
    assert!(waiting.plan().1.unplaced.is_empty());
    let gated = cluster().node(node("old", size(4, 16))).pods("gated", 3, asks(1000, 1024), &PodState::Gated);
    assert!(gated.plan().0.placements.is_empty());
}

#[test]
fn a_pod_of_which_the_scheduler_says_nothing_for_too_long_gets_a_machine_if_no_node_has_room() {
    let silence = 30;
    let waiting = |second| PodState::Waiting { since: at(second) };
    let pods = |since: &PodState| cluster().pods("new", 3, asks(1000, 1024), since);
    let early = pods(&waiting(NOW - silence + 1));
    assert_eq!(early.launches(), []);
    assert_eq!(early.plan().0.wake_at, Some(at(NOW + 1)), "planned again once it has been too long");
    let late = pods(&waiting(NOW - silence));
    assert_eq!(late.launches().len(), 2);
    assert_eq!(late.node(node("old", size(4, 16))).launches(), []);
}

#[test]
fn pods_that_are_about_to_be_scheduled_do_not_push_pending_ones_out() {
    let cluster = cluster().node(node("old", size(2, 8)));
    let cluster = cluster.pods("new", 2, asks(1000, 1024), &just_made()).pending("web", 2, asks(1000, 1024));
    assert_eq!(cluster.launches(), []);
}

#[test]
fn a_node_that_was_ready_a_moment_ago_is_waited_for_and_then_given_up_on() {
    let lost = |since| {
        let mut lost = node("lost", size(4, 16));
        lost.readiness = Readiness::NotReady { since: at(since) };
        lost.taints.push(taint("node.kubernetes.io/unreachable"));
        cluster().node(lost).pending("web", 1, asks(1000, 1024))
    };
    assert_eq!(lost(NOW - 59).launches(), []);
    assert_eq!(lost(NOW - 59).plan().0.wake_at, Some(at(NOW + 1)));
    assert_eq!(lost(NOW - 60).launches(), [("small".to_owned(), 1)]);
}

#[test]
fn ready_nodes_are_filled_before_those_that_are_arriving() {
    let small = machine("small", 2, 8, "0.10");
    let cluster = cluster().claim(crate::shapes::claim("new", "general", &[small]));
    let cluster = cluster.node(node("old", size(2, 8))).pending("web", 3, asks(1000, 1024));
    let expected = [Target::Node("old".into()), Target::Node("old".into()), Target::Claim("new".into())];
    assert_eq!(targets(&cluster), expected);
}

#[test]
fn when_a_node_has_room_for_one_the_pod_of_higher_priority_gets_it() {
    let cluster = cluster().node(node("old", size(2, 8)));
    let urgent = PodShape { priority: 100, ..asks(1500, 1024) };
    let (plan, _) = cluster.pending("a", 1, asks(2000, 1024)).pending("b", 1, urgent).plan();
    let on_old: Vec<_> =
        plan.placements.iter().filter(|each| each.target == Target::Node("old".into())).collect();
    assert_eq!(on_old.len(), 1);
    assert_eq!(&*on_old[0].pod.name, "b-1");
}

#[test]
fn a_node_that_has_just_become_ready_keeps_room_for_daemonsets_that_have_not_come_yet() {
    let agent = PodShape { owner: PodOwner::DaemonSet, ..asks(1000, 1024) };
    let small = machine("small", 2, 8, "0.10");
    let since = |second| {
        let cluster = cluster().daemon_set("agent", agent.clone()).pending("web", 2, asks(1000, 1024));
        cluster.standing_but("old", "general", &small, |claim, _| {
            claim.initialized_at = Some(at(second));
        })
    };
    assert_eq!(since(NOW - 59).launches().len(), 1);
    assert_eq!(since(NOW - 60).launches(), []);
}
