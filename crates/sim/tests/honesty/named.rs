//! What one server has said of its objects, and names for it that are the same for both servers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::request::Request;

/// What one server has said.
#[derive(Default)]
pub struct Memory {
    /// By the path of the object.
    objects: BTreeMap<String, Known>,
    token: Option<String>,
    versions: Vec<String>,
    uids: Vec<String>,
}

#[derive(Default)]
struct Known {
    last: Value,
    first_version: String,
    uid: String,
}

impl Memory {
    /// Takes note of the answer to a request for one object.
    pub fn learn(&mut self, path: &str, answer: &Value) {
        if let Some(token) = answer.pointer("/metadata/continue").and_then(Value::as_str) {
            self.token = Some(token.to_owned());
        }
        let Some(version) = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str) else {
            return;
        };
        let Some(uid) = answer.pointer("/metadata/uid").and_then(Value::as_str) else { return };
        let known = self.objects.entry(path.to_owned()).or_default();
        if known.first_version.is_empty() {
            version.clone_into(&mut known.first_version);
            uid.clone_into(&mut known.uid);
        }
        known.last = answer.clone();
    }

    /// A request as it is sent to this server: `$version`, `$first` and `$uid` before an object's path stand for its
    /// last known version, the first known one, and its first known UID; `$token` for the last page's token; and a body
    /// `{"$object": path, "$change": patch}` for the last known state of an object, changed.
    pub fn fill(&self, request: &Request) -> Request {
        let mut request = request.clone();
        for (_, value) in &mut request.query {
            *value = self.text(value);
        }
        if let Some(body) = &mut request.body {
            *body = self.value(body);
        }
        request
    }

    fn value(&self, value: &Value) -> Value {
        if let Some(path) = value.get("$object").and_then(Value::as_str) {
            let mut object = self.objects.get(path).map_or_else(|| json!({}), |known| known.last.clone());
            merge(&mut object, self.value(&value["$change"]));
            return object;
        }
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, value)| (key.clone(), self.value(value))).collect())
            }
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        let known = |path: &str| self.objects.get(path);
        if text == "$token" {
            return self.token.clone().unwrap_or_default();
        }
        let (what, path) = text.split_once(' ').unwrap_or((text, ""));
        match what {
            "$version" => known(path).map_or("1".to_owned(), |known| version(&known.last)),
            "$first" => known(path).map_or("1".to_owned(), |known| known.first_version.clone()),
            "$uid" => known(path).map_or("nobody".to_owned(), |known| known.uid.clone()),
            _ => text.to_owned(),
        }
    }

    /// The same with names for versions, UIDs and moments, by which the answers of two servers can be compared.
    pub fn named(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let named = map.iter().filter(|(key, _)| *key != "managedFields");
                let named = named.map(|(key, value)| {
                    let named = match (key.as_str(), value.as_str()) {
                        ("resourceVersion", Some(version)) => name(&mut self.versions, "version", version),
                        ("uid", Some(uid)) => name(&mut self.uids, "uid", uid),
                        _ => self.named(value),
                    };
                    (key.clone(), named)
                });
                Value::Object(named.collect())
            }
            Value::Array(items) => items.iter().map(|item| self.named(item)).collect(),
            // Moments that a request has set are of another millennium.
            Value::String(text)
                if text.starts_with("20") && text.ends_with('Z') && !text.starts_with("2001") =>
            {
                json!("now")
            }
            other => other.clone(),
        }
    }
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

fn name(known: &mut Vec<String>, kind: &str, text: &str) -> Value {
    let place = known.iter().position(|known| known == text).unwrap_or_else(|| {
        known.push(text.to_owned());
        known.len() - 1
    });
    json!(format!("{kind} {place}"))
}

fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(&key);
        } else {
            merge(&mut target[&key], value);
        }
    }
}
