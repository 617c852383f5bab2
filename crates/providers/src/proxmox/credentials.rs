//! The token that Windlass shows.

use std::fmt;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use reqwest::header::HeaderValue;
use tokio::sync::Mutex;
use tokio::time::{Duration, Instant};
use tracing::warn;

use crate::ProviderError;
use crate::api_error::provider_error;

/// After how long the Secret is read again.
const RECHECK: Duration = Duration::from_mins(1);
const TOKEN_ID: &str = "tokenID";
const SECRET: &str = "secret";

/// A token that is read when it is needed, and again from time to time.
#[derive(Debug)]
pub(super) struct Credentials {
    secrets: Api<Secret>,
    /// The Secret's name.
    pub name: String,
    known: Mutex<Option<Known>>,
}

struct Known {
    token: Token,
    read_at: Instant,
}

/// What proves who we are.
#[derive(Clone)]
pub(super) struct Token {
    /// As `Authorization` has it.
    pub header: HeaderValue,
    secret: String,
}

impl Credentials {
    pub fn new(secrets: Api<Secret>, name: String) -> Self {
        Self { secrets, name, known: Mutex::default() }
    }

    /// The token. One that was changed is used from the next minute on.
    pub async fn token(&self) -> Result<Token, ProviderError> {
        let mut known = self.known.lock().await;
        if let Some(known) = &*known
            && known.read_at.elapsed() < RECHECK
        {
            return Ok(known.token.clone());
        }
        match (self.read().await, &mut *known) {
            (Ok(token), _) => {
                *known = Some(Known { token: token.clone(), read_at: Instant::now() });
                Ok(token)
            }
            (Err(error @ ProviderError::Transient { .. }), Some(known)) => {
                warn!(secret = self.name, %error, "the token could not be read again");
                known.read_at = Instant::now();
                Ok(known.token.clone())
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Gives up the token, since it was refused: the next call reads the Secret again.
    pub async fn give_up(&self) {
        *self.known.lock().await = None;
    }

    async fn read(&self) -> Result<Token, ProviderError> {
        let name = &self.name;
        let secret = self.secrets.get_opt(name).await;
        let secret = secret.map_err(|error| provider_error(&format!("reading Secret {name}"), &error))?;
        let unauthorized = |message: String| ProviderError::Unauthorized { message };
        let secret = secret
            .ok_or_else(|| unauthorized(format!("there is no Secret {name} with {TOKEN_ID} and {SECRET}")))?;
        let part = |key: &str| {
            let data = secret.data.as_ref().and_then(|data| data.get(key));
            let text = data.map(|data| String::from_utf8_lossy(&data.0).trim().to_owned());
            text.filter(|text| !text.is_empty()).ok_or_else(|| {
                unauthorized(format!("Secret {name} has no {key}; it needs {TOKEN_ID} and {SECRET}"))
            })
        };
        let (id, secret) = (part(TOKEN_ID)?, part(SECRET)?);
        if !id.contains('@') || !id.contains('!') {
            return Err(unauthorized(format!("the {TOKEN_ID} in Secret {name} is not like user@realm!name")));
        }
        let mut header = HeaderValue::from_str(&format!("PVEAPIToken={id}={secret}")).map_err(|_| {
            unauthorized(format!("the token in Secret {name} has characters that no token has"))
        })?;
        header.set_sensitive(true);
        Ok(Token { header, secret })
    }
}

impl Token {
    /// A text of the server's, in which the secret must not be passed on.
    pub fn redact(&self, text: &str) -> String {
        text.replace(&self.secret, "(secret)")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("read_at", &self.read_at).finish_non_exhaustive()
    }
}
