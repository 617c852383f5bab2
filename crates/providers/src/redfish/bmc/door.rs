//! Getting in: a session where the BMC has such, or name and password with each call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::debug;
use windlass_core::Text;

use super::failure::{Failure, FailureKind};
use super::keys::{Keys, Login};
use super::wire::{Answer, Call, Pass, Wire};

const ROOT: &str = "/redfish/v1/";
const SYSTEMS: &str = "/redfish/v1/Systems";

/// The way into one BMC. What it refuses is not tried again and again: BMCs lock accounts.
#[derive(Debug)]
pub(super) struct Door {
    pub wire: Wire,
    pub keys: Arc<Keys>,
    /// The Secret with the name and the password.
    pub secret: String,
    /// How long a login that was refused is not tried again, unless the Secret changes.
    pub lockout: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: Option<Arc<Open>>,
    refused: Option<Refusal>,
}

struct Refusal {
    login: Login,
    at: Instant,
    failure: Failure,
}

/// A BMC that has let us in.
pub(super) struct Open {
    wire: Wire,
    login: Login,
    pass: Pass,
    /// Where its systems are.
    pub systems: String,
    /// The version of Redfish.
    pub version: Option<Text>,
}

impl Door {
    pub fn new(wire: Wire, keys: Arc<Keys>, secret: String, lockout: Duration) -> Self {
        Self { wire, keys, secret, lockout, state: Mutex::default() }
    }

    /// Sends a call. A session that has ended in the meantime is begun anew.
    pub async fn send(&self, call: &Call) -> Result<Answer, Failure> {
        let mut open = self.enter(false).await?;
        let mut answer = self.ask(&open, call).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            self.leave(&open).await;
            let before = open;
            open = self.enter(true).await?;
            if open.pass != before.pass {
                answer = self.ask(&open, call).await?;
            }
        }
        if answer.status.is_success() {
            return Ok(answer);
        }
        let failure = self.hidden(Failure::of(answer.status, &answer.body), &open.login);
        if answer.status == StatusCode::UNAUTHORIZED {
            self.leave(&open).await;
            return Err(self.refuse(&open.login, failure).await);
        }
        Err(failure)
    }

    /// Where things are, and who answers.
    pub async fn open(&self) -> Result<Arc<Open>, Failure> {
        self.enter(false).await
    }

    async fn ask(&self, open: &Open, call: &Call) -> Result<Answer, Failure> {
        self.wire.send(call, &open.pass).await.map_err(|failure| self.hidden(failure, &open.login))
    }

    async fn enter(&self, anew: bool) -> Result<Arc<Open>, Failure> {
        let mut state = self.state.lock().await;
        let login = self.keys.login(&self.secret, anew || state.refused.is_some()).await?;
        if let Some(refusal) = &state.refused {
            if refusal.login == login && refusal.at.elapsed() < self.lockout {
                return Err(refusal.failure.clone());
            }
            state.refused = None;
        }
        if let Some(open) = state.open.clone().filter(|open| open.login == login) {
            return Ok(open);
        }
        state.open = None;
        match self.knock(&login).await {
            Ok(open) => {
                let open = Arc::new(open);
                state.open = Some(Arc::clone(&open));
                Ok(open)
            }
            Err(failure) => {
                let failure = self.hidden(failure, &login);
                if failure.status.is_none() || failure.kind != FailureKind::Unauthorized {
                    return Err(failure);
                }
                let failure = self.explained(failure);
                let refusal = Refusal { login, at: Instant::now(), failure: failure.clone() };
                state.refused = Some(refusal);
                Err(failure)
            }
        }
    }

    async fn knock(&self, login: &Login) -> Result<Open, Failure> {
        let root = self.wire.send(&Call::get(ROOT), &Pass::None).await?;
        let body = match root.status {
            // Some show even this to nobody else.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Value::Null,
            status if status.is_success() => root.body,
            status => {
                let failure = Failure::of(status, &root.body);
                return Err(failure.while_doing(&format!("looking for a Redfish service at {ROOT}")));
            }
        };
        let pass = match self.sessions(&body) {
            Some(sessions) => self.log_in(&sessions, login).await?,
            None => basic(login)?,
        };
        let version = body.get("RedfishVersion").and_then(Value::as_str).map(Into::into);
        let systems = self.wire.link(body.get("Systems")).unwrap_or_else(|| SYSTEMS.to_owned());
        Ok(Open { wire: self.wire.clone(), login: login.clone(), pass, systems, version })
    }

    fn sessions(&self, root: &Value) -> Option<String> {
        let named = root.get("Links").and_then(|links| self.wire.link(links.get("Sessions")));
        let service = || self.wire.link(root.get("SessionService"));
        named.or_else(|| Some(format!("{}/Sessions", service()?.trim_end_matches('/'))))
    }

    /// Begins a session. Where that is not to be had, name and password are shown with each call.
    async fn log_in(&self, sessions: &str, login: &Login) -> Result<Pass, Failure> {
        let who = json!({"UserName": login.username, "Password": login.password});
        let answer = self.wire.send(&Call::post(sessions, who), &Pass::None).await?;
        if matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(Failure::of(answer.status, &answer.body));
        }
        match answer.token {
            Some(mut token) if answer.status.is_success() => {
                token.set_sensitive(true);
                let session = answer.location.or_else(|| self.wire.link(Some(&answer.body)));
                Ok(Pass::Session(token, session))
            }
            _ => basic(login),
        }
    }

    async fn leave(&self, left: &Arc<Open>) {
        let mut state = self.state.lock().await;
        if state.open.as_ref().is_some_and(|open| Arc::ptr_eq(open, left)) {
            state.open = None;
        }
    }

    async fn refuse(&self, login: &Login, failure: Failure) -> Failure {
        let failure = self.explained(failure);
        let refusal = Refusal { login: login.clone(), at: Instant::now(), failure: failure.clone() };
        self.state.lock().await.refused = Some(refusal);
        failure
    }

    fn explained(&self, mut failure: Failure) -> Failure {
        failure.words = format!(
            "it refuses the username and password in Secret {} ({}); they are tried again once the Secret has changed, or in {}s",
            self.secret,
            failure.words,
            self.lockout.as_secs()
        );
        failure
    }

    /// A failure in whose words the password is not, whatever the BMC repeats.
    fn hidden(&self, mut failure: Failure, login: &Login) -> Failure {
        failure.words = failure.words.replace(&login.password, "(hidden)");
        failure
    }
}

fn basic(login: &Login) -> Result<Pass, Failure> {
    let pair = BASE64_STANDARD.encode(format!("{}:{}", login.username, login.password));
    let value = HeaderValue::from_str(&format!("Basic {pair}"));
    let mut value =
        value.map_err(|_| Failure::new(FailureKind::Unauthorized, "its name and password make no header"))?;
    value.set_sensitive(true);
    Ok(Pass::Basic(value))
}

impl Drop for Open {
    /// Ends the session: BMCs have room for few. One that is missed they end by themselves after a while.
    fn drop(&mut self) {
        let (Pass::Session(_, Some(session)), Ok(runtime)) = (&self.pass, Handle::try_current()) else {
            return;
        };
        let (wire, call, pass) = (self.wire.clone(), Call::delete(session.clone()), self.pass.clone());
        runtime.spawn(async move {
            if let Err(failure) = wire.send(&call, &pass).await {
                debug!(address = wire.address, failure.words, "a session could not be ended");
            }
        });
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("systems", &self.systems).finish_non_exhaustive()
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusal").field("failure", &self.failure).finish_non_exhaustive()
    }
}
