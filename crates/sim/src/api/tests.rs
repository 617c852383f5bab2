//! What the controller relies on most. That all of it is as on a real server is what `tests/honesty` is for.

use bytes::Bytes;
use http::Request;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use windlass_testkit::invariants::{Change, Writer};

use super::{Caller, Reply, Server, Watch};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const CLAIMS: &str = "/apis/windlass.dev/v1alpha1/nodeclaims";
const PODS: &str = "/api/v1/namespaces/default/pods";

struct Desk(Server);

impl Desk {
    fn new() -> Self {
        Self(Server::new(1))
    }

    fn ask(&mut self, method: &str, uri: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder().method(method).uri(uri).header("content-type", content_type);
        let caller = Caller { writer: Writer::Windlass, agent: "windlass" };
        match self.0.handle(caller, &request.body(body).unwrap(), NOW) {
            Reply::Answer { status, body } => (status, serde_json::from_slice(&body).unwrap_or_default()),
            Reply::Watch(_) => panic!("{uri} is a watch"),
        }
    }

    fn get(&mut self, uri: &str) -> (u16, Value) {
        self.ask("GET", uri, "", &Value::Null)
    }

    fn post(&mut self, uri: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", uri, "application/json", body)
    }

    fn apply_status(&mut self, name: &str, status: &Value) -> (u16, Value) {
        let body = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim", "metadata": {"name": name}, "status": status,
        });
        let uri = format!("{CLAIMS}/{name}/status?fieldManager=windlass&force=true");
        self.ask("PATCH", &uri, "application/apply-patch+yaml", &body)
    }

    fn merge(&mut self, uri: &str, body: &Value) -> (u16, Value) {
        self.ask("PATCH", uri, "application/merge-patch+json", body)
    }

    fn watch(&mut self, uri: &str) -> Watch {
        let request = Request::builder().uri(uri).body(Bytes::new()).unwrap();
        let caller = Caller { writer: Writer::Windlass, agent: "windlass" };
        match self.0.handle(caller, &request, NOW) {
            Reply::Watch(watch) => watch,
            Reply::Answer { status, .. } => panic!("{uri}: {status}"),
        }
    }

    /// What happened to whom, as a watch tells it.
    fn news(&self, watch: &mut Watch) -> Vec<String> {
        let lines = self.0.next_events(watch, self.0.version()).unwrap();
        let said = lines.iter().map(|line| {
            let event: Value = serde_json::from_slice(line).unwrap();
            format!(
                "{} {}",
                event["type"].as_str().unwrap(),
                event["object"]["metadata"]["name"].as_str().unwrap()
            )
        });
        said.collect()
    }
}

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "NodeClaim",
        "metadata": {"name": name, "finalizers": ["windlass.dev/hold"]},
        "spec": {"poolRef": {"name": "p"}, "providerRef": {"name": "q"}, "reason": {"purpose": "PendingPods"}},
    })
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    })
}

#[test]
fn a_claim_is_created_once_with_its_defaults_and_its_spec_is_final() {
    let mut desk = Desk::new();
    let (status, created) = desk.post(CLAIMS, &claim("c"));
    assert_eq!((status, &created["spec"]["offerings"]), (201, &json!([])));
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(desk.post(CLAIMS, &claim("c")).0, 409);
    let path = format!("{CLAIMS}/c");
    assert_eq!(desk.merge(&path, &json!({"spec": {"poolRef": {"name": "other"}}})).0, 422);
    assert_eq!(desk.get("/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers").0, 404);
}

#[test]
fn what_is_applied_no_more_goes_and_what_is_applied_again_changes_nothing() {
    let mut desk = Desk::new();
    desk.post(CLAIMS, &claim("c"));
    let (status, written) = desk.apply_status("c", &json!({"providerID": "x", "launch": {"offering": 1}}));
    assert_eq!((status, &written["status"]["launch"]["offering"]), (200, &json!(1)));
    let version = desk.0.version();
    desk.apply_status("c", &json!({"providerID": "x", "launch": {"offering": 1}}));
    assert_eq!(desk.0.version(), version);
    let (_, written) = desk.apply_status("c", &json!({"providerID": "x"}));
    assert_eq!(written["status"], json!({"providerID": "x"}));
}

