//! Names and passwords, as they are in Secrets.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio::time::Instant;

use super::failure::{Failure, FailureKind};
use crate::ProviderError;
use crate::api_error::provider_error;

/// How long a Secret is taken to be as it was.
const KNOWN_FOR: Duration = Duration::from_secs(60);

/// Who we are to a BMC. Its parts are in no text for debugging.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Login {
    pub username: String,
    pub password: String,
}

/// The Secrets with what BMCs are told.
pub(in super::super) struct Keys {
    secrets: Api<Secret>,
    read: Mutex<BTreeMap<String, (Login, Instant)>>,
}

impl Keys {
    pub fn new(secrets: Api<Secret>) -> Self {
        Self { secrets, read: Mutex::default() }
    }

    /// What a Secret says, as of now or of the last minute.
    pub(super) async fn login(&self, secret: &str, now: bool) -> Result<Login, Failure> {
        let known = self.read.lock().unwrap_or_else(PoisonError::into_inner).get(secret).cloned();
        if let Some((login, at)) = known
            && !now
            && at.elapsed() < KNOWN_FOR
        {
            return Ok(login);
        }
        let login = self.read(secret).await?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(secret.to_owned(), (login.clone(), Instant::now()));
        Ok(login)
    }

    async fn read(&self, name: &str) -> Result<Login, Failure> {
        let secret = self.secrets.get_opt(name).await;
        let secret = secret.map_err(|error| {
            let error = provider_error(&format!("reading Secret {name}"), &error);
            let unauthorized = matches!(error, ProviderError::Unauthorized { .. });
            let kind = if unauthorized { FailureKind::Unauthorized } else { FailureKind::Lost };
            Failure::new(kind, error.to_string())
        })?;
        let missing = |what: String| Failure::new(FailureKind::Unauthorized, what);
        let Some(secret) = secret else {
            return Err(missing(format!("there is no Secret {name} with username and password")));
        };
        let part = |key: &str| {
            let data = secret.data.as_ref().and_then(|data| data.get(key)).filter(|data| !data.0.is_empty());
            let data = data.ok_or_else(|| missing(format!("Secret {name} has no {key}")))?;
            let text = String::from_utf8(data.0.clone());
            text.map_err(|_| missing(format!("{key} in Secret {name} is no text")))
        };
        Ok(Login { username: part("username")?, password: part("password")? })
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}
