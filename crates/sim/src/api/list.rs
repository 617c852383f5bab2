//! Lists, whole and page by page.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::{Value, json};

use super::kind::ResourceKind;
use super::refusal::StatusError;
use super::route::{Query, Target};
use super::selector::Selector;
use super::server::{Server, key};
use super::stored::Stored;

impl Server {
    pub(super) fn list(&mut self, target: &Target<'_>, query: &Query<'_>) -> Result<Bytes, StatusError> {
        let kind = target.kind;
        let selector = Selector::read(kind, query.get("labelSelector"), query.get("fieldSelector"))?;
        let limit = query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(0_usize);
        let (version, after) = self.where_to_begin(query)?;
        let (mut found, mut rest) = (Vec::new(), 0);
        // That nothing that follows is selected is not known before it was looked at.
        for object in self.at(kind, version, target.namespace, after.as_deref()) {
            if limit > 0 && found.len() == limit {
                rest += 1;
            } else if selector.matches(object.value()) {
                found.push(object);
            }
        }
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if rest > 0 {
            let last = found.last().map(|last| key(last.namespace(), last.name())).unwrap_or_default();
            metadata["continue"] = json!(token(version, &last));
            if selector.is_everything() {
                metadata["remainingItemCount"] = json!(rest);
            }
        }
        if self.shuffles_lists {
            self.random.shuffle(&mut found);
        }
        Ok(list_of(kind, &metadata, &found))
    }

    /// The version that is listed, and the key after which the page begins.
    fn where_to_begin(&self, query: &Query<'_>) -> Result<(u64, Option<String>), StatusError> {
        if let Some(token) = query.get("continue") {
            let read =
                token.split_once('.').and_then(|(version, key)| Some((version.parse().ok()?, unhex(key)?)));
            let Some((version, key)) = read else {
                return Err(StatusError::bad_request("continue key is not valid: it is no token of ours"));
            };
            if version < self.history.compacted() {
                let message = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";
                return Err(StatusError::new(410, "Expired", message));
            }
            return Ok((version, Some(key)));
        }
        let newest = self.version();
        let asked = match query.get("resourceVersion") {
            None | Some("0") => return Ok((newest, None)),
            Some(asked) => asked
                .parse::<u64>()
                .map_err(|_| StatusError::bad_request(format!("invalid resource version: {asked}")))?,
        };
        if asked > newest {
            let message = format!("Too large resource version: {asked}, current: {newest}");
            let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
            let details = json!({"causes": [cause], "retryAfterSeconds": 1});
            return Err(StatusError { details, ..StatusError::new(504, "Timeout", message) });
        }
        if query.get("resourceVersionMatch") != Some("Exact") {
            return Ok((newest, None));
        }
        if asked < self.history.compacted() {
            let message = format!("The resourceVersion for the provided list is too old: {asked}");
            return Err(StatusError::new(410, "Expired", message));
        }
        Ok((asked, None))
    }

    /// The objects that there were at a version, in order.
    fn at(
        &self,
        kind: &ResourceKind,
        version: u64,
        namespace: &str,
        after: Option<&str>,
    ) -> Vec<Arc<Stored>> {
        // What has changed since is as it was before the first change.
        let mut then: BTreeMap<String, Option<&Arc<Stored>>> = BTreeMap::new();
        for commit in self.history.of_kind_after(kind, version) {
            let key = key(commit.object.namespace(), commit.object.name());
            then.entry(key).or_insert(commit.before.as_ref());
        }
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let begin = match after {
            Some(after) => Bound::Excluded(after),
            None => Bound::Included(prefix.as_str()),
        };
        let now = self.all(kind).range::<str, _>((begin, Bound::Unbounded));
        let now = now.take_while(|(key, _)| key.starts_with(&prefix));
        if then.is_empty() {
            return now.map(|(_, object)| object.clone()).collect();
        }
        let mut all: BTreeMap<&str, &Arc<Stored>> = now.map(|(key, object)| (key.as_str(), object)).collect();
        for (key, before) in &then {
            let is_meant = key.starts_with(&prefix) && after.is_none_or(|after| key.as_str() > after);
            match before {
                Some(before) if is_meant => drop(all.insert(key, before)),
                _ => drop(all.remove(key.as_str())),
            }
        }
        all.into_values().cloned().collect()
    }
}

/// The whole list as it goes over the wire. The items bear their kinds, which those of built-in kinds do not on a real
/// server; nobody minds.
fn list_of(kind: &ResourceKind, metadata: &Value, items: &[Arc<Stored>]) -> Bytes {
    let size: usize = items.iter().map(|item| item.bytes().len() + 1).sum();
    let head = format!(
        r#"{{"kind":"{}List","apiVersion":"{}","metadata":{metadata},"items":["#,
        kind.kind, kind.api_version
    );
    let mut list = BytesMut::with_capacity(head.len() + size + 2);
    list.put_slice(head.as_bytes());
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            list.put_u8(b',');
        }
        list.put_slice(item.bytes());
    }
    list.put_slice(b"]}");
    list.freeze()
}

fn token(version: u64, key: &str) -> String {
    use std::fmt::Write as _;
    let mut token = format!("{version}.");
    for byte in key.bytes() {
        let _ = write!(token, "{byte:02x}");
    }
    token
}

fn unhex(text: &str) -> Option<String> {
    let digits = text.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    String::from_utf8(digits.collect::<Option<Vec<u8>>>()?).ok()
}
