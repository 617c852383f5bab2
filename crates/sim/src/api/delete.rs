//! Deleting objects, at once or when those who hold them let go.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::metadata::{count_generation, time};
use super::pod;
use super::refusal::{StatusError, details};
use super::server::{Author, Place, Server};
use super::stored::{Stored, finalizers, is_leaving};

/// What is said with a deletion.
#[derive(Clone, Debug, Default)]
pub(super) struct Deletion {
    /// The grace in seconds, where someone asks for one.
    pub grace: Option<i64>,
    /// The UID that the object must have.
    pub uid: Option<String>,
    /// The resource version that the object must have.
    pub version: Option<String>,
}

impl Deletion {
    pub fn read(options: &Value) -> Self {
        let precondition = |field: &str| options["preconditions"][field].as_str().map(ToOwned::to_owned);
        Self {
            grace: options["gracePeriodSeconds"].as_i64(),
            uid: precondition("uid"),
            version: precondition("resourceVersion"),
        }
    }

    /// Whether it is this very object that is to go.
    pub fn check(&self, place: &Place<'_>, object: &Stored) -> Result<(), StatusError> {
        let (uid, version) = (object.uid(), object.version().to_string());
        let why = match (&self.uid, &self.version) {
            (Some(wanted), _) if wanted != uid => format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            ),
            (_, Some(wanted)) if *wanted != version => format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            ),
            _ => return Ok(()),
        };
        let (kind, group) = (place.kind.kind, place.kind.group);
        let dot = if group.is_empty() { "" } else { "." };
        let message =
            format!("Operation cannot be fulfilled on {kind}{dot}{group} \"{}\": {why}", place.name);
        let details = details(group, kind, place.name);
        Err(StatusError { details, ..StatusError::new(409, "Conflict", message) })
    }
}

impl Server {
    /// Deletes an object, or lets it be known that it is to go. Returns it, and whether it is gone.
    pub(super) fn remove(
        &mut self,
        place: &Place<'_>,
        options: &Deletion,
        author: &Author,
    ) -> Result<(Arc<Stored>, bool), StatusError> {
        let before = self.find(place).ok_or_else(|| place.not_found())?.clone();
        options.check(place, &before)?;
        let Some(going) = parting(place, before.value(), options, author.now) else {
            return Ok((before, false));
        };
        let is_held = !finalizers(before.value()).is_empty();
        let (marked, grace) = match going {
            Going::Gracefully(marked, grace) => (Some(marked), grace),
            Going::AtOnce if is_held || place.kind.kind == "Namespace" => {
                (Some(marked_as_leaving(place, before.value(), author.now)), 0)
            }
            Going::AtOnce => (None, 0),
        };
        let mut last = before;
        if let Some(marked) = marked
            && marked != *last.value()
        {
            last = self.commit(place, marked, last.owners.clone(), author);
        }
        if is_held || grace > 0 || place.kind.kind == "Namespace" {
            return Ok((last, false));
        }
        Ok((self.commit_removal(place, author).unwrap_or(last), true))
    }
}

/// How an object goes.
enum Going {
    /// With the time that it is given, in seconds.
    Gracefully(Value, i64),
    AtOnce,
}

/// How an object goes, or nothing if it is on its way already.
fn parting(place: &Place<'_>, object: &Value, options: &Deletion, now: Timestamp) -> Option<Going> {
    if place.kind.kind != "Pod" {
        let is_going = place.kind.kind == "Namespace" && is_leaving(object);
        return (!is_going).then_some(Going::AtOnce);
    }
    let asked = options.grace.map(|grace| if grace < 0 { 1 } else { grace });
    if is_leaving(object) {
        let Some(known) = object["metadata"]["deletionGracePeriodSeconds"].as_i64() else {
            return Some(Going::AtOnce);
        };
        let shorter = asked.filter(|asked| *asked < known)?;
        let ends = object["metadata"]["deletionTimestamp"].as_str().and_then(|ends| ends.parse().ok());
        let began = ends.unwrap_or(now) - SignedDuration::from_secs(known);
        return Some(gracefully(object.clone(), began, shorter));
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let is_bound = object["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let grace = if is_bound && !pod::has_ended(object) { asked.unwrap_or(own) } else { 0 };
    let mut marked = object.clone();
    count_generation(&mut marked);
    Some(gracefully(marked, now, if grace < 0 { 1 } else { grace }))
}

fn gracefully(mut object: Value, from: Timestamp, grace: i64) -> Going {
    let ends = from + SignedDuration::from_secs(grace);
    object["metadata"]["deletionTimestamp"] = time(ends);
    object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
    Going::Gracefully(object, grace)
}

/// The object as one that goes when nobody holds it any more.
fn marked_as_leaving(place: &Place<'_>, object: &Value, now: Timestamp) -> Value {
    let mut marked = object.clone();
    let is_namespace = place.kind.kind == "Namespace";
    if !is_leaving(object) {
        if object["metadata"].get("generation").is_some() && !is_namespace {
            count_generation(&mut marked);
        }
        marked["metadata"]["deletionTimestamp"] = time(now);
    }
    if is_namespace {
        marked["status"]["phase"] = json!("Terminating");
    } else {
        marked["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    }
    marked
}
