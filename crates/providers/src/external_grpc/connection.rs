//! The way to the server.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tracing::warn;
use windlass_api::ExternalGrpcProvider;

use crate::ProviderError;
use crate::api_error::provider_error;

/// After how long the certificates are read again.
const RECHECK: Duration = Duration::from_mins(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// A connection that is made when it is needed, with the certificates of the day.
#[derive(Debug)]
pub(super) struct Connection {
    /// The server, for people.
    pub server: String,
    endpoint: Endpoint,
    tls: Option<Tls>,
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Tls {
    secrets: Api<Secret>,
    secret: String,
    server_name: Option<String>,
}

#[derive(Debug)]
struct Open {
    channel: Channel,
    /// The version of the Secret whose certificates it uses.
    version: Option<String>,
    checked: Instant,
}

impl Connection {
    pub fn new(spec: &ExternalGrpcProvider, secrets: Api<Secret>) -> Result<Self, ProviderError> {
        let invalid = |message: String| ProviderError::InvalidConfiguration { message };
        if let Some(flaw) = spec.flaw() {
            return Err(invalid(format!("externalGrpc {}: {flaw}", spec.endpoint)));
        }
        let server = spec.endpoint.trim_start_matches("https://").to_owned();
        let scheme = if spec.tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{server}"))
            .map_err(|error| invalid(format!("endpoint {:?}: {error}; write host:port", spec.endpoint)))?
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(CALL_TIMEOUT);
        let tls = spec.tls.as_ref().map(|tls| Tls {
            secrets,
            secret: tls.secret_ref.name.clone(),
            server_name: tls.server_name.clone(),
        });
        Ok(Self { server, endpoint, tls, open: Mutex::new(None) })
    }

    /// The channel to the server. Certificates that were changed are used from the next call on.
    pub async fn channel(&self) -> Result<Channel, ProviderError> {
        let mut open = self.open.lock().await;
        if let Some(open) = &*open
            && (self.tls.is_none() || open.checked.elapsed() < RECHECK)
        {
            return Ok(open.channel.clone());
        }
        let (endpoint, version) = match &self.tls {
            None => (self.endpoint.clone(), None),
            Some(tls) => match (tls.read().await, &mut *open) {
                (Ok(secret), Some(open)) if secret.metadata.resource_version == open.version => {
                    open.checked = Instant::now();
                    return Ok(open.channel.clone());
                }
                (Ok(secret), _) => {
                    let endpoint = tls.secure(self.endpoint.clone(), &secret)?;
                    (endpoint, secret.metadata.resource_version)
                }
                (Err(error), Some(open)) => {
                    warn!(server = self.server, %error, "the certificates could not be read again");
                    open.checked = Instant::now();
                    return Ok(open.channel.clone());
                }
                (Err(error), None) => return Err(error),
            },
        };
        let channel = endpoint.connect_lazy();
        *open = Some(Open { channel: channel.clone(), version, checked: Instant::now() });
        Ok(channel)
    }

    /// What to look at when a connection is refused.
    pub fn credentials(&self) -> Option<&str> {
        self.tls.as_ref().map(|tls| tls.secret.as_str())
    }

    /// Gives up the connection, since it does not work: the next call makes another.
    pub async fn give_up(&self) {
        *self.open.lock().await = None;
    }
}

impl Tls {
    async fn read(&self) -> Result<Secret, ProviderError> {
        let name = &self.secret;
        let secret = self.secrets.get_opt(name).await;
        let secret = secret.map_err(|error| provider_error(&format!("reading Secret {name}"), &error))?;
        secret.ok_or_else(|| ProviderError::Unauthorized {
            message: format!("there is no Secret {name} with ca.crt, tls.crt and tls.key"),
        })
    }

    fn secure(&self, endpoint: Endpoint, secret: &Secret) -> Result<Endpoint, ProviderError> {
        let unusable = |what: String| ProviderError::Unauthorized {
            message: format!("Secret {} cannot be used to connect: {what}", self.secret),
        };
        let part = |key: &str| {
            let data = secret.data.as_ref().and_then(|data| data.get(key)).filter(|data| !data.0.is_empty());
            data.map(|data| data.0.as_slice()).ok_or_else(|| unusable(format!("it has no {key}")))
        };
        let mut tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(part("ca.crt")?))
            .identity(Identity::from_pem(part("tls.crt")?, part("tls.key")?))
            .timeout(CONNECT_TIMEOUT);
        if let Some(name) = &self.server_name {
            tls = tls.domain_name(name);
        }
        endpoint.tls_config(tls).map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            unusable(cause.unwrap_or_else(|| error.to_string()))
        })
    }
}
