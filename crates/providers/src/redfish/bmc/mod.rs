//! One host's BMC, and the few things that it is asked: how the host is, what to boot once, and to power it on or off.

mod door;
mod failure;
mod keys;
mod system;
mod task;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};

use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use windlass_api::RedfishBoot;

use self::door::Door;
pub(super) use self::failure::{Failure, FailureKind};
pub(super) use self::keys::Keys;
use self::system::allowed_by_info;
pub(super) use self::system::{Power, System};
use self::wire::{Call, Wire};
use super::Pace;

/// How often something is tried that a BMC says is out of date.
const TRIES: usize = 3;

/// What a host is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Power on.
    On,
    /// Begin anew, whatever runs.
    Restart,
    /// Shut down by itself.
    ShutDown,
    /// Be off, whatever runs.
    Off,
}

impl Wish {
    /// Redfish's words for it, the best first.
    fn reset_types(self) -> &'static [&'static str] {
        match self {
            Self::On => &["On", "ForceOn"],
            Self::Restart => &["ForceRestart", "PowerCycle"],
            Self::ShutDown => &["GracefulShutdown"],
            Self::Off => &["ForceOff"],
        }
    }
}

/// One host's BMC. Every call ends in time, and every failure begins with whose BMC it is.
#[derive(Debug)]
pub(super) struct Bmc {
    whose: String,
    door: Door,
    system_id: Option<String>,
    /// Where its system is, once that is known.
    path: Mutex<Option<String>>,
    pace: Pace,
}

impl Bmc {
    pub fn new(
        host: &str,
        http: reqwest::Client,
        address: &str,
        system_id: Option<String>,
        keys: Arc<Keys>,
        secret: String,
        pace: Pace,
    ) -> Self {
        let address = address.trim_end_matches('/').to_owned();
        Self {
            whose: format!("the BMC of {host} at {address}"),
            door: Door::new(Wire { http, address }, keys, secret, pace.lockout),
            system_id,
            path: Mutex::default(),
            pace,
        }
    }

    /// How the host is.
    pub async fn look(&self) -> Result<System, Failure> {
        let looked = timeout(self.pace.look, self.look_again()).await;
        let late = || {
            let words = format!("no answer within {:?}", self.pace.look);
            Failure::new(FailureKind::Lost, words)
        };
        looked.unwrap_or_else(|_| Err(late())).map_err(|failure| self.named(failure))
    }

    /// Has the host boot this when it next begins, once, provided that its power is as expected.
    pub async fn boot_once(&self, target: RedfishBoot, expected: Power) -> Result<(), Failure> {
        self.set_boot(target, expected).await.map_err(|failure| {
            self.named(failure.while_doing(&format!("having it boot {} once", target.as_str())))
        })
    }

    /// Has the host do something about its power. That it answers does not say that it is done.
    pub async fn reset(&self, wish: Wish) -> Result<(), Failure> {
        self.ask_reset(wish)
            .await
            .map_err(|failure| self.named(failure.while_doing(&format!("asking for {wish:?}"))))
    }

    /// Whether the host can be asked for this, as far as its BMC says.
    pub async fn offers(&self, system: &System, wish: Wish) -> bool {
        let allowed = self.allowed(system).await;
        allowed.is_none_or(|allowed| {
            wish.reset_types().iter().any(|kind| allowed.iter().any(|each| each == kind))
        })
    }

    fn named(&self, mut failure: Failure) -> Failure {
        failure.words = format!("{}: {}", self.whose, failure.words);
        failure
    }

    /// Looks until there is an answer: nothing is changed by it.
    async fn look_again(&self) -> Result<System, Failure> {
        let mut tries = 1;
        loop {
            match self.look_once().await {
                Err(failure) if failure.kind == FailureKind::Lost && tries < TRIES => {
                    tries += 1;
                    sleep(self.pace.poll).await;
                }
                other => return other,
            }
        }
    }

    async fn look_once(&self) -> Result<System, Failure> {
        let path = self.find_system().await?;
        let answer = match self.door.send(&Call::get(path.clone())).await {
            Err(failure) if failure.status == Some(StatusCode::NOT_FOUND) => {
                *self.path.lock().unwrap_or_else(PoisonError::into_inner) = None;
                return Err(self.no_such_system().await?);
            }
            other => other?,
        };
        let mut system = System::read(path, &answer, &self.door.wire);
        system.version.clone_from(&self.door.open().await?.version);
        Ok(system)
    }