#[test]
fn an_object_that_is_held_goes_when_the_last_hold_is_taken_off() {
    let mut desk = Desk::new();
    desk.post(CLAIMS, &claim("c"));
    let path = format!("{CLAIMS}/c");
    let mut watch = desk.watch(&format!("{CLAIMS}?watch=1&resourceVersion={}", desk.0.version()));
    let wrong = json!({"preconditions": {"uid": "other"}});
    assert_eq!(desk.ask("DELETE", &path, "application/json", &wrong).0, 409);
    let (status, leaving) = desk.ask("DELETE", &path, "", &Value::Null);
    assert_eq!((status, &leaving["metadata"]["generation"]), (200, &json!(2)));
    assert_eq!(desk.merge(&path, &json!({"metadata": {"finalizers": ["a/b"]}})).0, 422);
    let test = json!([{"op": "test", "path": "/metadata/finalizers/0", "value": "other"}]);
    assert_eq!(desk.ask("PATCH", &path, "application/json-patch+json", &test).0, 422);
    let release = json!([{"op": "remove", "path": "/metadata/finalizers/0"}]);
    assert_eq!(desk.ask("PATCH", &path, "application/json-patch+json", &release).0, 200);
    assert_eq!(desk.get(&path).0, 404);
    assert_eq!(desk.news(&mut watch), ["MODIFIED c", "DELETED c"]);
    let last = desk.0.commits_after(desk.0.version() - 1).last().unwrap();
    assert_eq!(
        (last.change, last.object.version(), last.writer),
        (Change::Deleted, last.version, Writer::Windlass)
    );
}

#[test]
fn a_pod_that_is_bound_is_given_its_grace_and_one_that_is_not_goes_at_once() {
    let mut desk = Desk::new();
    for name in ["waits", "runs"] {
        desk.post(PODS, &pod(name));
    }
    desk.0.bind("default", "runs", "n", NOW).unwrap();
    assert_eq!(desk.0.bind("default", "runs", "n", NOW).unwrap_err().code, 409);
    desk.ask("DELETE", &format!("{PODS}/waits"), "", &Value::Null);
    assert_eq!(desk.get(&format!("{PODS}/waits")).0, 404);
    let (_, leaving) = desk.ask("DELETE", &format!("{PODS}/runs"), "", &Value::Null);
    assert_eq!(leaving["metadata"]["deletionTimestamp"], json!((NOW + 30.seconds()).to_string()));
    assert_eq!(leaving["metadata"]["deletionGracePeriodSeconds"], 30);
    let (_, on_node) = desk.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn");
    assert_eq!(on_node["items"].as_array().unwrap().len(), 1);
    desk.0.delete("Pod", Some("default"), "runs", Some(0), NOW).unwrap();
    assert_eq!(desk.0.iter("Pod").count(), 0);
}

