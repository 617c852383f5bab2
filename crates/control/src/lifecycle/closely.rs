//! Looking closely at a claim's node where what follows from the index is grave.
//!
//! The watch may be held up: a claim that an earlier leader brought far is then newer than what this process knows of the
//! nodes. Neither may it be given up for want of its node, nor its machine be ended under the pods on that.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Node as ApiNode;
use kube::Api;
use kube::api::ListParams;
use tokio::sync::Mutex;
use tokio::time::Instant;
use windlass_api::{NodeClaim, NodeClaimStatus, conditions};
use windlass_core::Text;
use windlass_core::model::Readiness;

use super::Shell;
use crate::adapt;
use crate::index::{Index, Registrant};
use crate::planted::{Mistake, is_planted};

/// What has to be read from the API server itself.
enum Doubt {
    /// This node is not there, or has not been ready for too long.
    Node(Text),
    /// No node is known for a machine that is to be given up, if there is one.
    AnyNode(Instant),
}

/// When the last list of all nodes was asked for: it serves all claims whose doubt is older.
#[derive(Debug, Default)]
pub(super) struct NodesListed(Mutex<Option<Instant>>);

impl NodesListed {
    /// The last list serves nobody any more.
    pub(super) async fn forget(&self) {
        *self.0.lock().await = None;
    }
}

impl Shell {
    /// Reads from the API server what is in doubt about a claim's node.
    pub(super) async fn look_closely_at_node(&self, name: &Text) -> Result<(), kube::Error> {
        let Some(doubt) = self.doubt(name).filter(|_| !is_planted(Mistake::TrustsIndex)) else {
            return Ok(());
        };
        let api: Api<ApiNode> = Api::all(self.client.clone());
        match doubt {
            Doubt::Node(node) => {
                if let Some(found) = api.get_opt(&node).await? {
                    self.saw(&found);
                }
            }
            Doubt::AnyNode(since) => {
                let mut listed = self.nodes_listed.0.lock().await;
                if listed.is_none_or(|listed| listed < since) {
                    let begun = Instant::now();
                    api.list(&ListParams::default()).await?.iter().for_each(|node| self.saw(node));
                    *listed = Some(begun);
                }
            }
        }
        Ok(())
    }

    /// Takes in a node. Whose it is has to be told now: when the watch shows it, it is nothing new.
    fn saw(&self, node: &ApiNode) {
        let changed = self.bus.index.lock().saw_node(adapt::seen_node(node));
        self.bus.announce(changed);
    }

    fn doubt(&self, name: &Text) -> Option<Doubt> {
        let index = self.bus.index.lock();
        let claim = index.claims.get(name).filter(|_| index.is_synced())?;
        let status = claim.status.as_ref().filter(|status| {
            status.provider_id.is_some() && !conditions::is_true(&status.conditions, conditions::TERMINATED)
        })?;
        if let Some(node) = &status.node_name {
            return self.is_doubtful(&index, &claim, status, node).then(|| Doubt::Node(node.as_str().into()));
        }
        let unknown = matches!(index.registrant(&claim), Registrant::Nobody | Registrant::Stranger(_));
        drop(index);
        (unknown && self.is_to_go(&claim, status)).then(|| {
            let since =
                self.memory(&claim, |memory| *memory.node_missed_since.get_or_insert_with(Instant::now));
            Doubt::AnyNode(since)
        })
    }

    /// Whether the node is not there, or has not been ready for longer than it may.
    fn is_doubtful(&self, index: &Index, claim: &NodeClaim, status: &NodeClaimStatus, node: &str) -> bool {
        let judged = conditions::is_true(&status.conditions, conditions::DISRUPTED);
        let pool = index.definition(&claim.spec.pool_ref.name);
        let repair_after = self.times.repair_after(pool.and_then(|definition| definition.repair.after));
        match index.node(node).map(|node| node.readiness) {
            None => true,
            Some(Readiness::Ready) => false,
            Some(Readiness::NotReady { since }) => {
                let passed = self.clock.now().duration_since(since).max(SignedDuration::ZERO).unsigned_abs();
                repair_after.is_some_and(|limit| passed >= limit) && !judged
            }
        }
    }

    /// Whether a claim whose machine never became a node is deleted, or about to be.
    fn is_to_go(&self, claim: &NodeClaim, status: &NodeClaimStatus) -> bool {
        let launched = conditions::find(&status.conditions, conditions::LAUNCHED);
        let overdue = launched.is_some_and(|launched| {
            let waited = self.clock.now().duration_since(launched.last_transition_time.0);
            waited.max(SignedDuration::ZERO).unsigned_abs() >= self.times.registration_deadline
        });
        claim.metadata.deletion_timestamp.is_some() || overdue
    }
}
