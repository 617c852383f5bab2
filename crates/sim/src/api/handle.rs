//! Answering requests.

use bytes::Bytes;
use http::{Method, Request, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_testkit::invariants::Writer;

use super::apply::apply;
use super::delete::Deletion;
use super::owners::Owners;
use super::patch::{check, patched};
use super::proposal::Proposal;
use super::refusal::{StatusError, bytes, details};
use super::route::{Query, Target};
use super::schema::Schema;
use super::server::{Author, Place, Server};
use super::stored::{Stored, entry, remove, text};
use super::typed::misfit;
use super::watch::Watch;
use super::write::Part;

/// Who sends a request.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Who is answerable for what is written.
    pub writer: Writer,
    /// As whom they write where a request does not say: the first part of their user agent.
    pub agent: &'static str,
}

/// The answer to a request.
#[derive(Debug)]
pub enum Reply {
    /// All of it.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: Bytes,
    },
    /// The beginning of a watch, which goes on with [`Server::next_events`].
    Watch(Watch),
}

type Answer = Result<(u16, Bytes), StatusError>;

impl Server {
    /// Answers a request.
    pub fn handle(&mut self, caller: Caller, request: &Request<Bytes>, now: Timestamp) -> Reply {
        let Some(target) = Target::of(request.uri().path()) else {
            return Reply::Answer { status: 404, body: Bytes::from_static(b"404 page not found\n") };
        };
        let query = Query::read(request.uri().query());
        let is_collection = target.name.is_empty();
        if request.method() == Method::GET && is_collection && query.is_set("watch") {
            return match self.watch(&target, &query) {
                Ok(watch) => Reply::Watch(watch),
                Err(error) => refused(&error),
            };
        }
        let author = Author {
            writer: caller.writer,
            manager: query.get("fieldManager").unwrap_or(caller.agent).to_owned(),
            now,
        };
        let answer = match (request.method(), target.subresource) {
            (&Method::GET, "" | "status") if is_collection => self.list(&target, &query).map(ok),
            (&Method::GET, "" | "status") => self.show(&target),
            (&Method::POST, "") if is_collection => self.answer_post(&target, request, &author),
            (&Method::POST, "eviction") => self.answer_eviction(&target, request, &author),
            (&Method::POST, "binding") => self.answer_binding(&target, request, &author),
            (&Method::PUT, "" | "status") if !is_collection => self.answer_put(&target, request, &author),
            (&Method::PATCH, "" | "status") if !is_collection => {
                self.answer_patch(&target, &query, request, &author)
            }
            (&Method::DELETE, "") if !is_collection => self.answer_delete(&target, &query, request, &author),
            _ => Err(StatusError::new(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            )),
        };
        match answer {
            Ok((status, body)) => Reply::Answer { status, body },
            Err(error) => refused(&error),
        }
    }

    fn show(&self, target: &Target<'_>) -> Answer {
        let place = target.place();
        Ok(shown(200, self.find(&place).ok_or_else(|| place.not_found())?))
    }

    fn answer_post(&mut self, target: &Target<'_>, request: &Request<Bytes>, author: &Author) -> Answer {
        if target.kind.namespaced && target.namespace.is_empty() {
            return Err(StatusError::new(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            ));
        }
        let object = body(request)?;
        Ok(shown(201, &*self.post(target.kind, target.namespace, object, author)?))
    }

    fn answer_put(&mut self, target: &Target<'_>, request: &Request<Bytes>, author: &Author) -> Answer {
        let object = body(request)?;
        let (stored, is_new) = self.put(&target.place(), target.part(), object, author)?;
        Ok(shown(if is_new { 201 } else { 200 }, &stored))
    }

    fn answer_patch(
        &mut self,
        target: &Target<'_>,
        query: &Query<'_>,
        request: &Request<Bytes>,
        author: &Author,
    ) -> Answer {
        let kind = target.kind;
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let content_type = content_type.split(';').next().unwrap_or_default().trim();
        check(kind, content_type)?;
        let patch = body(request)?;
        if content_type == "application/apply-patch+yaml"
            && let Some(schema) = Schema::of(kind)
        {
            let force = query.is_set("force");
            return self.answer_apply(
                target,
                schema,
                &patch,
                query.get("fieldManager").is_some(),
                force,
                author,
            );
        }
        let stored = self.update(&target.place(), target.part(), author, |before| {
            let value = patched(content_type, patch, before.value().clone())?;
            Proposal::patched(kind, value)
        })?;
        Ok(shown(200, &stored))
    }

