//! What is said, and in which form.

use serde_json::Value;

use crate::desk::{import, import_of, import_text};

const POOL: &str = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {nodeClassRef: {kind: K, name: cloud}}}}\n";

fn smith(kind: &str, name: &str, spec: &str) -> String {
    let version = "kubenodesmith.parawell.cloud/v1alpha1";
    format!("---\napiVersion: {version}\nkind: {kind}\nmetadata: {{{name}}}\nspec: {spec}\n")
}

#[test]
fn json_is_a_list_of_the_same_objects() {
    let (yaml, json) =
        (import(&["-f", "karpenter/bare.yaml"]), import(&["-f", "karpenter/bare.yaml", "-o", "json"]));
    let list: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&"v1".into(), &"List".into()));
    let documents = yaml.out.split("---\n").skip(1).map(|text| serde_saphyr::from_str(text).unwrap());
    assert_eq!(*list["items"].as_array().unwrap(), documents.collect::<Vec<Value>>());
    assert_eq!(yaml.err, json.err);
}

#[test]
fn the_exit_code_says_whether_all_was_carried_over() {
    assert_eq!(import_text(POOL).code, 0);
    assert_eq!(import_text(&POOL.replace("spec: {template", "spec: {new: 1, template")).code, 2);
    assert_eq!(import_text(&POOL.replace("metadata: {name: a}", "metadata: {}")).code, 1);
    assert_eq!(import(&["-f", "missing.yaml"]).code, 1);
    assert_eq!(import(&[]).code, 1, "a wrong flag does not mean that something was left out");
}

#[test]
fn a_provider_that_is_named_takes_the_place_of_every_node_class() {
    let told = import_of(&["-f", "-", "--provider", "rack"], POOL);
    assert_eq!(told.code, 0);
    assert!(told.out.contains("  providerRef:\n    name: rack\n"), "{}", told.out);
    assert_eq!(
        told.err,
        "NodePool a (standard input, document 1)\n  changed   spec.template.spec.nodeClassRef: K \"cloud\" becomes NodeProvider \
         \"rack\": make one of that name that launches such machines\n"
    );
    let told = import_of(
        &["-f", "-", "--provider", "rack"],
        &POOL.replace("nodeClassRef: {kind: K, name: cloud}", ""),
    );
    assert_eq!(told.code, 0, "no node class is needed then: {}", told.err);
}

#[test]
fn folders_and_several_files_are_read_together() {
    let told = import(&["-f", "karpenter/bare.yaml", "kubenodesmith"]);
    assert!(told.err.contains("NodePool fixed (karpenter/bare.yaml, document 2)"), "{}", told.err);
    assert!(told.out.contains("name: bare\n") && told.out.contains("name: small\n"), "{}", told.out);
}

#[test]
fn what_is_ignored_is_named() {
    let service =
        |n: u8| format!("---\napiVersion: v1\nkind: Service\nmetadata: {{name: s{n}, namespace: shop}}\n");
    let more = (0..7).map(service).collect::<Vec<_>>().concat();
    let told = import_text(&format!("{POOL}{more}"));
    assert_eq!(told.code, 0);
    assert!(
        told.err.ends_with(
            "ignored, as Windlass has nothing like it: Service (v1) shop/s0, shop/s1, shop/s2, shop/s3, shop/s4 and 2 more\n"
        ),
        "{}",
        told.err
    );
}

#[test]
fn two_objects_that_would_have_one_name_become_one() {
    let pools = ["one", "two"]
        .map(|space| smith("NodeSmithPool", &format!("name: a, namespace: {space}"), "{providerRef: lab}"));
    let told = import_text(&pools.concat());
    assert_eq!(told.code, 2);
    assert_eq!(told.out.matches("kind: NodePool").count(), 1);
    assert!(
        told.err.contains("NodeSmithPool two/a") && told.err.contains("rename it and import it again"),
        "{}",
        told.err
    );
}

#[test]
fn an_object_that_would_be_refused_here_is_left_out_and_the_others_are_made() {
    let large = smith("NodeSmithPool", "name: large", "{providerRef: lab, limits: {minNodes: 20000}}");
    let told = import_text(&format!("{POOL}{large}"));
    assert_eq!(told.code, 2);
    assert_eq!(told.out.matches("kind: NodePool").count(), 1);
    assert!(
        told.err.contains(
            "left out  spec.minNodes: nothing was made of this object, for it would be refused here: 20000 is too large: write \
             10000 or less; change it and import it again"
        ),
        "{}",
        told.err
    );
}

#[test]
fn an_object_that_is_being_deleted_is_left_out() {
    let told =
        import_text(&POOL.replace("{name: a}", "{name: a, deletionTimestamp: '2026-03-01T10:00:00Z'}"));
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.contains("is being deleted, so nothing was made of it"), "{}", told.err);
}

#[test]
fn a_schedule_that_is_not_understood_leaves_a_budget_that_always_counts() {
    let budget = "disruption: {budgets: [{nodes: '0', schedule: '0 9 L * *', duration: 8h}]}";
    let told = import_text(&POOL.replace("spec: {template", &format!("spec: {{{budget}, template")));
    assert_eq!(told.code, 2);
    assert!(
        told.err.contains("left out  spec.disruption.budgets[0].schedule: ")
            && told.err.contains("at all times"),
        "{}",
        told.err
    );
    assert!(told.out.contains("nodes: \"0\"") && !told.out.contains("schedule"), "{}", told.out);
}

/// A provider of KubeNodeSmith's whose `spec.proxmox` has more.
fn proxmox(more: &str) -> String {
    let proxmox = format!(
        "endpoint: 'https://pve:8006/api2/json', vmIDRange: {{lower: 100, upper: 200}}, \
         networkInterfaces: [{{bridge: vmbr0}}]{more}"
    );
    let spec = format!("{{type: proxmox, credentialsSecretRef: {{name: token}}, proxmox: {{{proxmox}}}}}");
    smith("NodeSmithProvider", "name: lab, namespace: smith", &spec)
}

#[test]
fn a_provider_without_a_disk_gets_one_and_says_so() {
    let told = import_text(&proxmox(", vmOptions: [{name: boot, value: order=net0}]"));
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.contains("storage: local-lvm\n") && told.out.contains("diskGib: 32\n"), "{}", told.out);
    assert!(
        told.err.contains("changed   spec.proxmox.vmOptions: no disk is named, and machines have one here"),
        "{}",
        told.err
    );
    assert!(told.err.contains("PROXMOX_TOKEN_ID of smith/token says as tokenID"), "{}", told.err);
}

#[test]
fn a_provider_that_windlass_would_refuse_is_left_out_with_the_reason() {
    let told = import_text(&proxmox("").replace("https://", "http://"));
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.contains("write https://host:port"), "{}", told.err);
    let told = import_text(&proxmox(", vmOptions: [{name: protection, value: true}]"));
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.contains("options cannot set protection"), "{}", told.err);
}
