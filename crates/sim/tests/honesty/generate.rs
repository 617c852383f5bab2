//! Sequences of requests from seeds.

use fastrand::Rng;
use serde_json::json;

use super::bodies::{Kind, Thing};
use super::generic;
use super::request::Request;

/// A made-up sequence.
pub struct Sequence {
    pub namespace: String,
    pub label: String,
    pub things: Vec<Thing>,
    pub steps: Vec<Step>,
}

/// A request about one of the things.
pub struct Step {
    pub thing: Thing,
    pub request: Request,
}

pub fn sequence(seed: u64) -> Sequence {
    let mut random = Rng::with_seed(seed);
    let label = format!("s{seed}");
    let namespace = label.clone();
    let things = things(&mut random, &label, &namespace);
    let mut steps: Vec<Step> = Vec::new();
    for thing in &things {
        let body = thing.body(&mut random, &label);
        steps
            .push(Step { thing: thing.clone(), request: Request::new("POST", &thing.collection).body(body) });
    }
    let length = random.usize(15..=25);
    while steps.len() < length {
        let thing = random.choice(&things).unwrap().clone();
        let request = generic::request(&thing, &mut random, &label);
        // Whoever reads page by page reads on.
        let goes_on = request.query.iter().any(|(name, _)| *name == "limit");
        steps.push(Step { thing: thing.clone(), request: request.clone() });
        if goes_on {
            steps.push(Step { thing, request: request.ask("continue", "$token") });
        }
    }
    Sequence { namespace, label, things, steps }
}

fn things(random: &mut Rng, label: &str, namespace: &str) -> Vec<Thing> {
    let kinds = [
        Kind::Claim,
        Kind::Claim,
        Kind::Claim,
        Kind::Pool,
        Kind::Node,
        Kind::Node,
        Kind::Pod,
        Kind::Pod,
        Kind::Lease,
        Kind::Budget,
        Kind::Namespace,
    ];
    let mut things = Vec::new();
    for number in 0..random.usize(2..=3) {
        let kind = *random.choice(kinds.iter()).unwrap();
        things.push(Thing::new(kind, format!("{label}-{number}"), namespace));
        // A budget is nothing without pods.
        if kind == Kind::Budget {
            things.push(Thing::new(Kind::Pod, format!("{label}-of-budget-{number}"), namespace));
        }
    }
    things
}

/// What there has to be before a sequence begins.
pub fn setting(namespace: &str) -> [Request; 2] {
    let body = json!({"metadata": {"name": namespace}});
    let account = json!({"metadata": {"name": "default"}});
    [
        Request::new("POST", "/api/v1/namespaces").body(body),
        Request::new("POST", format!("/api/v1/namespaces/{namespace}/serviceaccounts")).body(account),
    ]
}
