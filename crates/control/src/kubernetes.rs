//! How the API server is talked to, and small questions about its answers that several parts ask.

use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::api::{Patch, PatchParams};
use kube::{Api, Config, Error};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_api::labels;

/// How objects are patched: in the name of Windlass.
pub(crate) fn patching() -> PatchParams {
    PatchParams { field_manager: Some(labels::FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// That an object is still the one that was meant, as the first step of a patch. A name alone may by now be another's.
pub(crate) fn is_still(uid: &str) -> Value {
    json!({"op": "test", "path": "/metadata/uid", "value": uid})
}

/// The steps of a patch.
pub(crate) fn steps(steps: Vec<Value>) -> Result<Patch<()>, Error> {
    serde_json::from_value(Value::Array(steps)).map(Patch::Json).map_err(Error::SerdeError)
}

/// Writes the status of an object as a whole, if it is still the one that was meant. There is one writer, and no resource
/// version, so that someone who keeps writing to the object cannot keep us from it. An applied status would be simpler, but
/// the API server does not look at the UID in it.
pub(crate) async fn write_status<K: Clone + DeserializeOwned + std::fmt::Debug>(
    api: &Api<K>,
    name: &str,
    uid: &str,
    status: &impl Serialize,
) -> Result<K, Error> {
    let patch = steps(vec![is_still(uid), put_status(status)])?;
    api.patch_status(name, &patching(), &patch).await
}

/// A whole status, as the last step of a patch.
pub(crate) fn put_status(status: &impl Serialize) -> Value {
    json!({"op": "add", "path": "/status", "value": status})
}

/// The configuration of a client for the controller.
///
/// Retries are left to the controller, which knows what a refusal means: a budget that answers an eviction with 429 is
/// to be reported, not asked again for minutes inside one call. The user agent names Windlass as the writer in the
/// managed fields of objects, also where a request does not.
pub fn controller_config(mut config: Config) -> Config {
    let user_agent = HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, user_agent));
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(5));
    // Longer than a watch lasts, so that only a dead connection runs into it.
    config.read_timeout = Some(Duration::from_secs(70));
    config
}

/// The HTTP status of an answer, if there was one.
pub(crate) fn status_code(error: &Error) -> Option<u16> {
    match error {
        Error::Api(status) => Some(status.code),
        _ => None,
    }
}

pub(crate) fn is_not_found(error: &Error) -> bool {
    status_code(error) == Some(404)
}

pub(crate) fn is_forbidden(error: &Error) -> bool {
    status_code(error) == Some(403)
}

pub(crate) fn is_conflict(error: &Error) -> bool {
    status_code(error) == Some(409)
}

/// Whether a patch was refused because the object is gone, is not the one that was meant, or is not as it was: what is known
/// of it has to be read anew.
pub(crate) fn is_outdated(error: &Error) -> bool {
    matches!(status_code(error), Some(404 | 409 | 422))
}

/// Whether the API server refused the request for good: asking again the same way gives the same answer. Everything
/// else, a lost connection above all, leaves open whether the request had its effect.
pub(crate) fn is_refusal(error: &Error) -> bool {
    matches!(status_code(error), Some(400 | 403 | 404 | 405 | 409 | 415 | 422))
}

/// A resource version as a number: versions of one kind can be compared. One that is no number is taken for the newest.
pub(crate) fn version(version: Option<&str>) -> u64 {
    version.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}
