//! Node selectors and required node affinity, against the labels of pools, machines and offerings.

use windlass_core::model::{InstanceType, Operator, Pool, Requirement, Requirements, well_known};

use crate::cluster::Cluster;
use crate::shapes::{machine, offering, pool, term};
use crate::workload::{HOST, Workload, ZONE, app, general, three_zones, zonal};

/// A pool labelled `team=blue` with machines of two architectures, of which one tells its cores.
fn labelled() -> Cluster {
    let mut amd = zonal("amd", 4, 16, "0.20", &["a", "b"]);
    amd.labels.set("cores", "4");
    let mut arm = zonal("arm", 8, 32, "0.90", &["a"]);
    arm.labels.set(well_known::ARCH, "arm64");
    arm.labels.set("cores", "8");
    let mut pool = pool("general", vec![amd, arm]);
    pool.labels.set("team", "blue");
    Cluster::new([pool])
}

/// The machine that a pod gets, if any.
fn got(cluster: Cluster, pod: Workload) -> Option<String> {
    cluster.run(pod).outcome().machines().pop()
}

fn web() -> Workload {
    app("web")
}

#[test]
fn a_pod_that_asks_for_nothing_goes_to_a_pool_with_labels() {
    assert_eq!(got(labelled(), web()).as_deref(), Some("amd"));
}

#[test]
fn a_label_of_the_pool_can_be_selected() {
    assert_eq!(got(labelled(), web().selecting("team", "blue")).as_deref(), Some("amd"));
}

#[test]
fn another_value_of_the_pools_label_is_refused() {
    assert_eq!(got(labelled(), web().selecting("team", "red")), None);
}

#[test]
fn a_label_that_nobody_has_is_refused() {
    assert_eq!(got(labelled(), web().selecting("unknown", "x")), None);
}

#[test]
fn a_selector_chooses_the_architecture() {
    assert_eq!(got(labelled(), web().selecting(well_known::ARCH, "arm64")).as_deref(), Some("arm"));
}

#[test]
fn a_selector_chooses_the_instance_type() {
    assert_eq!(got(labelled(), web().selecting(well_known::INSTANCE_TYPE, "arm")).as_deref(), Some("arm"));
}

#[test]
fn a_selector_chooses_the_zone() {
    let outcome = labelled().run(web().selecting(ZONE, "b")).outcome();
    assert_eq!(outcome.zones("web")[0].0, "b");
}

#[test]
fn a_selector_chooses_the_capacity_type() {
    let mut both = machine("both", 2, 8, "0.20");
    both.offerings = vec![offering("a", "0.20"), offering("a", "0.05")];
    both.offerings[1].capacity_type = "spot".into();
    let cluster = Cluster::new([pool("general", vec![both])]);
    for (kind, price) in [("on-demand", "0.20"), ("spot", "0.05")] {
        let outcome = cluster.clone().run(web().selecting(well_known::CAPACITY_TYPE, kind)).outcome();
        assert_eq!(outcome.plan.launches[0].offerings[0].price.to_string(), price.to_owned(), "{kind}");
    }
}

#[test]
fn a_selector_chooses_the_pool() {
    let pools =
        [pool("one", vec![machine("m", 2, 8, "0.10")]), pool("two", vec![machine("m", 2, 8, "0.90")])];
    let outcome = Cluster::new(pools).run(web().selecting(well_known::POOL, "two")).outcome();
    assert_eq!(outcome.pools(), ["two"]);
}

#[test]
fn nobody_gets_a_new_node_by_the_name_of_one() {
    assert_eq!(got(labelled(), web().selecting(HOST, "some-node")), None);
}

#[test]
fn each_operator_works_on_labels_of_machines() {
    let cases: [(Operator, &[&str], Option<&str>); 8] = [
        (Operator::In, &["8"], Some("arm")),
        (Operator::NotIn, &["4"], Some("arm")),
        (Operator::Exists, &[], Some("amd")),
        (Operator::DoesNotExist, &[], None),
        (Operator::Gt, &["4"], Some("arm")),
        (Operator::Lt, &["8"], Some("amd")),
        (Operator::Gte, &["8"], Some("arm")),
        (Operator::Lte, &["4"], Some("amd")),
    ];
    for (operator, values, expected) in cases {
        let found = got(labelled(), web().requiring("cores", operator, values));
        assert_eq!(found.as_deref(), expected, "{operator:?} {values:?}");
    }
}

#[test]
fn each_operator_works_on_a_label_that_is_not_there() {
    let cases: [(Operator, &[&str], bool); 6] = [
        (Operator::In, &["x"], false),
        (Operator::NotIn, &["x"], true),
        (Operator::Exists, &[], false),
        (Operator::DoesNotExist, &[], true),
        (Operator::Gt, &["1"], false),
        (Operator::Lt, &["1"], false),
    ];
    for (operator, values, expected) in cases {
        let found = got(labelled(), web().requiring("unknown", operator, values));
        assert_eq!(found.is_some(), expected, "{operator:?}");
    }
}

