use tracing::{info, warn};
use windlass_api::{NodeClaim, conditions};
use windlass_core::Text;

use crate::sweep::Sweeper;

impl Sweeper {
    /// Deletes tokens that nobody looks after any more: those of claims that were removed past their finalizer, and those
    /// that could not be deleted when their machine became a node. Nothing is asked where no pool makes any.
    pub(crate) async fn look_at_tokens(&self) {
        if !self.bus.index.lock().definitions().any(|pool| pool.user_data.is_some()) {
            return;
        }
        let holders = match self.joining.token_holders().await {
            Ok(holders) => holders,
            Err(error) => {
                warn!(%error, "the bootstrap tokens could not be listed");
                return;
            }
        };
        for uid in holders {
            if !self.is_done_with(&uid).await {
                continue;
            }
            match self.joining.revoke_those_of(&uid).await {
                Ok(()) => info!(claim_uid = %uid, "deleted a bootstrap token that is of no use any more"),
                Err(error) => warn!(claim_uid = %uid, %error, "a bootstrap token could not be deleted"),
            }
        }
    }

    /// Whether a token is of no use any more. The index may be behind, so the API server itself must know of no such claim.
    async fn is_done_with(&self, claim_uid: &Text) -> bool {
        let known = {
            let index = self.bus.index.lock();
            let name = index.claims.name_by_uid(claim_uid).cloned();
            name.and_then(|name| index.claims.get(&name))
        };
        match known {
            Some(claim) => is_registered(&claim),
            None => match self.live_claim(claim_uid).await {
                Ok(claim) => claim.is_none_or(|claim| is_registered(&claim)),
                Err(_) => false,
            },
        }
    }
}

fn is_registered(claim: &NodeClaim) -> bool {
    let status = claim.status.as_ref();
    status.is_some_and(|status| conditions::is_true(&status.conditions, conditions::REGISTERED))
}