    async fn find_system(&self) -> Result<String, Failure> {
        if let Some(path) = self.path.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(path);
        }
        let path = match &self.system_id {
            Some(id) => format!(
                "{}/{}",
                self.door.open().await?.systems.trim_end_matches('/'),
                id.replace(' ', "%20")
            ),
            None => match <[String; 1]>::try_from(self.systems().await?) {
                Ok([only]) => only,
                Err(systems) => {
                    let words =
                        format!("it has {} systems, {}; name one in systemID", systems.len(), ids(&systems));
                    return Err(Failure::new(FailureKind::Unusable, words));
                }
            },
        };
        *self.path.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.clone());
        Ok(path)
    }

    /// The paths of all systems of the BMC.
    async fn systems(&self) -> Result<Vec<String>, Failure> {
        let systems = self.door.open().await?.systems.clone();
        let answer = self.door.send(&Call::get(systems)).await?;
        let members = answer.body.get("Members").and_then(Value::as_array);
        let members = members.map_or(&[][..], Vec::as_slice);
        Ok(members.iter().filter_map(|member| self.door.wire.link(Some(member))).collect())
    }

    async fn no_such_system(&self) -> Result<Failure, Failure> {
        let systems = self.systems().await?;
        let id = self.system_id.as_deref().unwrap_or("as before");
        let words = format!("it has no system {id}; it has {}", ids(&systems));
        Ok(Failure::new(FailureKind::Unusable, words))
    }

    async fn set_boot(&self, target: RedfishBoot, expected: Power) -> Result<(), Failure> {
        let mut system = self.look_again().await?;
        if system.power != expected {
            return Err(Failure::new(FailureKind::Lost, format!("it is {:?} now", system.power)));
        }
        let is_missing = |list: &Option<Vec<String>>, wanted: &str| {
            list.as_ref().filter(|list| !list.iter().any(|each| each == wanted)).map(|list| list.join(", "))
        };
        if let Some(targets) = is_missing(&system.boot.targets, target.as_str()) {
            return Err(Failure::new(FailureKind::Unusable, format!("it can boot only {targets}")));
        }
        if let Some(durations) = is_missing(&system.boot.durations, "Once") {
            return Err(Failure::new(FailureKind::Unusable, format!("it takes no Once, only {durations}")));
        }
        let mut boot =
            json!({"BootSourceOverrideTarget": target.as_str(), "BootSourceOverrideEnabled": "Once"});
        if system.boot.is_legacy && target == RedfishBoot::UefiHttp {
            boot["BootSourceOverrideMode"] = json!("UEFI");
        }
        let body = json!({"Boot": boot});
        let mut if_match = system.etag.clone();
        let mut tries = 1;
        loop {
            let answer = self.door.send(&Call::patch(system.path.clone(), body.clone(), if_match)).await;
            let outdated = answer.as_ref().err().and_then(|failure| failure.status).is_some_and(|status| {
                matches!(status, StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED)
            });
            if !outdated || tries >= TRIES {
                return self.done(answer?).await;
            }
            tries += 1;
            system = self.look_again().await?;
            // Some want to hear of a version and show none.
            if_match = system.etag.clone().or_else(|| Some(HeaderValue::from_static("*")));
        }
    }

    async fn ask_reset(&self, wish: Wish) -> Result<(), Failure> {
        let system = self.look_again().await?;
        let Some(reset) = &system.reset else {
            return Err(Failure::new(FailureKind::Unusable, "it shows no action ComputerSystem.Reset"));
        };
        let kinds = wish.reset_types();
        let kind = match self.allowed(&system).await {
            None => kinds.first(),
            Some(allowed) => match kinds.iter().find(|kind| allowed.iter().any(|each| each == *kind)) {
                None => {
                    let words = format!("it offers {}, and not {}", allowed.join(", "), kinds.join(" or "));
                    return Err(Failure::new(FailureKind::Unusable, words));
                }
                found => found,
            },
        };
        let answer = self.door.send(&Call::post(reset.target.clone(), json!({"ResetType": kind}))).await?;
        self.done(answer).await
    }

    /// What may be asked for, if the BMC says so.
    async fn allowed(&self, system: &System) -> Option<Vec<String>> {
        let reset = system.reset.as_ref()?;
        if reset.allowed.is_some() {
            return reset.allowed.clone();
        }
        let answer = self.door.send(&Call::get(reset.info.clone()?)).await.ok()?;
        allowed_by_info(&answer.body, "ResetType")
    }
}

/// The last parts of paths, for people.
fn ids(paths: &[String]) -> String {
    let each = paths.iter().map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path));
    let ids: Vec<&str> = each.take(20).collect();
    if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
}
