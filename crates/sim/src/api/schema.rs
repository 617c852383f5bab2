use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use regex::Regex;
use serde_json::{Value, json};

use super::kind::ResourceKind;

/// What a custom resource's definition says of a value: enough to complete, prune and judge it, and to tell whose a
/// field is.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub type_: Type,
    pub nullable: bool,
    pub default: Option<Value>,
    pub properties: BTreeMap<String, Self>,
    pub additional: Option<Box<Self>>,
    pub items: Option<Box<Self>>,
    /// Whether fields that are not described are kept.
    pub open: bool,
    pub required: Vec<String>,
    pub choices: Vec<Value>,
    pub pattern: Option<Pattern>,
    pub least: Option<f64>,
    pub most: Option<f64>,
    pub min_size: Option<u64>,
    pub max_size: Option<u64>,
    pub list: List,
    /// Whether an object may never have another spec than it was created with, which is the one rule about changes
    /// that our definitions have.
    pub spec_is_final: bool,
}

/// A pattern of texts. Most are never asked for, and to compile them all would take longer than to play a short history.
#[derive(Debug)]
pub(super) struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: OnceLock::new() }
    }

    fn suits(&self, value: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().is_none_or(|pattern| pattern.is_match(value))
    }
}

/// What a value may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Type {
    #[default]
    Any,
    Object,
    Array,
    Text,
    Integer,
    Number,
    Boolean,
    IntegerOrText,
}

/// Whose a list's items are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    /// The list is written as a whole.
    #[default]
    Whole,
    /// Items with different values of this field may be different writers'.
    ByKey(String),
    /// Each item may be another writer's.
    Set,
}

/// Where nothing is said.
static ANYTHING: LazyLock<Schema> = LazyLock::new(|| Schema { open: true, ..Schema::default() });

static SCHEMAS: LazyLock<BTreeMap<String, Schema>> = LazyLock::new(|| {
    let definitions = windlass_api::crds();
    let read = definitions.iter().filter_map(|definition| {
        let definition = serde_json::to_value(definition).ok()?;
        let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema")?;
        let kind = definition.pointer("/spec/names/kind")?.as_str()?.to_owned();
        let mut schema = Schema::read(schema);
        schema.open = true;
        schema.properties.insert("metadata".to_owned(), Schema::read(&metadata()));
        Some((kind, schema))
    });
    read.collect()
});

/// What an object's metadata looks like to those who share its fields.
fn metadata() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let finalizers = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let owners = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    });
    json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "labels": texts, "annotations": texts, "finalizers": finalizers, "ownerReferences": owners,
        },
    })
}

