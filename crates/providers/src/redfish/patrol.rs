//! What is done without being asked: ends are brought to their end, and it is written down which hosts have joined.

use futures::future::join_all;
use tokio::time::sleep;
use tracing::warn;
use windlass_core::Text;

use super::Redfish;
use super::bmc::Power;
use super::ledger::{Hold, Ledger};
use crate::ProviderError;

impl Redfish {
    /// Goes round for ever. A host that failed is nobody's business but this one's, since its claim looks elsewhere; and a
    /// machine whose claim is gone without its end having been seen would keep its host for ever.
    pub(super) async fn patrol(&self) {
        loop {
            if let Err(error) = self.round().await {
                warn!(provider = %self.name, %error, "the hosts could not be looked after");
            }
            sleep(self.pace.patrol).await;
        }
    }

    async fn round(&self) -> Result<(), ProviderError> {
        let ledger = self.books.read().await?;
        self.note_joined(&ledger).await?;
        self.note_off(&ledger).await?;
        let ending = ledger.holds().filter(|(_, hold)| hold.is_ending());
        join_all(ending.map(|(host, hold)| self.go_on_ending(host, hold))).await;
        Ok(())
    }

    async fn go_on_ending(&self, host: &Text, hold: &Hold) {
        let _hosts_turn = self.turns.with(host).await;
        let uid = &hold.tag.claim_uid;
        let outcome = async {
            let ledger = self.books.read().await?;
            match ledger.hold(host, uid).filter(|hold| hold.is_ending()) {
                Some(hold) => self.give_back(host, hold).await.map(|_| ()),
                None => Ok(()),
            }
        };
        if let Err(error) = outcome.await {
            warn!(provider = %self.name, %host, claim = %hold.tag.claim_name, %error, "a host is not off yet");
        }
    }

    /// A node that is seen once has joined, even if somebody deletes it.
    async fn note_joined(&self, ledger: &Ledger) -> Result<(), ProviderError> {
        let open: Vec<_> = ledger.holds().filter(|(_, hold)| hold.is_running() && !hold.joined).collect();
        if open.is_empty() {
            return Ok(());
        }
        let view = self.view().await?;
        for (host, hold) in open.into_iter().filter(|(_, hold)| view.has_node(&hold.shape.node_name)) {
            let uid = &hold.tag.claim_uid;
            _ = self.books.change(|ledger| ledger.joined(host, uid)).await?;
        }
        Ok(())
    }

    async fn note_off(&self, ledger: &Ledger) -> Result<(), ProviderError> {
        let left_on = ledger.records().filter(|(_, record)| record.left_on && record.hold.is_none());
        let is_off = |host: &Text| self.sights.of(host).is_some_and(|sight| sight.power == Ok(Power::Off));
        for (host, _) in left_on.filter(|(host, _)| is_off(host)) {
            let _hosts_turn = self.turns.with(host).await;
            self.books.change(|ledger| ledger.went_off(host)).await?;
        }
        Ok(())
    }
}
