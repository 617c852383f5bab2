use crate::desk::{Desk, pod, workload};

fn desk() -> Desk {
    let node =
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4, memory: 16Gi}}\n";
    let text = [
        node.to_owned(),
        pod("runs", "3", ", nodeName: n1"),
        pod("fits", "1", ""),
        pod("huge", "64", ", nodeSelector: {}"),
        pod("gated", "1", ", schedulingGates: [{name: g}]"),
        pod("ended", "1", "").replace("spec:", "status: {phase: Succeeded}\nspec:"),
        workload("apps/v1", "Deployment", "web", "2", "  replicas: 2\n"),
    ]
    .join("");
    Desk::new().file("all.yaml", &text)
}

fn explained(kind: &str, name: &str) -> (i32, String) {
    let told =
        desk().windlass(&["explain", kind, name, "-f", "pool.yaml", "-f", "all.yaml", "--steps", "200"]);
    (told.code, if told.code == 0 { told.out } else { told.err })
}

#[test]
fn a_pod_is_explained_in_sentences() {
    for (name, words) in [
        ("default/runs", "Pod default/runs is on node n1.\n"),
        (
            "fits",
            "Pod default/fits waits and is expected on node n1, which has room for it.\nIt asks for cpu 1.\n",
        ),
        (
            "default/huge",
            "Pod default/huge stays pending:\n  pool general: 2 of 2 types match; none has 64 of cpu free, largest 8\nIt asks for cpu 64.\n",
        ),
        (
            "gated",
            "Pod default/gated has no node: a scheduling gate holds it back, and nothing is launched for it until that is removed.\n",
        ),
        ("ended", "Pod default/ended has ended (Succeeded): it needs no place.\n"),
    ] {
        assert_eq!(explained("pod", name), (0, words.to_owned()));
    }
    let (code, words) = explained("pod", "web-0");
    assert_eq!(code, 0);
    assert!(words.starts_with("Pod default/web-0 waits and a machine is to be launched for it"), "{words}");
    assert!(words.contains("pool general, ") && words.contains(" in zone-a, on-demand, $0."), "{words}");
}

#[test]
fn a_node_is_explained_in_sentences() {
    let words = "Node n1 is not one that Windlass launched: it is used where it has room, and never touched.\nIt is ready and has 1 pod.\n";
    assert_eq!(explained("node", "n1"), (0, words.to_owned()));
}

#[test]
fn a_name_that_does_not_exist_is_said_to_with_those_that_are_like_it() {
    let words = "windlass: there is no pod web-7 in namespace default; there is web-0, web-1\n";
    assert_eq!(explained("pod", "web-7"), (1, words.to_owned()));
    let words = "windlass: there is no pod runs in namespace shop\n";
    assert_eq!(explained("pod", "shop/runs"), (1, words.to_owned()));
    let words = "windlass: there is no node n2 and no claim of that name; there is n1\n";
    assert_eq!(explained("node", "n2"), (1, words.to_owned()));
}