#[test]
fn each_operator_works_on_the_pools_own_label() {
    let cases: [(Operator, &[&str], bool); 6] = [
        (Operator::In, &["blue", "green"], true),
        (Operator::In, &["green"], false),
        (Operator::NotIn, &["blue"], false),
        (Operator::NotIn, &["green"], true),
        (Operator::Exists, &[], true),
        (Operator::DoesNotExist, &[], false),
    ];
    for (operator, values, expected) in cases {
        let found = got(labelled(), web().requiring("team", operator, values));
        assert_eq!(found.is_some(), expected, "{operator:?} {values:?}");
    }
}

#[test]
fn a_comparison_with_a_label_that_is_no_number_fails() {
    assert_eq!(got(labelled(), web().requiring("team", Operator::Gt, &["1"])), None);
}

#[test]
fn all_demands_of_one_term_must_hold() {
    let mut both = term("cores", Operator::Gt, &["4"]);
    both.extend(&term(well_known::ARCH, Operator::In, &["amd64"]));
    let mut pod = web();
    pod.shape.node_affinity = vec![both];
    assert_eq!(got(labelled(), pod), None);
}

#[test]
fn one_of_several_terms_is_enough() {
    let pod =
        web().requiring("cores", Operator::Gt, &["99"]).requiring(well_known::ARCH, Operator::In, &["arm64"]);
    assert_eq!(got(labelled(), pod).as_deref(), Some("arm"));
}

#[test]
fn when_no_term_holds_the_last_one_is_not_given_up() {
    let pod = web().requiring("cores", Operator::Gt, &["99"]).requiring("team", Operator::In, &["red"]);
    assert_eq!(got(labelled(), pod), None);
}

#[test]
fn a_term_without_demands_matches_no_node() {
    let mut pod = web();
    pod.shape.node_affinity = vec![Requirements::new()];
    assert_eq!(got(labelled(), pod), None);
}

#[test]
fn selector_and_affinity_must_both_hold() {
    let pod = web().selecting(ZONE, "b").requiring(well_known::ARCH, Operator::In, &["arm64"]);
    assert_eq!(got(labelled(), pod), None);
    let pod = web().selecting(ZONE, "b").requiring(well_known::ARCH, Operator::In, &["amd64"]);
    assert_eq!(got(labelled(), pod).as_deref(), Some("amd"));
}

#[test]
fn demands_outside_the_pools_requirements_are_refused() {
    let picky = Pool { requirements: term(ZONE, Operator::In, &["a", "b"]), ..general() };
    assert_eq!(got(Cluster::new([picky.clone()]), web().selecting(ZONE, "c")), None);
    assert!(got(Cluster::new([picky]), web().selecting(ZONE, "b")).is_some());
}

#[test]
fn the_pools_requirements_use_all_operators_too() {
    let sized = |name: &str, cores: &str| -> InstanceType {
        let mut machine = machine(name, 4, 16, "0.20");
        machine.labels.set("cores", cores);
        machine
    };
    for (operator, values, expected) in [
        (Operator::In, &["4"][..], Some("four")),
        (Operator::NotIn, &["2", "4"], Some("eight")),
        (Operator::Exists, &[], Some("two")),
        (Operator::DoesNotExist, &[], None),
        (Operator::Gt, &["4"], Some("eight")),
        (Operator::Lt, &["4"], Some("two")),
        (Operator::Gte, &["8"], Some("eight")),
        (Operator::Lte, &["2"], Some("two")),
    ] {
        let machines = vec![sized("two", "2"), sized("four", "4"), sized("eight", "8")];
        let pool = Pool { requirements: term("cores", operator, values), ..pool("general", machines) };
        assert_eq!(got(Cluster::new([pool]), web()).as_deref(), expected, "{operator:?}");
    }
}

#[test]
fn pods_that_suit_the_same_node_share_it_and_others_do_not() {
    let cluster = labelled().run(app("one").selecting("team", "blue")).run(app("two").requiring(
        "cores",
        Operator::Gt,
        &["1"],
    ));
    assert_eq!(cluster.outcome().launched(), 1);
    let cluster = labelled()
        .run(app("one").selecting(well_known::ARCH, "arm64"))
        .run(app("two").selecting(well_known::ARCH, "amd64"));
    assert_eq!(cluster.outcome().machines(), ["amd", "arm"]);
}

#[test]
fn pods_of_different_zones_get_different_nodes() {
    let cluster = labelled().run(app("one").selecting(ZONE, "a")).run(app("two").selecting(ZONE, "b"));
    let outcome = cluster.outcome();
    assert_eq!(outcome.launched(), 2);
    assert_eq!((outcome.zones("one")[0].0.as_str(), outcome.zones("two")[0].0.as_str()), ("a", "b"));
}

