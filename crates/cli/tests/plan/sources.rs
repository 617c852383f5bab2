use crate::desk::{Desk, launched, pod, workload};

#[test]
fn folders_are_read_with_what_is_below_them() {
    let desk = Desk::new()
        .file("shop/a.yaml", &pod("a", "1", ""))
        .file("shop/deep/b.yml", &pod("b", "1", ""))
        .file("shop/deep/c.json", r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}, "spec": {"containers": [{"name": "c"}]}}"#)
        .file("shop/notes.txt", "not: [yaml");
    let told = desk.windlass(&["plan", "-f", "pool.yaml", "--filename", "shop", "-o", "json"]);
    assert_eq!(launched(&told.json()), ["default/a", "default/b", "default/c"], "{}", told.err);
}

#[test]
fn lists_of_all_kinds_are_taken_apart() {
    let a = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}"#;
    let b = r#"{"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c"}]}}"#;
    for text in [
        format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{a}, {}]}}"#, a.replace("\"a\"", "\"b\"")),
        format!(r#"{{"apiVersion": "v1", "kind": "PodList", "items": [{a}, {b}]}}"#),
        format!("{a}\n{}", a.replace("\"a\"", "\"b\"")),
        format!("{}{}", pod("a", "1", ""), pod("b", "1", "")),
    ] {
        let told = Desk::new().plan(&text);
        assert_eq!(launched(&told.json()), ["default/a", "default/b"], "{text}");
    }
}

#[test]
fn kinds_that_planning_does_not_look_at_are_skipped_with_a_note() {
    let more = "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: k}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: t}\n";
    let told = Desk::new().plan(&format!("{}{more}", pod("a", "1", "")));
    assert_eq!(told.code, 0);
    assert_eq!(
        told.err,
        "note: skipped, as plans do not depend on them: 1 NodePool (karpenter.sh/v1), 2 Service (v1)\n"
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let desk = Desk::new().file("empty/readme.md", "");
    let refused = |arguments: &[&str]| {
        let told = desk.windlass(arguments);
        assert_eq!(told.code, 1, "{}", told.out);
        told.err
    };
    assert_eq!(
        refused(&["plan", "-f", "missing.yaml"]),
        "windlass: cannot read missing.yaml: No such file or directory (os error 2)\n"
    );
    assert!(refused(&["plan", "-f", "empty"]).contains("the folder empty has no *.yaml, *.yml or *.json"));
    assert!(refused(&["plan", "-f", "-", "-f", "-"]).contains("give -f - once"));
    assert!(refused(&["plan"]).contains("give manifests with -f, or --live for the cluster"));
    assert!(refused(&["plan", "--live"]).contains("give --kubeconfig or run inside one"));
    assert!(refused(&["explain", "pod", "a"]).contains("give --kubeconfig or run inside one"));
}

#[test]
fn a_dump_of_a_cluster_counts_each_pod_once() {
    let owner = |kind: &str, name: &str| {
        format!(
            "ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {name}, uid: u, controller: true}}]"
        )
    };
    let set = workload("apps/v1", "ReplicaSet", "web-5d", "1", "  replicas: 2\n")
        .replace("{name: web-5d}", &format!("{{name: web-5d, {}}}", owner("Deployment", "web")));
    let running = |name: &str| {
        pod(name, "1", ", nodeName: n1, tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]")
            .replace(&format!("{{name: {name}}}"), &format!("{{name: {name}, labels: {{app: web, pod-template-hash: 5d}}, {}}}", owner("ReplicaSet", "web-5d")))
    };
    let dump = format!(
        "{}{set}{}{}",
        workload("apps/v1", "Deployment", "web", "1", "  replicas: 2\n"),
        running("web-5d-x"),
        running("web-5d-y")
    );
    let told = Desk::new().plan(&dump);
    assert_eq!(launched(&told.json()), [""; 0], "{}", told.out);
}

#[test]
fn a_provider_that_makes_no_sense_is_told_and_the_others_are_used() {
    let bad = "---\napiVersion: windlass.dev/v1alpha1\nkind: NodeProvider\nmetadata: {name: odd}\nspec: {simulated: {instanceTypes: [{name: t, capacity: {cpu: 1}, offerings: [{zone: z, price: '1'}, {zone: z, price: '1'}]}]}}\n---\napiVersion: windlass.dev/v1alpha1\nkind: NodePool\nmetadata: {name: odd}\nspec: {providerRef: {name: odd}, weight: 50}\n";
    let told = Desk::new().plan(&format!("{bad}{}", pod("a", "1", "")));
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains("note: provider odd cannot be asked, so its pools launch nothing: invalid configuration: instance type \"t\": offerings: z/on-demand is there twice"), "{}", told.err);
    assert_eq!(told.json()["launch"][0]["pool"], "general");
}
