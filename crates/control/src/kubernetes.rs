//! How the API server is talked to, and small questions about its answers that several parts ask.

use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::api::PatchParams;
use kube::{Config, Error};
use windlass_api::labels;

/// How objects are patched: in the name of Windlass.
pub(crate) fn patching() -> PatchParams {
    PatchParams { field_manager: Some(labels::FIELD_MANAGER.to_owned()), ..PatchParams::default() }
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

/// Whether the API server refused the request for good: asking again the same way gives the same answer. Everything
/// else, a lost connection above all, leaves open whether the request had its effect.
pub(crate) fn is_refusal(error: &Error) -> bool {
    matches!(status_code(error), Some(400 | 403 | 404 | 405 | 409 | 415 | 422))
}

/// A resource version as a number: versions of one kind can be compared. One that is no number is taken for the newest.
pub(crate) fn version(version: Option<&str>) -> u64 {
    version.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}