#[test]
fn every_way_to_get_the_machine_meets_the_pods_demands() {
    let outcome = three_zones().run(web().requiring(ZONE, Operator::NotIn, &["a"])).outcome();
    let ways = &outcome.plan.launches[0].offerings;
    assert!(ways.len() > 1 && ways.iter().all(|way| &*way.key.zone != "a"));
}

#[test]
fn a_pool_that_lists_values_of_its_own_label_gives_its_nodes_the_one_that_is_asked_for() {
    let pool = Pool { requirements: term("team", Operator::In, &["blue", "red"]), ..general() };
    let cluster = Cluster::new([pool])
        .run(app("blue").selecting("team", "blue"))
        .run(app("red").selecting("team", "red"));
    let outcome = cluster.outcome();
    assert_eq!(outcome.launched(), 2);
    assert_eq!(outcome.by("team", "blue"), [("blue".to_owned(), 1)]);
    assert_eq!(outcome.by("team", "red"), [("red".to_owned(), 1)]);
}

#[test]
fn a_node_gets_a_value_of_the_pools_own_label_also_when_nobody_asks_for_one() {
    let pool = Pool { requirements: term("team", Operator::In, &["blue", "red"]), ..general() };
    let outcome = Cluster::new([pool]).run(web()).outcome();
    assert!(["blue", "red"].contains(&outcome.by("team", "web")[0].0.as_str()));
}

#[test]
fn a_value_that_the_pool_does_not_list_for_its_own_label_is_refused() {
    let pool = Pool { requirements: term("team", Operator::In, &["blue"]), ..general() };
    assert_eq!(got(Cluster::new([pool]), web().selecting("team", "red")), None);
}

#[test]
fn a_pool_cannot_define_a_label_without_listing_its_values() {
    let pool = Pool { requirements: term("team", Operator::Exists, &[]), ..general() };
    assert_eq!(got(Cluster::new([pool]), web()), None);
}

#[test]
fn a_pool_that_only_forbids_values_of_a_label_need_not_have_it() {
    for (operator, values) in [(Operator::NotIn, &["red"][..]), (Operator::DoesNotExist, &[])] {
        let pool = Pool { requirements: term("team", operator, values), ..general() };
        assert!(got(Cluster::new([pool]), web()).is_some(), "{operator:?}");
    }
}

#[test]
fn what_a_machine_is_cannot_be_made_up_by_the_pool() {
    let mut silent = machine("silent", 2, 8, "0.10");
    silent.labels = windlass_core::model::Labels::new();
    let pool = Pool {
        requirements: term(well_known::ARCH, Operator::In, &["arm64"]),
        ..pool("general", vec![silent])
    };
    assert_eq!(got(Cluster::new([pool]), web()), None);
}

#[test]
fn a_label_that_only_some_machines_have_is_not_given_to_the_others() {
    let mut told = machine("told", 2, 8, "0.50");
    told.labels.set("disk", "ssd");
    let machines = vec![told, machine("silent", 2, 8, "0.10")];
    let pool = Pool { requirements: term("disk", Operator::In, &["ssd"]), ..pool("general", machines) };
    assert_eq!(got(Cluster::new([pool]), web()).as_deref(), Some("told"));
}

fn of(operator: Operator, values: &[&str]) -> Requirement {
    let values: Vec<_> = values.iter().map(|value| (*value).into()).collect();
    Requirement::new(&"key".into(), operator, &values).unwrap()
}

#[test]
fn demands_on_one_label_are_combined() {
    use Operator::{DoesNotExist, Exists, Gt, Gte, In, Lt, Lte, NotIn};
    let cases: [(Requirement, Requirement, &[&str], &[&str]); 9] = [
        (of(In, &["a", "b"]), of(In, &["b", "c"]), &["b"], &["a", "c"]),
        (of(In, &["a", "b"]), of(NotIn, &["b"]), &["a"], &["b"]),
        (of(NotIn, &["a"]), of(NotIn, &["b"]), &["c"], &["a", "b"]),
        (of(Exists, &[]), of(In, &["a"]), &["a"], &["b"]),
        (of(DoesNotExist, &[]), of(In, &["a"]), &[], &["a"]),
        (of(Gt, &["1"]), of(Lt, &["4"]), &["2", "3"], &["1", "4", "x"]),
        (of(Gte, &["2"]), of(Lte, &["3"]), &["2", "3"], &["1", "4"]),
        (of(Gt, &["2"]), of(Gte, &["2"]), &["3"], &["2"]),
        (of(Lt, &["9223372036854775807"]), of(Gte, &["0"]), &["0", "7"], &["-1"]),
    ];
    for (one, other, allowed, refused) in cases {
        for both in [one.and(&other), other.and(&one)] {
            assert!(allowed.iter().all(|value| both.allows(Some(&(*value).into()))), "{both}");
            assert!(!refused.iter().any(|value| both.allows(Some(&(*value).into()))), "{both}");
        }
    }
}
