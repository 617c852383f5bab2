//! Getting one host for a claim, however often it is asked for.

use jiff::Timestamp;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};
use windlass_core::Text;

use super::Redfish;
use super::bmc::{Failure, FailureKind, Power, Wish};
use super::choose::Tried;
use super::ledger::{Ending, Hold, Standing};
use super::state::State;
use crate::clock::has_passed;
use crate::{LaunchRequest, Machine, ProviderError};

/// How far a launch has come.
enum Step {
    Done(Box<Machine>),
    /// Look again at once.
    Again,
    /// Look again in a while; why.
    Wait(String),
    /// This host is not to be had; why.
    Elsewhere(State, String),
}

impl Redfish {
    /// Gets a host for the claim, or finds the one that an earlier request has got.
    pub(super) async fn launch_host(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.check(request)?;
        let uid = &request.tag.claim_uid;
        let _claims_turn = self.claims.with(uid).await;
        let until = Instant::now() + self.pace.wait;
        let mut tried = Tried::new();
        let mut host = self.take(request, &tried).await?;
        loop {
            let step = {
                let _hosts_turn = self.turns.with(&host).await;
                self.advance(&host, uid).await?
            };
            match step {
                Step::Done(machine) => return Ok(*machine),
                Step::Again => {}
                Step::Wait(why) if Instant::now() >= until => return Err(ProviderError::transient(why)),
                Step::Wait(_) => sleep(self.pace.poll).await,
                Step::Elsewhere(state, why) => {
                    info!(provider = %self.name, %host, claim = %request.tag.claim_name, why, "another host is looked for");
                    tried.insert(host, (state, why));
                    host = self.take(request, &tried).await?;
                }
            }
        }
    }

    fn check(&self, request: &LaunchRequest) -> Result<(), ProviderError> {
        let invalid = |message: String| Err(ProviderError::InvalidConfiguration { message });
        if request.tag.cluster_id != self.cluster_id {
            let cluster = &request.tag.cluster_id;
            return invalid(format!("the machine is for cluster {cluster}, this is {}", self.cluster_id));
        }
        if request.join.is_some() {
            let pool = &request.tag.pool;
            return invalid(format!(
                "a BMC hands no user data to its host: leave it out of pool {pool}, and let what the network boots join by itself"
            ));
        }
        Ok(())
    }

    /// Takes a launch one step further. Whoever calls this has the host's turn.
    async fn advance(&self, host: &Text, uid: &str) -> Result<Step, ProviderError> {
        let ledger = self.books.read().await?;
        let Some(hold) = ledger.hold(host, uid) else {
            return Err(ProviderError::transient(format!("host {host} was given back meanwhile; ask again")));
        };
        match &hold.standing {
            Standing::Running { .. } => Ok(Step::Done(Box::new(self.machine(host, hold)))),
            Standing::Ending(_) => {
                Err(ProviderError::transient(format!("the machine on host {host} is being ended")))
            }
            Standing::Taken => {
                let left_on = ledger.record(host).is_some_and(|record| record.left_on);
                self.begin(host, hold, left_on).await
            }
            Standing::Starting { since, asked_at, restart } => {
                self.go_on(host, hold, (*since, *asked_at), *restart).await
            }
        }
    }

    /// Makes sure that the host is nobody's, says what it is to boot, and powers it on.
    async fn begin(&self, host: &Text, hold: &Hold, left_on: bool) -> Result<Step, ProviderError> {
        let node = &hold.shape.node_name;
        if self.node_exists(node).await? {
            return self.leave(host, hold, State::Foreign, format!("there is a node {node} already")).await;
        }
        let restart = match self.look(host, &self.place(host, &hold.place)).await.map(|system| system.power) {
            Ok(Power::Off) => false,
            Ok(Power::On) if left_on => true,
            Ok(Power::On) => {
                return self
                    .leave(host, hold, State::Foreign, "somebody else has powered it on".to_owned())
                    .await;
            }
            Ok(_) => {
                let words = "it cannot be told whether it is on".to_owned();
                return self.leave(host, hold, State::Unknown, words).await;
            }
            Err(failure) => return self.leave(host, hold, State::of(&failure), failure.words).await,
        };
        match self.set_boot(host, hold, restart).await {
            Ok(()) => self.power(host, hold, None, restart).await,
            Err(failure) if failure.kind == FailureKind::Lost && !self.is_overdue(hold.taken_at) => {
                Ok(Step::Wait(failure.words))
            }
            Err(failure) if failure.kind == FailureKind::Unauthorized => {
                self.leave(host, hold, State::Unauthorized, failure.words).await
            }
            Err(failure) => self.leave(host, hold, State::Quarantined, failure.words).await,
        }
    }

