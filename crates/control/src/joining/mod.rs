//! How a machine that boots becomes a node where its image cannot do that by itself: it is told where the API server is,
//! whom to trust, and a bootstrap token of its own.
//!
//! What is told is put together at each launch ([`Joining::join`]). The token is a Secret whose name follows from the
//! claim, so that a process which is killed after any step finds it again and goes on: the claim's status says that there
//! may be a token before there is one (`launch.bootstrapToken`), and says so until it is deleted. That is once the machine
//! is a node, or with the claim. `sweep` deletes what is left over of claims that were removed past their finalizer; what
//! even that misses ends when it expires, for Kubernetes itself deletes tokens then.
//!
//! Nothing of this is asked of the API server for claims of pools whose image joins by itself.

mod authority;
mod entrance;
mod secret_source;
mod settings;
mod sweep;
mod token;
mod tokens;

use std::sync::Arc;

use kube::{Client, ResourceExt};
use windlass_api::{JoinMethod, NodeClaim, UserData};
use windlass_core::Text;
use windlass_providers::{Clock, Join};

use crate::Settings;

pub use authority::{AuthorityError, ca_hash};
pub use entrance::Entrance;
pub use secret_source::{NoRandomness, SecretSource, SystemSecrets};
pub use settings::JoinSettings;

use tokens::Tokens;

/// What a claim's pool says today of how its machines join.
#[derive(Clone, Debug)]
pub(crate) enum PoolWord {
    /// There is no such pool.
    Gone,
    /// It makes no sense; in words.
    Invalid(String),
    /// By their image.
    Image,
    /// As this says.
    UserData(Arc<UserData>),
}

/// Puts together what machines are told, and keeps their tokens.
pub(crate) struct Joining {
    client: Client,
    settings: Arc<Settings>,
    tokens: Tokens,
}

impl Joining {
    pub(crate) fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        settings: Arc<Settings>,
        secrets: Arc<dyn SecretSource>,
    ) -> Self {
        let tokens = Tokens { client: client.clone(), clock, settings: settings.clone(), secrets };
        Self { client, settings, tokens }
    }

    /// What the claim's machine is told, if anything. Asked again, it is the same, with the same token.
    pub(crate) async fn join(&self, claim: &NodeClaim, pool: PoolWord) -> Result<Option<Join>, JoinError> {
        if claim.spec.join == JoinMethod::Image {
            return Ok(None);
        }
        let name = || claim.spec.pool_ref.name.clone();
        let user_data = match pool {
            PoolWord::UserData(user_data) => user_data,
            PoolWord::Gone => return Err(JoinError::PoolGone(name())),
            PoolWord::Image => return Err(JoinError::PoolChanged(name())),
            PoolWord::Invalid(flaw) => return Err(JoinError::PoolInvalid { pool: name(), flaw }),
        };
        let entrance = Entrance::find(&self.client, &self.settings.joining).await?;
        let token = self.tokens.of(claim).await?;
        Ok(Some(Join {
            template: user_data.0.as_str().into(),
            token: token.full(),
            api_server: entrance.api_server,
            ca_bundle: entrance.ca_bundle,
            ca_hash: entrance.ca_hash,
        }))
    }

    /// Deletes the claim's tokens.
    pub(crate) async fn revoke(&self, claim: &NodeClaim) -> Result<(), kube::Error> {
        self.tokens.delete_those_of(&claim.uid().unwrap_or_default()).await
    }

    /// The claims, by their UIDs, that have tokens.
    pub(crate) async fn token_holders(&self) -> Result<Vec<Text>, kube::Error> {
        self.tokens.holders().await
    }

    /// Deletes the tokens of a claim that may not even exist any more.
    pub(crate) async fn revoke_those_of(&self, claim_uid: &str) -> Result<(), kube::Error> {
        self.tokens.delete_those_of(claim_uid).await
    }
}

/// Why a machine could not be told how to join, so that it was not launched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    #[error("pool {0} is gone, and with it the user data that the machine is to get")]
    PoolGone(String),
    #[error(
        "pool {0} does not say join: UserData any more, with which this claim was made: delete the claim"
    )]
    PoolChanged(String),
    #[error("pool {pool} cannot be used: {flaw}")]
    PoolInvalid { pool: String, flaw: String },
    #[error("machines could not reach the API server at {0}, by which Windlass does: say --join-api-server")]
    NoAddress(String),
    #[error("nobody knows who vouches for the API server: give --join-ca-file")]
    NoAuthority,
    #[error("who vouches for the API server: {0}")]
    Authority(#[from] AuthorityError),
    #[error("ConfigMap kube-public/cluster-info is no help: {0}; say --join-api-server and --join-ca-file")]
    ClusterInfo(&'static str),
    #[error("the bootstrap token: all Secrets that it could be in are somebody else's, the last is {0}")]
    NamesTaken(String),
    #[error(
        "the bootstrap token: Secret kube-system/{0} was changed by hand and has no token in it: delete it"
    )]
    NoToken(String),
    #[error("the bootstrap token: {0}")]
    NoRandomness(#[from] NoRandomness),
    #[error("{doing}: {problem}")]
    Api { doing: String, problem: String },
}

impl JoinError {
    /// What the API server said to something about a Secret. An answer that cannot be read is not repeated: there may be a
    /// token in it.
    fn api(doing: impl Into<String>, error: &kube::Error) -> Self {
        let problem = match error {
            kube::Error::Api(status) => status.message.clone(),
            kube::Error::SerdeError(_) => "the API server's answer cannot be read".to_owned(),
            other => other.to_string(),
        };
        Self::Api { doing: doing.into(), problem }
    }
}

#[cfg(test)]
mod tests {
    use kube::Error;

    use super::JoinError;

    #[test]
    fn an_answer_that_cannot_be_read_is_not_repeated() {
        let unreadable = serde_json::from_str::<u32>("\"hunter2hunter2\"").unwrap_err();
        assert!(unreadable.to_string().contains("hunter2"), "what must not be passed on: {unreadable}");
        let error = JoinError::api("reading Secret kube-system/x", &Error::SerdeError(unreadable));
        assert_eq!(error.to_string(), "reading Secret kube-system/x: the API server's answer cannot be read");
    }
}
