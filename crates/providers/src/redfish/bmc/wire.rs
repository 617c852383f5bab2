//! One request and its answer.

use reqwest::header::{AUTHORIZATION, ETAG, HeaderName, HeaderValue, IF_MATCH, LOCATION};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;

use super::failure::{Failure, FailureKind};
use crate::https::with_causes;

/// The header of a session.
pub(super) const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
/// More than any answer of a BMC that we ask for.
const LONGEST: usize = 4 << 20;

/// A BMC's address, and how to speak with it.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub http: reqwest::Client,
    /// Without a slash at its end.
    pub address: String,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub method: Method,
    pub path: String,
    pub body: Option<Value>,
    pub if_match: Option<HeaderValue>,
}

/// By what a BMC knows who asks.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Pass {
    /// Nothing.
    None,
    /// Name and password, with each call.
    Basic(HeaderValue),
    /// The token of a session, and where the session is.
    Session(HeaderValue, Option<String>),
}

/// What was answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: StatusCode,
    pub body: Value,
    pub etag: Option<HeaderValue>,
    pub location: Option<String>,
    pub token: Option<HeaderValue>,
}

impl Call {
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None, if_match: None }
    }

    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, path: path.into(), body: Some(body), if_match: None }
    }

    pub fn patch(path: impl Into<String>, body: Value, if_match: Option<HeaderValue>) -> Self {
        Self { method: Method::PATCH, path: path.into(), body: Some(body), if_match }
    }

    pub fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, path: path.into(), body: None, if_match: None }
    }
}

impl Wire {
    /// Sends a call and reads the whole answer, whatever it is.
    pub async fn send(&self, call: &Call, pass: &Pass) -> Result<Answer, Failure> {
        let url = format!("{}{}", self.address, call.path);
        let request = self.http.request(call.method.clone(), url).header("OData-Version", "4.0");
        let request = request.header("Accept", "application/json");
        let request = with_pass(request, pass);
        let request = match &call.if_match {
            Some(etag) => request.header(IF_MATCH, etag),
            None => request,
        };
        let request = match &call.body {
            Some(body) => request.json(body),
            None => request,
        };
        let mut response = request.send().await.map_err(lost)?;
        let header = |name: HeaderName| response.headers().get(name).cloned();
        let (status, etag, token) = (response.status(), header(ETAG), header(TOKEN));
        let location = header(LOCATION).and_then(|value| self.local(value.to_str().ok()?));
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if text.len() + chunk.len() > LONGEST {
                return Err(Failure::new(FailureKind::Lost, "its answer has no end"));
            }
            text.extend_from_slice(&chunk);
        }
        let body = serde_json::from_slice(&text).unwrap_or(Value::Null);
        let etag = etag.or_else(|| HeaderValue::from_str(body.get("@odata.etag")?.as_str()?).ok());
        Ok(Answer { status, body, etag, location, token })
    }

    /// The path that a link leads to, if that is on the same BMC: no other gets to see our credentials.
    pub fn local(&self, link: &str) -> Option<String> {
        let path = link.strip_prefix(&self.address).unwrap_or(link);
        (path.starts_with('/') && !path.starts_with("//")).then(|| path.to_owned())
    }

    /// The path in a field such as `{"@odata.id": "/redfish/v1/Systems"}`.
    pub fn link(&self, field: Option<&Value>) -> Option<String> {
        self.local(field?.get("@odata.id")?.as_str()?)
    }
}

fn with_pass(request: RequestBuilder, pass: &Pass) -> RequestBuilder {
    match pass {
        Pass::None => request,
        Pass::Basic(value) => request.header(AUTHORIZATION, value),
        Pass::Session(token, _) => request.header(TOKEN, token),
    }
}

/// The failure of a call without an answer.
fn lost(error: reqwest::Error) -> Failure {
    let words = with_causes(&error.without_url());
    let is_about_trust =
        ["certificate", "fatal alert", "HandshakeFailure"].iter().any(|sign| words.contains(sign));
    Failure::new(if is_about_trust { FailureKind::Unauthorized } else { FailureKind::Lost }, words)
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::Wire;
    use crate::https::{Limits, Trust, client};

    /// A BMC that nobody speaks with.
    pub(in super::super) fn wire(address: &str) -> Wire {
        let limits = Limits { connect: Duration::ZERO, call: Duration::ZERO };
        let http = client(&Trust::Fingerprint("00".repeat(32)), limits).unwrap();
        Wire { http, address: address.to_owned() }
    }

    #[test]
    fn links_that_lead_elsewhere_are_not_followed() {
        let wire = wire("https://bmc:8443");
        assert_eq!(wire.local("/redfish/v1/Systems/1").as_deref(), Some("/redfish/v1/Systems/1"));
        assert_eq!(wire.local("https://bmc:8443/redfish/v1/Tasks/1").as_deref(), Some("/redfish/v1/Tasks/1"));
        for other in ["https://evil/redfish", "//evil/redfish", "https://bmc:8443.evil/", "redfish/v1"] {
            assert_eq!(wire.local(other), None, "{other}");
        }
    }
}