#[test]
fn a_budget_is_spent_by_evictions_and_then_refuses_them() {
    let mut desk = Desk::new();
    for name in ["a", "b"] {
        desk.post(PODS, &pod(name));
        desk.0.bind("default", name, "n", NOW).unwrap();
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let run = |pod: &mut Value| pod["status"] = json!({"phase": "Running", "conditions": ready});
        desk.0.edit_status("Pod", Some("default"), name, NOW, run).unwrap();
    }
    let budget = json!({
        "kind": "PodDisruptionBudget", "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    });
    desk.0.create(budget, NOW).unwrap();
    let evict = |desk: &mut Desk, name: &str| {
        let eviction = json!({"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": name}});
        desk.post(&format!("{PODS}/{name}/eviction"), &eviction)
    };
    let (status, refusal) = evict(&mut desk, "a");
    assert_eq!(
        (status, &refusal["reason"]),
        (429, &json!("TooManyRequests")),
        "nobody has looked at the budget yet"
    );
    let count = |budget: &mut Value| {
        budget["status"] = json!({
            "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1,
        });
    };
    desk.0.edit_status("PodDisruptionBudget", Some("default"), "b", NOW, count).unwrap();
    assert_eq!(evict(&mut desk, "a").0, 201);
    let (status, refusal) = evict(&mut desk, "b");
    assert_eq!((status, &refusal["details"]["causes"][0]["reason"]), (429, &json!("DisruptionBudget")));
    let evicted = desk.0.get("Pod", Some("default"), "a").unwrap();
    assert!(evicted.is_leaving() && evicted.value().to_string().contains("EvictionByEvictionAPI"));
}

#[test]
fn a_nomination_is_whose_who_made_it_last() {
    let mut desk = Desk::new();
    desk.post(PODS, &pod("p"));
    let path = format!("{PODS}/p/status?fieldManager=windlass");
    let (_, nominated) = desk.merge(&path, &json!({"status": {"nominatedNodeName": "n"}}));
    let entry = nominated["metadata"]["managedFields"][0].clone();
    assert_eq!((&entry["manager"], &entry["subresource"]), (&json!("windlass"), &json!("status")));
    let move_on = |pod: &mut Value| pod["status"]["nominatedNodeName"] = json!("m");
    let moved = desk.0.edit_status("Pod", Some("default"), "p", NOW, move_on).unwrap();
    assert_ne!(moved.value()["metadata"]["managedFields"][0]["manager"], "windlass");
}

#[test]
fn lists_come_in_pages_of_one_moment_until_that_is_forgotten() {
    let mut desk = Desk::new();
    for name in ["a", "b", "c"] {
        desk.post(CLAIMS, &claim(name));
    }
    let (_, first) = desk.get(&format!("{CLAIMS}?limit=2"));
    let token = first["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    desk.post(CLAIMS, &claim("d"));
    let (_, second) = desk.get(&format!("{CLAIMS}?limit=2&continue={token}"));
    let names: Vec<&str> = second["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c"], "what came later is not on the page");
    desk.0.compact(desk.0.version());
    assert_eq!(desk.get(&format!("{CLAIMS}?limit=2&continue={token}")).0, 410);
}

#[test]
fn a_watch_tells_what_comes_and_goes_among_the_selected_and_is_lost_with_the_history() {
    let mut desk = Desk::new();
    let mut watch =
        desk.watch(&format!("{PODS}?watch=1&resourceVersion={}&labelSelector=app%3Da", desk.0.version()));
    desk.post(PODS, &pod("p"));
    let path = format!("{PODS}/p");
    desk.merge(&path, &json!({"metadata": {"labels": {"app": "b"}}}));
    desk.merge(&path, &json!({"metadata": {"labels": {"app": "a"}}}));
    let early = desk.0.version() - 2;
    assert_eq!(desk.0.next_events(&mut watch, early).unwrap().len(), 1);
    assert_eq!(desk.news(&mut watch), ["DELETED p", "ADDED p"]);
    desk.merge(&path, &json!({"metadata": {"annotations": {"a": "b"}}}));
    desk.0.compact(desk.0.version());
    let gone = desk.0.next_events(&mut watch, desk.0.version()).unwrap_err();
    assert!(std::str::from_utf8(&gone.line()).unwrap().contains("410"));
}

#[test]
fn a_lease_is_replaced_only_by_who_has_seen_it_last() {
    let mut desk = Desk::new();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let (_, first) = desk.post(leases, &json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}));
    let path = format!("{leases}/l");
    let mut second = first.clone();
    second["spec"]["holderIdentity"] = json!("b");
    assert_eq!(desk.ask("PUT", &path, "application/json", &second).0, 200);
    let mut late = first;
    late["spec"]["holderIdentity"] = json!("c");
    assert_eq!(desk.ask("PUT", &path, "application/json", &late).0, 409);
}

#[test]
fn two_servers_of_one_seed_are_the_same() {
    let make = || {
        let mut desk = Desk::new();
        desk.post(CLAIMS, &claim("c"));
        desk.get(CLAIMS).1.to_string()
    };
    assert_eq!(make(), make());
}