    fn answer_apply(
        &mut self,
        target: &Target<'_>,
        schema: &Schema,
        configuration: &Value,
        is_named: bool,
        force: bool,
        author: &Author,
    ) -> Answer {
        let (place, part) = (target.place(), target.part());
        if !is_named {
            let why = "fieldManager: Required value: is required for apply patch";
            return Err(StatusError::new(
                422,
                "Invalid",
                format!("PatchOptions.meta.k8s.io \"\" is invalid: {why}"),
            ));
        }
        if part == Part::Status && self.find(&place).is_none() {
            return Err(place.not_found());
        }
        if let Some(why) = misfit(configuration, schema) {
            return Err(StatusError::new(500, "", format!("failed to create typed patch object: {why}")));
        }
        let manager = author.as_manager(part, true);
        let refuse = |other: String| {
            let message = format!("Apply failed with 1 conflict: conflict with \"{other}\"");
            let cause =
                json!({"reason": "FieldManagerConflict", "message": format!("conflict with \"{other}\"")});
            let details = json!({"causes": [cause]});
            StatusError { details, ..StatusError::new(409, "Conflict", message) }
        };
        if part == Part::Whole && self.find(&place).is_none() {
            if !text(configuration, "uid").is_empty() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {}, and no existing object was found",
                    text(configuration, "uid")
                );
                return Err(StatusError::conflict(place.kind, place.name, why));
            }
            let mut owners = Owners::default();
            let mut value =
                apply(&json!({}), configuration, schema, &mut owners, &manager, force).map_err(refuse)?;
            remove(entry(&mut value, "metadata"), "resourceVersion");
            let proposal = Proposal::applied(place.kind, value, owners)?;
            let stored = self.bring_about(place.kind, place.namespace, proposal, part, author)?;
            return Ok(shown(201, &stored));
        }
        let stored = self.update(&place, part, author, |before| {
            let mut owners = before.owners.clone();
            owners.begin(before.value(), schema, &manager);
            let value =
                apply(before.value(), configuration, schema, &mut owners, &manager, force).map_err(refuse)?;
            Proposal::applied(place.kind, value, owners)
        })?;
        Ok(shown(200, &stored))
    }

    fn answer_delete(
        &mut self,
        target: &Target<'_>,
        query: &Query<'_>,
        request: &Request<Bytes>,
        author: &Author,
    ) -> Answer {
        let options = if request.body().is_empty() { json!({}) } else { body(request)? };
        let mut options = Deletion::read(&options);
        let in_query = query.get("gracePeriodSeconds").and_then(|grace| grace.parse().ok());
        options.grace = options.grace.or(in_query);
        let (object, is_gone) = self.remove(&target.place(), &options, author)?;
        if !is_gone || target.kind.returned_when_deleted {
            return Ok(shown(200, &object));
        }
        let mut details = details(target.kind.group, target.kind.plural, target.name);
        details["uid"] = json!(object.uid());
        Ok((200, success(Some(details))))
    }

    fn answer_eviction(&mut self, target: &Target<'_>, request: &Request<Bytes>, author: &Author) -> Answer {
        let eviction = body(request)?;
        self.evict(&target.place(), &eviction, author)?;
        Ok((201, created()))
    }

    fn answer_binding(&mut self, target: &Target<'_>, request: &Request<Bytes>, author: &Author) -> Answer {
        let binding = body(request)?;
        self.bind_pod(&target.place(), &binding, author)?;
        Ok((201, created()))
    }
}

impl Target<'_> {
    fn place(&self) -> Place<'_> {
        Place { kind: self.kind, namespace: self.namespace, name: self.name }
    }

    fn part(&self) -> Part {
        if self.subresource == "status" { Part::Status } else { Part::Whole }
    }
}

fn refused(error: &StatusError) -> Reply {
    Reply::Answer { status: error.code, body: error.body() }
}

fn ok(body: Bytes) -> (u16, Bytes) {
    (200, body)
}

fn shown(status: u16, object: &Stored) -> (u16, Bytes) {
    (status, object.bytes().clone())
}

fn body(request: &Request<Bytes>) -> Result<Value, StatusError> {
    serde_json::from_slice(request.body())
        .map_err(|error| StatusError::bad_request(format!("the object provided is unrecognized: {error}")))
}

fn success(details: Option<Value>) -> Bytes {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    if let Some(details) = details {
        status["details"] = details;
    }
    bytes(&status)
}

fn created() -> Bytes {
    bytes(&json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}))
}
