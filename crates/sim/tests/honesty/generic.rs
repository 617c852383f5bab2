//! Requests about an object, right and wrong ones.

use fastrand::Rng;
use serde_json::{Value, json};

use super::bodies::{Kind, Thing};
use super::request::{JSON, MERGE, Request, STRATEGIC};
use super::special::special;

pub const HOLD: &str = "test.windlass.dev/hold";

pub fn request(thing: &Thing, random: &mut Rng, label: &str) -> Request {
    match random.u8(..100) {
        0..=5 => Request::new("POST", &thing.collection).body(thing.body(random, label)),
        6..=11 => Request::new("GET", thing.path()),
        12..=19 => list(thing, random, label),
        20..=29 => put(thing, random),
        30..=45 => merge_patch(thing, random),
        46..=58 => json_patch(thing, random),
        59..=66 => strategic_patch(thing, random),
        67..=76 => status(thing, random),
        77..=88 => special(thing, random),
        _ => delete(thing, random),
    }
}

fn list(thing: &Thing, random: &mut Rng, label: &str) -> Request {
    let list = Request::new("GET", &thing.collection);
    let is_shared = matches!(thing.kind, Kind::Claim | Kind::Pool | Kind::Node | Kind::Namespace);
    let selectors =
        ["app=a", "app!=a", "app in (a,b)", "app notin (b)", "tier", "!tier", "app==b,tier!=web", "a b"];
    let selector = *random.choice(selectors.iter()).unwrap();
    if is_shared {
        // Others' objects are nobody's business, and where a page ends depends on them.
        return match random.u8(..3) {
            0 => list.ask("labelSelector", format!("sequence={label}")),
            1 => list.ask("labelSelector", format!("sequence={label},{selector}")),
            _ => list.ask("fieldSelector", format!("metadata.name={}", thing.name)),
        };
    }
    match random.u8(..6) {
        0 => list,
        1 => list.ask("labelSelector", selector),
        2 => list.ask("limit", "1"),
        3 => list.ask("limit", "1").ask("labelSelector", selector),
        4 if thing.kind == Kind::Pod => {
            let fields = [
                "spec.nodeName=somewhere",
                "spec.nodeName=",
                "status.phase=Running",
                "status.phase!=Running",
                "spec.x=1",
            ];
            list.ask("fieldSelector", *random.choice(fields.iter()).unwrap())
        }
        _ => list.ask("fieldSelector", format!("metadata.name!={}", thing.name)),
    }
}

/// The version that a write says it is based on: the right one, an old one, none, or nonsense.
pub fn based_on(thing: &Thing, random: &mut Rng) -> Value {
    match random.u8(..8) {
        0..=4 => json!(format!("$version {}", thing.path())),
        5 | 6 => json!(format!("$first {}", thing.path())),
        _ => json!(null),
    }
}

pub fn uid(thing: &Thing, random: &mut Rng) -> Value {
    if random.u8(..4) == 0 { json!("somebody-else") } else { json!(format!("$uid {}", thing.path())) }
}

fn put(thing: &Thing, random: &mut Rng) -> Request {
    let mut metadata = json!({"resourceVersion": based_on(thing, random)});
    match random.u8(..10) {
        0 => metadata["uid"] = json!("somebody-else"),
        1 => metadata["uid"] = json!(null),
        2 => metadata["name"] = json!("other"),
        3 => metadata["labels"] = json!({"app": null, "tier": "db"}),
        4 => metadata["finalizers"] = json!([HOLD, "test.windlass.dev/more"]),
        5 => metadata["finalizers"] = json!(null),
        6 => metadata["generation"] = json!(9),
        7 => metadata["creationTimestamp"] = json!(null),
        _ => {}
    }
    let mut change = json!({"metadata": metadata});
    if random.u8(..3) == 0
        && let Some(spec) = thing.spec(random)
    {
        change["spec"] = spec;
    }
    if thing.has_status() && random.u8(..4) == 0 {
        change["status"] = thing.status(random);
    }
    Request::new("PUT", thing.path()).body(json!({"$object": thing.path(), "$change": change}))
}

fn metadata_change(thing: &Thing, random: &mut Rng) -> Value {
    match random.u8(..12) {
        0 => json!({"labels": {"tier": *random.choice(["web", "db"].iter()).unwrap()}}),
        1 => json!({"labels": {"app": null}}),
        2 => json!({"annotations": {"note": "y", "other": null}}),
        3 => json!({"finalizers": [HOLD]}),
        4 => json!({"finalizers": null}),
        5 => json!({"finalizers": []}),
        6 => json!({"finalizers": [HOLD, "test.windlass.dev/more"]}),
        7 => json!({"name": "other"}),
        8 => json!({"resourceVersion": based_on(thing, random), "labels": {"tier": "db"}}),
        9 => json!({"labels": {"bad key!": "x"}}),
        // On built-in kinds it changes nothing but managed fields, which are not kept there.
        10 if thing.is_ours() => json!({"deletionTimestamp": "2001-01-01T00:00:00Z"}),
        _ => json!({"uid": uid(thing, random), "annotations": {"note": "z"}}),
    }
}

fn merge_patch(thing: &Thing, random: &mut Rng) -> Request {
    let mut patch = json!({});
    if random.u8(..5) > 0 {
        patch["metadata"] = metadata_change(thing, random);
    }
    if random.u8(..4) == 0
        && let Some(spec) = thing.spec(random)
    {
        patch["spec"] = spec;
    }
    if thing.has_status() && random.u8(..6) == 0 {
        patch["status"] = thing.status(random);
    }
    if thing.kind == Kind::Node && random.u8(..3) == 0 {
        patch["spec"] = json!({"unschedulable": random.bool(), "taints": null});
    }
    if thing.kind == Kind::Pod && random.u8(..4) == 0 {
        patch["spec"] = json!({"schedulingGates": []});
    }
    Request::new("PATCH", thing.path()).patch(MERGE, patch)
}

