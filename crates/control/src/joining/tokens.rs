use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use windlass_api::{NodeClaim, labels};
use windlass_core::Text;
use windlass_providers::Clock;

use super::token::{EXPIRATION, Holder, IDS, TYPE, Token, expires, of_cluster, secret_name, written};
use super::{JoinError, SecretSource};
use crate::Settings;
use crate::kubernetes::{is_conflict, is_not_found, is_still, patching, steps};

/// The namespace in which Kubernetes looks for bootstrap tokens.
const NAMESPACE: &str = "kube-system";
/// How much longer a token is good than a machine may take to be launched and to become a node.
const SLACK: Duration = Duration::from_mins(10);

/// The tokens of claims.
pub(super) struct Tokens {
    pub client: Client,
    pub clock: Arc<dyn Clock>,
    pub settings: Arc<Settings>,
    pub secrets: Arc<dyn SecretSource>,
}

impl Tokens {
    /// The claim's token: the one that there is, good for long enough, or a new one.
    pub async fn of(&self, claim: &NodeClaim) -> Result<Token, JoinError> {
        let (uid, name) = (claim.uid().unwrap_or_default(), claim.name_any());
        let holder = Holder { cluster_id: &self.settings.cluster_id, claim_uid: &uid, claim_name: &name };
        let mut taken = String::new();
        for attempt in 0..IDS {
            let id = holder.token_id(attempt);
            let name = secret_name(&id);
            let found = self.api().get_opt(&name).await;
            let found = found
                .map_err(|error| JoinError::api(format!("reading Secret {NAMESPACE}/{name}"), &error))?;
            match found {
                None => return self.create(&holder, id).await,
                Some(found) if holder.has(&found) => {
                    let token = Token::read(&found, &id).ok_or_else(|| JoinError::NoToken(name.clone()))?;
                    self.renew(&found).await?;
                    return Ok(token);
                }
                Some(_) => taken = format!("{NAMESPACE}/{name}"),
            }
        }
        Err(JoinError::NamesTaken(taken))
    }

    /// Whoever makes a Secret of this name at the same moment is found by the next try.
    async fn create(&self, holder: &Holder<'_>, id: Text) -> Result<Token, JoinError> {
        let doing = format!("creating Secret {NAMESPACE}/{}", secret_name(&id));
        let token = Token::new(id, &*self.secrets)?;
        let secret = holder.secret(&token, self.expiration(), &self.settings.joining.bootstrap_token_groups);
        let parameters =
            PostParams { field_manager: Some(labels::FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let created = self.api().create(&parameters, &secret).await;
        created.map(|_| token).map_err(|error| JoinError::api(doing, &error))
    }

    /// Lets a token that has expired, or may before the machine is a node, be good for longer. It stays the same token: a
    /// machine may have been told of it already.
    async fn renew(&self, secret: &Secret) -> Result<(), JoinError> {
        let least = self.settings.registration_deadline.min(self.ttl() / 2);
        let long_enough = later(self.clock.now(), least);
        if expires(secret).is_some_and(|expires| expires >= long_enough) {
            return Ok(());
        }
        let doing = || format!("renewing Secret {NAMESPACE}/{}", secret.name_any());
        let expiration = ByteString(written(self.expiration()).into_bytes());
        let patch = steps(vec![
            is_still(&secret.uid().unwrap_or_default()),
            json!({"op": "add", "path": format!("/data/{EXPIRATION}"), "value": expiration}),
        ]);
        let patch = patch.map_err(|error| JoinError::api(doing(), &error))?;
        let renewed = self.api().patch(&secret.name_any(), &patching(), &patch).await;
        renewed.map(|_| ()).map_err(|error| JoinError::api(doing(), &error))
    }

    fn expiration(&self) -> Timestamp {
        later(self.clock.now(), self.ttl())
    }

    fn ttl(&self) -> Duration {
        let Settings { launch_deadline, registration_deadline, joining, .. } = &*self.settings;
        let enough = || launch_deadline.saturating_add(*registration_deadline).saturating_add(SLACK);
        joining.bootstrap_token_ttl.unwrap_or_else(enough)
    }

    /// Deletes all tokens of a claim.
    pub async fn delete_those_of(&self, claim_uid: &str) -> Result<(), kube::Error> {
        let cluster_id = &*self.settings.cluster_id;
        let holder = Holder { cluster_id, claim_uid, claim_name: "" };
        for secret in self.list(&holder.selector()).await? {
            let this_one = Preconditions { uid: secret.uid(), resource_version: None };
            let parameters = DeleteParams { preconditions: Some(this_one), ..DeleteParams::default() };
            match self.api().delete(&secret.name_any(), &parameters).await {
                Err(error) if !is_not_found(&error) && !is_conflict(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The claims, by their UIDs, that have tokens.
    pub async fn holders(&self) -> Result<Vec<Text>, kube::Error> {
        let secrets = self.list(&of_cluster(&self.settings.cluster_id)).await?;
        let uids = secrets.iter().filter_map(|secret| secret.labels().get(labels::CLAIM_UID));
        Ok(uids.map(|uid| uid.as_str().into()).collect())
    }

    async fn list(&self, selector: &str) -> Result<Vec<Secret>, kube::Error> {
        let tokens = ListParams::default().labels(selector).fields(&format!("type={TYPE}"));
        Ok(self.api().list(&tokens).await?.items)
    }

    fn api(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

fn later(now: Timestamp, time: Duration) -> Timestamp {
    now.saturating_add(time).unwrap_or(Timestamp::MAX)
}
