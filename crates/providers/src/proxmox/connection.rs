//! The way to the API: whichever endpoint answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::{Method, Response, Url};
use serde_json::Value;
use tracing::warn;
use windlass_api::ProxmoxProvider;

use super::credentials::{Credentials, Token};
use super::failure::Failure;
use crate::ProviderError;
use crate::https::{self, Limits, Trust, with_causes};

const LIMITS: Limits = Limits { connect: Duration::from_secs(5), call: Duration::from_secs(15) };

/// The endpoints, of which the one that answered last is asked first.
#[derive(Debug)]
pub(super) struct Connection {
    endpoints: Vec<Endpoint>,
    current: AtomicUsize,
    pub credentials: Credentials,
}

#[derive(Debug)]
struct Endpoint {
    url: Url,
    client: reqwest::Client,
}

/// What is sent along with a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent<'a> {
    Nothing,
    Parameters(&'a [(String, String)]),
    /// A body of this content type.
    Body(&'a str, &'a [u8]),
}

impl Connection {
    pub fn new(spec: &ProxmoxProvider, credentials: Credentials) -> Result<Self, ProviderError> {
        let endpoints = spec.endpoints.iter().map(|endpoint| {
            let trust = match (&endpoint.fingerprint, &spec.ca_bundle) {
                (Some(fingerprint), _) => Trust::Fingerprint(fingerprint.clone()),
                (None, Some(bundle)) => Trust::Authorities(bundle.clone()),
                (None, None) => Trust::System,
            };
            let url = Url::parse(&endpoint.url).map_err(|error| ProviderError::InvalidConfiguration {
                message: format!("endpoint {:?}: {error}; write https://host:port", endpoint.url),
            })?;
            Ok(Endpoint { url, client: https::client(&trust, LIMITS)? })
        });
        let endpoints = endpoints.collect::<Result<_, ProviderError>>()?;
        Ok(Self { endpoints, current: AtomicUsize::new(0), credentials })
    }

    /// Calls the API and answers with the data that comes back. The next endpoint is asked if one was not reached, and if one
    /// was and did not answer only where nothing is changed by asking twice.
    pub async fn call(
        &self,
        method: Method,
        path: &[&str],
        sent: Sent<'_>,
        doing: &str,
    ) -> Result<Value, Failure> {
        let token = self.credentials.token().await.map_err(Failure::unsent)?;
        let first = self.current.load(Ordering::Relaxed);
        let mut problems = Vec::new();
        for number in 0..self.endpoints.len() {
            let place = (first + number) % self.endpoints.len();
            let Some(endpoint) = self.endpoints.get(place) else { continue };
            let answer = match endpoint.request(&method, path, sent, &token).send().await {
                Ok(response) => self.read(response, doing, &token).await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(answer) => {
                    self.current.store(place, Ordering::Relaxed);
                    return answer;
                }
                Err(error) => {
                    let words = token.redact(&with_causes(&error));
                    warn!(endpoint = %endpoint.url, doing, words, "an endpoint does not answer");
                    problems.push(format!("{}: {words}", endpoint.url));
                    if !error.is_connect() && method != Method::GET {
                        return Err(Failure::lost(format!(
                            "no answer while {doing}: {}",
                            problems.join("; ")
                        )));
                    }
                }
            }
        }
        let message = format!("no endpoint answered while {doing}: {}", problems.join("; "));
        // Of a certificate that is not accepted only the words are handed on.
        if problems.iter().all(|problem| problem.contains("certificate")) {
            return Err(Failure::unsent(ProviderError::Unauthorized { message }));
        }
        Err(Failure::lost(message))
    }

    async fn read(
        &self,
        response: Response,
        doing: &str,
        token: &Token,
    ) -> Result<Result<Value, Failure>, reqwest::Error> {
        let status = response.status().as_u16();
        // Older versions say what is wrong there alone.
        let reason = response.extensions().get::<hyper::ext::ReasonPhrase>();
        let reason = reason.map(|reason| String::from_utf8_lossy(reason.as_bytes()).into_owned());
        let body = response.bytes().await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        if (200..300).contains(&status) {
            return Ok(match answer {
                Value::Object(mut answer) => Ok(answer.remove("data").unwrap_or_default()),
                _ => Err(Failure::lost(format!("what came back while {doing} is no answer of Proxmox VE"))),
            });
        }
        if status == 401 {
            self.credentials.give_up().await;
        }
        let words = token.redact(&words(&answer, reason.as_deref()));
        Ok(Err(Failure::of_answer(status, &words, doing, &self.credentials.name)))
    }
}

impl Endpoint {
    fn request(
        &self,
        method: &Method,
        path: &[&str],
        sent: Sent<'_>,
        token: &Token,
    ) -> reqwest::RequestBuilder {
        let mut url = self.url.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api2", "json"]).extend(path);
        }
        let request = self
            .client
            .request(method.clone(), url)
            .header(reqwest::header::AUTHORIZATION, token.header.clone());
        match sent {
            Sent::Nothing => request,
            Sent::Parameters(parameters) if matches!(*method, Method::GET | Method::DELETE) => {
                request.query(parameters)
            }
            Sent::Parameters(parameters) => request.form(parameters),
            Sent::Body(content_type, body) => {
                request.header(reqwest::header::CONTENT_TYPE, content_type).body(body.to_vec())
            }
        }
    }
}

/// What an answer says is wrong, with the parameters that it names.
fn words(answer: &Value, reason: Option<&str>) -> String {
    let message = answer.get("message").and_then(Value::as_str).or(reason).unwrap_or("no reason given");
    let mut words = message.trim().to_owned();
    for (parameter, problem) in answer.get("errors").and_then(Value::as_object).into_iter().flatten() {
        let problem = problem.as_str().unwrap_or_default().trim();
        words = format!("{words} {parameter}: {problem}");
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::words;

    #[test]
    fn what_is_wrong_is_found_wherever_it_is_said() {
        let answer = json!({"data": null, "message": "Parameter verification failed.\n", "errors": {"newid": "too small"}});
        assert_eq!(words(&answer, Some("Bad")), "Parameter verification failed. newid: too small");
        assert_eq!(words(&json!({"data": null}), Some("VM 1 exists")), "VM 1 exists");
        assert_eq!(words(&Value::Null, None), "no reason given");
    }
}
