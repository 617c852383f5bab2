//! One round of a drain, as the API server sees it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use jiff::{Timestamp, ToSpan};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::START;
use crate::lifecycle::DrainProgress;
use crate::lifecycle::drain::Drain;

/// What was asked of the API server: method, path and body.
type Asked = Vec<(String, String, Value)>;

/// An API server on which these pods are on the node, and which answers to whatever is to end a pod.
struct Server {
    pods: Vec<Value>,
    /// The status code and the answer for the pod of a name.
    answer: fn(&str) -> (u16, Value),
    deadline: Option<Timestamp>,
}

fn fine(_: &str) -> (u16, Value) {
    (201, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
}

fn failure(code: u16, message: &str, causes: &Value) -> (u16, Value) {
    let details = json!({"causes": causes});
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                        "reason": "", "message": message, "details": details});
    (code, status)
}

impl Server {
    fn with(pods: &[Value]) -> Self {
        Self { pods: pods.to_vec(), answer: fine, deadline: None }
    }

    fn answering(self, answer: fn(&str) -> (u16, Value)) -> Self {
        Self { answer, ..self }
    }

    /// Drains for one round.
    async fn drain(self) -> (DrainProgress, Asked) {
        let asked: Arc<Mutex<Asked>> = Arc::default();
        let (seen, answer, pods) = (asked.clone(), self.answer, self.pods);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (seen, pods) = (seen.clone(), pods.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let (method, path) = (head.method.to_string(), head.uri.path().to_owned());
                let (code, answer) = if method == "GET" {
                    (200, json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods}))
                } else {
                    let name = path.split('/').nth(6).unwrap_or_default().to_owned();
                    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                    seen.lock().unwrap().push((method, path, body));
                    answer(&name)
                };
                let response =
                    Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
                Ok::<_, Infallible>(response.unwrap())
            }
        });
        let client = Client::new(service, "default");
        let drain = Drain {
            client: &client,
            node: "n",
            node_is_ready: true,
            deadline: self.deadline,
            stuck_pod_grace: Duration::from_secs(60),
            now: START,
        };
        let progress = drain.round().await.unwrap();
        let mut asked = asked.lock().unwrap().clone();
        asked.sort_by(|a, b| a.1.cmp(&b.1));
        (progress, asked)
    }
}

/// A pod of a replica set on the node.
fn pod(name: &str) -> Value {
    owned(name, "ReplicaSet")
}

fn owned(name: &str, kind: &str) -> Value {
    let owner = json!([{"kind": kind, "name": "o", "uid": "o", "apiVersion": "apps/v1", "controller": true}]);
    json!({"metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}"), "ownerReferences": owner},
           "spec": {"containers": [], "nodeName": "n", "terminationGracePeriodSeconds": 30}})
}

fn names(asked: &Asked) -> Vec<&str> {
    asked.iter().filter_map(|(_, path, _)| path.split('/').nth(6)).collect()
}

#[tokio::test]
async fn each_pod_is_asked_to_leave_by_the_eviction_of_that_very_pod() {
    let (progress, asked) = Server::with(&[pod("a")]).drain().await;
    assert_eq!((progress.remaining, progress.blocked.len()), (1, 0));
    let (method, path, body) = &asked[0];
    assert_eq!((method.as_str(), path.as_str()), ("POST", "/api/v1/namespaces/default/pods/a/eviction"));
    assert_eq!(body["deleteOptions"]["preconditions"]["uid"], "uid-a");
    assert_eq!(body["metadata"]["name"], "a");
}

#[tokio::test]
async fn pods_that_belong_to_the_node_or_have_ended_are_neither_asked_nor_counted() {
    let mut mirror = pod("mirror");
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    let mut ended = pod("ended");
    ended["status"] = json!({"phase": "Succeeded"});
    let pods = [owned("daemon", "DaemonSet"), owned("static", "Node"), mirror, ended];
    let (progress, asked) = Server::with(&pods).drain().await;
    assert_eq!((progress, asked), (DrainProgress::default(), Vec::new()));
}

#[tokio::test]
async fn a_pod_without_a_controller_is_asked_like_any_other() {
    let mut bare = pod("bare");
    bare["metadata"]["ownerReferences"] = json!([]);
    let (_, asked) = Server::with(&[bare]).drain().await;
    assert_eq!(names(&asked), ["bare"]);
}

