//! Getting one instance for a claim, however often it is asked for.

use tokio::time::{Instant, sleep};
use tracing::{info, warn};
use windlass_core::Text;

use super::ExternalGrpc;
use super::books::{Book, Save};
use super::catalogue::Group;
use super::failure::FailureKind;
use super::ledger::{CreationError, Hold, Settled, Shape, Standing};
use super::view::View;
use crate::{LaunchRequest, Machine, ProviderError};

/// How far a launch has come.
enum Step {
    Done(Box<Machine>),
    /// Look again at once.
    Again,
    /// Look again in a while; why.
    Wait(&'static str),
}

const OVERTAKEN: &str = "somebody else wrote the group's ledger at the same time";
const NOT_SHOWN: &str = "the server has not shown the instance yet";
const IN_DOUBT: &str =
    "an earlier request to change the group's size went unanswered, and may still be under way";

impl ExternalGrpc {
    /// Gets an instance for the claim, or finds the one that an earlier request has got.
    pub(super) async fn launch_instance(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        let tag = &request.tag;
        if tag.cluster_id != self.cluster_id {
            let message =
                format!("the machine is for cluster {}, this is {}", tag.cluster_id, self.cluster_id);
            return Err(ProviderError::InvalidConfiguration { message });
        }
        let _claims_turn = self.claims.with(&tag.claim_uid).await;
        let until = Instant::now() + self.pace.wait;
        let books = self.books.list().await?;
        let asked_before = books.into_iter().find(|book| book.ledger.of_claim(&tag.claim_uid).is_some());
        let (group, offer) = match asked_before {
            Some(book) => (book.group, None),
            None => {
                let (group, shape) = self.offer_for(request).await?;
                (group.id.clone(), Some((group, shape)))
            }
        };
        loop {
            let step = {
                let _groups_turn = self.groups.with(&group).await;
                self.advance(&group, offer.as_ref(), request).await?
            };
            match step {
                Step::Done(machine) => return Ok(*machine),
                Step::Again => {}
                Step::Wait(why) if Instant::now() >= until => {
                    return Err(ProviderError::transient(format!("group {group}: {why}")));
                }
                Step::Wait(_) => sleep(self.pace.poll).await,
            }
        }
    }

    async fn offer_for(&self, request: &LaunchRequest) -> Result<(Group, Shape), ProviderError> {
        if request.join.is_some() {
            let message = format!(
                "an externalgrpc server takes no user data: let the image join by itself and say join: Image in pool {}",
                request.tag.pool
            );
            return Err(ProviderError::InvalidConfiguration { message });
        }
        let (catalogue, group) = self.offer(&request.offering).await?;
        if let Some(taint) = group.template.unexpected_taint(&request.taints) {
            let message = format!(
                "nodes of group {} have the taint {taint}, which pool {} does not name: add it to the pool's taints or startupTaints",
                group.id, request.tag.pool
            );
            return Err(ProviderError::InvalidConfiguration { message });
        }
        let shape = catalogue.shape(&request.offering);
        let shape = shape.ok_or_else(|| ProviderError::transient("the offering is gone; ask again"))?;
        Ok((group, shape))
    }

    /// Takes a launch one step further. Whoever calls this has the group's turn.
    async fn advance(
        &self,
        group: &Text,
        offer: Option<&(Group, Shape)>,
        request: &LaunchRequest,
    ) -> Result<Step, ProviderError> {
        let Some(View { book, seen, settled }) = self.view(group).await? else {
            return Ok(Step::Wait(OVERTAKEN));
        };
        let uid = &request.tag.claim_uid;
        let Some(entry) = book.ledger.of_claim(uid) else {
            return match (settled, offer) {
                (Settled::InVain { claim_uid, words: Some(words) }, _) if claim_uid == *uid => {
                    Err(ProviderError::InsufficientCapacity { message: words })
                }
                (_, None) => {
                    Err(ProviderError::transient("the instance that was asked for will not come; ask again"))
                }
                (_, Some(_)) if book.ledger.is_in_doubt() => Ok(Step::Wait(IN_DOUBT)),
                (_, Some((group, shape))) => self.ask(book, group, shape, request).await,
            };
        };
        match &entry.standing {
            Standing::Asked(_) => Ok(Step::Wait(IN_DOUBT)),
            Standing::Waiting | Standing::GivingUp(_) => Ok(Step::Wait(NOT_SHOWN)),
            Standing::Has(holding) => {
                let shown = seen.iter().find(|seen| seen.id == holding.instance);
                match shown.and_then(|seen| seen.error.clone()) {
                    Some(error) => {
                        let instance = holding.instance.clone();
                        self.clear_away(book, &instance, error).await
                    }
                    None => Ok(Step::Done(Box::new(self.machine(&book, entry, shown)?))),
                }
            }
        }
    }

    /// Writes down that one more will be asked for, asks, and writes down that it was granted.
    async fn ask(
        &self,
        mut book: Book,
        group: &Group,
        shape: &Shape,
        request: &LaunchRequest,
    ) -> Result<Step, ProviderError> {
        let uid = &request.tag.claim_uid;
        let target = self.client.target(&group.id).await?;
        if target >= group.max {
            let message = format!("group {} has {target} of at most {} instances", group.id, group.max);
            return Err(ProviderError::InsufficientCapacity { message });
        }
        book.ledger.intend(request.tag.clone(), shape.clone(), target, self.clock.now());
        if self.books.save(&mut book).await? == Save::Overtaken {
            return Ok(Step::Wait(OVERTAKEN));
        }
        let Err(failure) = self.client.increase(&group.id).await else {
            info!(provider = %self.name, group = %group.id, claim = %request.tag.claim_name, "asked for one more");
            book.ledger.granted(uid);
            let saved = self.books.save(&mut book).await?;
            return Ok(if saved == Save::Done { Step::Again } else { Step::Wait(OVERTAKEN) });
        };
        match failure.kind {
            FailureKind::Lost => Err(failure.error),
            FailureKind::Refused => {
                book.ledger.withdraw(uid);
                self.note(&mut book).await;
                Err(ProviderError::InsufficientCapacity { message: failure.words() })
            }
            FailureKind::Answered | FailureKind::Unimplemented => {
                let words = failure.words();
                book.ledger.said(uid, &words);
                self.note(&mut book).await;
                Err(ProviderError::transient(words))
            }
        }
    }

    /// Writes down what one can also find out without: the number of instances tells it as well.
    async fn note(&self, book: &mut Book) {
        match self.books.save(book).await {
            Ok(_) => {}
            Err(error) => {
                warn!(provider = %self.name, group = %book.group, %error, "cannot write the ledger")
            }
        }
    }

    /// Removes an instance that cannot be made, and says why.
    async fn clear_away(
        &self,
        mut book: Book,
        instance: &str,
        error: CreationError,
    ) -> Result<Step, ProviderError> {
        book.ledger.hold(instance, Hold::Failed);
        if self.books.save(&mut book).await? == Save::Overtaken {
            return Ok(Step::Wait(OVERTAKEN));
        }
        self.client.delete(&book.group, instance).await?;
        let CreationError { words, out_of_resources } = error;
        let message = format!("group {}: {instance} could not be made: {words}", book.group);
        Err(if out_of_resources {
            ProviderError::InsufficientCapacity { message }
        } else {
            ProviderError::Transient { message }
        })
    }
}
