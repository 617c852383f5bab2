use serde_json::{Value, json};

use super::named::Memory;
use super::servers::Answer;

/// How two servers' answers differ, if they do.
pub fn difference(
    real: &Answer,
    simulated: &Answer,
    memories: (&mut Memory, &mut Memory),
    is_ours: bool,
) -> Option<String> {
    let (real_body, simulated_body) = if real.status >= 400 && simulated.status >= 400 {
        (error(&real.body), error(&simulated.body))
    } else {
        let simulated = comparable(&simulated.body);
        let real = comparable(&real.body);
        (if is_ours { real } else { restricted(&real, &simulated) }, simulated)
    };
    let real_body = memories.0.named(&real_body);
    let simulated_body = memories.1.named(&simulated_body);
    (real.status != simulated.status || real_body != simulated_body).then(|| {
        format!(
            "the real server: {} {real_body}\n  the simulated one: {} {simulated_body}\n  in full: {}\n       and: {}",
            real.status, simulated.status, real.body, simulated.body
        )
    })
}

/// An error without the words that nobody compares: those about what exactly is wrong with an object.
fn error(body: &Value) -> Value {
    let details = &body["details"];
    let mut error = json!({"status": body["status"], "reason": body["reason"], "code": body["code"]});
    if matches!(body["reason"].as_str(), Some("NotFound" | "AlreadyExists" | "TooManyRequests")) {
        error["message"] = body["message"].clone();
        error["details"] = details.clone();
    }
    error
}

/// A list's version and token are of no interest, nor whether its items say what they are.
fn comparable(body: &Value) -> Value {
    let mut body = body.clone();
    let is_list = body["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if is_list {
        body["metadata"]["resourceVersion"] = json!(null);
        let goes_on = body["metadata"]["continue"].as_str().is_some_and(|token| !token.is_empty());
        body["metadata"]["continue"] = json!(goes_on);
        for item in body["items"].as_array_mut().into_iter().flatten() {
            let item = item.as_object_mut().unwrap();
            item.remove("kind");
            item.remove("apiVersion");
        }
    }
    body
}

/// As much of a real object as the simulated one has.
pub fn restricted(real: &Value, simulated: &Value) -> Value {
    match (real, simulated) {
        (Value::Object(real), Value::Object(simulated)) => {
            let kept = real
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), restricted(value, simulated.get(key)?))));
            let mut kept: serde_json::Map<String, Value> = kept.collect();
            // What the simulated object lacks and matters all the same.
            for key in
                ["deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "generation", "labels"]
            {
                if let Some(value) = real.get(key).filter(|_| simulated.contains_key("resourceVersion")) {
                    kept.insert(key.to_owned(), value.clone());
                }
            }
            for key in ["nodeName", "taints", "unschedulable", "nominatedNodeName", "disruptedPods", "phase"]
            {
                if let Some(value) = real.get(key).filter(|_| !simulated.contains_key("resourceVersion")) {
                    let counterpart = simulated.get(key).unwrap_or(&Value::Null);
                    kept.insert(key.to_owned(), restricted(value, counterpart));
                }
            }
            Value::Object(kept)
        }
        (Value::Array(real), Value::Array(simulated)) if real.len() == simulated.len() => {
            real.iter().zip(simulated).map(|(real, simulated)| restricted(real, simulated)).collect()
        }
        _ => real.clone(),
    }
}