#[tokio::test]
async fn pods_of_higher_priority_are_asked_once_those_of_lower_priority_are_gone() {
    let mut critical = pod("critical");
    critical["spec"]["priority"] = json!(2_000_000_000);
    let (progress, asked) = Server::with(&[critical.clone(), pod("plain")]).drain().await;
    assert_eq!((progress.remaining, names(&asked)), (2, vec!["plain"]));
    let (progress, asked) = Server::with(&[critical]).drain().await;
    assert_eq!((progress.remaining, names(&asked)), (1, vec!["critical"]));
}

#[tokio::test]
async fn a_pod_that_is_on_its_way_is_waited_for_and_not_asked_again() {
    let mut leaving = pod("leaving");
    leaving["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:30Z");
    let (progress, asked) = Server::with(&[leaving]).drain().await;
    assert_eq!((progress.remaining, asked.len()), (1, 0));
}

#[tokio::test]
async fn a_pod_that_is_gone_is_not_counted() {
    let gone = Server::with(&[pod("a")]).answering(|_| failure(404, "not found", &json!([])));
    assert_eq!(gone.drain().await.0, DrainProgress::default());
}

#[tokio::test]
async fn a_pod_whose_eviction_conflicts_is_left_to_the_next_round() {
    let written = Server::with(&[pod("a")]).answering(|_| failure(409, "the UID is another", &json!([])));
    assert_eq!(written.drain().await.0, DrainProgress { remaining: 1, blocked: Vec::new() });
}

#[tokio::test]
async fn a_budget_that_allows_nothing_is_told_in_its_own_words() {
    let server = Server::with(&[pod("a")]).answering(|_| {
        let cause = json!([{"reason": "DisruptionBudget", "message": "The disruption budget db needs 2 healthy pods"}]);
        failure(429, "Cannot evict pod", &cause)
    });
    let (progress, _) = server.drain().await;
    assert_eq!(progress.remaining, 1);
    assert_eq!(progress.blocked[0].pod, "default/a");
    assert_eq!(progress.blocked[0].why, "The disruption budget db needs 2 healthy pods");
}

#[tokio::test]
async fn an_eviction_that_the_api_server_cannot_do_is_told() {
    let server = Server::with(&[pod("a")])
        .answering(|_| failure(500, "This pod has more than one PodDisruptionBudget", &json!([])));
    let (progress, _) = server.drain().await;
    assert!(progress.blocked[0].why.contains("more than one PodDisruptionBudget"), "{progress}");
}

#[tokio::test]
async fn one_pod_that_cannot_leave_does_not_keep_the_others() {
    let server = Server::with(&[pod("b"), pod("c"), pod("a")])
        .answering(|name| if name == "c" { fine(name) } else { failure(429, "no", &json!([])) });
    let (progress, asked) = server.drain().await;
    assert_eq!((progress.remaining, names(&asked)), (3, vec!["a", "b", "c"]));
    let blocked: Vec<&str> = progress.blocked.iter().map(|blocked| blocked.pod.as_str()).collect();
    assert_eq!(blocked, ["default/a", "default/b"], "in order, whoever answered first");
}

#[tokio::test]
async fn what_is_left_shortly_before_the_time_limit_is_deleted_with_the_grace_that_is_left() {
    let server = Server { deadline: Some(START + 20.seconds()), ..Server::with(&[pod("a")]) };
    let (progress, asked) = server.drain().await;
    assert_eq!(progress.remaining, 1);
    let (method, path, body) = &asked[0];
    assert_eq!((method.as_str(), path.as_str()), ("DELETE", "/api/v1/namespaces/default/pods/a"));
    assert_eq!((&body["gracePeriodSeconds"], &body["preconditions"]["uid"]), (&json!(20), &json!("uid-a")));
}

#[tokio::test]
async fn only_pods_whose_own_grace_period_no_longer_fits_are_deleted() {
    let mut patient = pod("patient");
    patient["spec"]["terminationGracePeriodSeconds"] = json!(300);
    let server = Server { deadline: Some(START + 100.seconds()), ..Server::with(&[patient, pod("quick")]) };
    let (_, asked) = server.drain().await;
    let methods: Vec<&str> = asked.iter().map(|(method, _, _)| method.as_str()).collect();
    assert_eq!((names(&asked), methods), (vec!["patient", "quick"], vec!["DELETE", "POST"]));
}