impl Schema {
    /// The schema of one of our kinds.
    pub fn of(kind: &ResourceKind) -> Option<&'static Self> {
        SCHEMAS.get(kind.kind)
    }

    fn read(schema: &Value) -> Self {
        let text = |field: &str| schema[field].as_str().unwrap_or_default();
        let flag = |field: &str| schema[field].as_bool().unwrap_or_default();
        let inner = |field: &str| schema[field].is_object().then(|| Box::new(Self::read(&schema[field])));
        let size = |fields: [&str; 3]| fields.iter().find_map(|field| schema[*field].as_u64());
        let final_spec = |rule: &Value| rule["rule"] == "self.spec == oldSelf.spec";
        Self {
            type_: match text("type") {
                _ if flag("x-kubernetes-int-or-string") => Type::IntegerOrText,
                "object" => Type::Object,
                "array" => Type::Array,
                "string" => Type::Text,
                "integer" => Type::Integer,
                "number" => Type::Number,
                "boolean" => Type::Boolean,
                _ => Type::Any,
            },
            nullable: flag("nullable"),
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            properties: schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.clone(), Self::read(schema)))
                .collect(),
            additional: inner("additionalProperties"),
            items: inner("items"),
            open: flag("x-kubernetes-preserve-unknown-fields"),
            required: texts(&schema["required"]),
            choices: schema["enum"].as_array().cloned().unwrap_or_default(),
            pattern: schema["pattern"].as_str().map(Pattern::new),
            least: schema["minimum"].as_f64(),
            most: schema["maximum"].as_f64(),
            min_size: size(["minLength", "minItems", "minProperties"]),
            max_size: size(["maxLength", "maxItems", "maxProperties"]),
            list: match text("x-kubernetes-list-type") {
                "map" => texts(&schema["x-kubernetes-list-map-keys"])
                    .into_iter()
                    .next()
                    .map_or(List::Whole, List::ByKey),
                "set" => List::Set,
                _ => List::Whole,
            },
            spec_is_final: schema["x-kubernetes-validations"]
                .as_array()
                .into_iter()
                .flatten()
                .any(final_spec),
        }
    }

    /// What is said of a field of a map.
    pub fn field(&self, name: &str) -> &Self {
        self.properties.get(name).or(self.additional.as_deref()).unwrap_or(&ANYTHING)
    }

    /// What is said of a list's items.
    pub fn item(&self) -> &Self {
        self.items.as_deref().unwrap_or(&ANYTHING)
    }

    /// Leaves out nulls where there may be none.
    pub fn drop_nulls(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|name, value| {
                    let schema = self.field(name);
                    let may_stay = schema.nullable || schema.default.is_some() || schema.type_ == Type::Any;
                    !value.is_null() || may_stay
                });
                for (name, value) in map {
                    self.field(name).drop_nulls(value);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.item().drop_nulls(item)),
            _ => {}
        }
    }

    /// Leaves out what is not described, and puts in what is left to the schema.
    pub fn complete(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                if !self.open {
                    map.retain(|name, _| self.properties.contains_key(name) || self.additional.is_some());
                }
                for (name, schema) in &self.properties {
                    let Some(default) = &schema.default else { continue };
                    if map.get(name).is_none_or(|value| value.is_null() && !schema.nullable) {
                        map.insert(name.clone(), default.clone());
                    }
                }
                for (name, value) in map {
                    self.field(name).complete(value);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.item().complete(item);
                }
            }
            _ => {}
        }
    }

    /// What is wrong with a value.
    pub fn fault(&self, value: &Value) -> Option<Fault> {
        if value.is_null() {
            let accepts = self.nullable || self.type_ == Type::Any;
            return (!accepts).then(|| Fault::new("Invalid value: null"));
        }
        let fits = match self.type_ {
            Type::Any => true,
            Type::Object => value.is_object(),
            Type::Array => value.is_array(),
            Type::Text => value.is_string(),
            Type::Integer => value.is_i64() || value.is_u64(),
            Type::Number => value.is_number(),
            Type::Boolean => value.is_boolean(),
            Type::IntegerOrText => value.is_i64() || value.is_u64() || value.is_string(),
        };
        if !fits {
            return Some(Fault::new(format!("Invalid value: {value}: must be of another type")));
        }
        if !self.choices.is_empty() && !self.choices.contains(value) {
            return Some(Fault::new(format!("Unsupported value: {value}")));
        }
        let (size, inner) = match value {
            Value::Object(map) => (map.len(), self.fault_in_map(map)),
            Value::Array(items) => (items.len(), self.fault_in_list(items)),
            Value::String(text) => {
                let mismatch = self.pattern.as_ref().is_some_and(|pattern| !pattern.suits(text));
                (text.chars().count(), mismatch.then(|| Fault::new(format!("Invalid value: \"{text}\""))))
            }
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                let is_low = self.least.is_some_and(|least| number < least);
                let is_high = self.most.is_some_and(|most| number > most);
                return (is_low || is_high).then(|| Fault::new(format!("Invalid value: {number}")));
            }
            _ => return None,
        };
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let is_small = self.min_size.is_some_and(|least| size < least);
        let is_large = self.max_size.is_some_and(|most| size > most);
        if is_small || is_large { Some(Fault::new(format!("has a size of {size}"))) } else { inner }
    }

    fn fault_in_map(&self, map: &serde_json::Map<String, Value>) -> Option<Fault> {
        if let Some(missing) = self.required.iter().find(|name| !map.contains_key(*name)) {
            return Some(Fault::new("Required value").at(missing));
        }
        map.iter().find_map(|(name, value)| Some(self.field(name).fault(value)?.at(name)))
    }

    fn fault_in_list(&self, items: &[Value]) -> Option<Fault> {
        if let List::ByKey(key) = &self.list {
            let key = key.as_str();
            let again = |(place, item): &(usize, &Value)| {
                items[..*place].iter().any(|earlier| earlier[key] == item[key])
            };
            if let Some((place, _)) = items.iter().enumerate().find(again) {
                return Some(Fault::new("Duplicate value").at(&place.to_string()));
            }
        }
        let schema = self.items.as_ref()?;
        items.iter().enumerate().find_map(|(place, item)| Some(schema.fault(item)?.at(&place.to_string())))
    }
}

/// Something that a schema does not allow.
#[derive(Debug)]
pub(super) struct Fault {
    path: String,
    what: String,
}

impl Fault {
    fn new(what: impl Into<String>) -> Self {
        Self { path: String::new(), what: what.into() }
    }

    fn at(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(ToOwned::to_owned)).collect()
}