fn json_patch(thing: &Thing, random: &mut Rng) -> Request {
    let this_one = json!({"op": "test", "path": "/metadata/uid", "value": uid(thing, random)});
    let hold = json!(HOLD);
    let patch = match random.u8(..11) {
        0 | 1 => json!([
            this_one,
            {"op": "test", "path": "/metadata/finalizers", "value": null},
            {"op": "add", "path": "/metadata/finalizers", "value": [hold]},
        ]),
        2 => json!([this_one, {"op": "add", "path": "/metadata/finalizers/-", "value": hold}]),
        3 | 4 => json!([
            this_one,
            {"op": "test", "path": "/metadata/finalizers/0", "value": hold},
            {"op": "remove", "path": "/metadata/finalizers/0"},
        ]),
        5 => json!([{"op": "replace", "path": "/metadata/labels/app", "value": "c"}]),
        6 => json!([{"op": "remove", "path": "/metadata/annotations/note"}]),
        7 => json!([{"op": "add", "path": "/spec/nothing/below", "value": 1}]),
        8 => json!([{"op": "copy", "from": "/metadata/labels/app", "path": "/metadata/labels/tier"}]),
        9 => {
            json!([{"op": "test", "path": "/metadata/labels/app", "value": "a"}, {"op": "add", "path": "/metadata/annotations", "value": {"note": "j"}}])
        }
        _ => json!({"op": "none"}),
    };
    let patch = if thing.kind == Kind::Node && random.bool() { taints(this_one, random) } else { patch };
    Request::new("PATCH", thing.path()).patch(JSON, patch)
}

/// What Windlass does to a node's taints.
fn taints(this_one: Value, random: &mut Rng) -> Value {
    let not_ready = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let wanted = if random.bool() { json!([]) } else { json!([{"key": "w", "effect": "NoSchedule"}]) };
    if random.bool() {
        let before =
            if random.bool() { json!([not_ready]) } else { json!([{"key": "w", "effect": "NoSchedule"}]) };
        json!([
            this_one,
            {"op": "test", "path": "/spec/taints", "value": before},
            {"op": "replace", "path": "/spec/taints", "value": wanted},
            {"op": "add", "path": "/spec/unschedulable", "value": random.bool()},
        ])
    } else {
        json!([
            this_one,
            {"op": "test", "path": "/spec/taints", "value": null},
            {"op": "add", "path": "/spec/taints", "value": wanted},
        ])
    }
}

fn strategic_patch(thing: &Thing, random: &mut Rng) -> Request {
    let patch = match random.u8(..6) {
        0 => {
            json!({"metadata": {"uid": uid(thing, random), "finalizers": [HOLD], "labels": {"tier": "web"}}})
        }
        1 => json!({"metadata": {"uid": uid(thing, random), "$deleteFromPrimitiveList/finalizers": [HOLD]}}),
        2 => json!({"metadata": {"finalizers": ["test.windlass.dev/more"]}}),
        3 => json!({"metadata": {"labels": {"app": null}}}),
        4 => json!({"metadata": {"labels": {"$patch": "replace", "sequence": "gone"}}}),
        _ => json!({"metadata": {"annotations": {"a": "b"}}}),
    };
    Request::new("PATCH", thing.path()).patch(STRATEGIC, patch)
}

/// Writes to the status.
pub fn status(thing: &Thing, random: &mut Rng) -> Request {
    if !thing.has_status() {
        return put(thing, random);
    }
    let path = format!("{}/status", thing.path());
    let mut status = json!({"status": thing.status(random)});
    if random.u8(..3) == 0 {
        status["metadata"] = metadata_change(thing, random);
    }
    if random.u8(..8) == 0
        && let Some(spec) = thing.spec(random)
    {
        status["spec"] = spec;
    }
    if random.u8(..3) == 0 {
        status["metadata"]["resourceVersion"] = based_on(thing, random);
        return Request::new("PUT", path).body(json!({"$object": thing.path(), "$change": status}));
    }
    if thing.kind == Kind::Pod && random.u8(..2) == 0 {
        let node = *random.choice([Some("n1"), Some("n2"), None].iter()).unwrap();
        let manager = *random.choice(["windlass", "scheduler"].iter()).unwrap();
        let patch = json!({"metadata": {"uid": uid(thing, random)}, "status": {"nominatedNodeName": node}});
        return Request::new("PATCH", path).patch(MERGE, patch).ask("fieldManager", manager);
    }
    let is_strategic = !thing.is_ours() && random.bool();
    Request::new("PATCH", path).patch(if is_strategic { STRATEGIC } else { MERGE }, status)
}

fn delete(thing: &Thing, random: &mut Rng) -> Request {
    let request = Request::new("DELETE", thing.path());
    let mut options = json!({});
    match random.u8(..8) {
        0 | 1 => options["preconditions"] = json!({"uid": uid(thing, random)}),
        2 => options["preconditions"] = json!({"resourceVersion": based_on(thing, random)}),
        3 => options["gracePeriodSeconds"] = json!(0),
        4 => options["gracePeriodSeconds"] = json!(5),
        5 => options["gracePeriodSeconds"] = json!(-1),
        6 => return request.ask("gracePeriodSeconds", "7"),
        _ => return request,
    }
    request.body(options)
}
