//! What is made of each file is in the two files of its name that end in `.made.yaml` and `.made.txt`: the manifests, and what
//! is said about them.

use std::fs;

use crate::desk::{files, import, import_text, windlass};

fn is_made_as_shown(file: &str, code: i32) {
    let told = import(&["-f", file]);
    let (stem, _) = file.rsplit_once('.').unwrap();
    let shown = |ending: &str| fs::read_to_string(files().join(format!("{stem}.made.{ending}"))).unwrap();
    assert_eq!(told.out, shown("yaml"), "{file}");
    assert_eq!(told.err, shown("txt"), "{file}");
    assert_eq!(told.code, code, "{file}");
}

#[test]
fn a_pool_of_karpenters_keeps_what_has_a_meaning_here() {
    is_made_as_shown("karpenter/general.yaml", 2);
}

#[test]
fn every_field_of_a_pool_of_karpenters_is_carried_over_or_named() {
    is_made_as_shown("karpenter/everything.yaml", 2);
}

#[test]
fn what_karpenter_takes_for_granted_is_written_out() {
    is_made_as_shown("karpenter/bare.yaml", 0);
}

#[test]
fn a_live_cluster_of_karpenters_is_told_what_becomes_of_its_machines() {
    is_made_as_shown("karpenter/live.json", 2);
}

#[test]
fn pools_of_kubenodesmith_are_carried_over_and_those_that_nobody_manages_are_paused() {
    is_made_as_shown("kubenodesmith/pools.yaml", 2);
}

#[test]
fn a_provider_of_kubenodesmith_becomes_one_whose_machines_boot_from_the_network() {
    is_made_as_shown("kubenodesmith/provider.yaml", 2);
}

#[test]
fn what_is_made_can_be_planned_for() {
    let provider = "apiVersion: windlass.dev/v1alpha1\nkind: NodeProvider\nmetadata: {name: cloud}\nspec:\n  simulated:\n    \
                    instanceTypes: [{name: four, capacity: {cpu: 4, memory: 16Gi}, offerings: [{zone: z, price: '0.2'}]}]\n";
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}\n";
    let pools = import(&["-f", "karpenter/bare.yaml", "--provider", "cloud"]);
    assert_eq!(pools.code, 0, "{}", pools.err);
    let plan = windlass(&["plan", "-f", "-", "-o", "json"], &format!("{provider}{pod}{}", pools.out));
    assert_eq!(plan.code, 0, "{}", plan.err);
    assert!(plan.out.contains("default/p"), "{}", plan.out);
}

#[test]
fn what_was_made_once_is_not_made_of_anything_again() {
    let made = import(&["-f", "karpenter/bare.yaml"]).out;
    let again = import_text(&made);
    assert_eq!((again.code, again.out.as_str()), (1, ""));
    assert!(again.err.contains("NodePool (windlass.dev/v1alpha1) bare, fixed"), "{}", again.err);
    assert!(again.err.contains("there is nothing to import"), "{}", again.err);
}
