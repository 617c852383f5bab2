//! Whether enough of each app was there at every instant, counted from the pods alone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::apps::{APPS, App};
use crate::diary::{Entry, Kind};

/// Replays what happened to the pods from those that were there at first, and names each moment at which an app had
/// fewer healthy pods than its budget demands. Says how few there were of each app.
pub fn fewest_healthy(
    at_first: &[Value],
    entries: &[Entry],
    replicas: &BTreeMap<&str, i32>,
) -> BTreeMap<&'static str, i32> {
    let mut healthy: BTreeMap<String, (String, bool)> = BTreeMap::new();
    for pod in at_first {
        let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
        healthy.insert(name, (app_of(pod), is_healthy(pod)));
    }
    let mut fewest: BTreeMap<&'static str, i32> =
        APPS.iter().map(|app| (app.name, replicas[app.name])).collect();
    for entry in entries.iter().filter(|entry| entry.kind == Kind::Pod) {
        if entry.deleted {
            healthy.remove(&entry.name);
        } else {
            let state = (app_of(&entry.object), is_healthy(&entry.object));
            healthy.insert(entry.name.clone(), state);
        }
        for app in &APPS {
            let there = count(&healthy, app);
            let least = app.must_be_healthy(replicas[app.name]);
            assert!(there >= least, "{there} healthy pods of {} at {}, not {least}", app.name, entry.version);
            fewest.entry(app.name).and_modify(|fewest| *fewest = there.min(*fewest));
        }
    }
    fewest
}

fn count(healthy: &BTreeMap<String, (String, bool)>, app: &App) -> i32 {
    let there = healthy.values().filter(|(name, healthy)| name == app.name && *healthy).count();
    i32::try_from(there).unwrap()
}

fn app_of(pod: &Value) -> String {
    pod["metadata"]["labels"]["app"].as_str().unwrap_or_default().to_owned()
}

fn is_healthy(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
    pod["metadata"]["deletionTimestamp"].is_null() && conditions.into_iter().flatten().any(ready)
}
