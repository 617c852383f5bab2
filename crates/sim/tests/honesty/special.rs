//! Requests that make sense for some kinds only.

use fastrand::Rng;
use serde_json::json;

use super::bodies::{Kind, Thing};
use super::generic::{HOLD, based_on, status, uid};
use super::request::{APPLY, JSON, Request};
use super::specs::claim_status;

/// What only objects of this kind are asked for.
pub fn special(thing: &Thing, random: &mut Rng) -> Request {
    match thing.kind {
        Kind::Claim | Kind::Pool if random.bool() => apply(thing, random),
        Kind::Claim | Kind::Pool => replace_status(thing, random),
        Kind::Pod if random.u8(..3) == 0 => bind(thing, random),
        Kind::Pod => evict(thing, random),
        Kind::Namespace => {
            let lease = Thing::new(Kind::Lease, "inside".to_owned(), &thing.name);
            Request::new("POST", &lease.collection).body(json!({"metadata": {"name": "inside"}}))
        }
        Kind::Lease => {
            // A lease that is not there comes by being written to.
            let body = json!({"metadata": {"name": thing.name}, "spec": thing.spec(random)});
            Request::new("PUT", thing.path()).body(body)
        }
        Kind::Node | Kind::Budget => status(thing, random),
    }
}

fn apply(thing: &Thing, random: &mut Rng) -> Request {
    let (api_version, kind) = thing.types();
    let mut body = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": thing.name}});
    let manager = *random.choice(["windlass", "windlass", "other"].iter()).unwrap();
    let to_status = random.u8(..4) > 0;
    if to_status {
        // Without empty lists: of a map in which nothing else is left the real server forgets that it is there, and
        // Windlass writes none.
        body["status"] = if thing.kind == Kind::Claim { claim_status(random) } else { thing.status(random) };
        if body["status"]["conditions"].as_array().is_some_and(Vec::is_empty) {
            body["status"].as_object_mut().unwrap().remove("conditions");
        }
    } else {
        body["spec"] = thing.spec(random).unwrap();
        if random.bool() {
            body["metadata"]["labels"] = json!({"applied": "yes"});
        }
        if random.u8(..4) == 0 {
            body["metadata"]["finalizers"] = json!([HOLD]);
        }
    }
    if random.bool() {
        body["metadata"]["uid"] = uid(thing, random);
    }
    match random.u8(..12) {
        0 => body["metadata"]["resourceVersion"] = based_on(thing, random),
        1 => drop(body.as_object_mut().unwrap().remove("status")),
        _ => {}
    }
    let path = if to_status { format!("{}/status", thing.path()) } else { thing.path() };
    let request = Request::new("PATCH", path).patch(APPLY, body);
    let request = if random.u8(..12) == 0 { request } else { request.ask("fieldManager", manager) };
    if random.u8(..5) == 0 { request } else { request.ask("force", "true") }
}

/// Writes the status of an object that is still the same, as Windlass does.
fn replace_status(thing: &Thing, random: &mut Rng) -> Request {
    let wanted = if thing.kind == Kind::Claim { claim_status(random) } else { thing.status(random) };
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": uid(thing, random)},
        {"op": "add", "path": "/status", "value": wanted},
    ]);
    Request::new("PATCH", format!("{}/status", thing.path()))
        .patch(JSON, patch)
        .ask("fieldManager", "windlass")
}

fn bind(thing: &Thing, random: &mut Rng) -> Request {
    let mut metadata = json!({"name": thing.name});
    match random.u8(..6) {
        0 => metadata["uid"] = uid(thing, random),
        1 => metadata["name"] = json!("other"),
        2 => metadata["annotations"] = json!({"bound": "yes"}),
        _ => {}
    }
    let target = json!({"apiVersion": "v1", "kind": "Node", "name": "somewhere"});
    let body = json!({"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target});
    Request::new("POST", format!("{}/binding", thing.path())).body(body)
}

fn evict(thing: &Thing, random: &mut Rng) -> Request {
    let mut eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": thing.name},
    });
    match random.u8(..6) {
        0 => eviction["metadata"]["name"] = json!("other"),
        1 => eviction["deleteOptions"] = json!({"gracePeriodSeconds": 0}),
        2 | 3 => eviction["deleteOptions"] = json!({"preconditions": {"uid": uid(thing, random)}}),
        4 => {
            let version = format!("$version {}", thing.path());
            eviction["deleteOptions"] = json!({"preconditions": {"resourceVersion": version}});
        }
        _ => {}
    }
    Request::new("POST", format!("{}/eviction", thing.path())).body(eviction)
}
