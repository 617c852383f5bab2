use crate::desk::{Desk, launched, placed, planned, pod, workload};

const NODE: &str =
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4, memory: 16Gi}}\n";

/// A pod of the deployment `web` that runs.
fn running(name: &str) -> String {
    let owner =
        "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d, uid: u, controller: true}]";
    let metadata = format!("{{name: {name}, labels: {{app: web, pod-template-hash: 5d}}, {owner}}}");
    pod(name, "1", ", nodeName: n1").replace(&format!("{{name: {name}}}"), &metadata)
}

#[test]
fn an_object_in_a_later_file_takes_the_place_of_an_earlier_one() {
    let desk = Desk::new()
        .file("now.yaml", &workload("apps/v1", "Deployment", "web", "1", "  replicas: 1\n"))
        .file("then.yaml", &workload("apps/v1", "Deployment", "web", "1", "  replicas: 3\n"));
    let told = desk.windlass(&["plan", "-f", "pool.yaml", "-f", "now.yaml", "-f", "then.yaml", "-o", "json"]);
    assert_eq!(launched(&told.json()).len(), 3);
    assert_eq!(
        told.err,
        "note: Deployment default/web is in now.yaml, document 1 and in then.yaml, document 1: the latter counts\n"
    );
}

#[test]
fn a_workload_that_grows_keeps_the_pods_that_it_has() {
    let grown = workload("apps/v1", "Deployment", "web", "1", "  replicas: 6\n");
    let plan = planned(&format!("{NODE}{}{}{grown}", running("web-5d-a"), running("web-5d-b")));
    assert_eq!(placed(&plan).len(), 2, "two of four cores are taken: {plan}");
    let names: Vec<String> = (2..6).map(|number| format!("default/web-{number}")).collect();
    let mut all: Vec<String> = placed(&plan).into_iter().map(|(pod, _)| pod).chain(launched(&plan)).collect();
    all.sort();
    assert_eq!(all, names);
}

#[test]
fn a_workload_that_shrinks_makes_room() {
    let shrunk = workload("apps/v1", "Deployment", "web", "1", "  replicas: 1\n");
    let plan = planned(&format!(
        "{NODE}{}{}{shrunk}{}",
        running("web-5d-a"),
        running("web-5d-b"),
        pod("new", "3", "")
    ));
    assert_eq!(placed(&plan), [("default/new".to_owned(), "n1".to_owned())]);
}

#[test]
fn a_workload_whose_pods_ask_for_more_is_made_anew() {
    let larger = workload("apps/v1", "Deployment", "web", "3", "  replicas: 2\n");
    let plan = planned(&format!("{NODE}{}{}{larger}", running("web-5d-a"), running("web-5d-b")));
    assert_eq!((placed(&plan).len(), launched(&plan).len()), (1, 1), "{plan}");
}