    /// Goes on with a launch that has got as far as powering on.
    async fn go_on(
        &self,
        host: &Text,
        hold: &Hold,
        (since, asked_at): (Timestamp, Timestamp),
        restart: bool,
    ) -> Result<Step, ProviderError> {
        let looked = self.look(host, &self.place(host, &hold.place)).await;
        let why = match looked.map(|system| system.power) {
            Ok(Power::On) if !restart => return self.runs(host, hold).await,
            Ok(Power::Off | Power::On) if has_passed(asked_at, self.pace.repeat, self.clock.now()) => {
                // Whether it was asked is not known, or it had no effect.
                match self.set_boot(host, hold, restart).await {
                    Ok(()) => return self.power(host, hold, Some(since), restart).await,
                    Err(failure) => failure.words,
                }
            }
            Ok(_) => format!("host {host} was told to be on at {asked_at:.0}, and is not yet"),
            Err(failure) => failure.words,
        };
        if self.is_overdue(since) {
            return self.fail(host, hold, Some(asked_at), why).await;
        }
        Ok(Step::Wait(why))
    }

    /// Writes down that the host is told to be on, and tells it.
    async fn power(
        &self,
        host: &Text,
        hold: &Hold,
        since: Option<Timestamp>,
        restart: bool,
    ) -> Result<Step, ProviderError> {
        let (uid, now) = (&hold.tag.claim_uid, self.clock.now());
        let starting = Standing::Starting { since: since.unwrap_or(now), asked_at: now, restart };
        if !self.books.change(|ledger| ledger.set(host, uid, starting.clone())).await? {
            return Ok(Step::Again);
        }
        let wish = if restart { Wish::Restart } else { Wish::On };
        let asked = match self.bmcs.of(host, &self.place(host, &hold.place)) {
            Ok(bmc) => bmc.reset(wish).await,
            Err(failure) => Err(failure),
        };
        match asked {
            Ok(()) if restart => self.runs(host, hold).await,
            Ok(()) => Ok(Step::Again),
            Err(failure) if failure.kind == FailureKind::Lost => Ok(Step::Wait(failure.words)),
            Err(failure) => {
                let power = self.look(host, &self.place(host, &hold.place)).await.map(|system| system.power);
                if power == Ok(Power::On) && !restart {
                    return self.runs(host, hold).await;
                }
                self.fail(host, hold, Some(now), failure.words).await
            }
        }
    }

    async fn runs(&self, host: &Text, hold: &Hold) -> Result<Step, ProviderError> {
        let running = Standing::Running { since: self.clock.now() };
        let uid = &hold.tag.claim_uid;
        _ = self.books.change(|ledger| ledger.set(host, uid, running.clone())).await?;
        info!(provider = %self.name, %host, claim = %hold.tag.claim_name, "a host is on");
        Ok(Step::Again)
    }

    async fn set_boot(&self, host: &Text, hold: &Hold, is_on: bool) -> Result<(), Failure> {
        let bmc = self.bmcs.of(host, &self.place(host, &hold.place))?;
        bmc.boot_once(self.settings.boot, if is_on { Power::On } else { Power::Off }).await
    }

    /// Gives back a host to whose power nothing was done.
    async fn leave(
        &self,
        host: &Text,
        hold: &Hold,
        state: State,
        why: String,
    ) -> Result<Step, ProviderError> {
        let (uid, now) = (&hold.tag.claim_uid, self.clock.now());
        self.books
            .change(|ledger| {
                if ledger.withdraw(host, uid) && state == State::Quarantined {
                    ledger.quarantine(host, why.clone(), now);
                }
            })
            .await?;
        Ok(Step::Elsewhere(state, why))
    }

    /// Gives up a host that does not go on. It is not anybody's before it is known to be off.
    async fn fail(
        &self,
        host: &Text,
        hold: &Hold,
        asked_at: Option<Timestamp>,
        why: String,
    ) -> Result<Step, ProviderError> {
        warn!(provider = %self.name, %host, claim = %hold.tag.claim_name, why, "a host cannot be had");
        let ending = Standing::Ending(Ending {
            since: self.clock.now(),
            may_go_on_since: asked_at,
            blame: Some(why.clone()),
            failed: true,
        });
        let uid = &hold.tag.claim_uid;
        _ = self.books.change(|ledger| ledger.set(host, uid, ending.clone())).await?;
        Ok(Step::Elsewhere(State::Quarantined, why))
    }

    /// Whether a host has had the time that it may take to be on.
    fn is_overdue(&self, since: Timestamp) -> bool {
        self.settings.power_timeout.is_some_and(|timeout| has_passed(since, timeout, self.clock.now()))
    }
}
