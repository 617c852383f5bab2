use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_api::{ApiQuantity, LimitedDuration};
use windlass_manifests::{Flaw, join};

use crate::duration;
use crate::remark::Remarks;

/// The fields of an object in somebody else's manifest. Each can be taken once, and what nobody has taken in the end is
/// something that is not known here.
#[derive(Debug)]
pub(crate) struct Fields {
    path: String,
    left: Map<String, Value>,
}

impl Fields {
    /// The fields of what is written at a path.
    pub(crate) fn of(path: impl Into<String>, value: Value) -> Result<Self, Flaw> {
        let path = path.into();
        match value {
            Value::Object(left) => Ok(Self { path, left }),
            other => Err(Flaw::new(path, format!("{} is no object with fields", shown(&other)))),
        }
    }

    /// The path of a field.
    pub(crate) fn path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// A field as it is written. One that is null is not there.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// The fields of an object in this one; none if it is not there.
    pub(crate) fn inner(&mut self, name: &str) -> Result<Self, Flaw> {
        Self::of(self.path(name), self.value(name).unwrap_or_else(|| Value::Object(Map::new())))
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Flaw> {
        self.value(name).map(|value| text(self.path(name), value)).transpose()
    }

    /// A text without which the object makes no sense.
    pub(crate) fn required(&mut self, name: &str) -> Result<String, Flaw> {
        let given = self.text(name)?.filter(|text| !text.is_empty());
        given.ok_or_else(|| Flaw::new(self.path(name), "is missing"))
    }

    /// A whole number of 0 or more.
    pub(crate) fn count(&mut self, name: &str) -> Result<Option<i64>, Flaw> {
        let Some(value) = self.value(name) else { return Ok(None) };
        match value.as_i64() {
            Some(count) if count >= 0 => Ok(Some(count)),
            _ => {
                let message = format!("{} is not a whole number of 0 or more", shown(&value));
                Err(Flaw::new(self.path(name), message))
            }
        }
    }

    /// A number that the field for it here has room for.
    pub(crate) fn small_count(&mut self, name: &str) -> Result<Option<i32>, Flaw> {
        let Some(count) = self.count(name)? else { return Ok(None) };
        let too_large = |_| Flaw::new(self.path(name), format!("{count} is too large"));
        i32::try_from(count).map(Some).map_err(too_large)
    }

    /// One of a few words.
    pub(crate) fn word<W: DeserializeOwned>(&mut self, name: &str) -> Result<Option<W>, Flaw> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let refuse = |error: serde_json::Error| Flaw::new(self.path(name), error.to_string());
        serde_json::from_value(value).map(Some).map_err(refuse)
    }

    /// The entries of a list with the path of each.
    pub(crate) fn list(&mut self, name: &str) -> Result<Option<Vec<(String, Value)>>, Flaw> {
        let path = self.path(name);
        match self.value(name) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                Ok(Some(items.map(|(number, item)| (format!("{path}[{number}]"), item)).collect()))
            }
            Some(other) => Err(Flaw::new(path, format!("{} is no list", shown(&other)))),
        }
    }

    /// The entries of a list of objects.
    pub(crate) fn objects(&mut self, name: &str) -> Result<Vec<Self>, Flaw> {
        let items = self.list(name)?.unwrap_or_default();
        items.into_iter().map(|(path, item)| Self::of(path, item)).collect()
    }

    /// The entries of a list of texts.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>, Flaw> {
        let items = self.list(name)?.unwrap_or_default();
        items.into_iter().map(|(path, item)| text(path, item)).collect()
    }

    /// Texts by name, such as labels.
    pub(crate) fn text_map(&mut self, name: &str) -> Result<BTreeMap<String, String>, Flaw> {
        let inner = self.inner(name)?;
        let entry = |(key, value): (String, Value)| {
            let value = if value.is_null() { String::new() } else { text(join(&inner.path, &key), value)? };
            Ok((key, value))
        };
        inner.left.into_iter().map(entry).collect()
    }

    /// Amounts by resource.
    pub(crate) fn quantities(&mut self, name: &str) -> Result<BTreeMap<String, ApiQuantity>, Flaw> {
        let inner = self.inner(name)?;
        let entry = |(key, value): (String, Value)| {
            let amount = serde_json::from_value(value.clone());
            let refuse = |_| Flaw::new(join(&inner.path, &key), format!("{} is no quantity", shown(&value)));
            Ok((key.clone(), amount.map_err(refuse)?))
        };
        inner.left.into_iter().map(entry).collect()
    }

    /// A duration, in whole seconds.
    pub(crate) fn duration(
        &mut self,
        name: &str,
        remarks: &mut Remarks,
    ) -> Result<Option<LimitedDuration>, Flaw> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let read = duration::parse(&text).map_err(|message| Flaw::new(self.path(name), message))?;
        if read.is_rounded {
            let message = format!("{text} becomes {}: durations here are whole seconds", read.duration);
            remarks.changed(self.path(name), message);
        }
        Ok(Some(read.duration))
    }

    /// The same where it may also be `Never`.
    pub(crate) fn duration_or_never(
        &mut self,
        name: &str,
        remarks: &mut Remarks,
    ) -> Result<Option<LimitedDuration>, Flaw> {
        if self.left.get(name).and_then(Value::as_str) == Some("Never") {
            self.left.remove(name);
            return Ok(Some(LimitedDuration::Never));
        }
        self.duration(name, remarks)
    }

    /// Tells of every field that nobody has taken.
    pub(crate) fn tell_unknown(self, remarks: &mut Remarks) {
        for (name, _) in self.left.iter().filter(|(_, value)| !is_empty(value)) {
            remarks
                .left_out(self.path(name), "nothing here is like it: look whether something depends on it");
        }
    }
}

fn text(path: String, value: Value) -> Result<String, Flaw> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(Flaw::new(path, format!("{} is no text: write it in quotes", shown(&other)))),
    }
}

/// A value for people, who do not want to see all of a large one.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => other.to_string().chars().take(100).collect(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
