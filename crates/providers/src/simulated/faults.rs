//! Which machines and calls a simulated provider's faults strike.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windlass_api::{Fault, FaultEffect, LaunchErrorKind, LimitedDuration, ProviderCall};

use super::aim::{Aim, Subject};
use super::record::Fate;
use super::struck::Struck;
use crate::ProviderError;

/// The faults of one provider.
#[derive(Debug)]
pub(super) struct Faults {
    calls: Vec<CallFault>,
    machines: Vec<MachineFault>,
    /// How many calls about no machine there were, from which their luck is drawn.
    drawn: AtomicU64,
}

#[derive(Debug)]
struct CallFault {
    aim: Aim,
    calls: Vec<ProviderCall>,
    effect: CallEffect,
}

#[derive(Clone, Copy, Debug)]
enum CallEffect {
    Error(LaunchErrorKind),
    ErrorAfterEffect(LaunchErrorKind),
    SlowAnswer(LimitedDuration),
    DuplicateAnswer,
}

#[derive(Debug)]
struct MachineFault {
    aim: Aim,
    effect: MachineEffect,
}

#[derive(Clone, Copy, Debug)]
enum MachineEffect {
    NeverRegister,
    NotReady(Option<Duration>),
    Vanish(Option<Duration>),
}

impl Faults {
    /// Reads the faults of a specification; the error names the fault by its place.
    pub fn read(given: &[Fault]) -> Result<Self, ProviderError> {
        let mut faults = Self { calls: Vec::new(), machines: Vec::new(), drawn: AtomicU64::new(0) };
        for (index, fault) in given.iter().enumerate() {
            faults.add(index, fault).map_err(|wrong| ProviderError::InvalidConfiguration {
                message: format!("faults[{index}] ({:?}): {wrong}", fault.effect),
            })?;
        }
        Ok(faults)
    }

    fn add(&mut self, index: usize, given: &Fault) -> Result<(), &'static str> {
        let aim = Aim::read(index, given)?;
        let error = given.error.ok_or("error: say which one");
        let after = given.after.ok_or("after: say how long");
        let mut strike_calls = |effect| {
            let calls = given.calls.clone();
            self.calls.push(CallFault { aim: aim.clone(), calls, effect });
        };
        let mut strike_machines = |effect| {
            self.machines.push(MachineFault { aim: aim.clone(), effect });
        };
        match given.effect {
            FaultEffect::Error => strike_calls(CallEffect::Error(error?)),
            FaultEffect::ErrorAfterEffect => strike_calls(CallEffect::ErrorAfterEffect(error?)),
            FaultEffect::SlowAnswer => strike_calls(CallEffect::SlowAnswer(after?)),
            FaultEffect::DuplicateAnswer => strike_calls(CallEffect::DuplicateAnswer),
            FaultEffect::NeverRegister => strike_machines(MachineEffect::NeverRegister),
            FaultEffect::NotReady => strike_machines(MachineEffect::NotReady(after?.limit())),
            FaultEffect::Vanish => strike_machines(MachineEffect::Vanish(after?.limit())),
        }
        Ok(())
    }

    /// Whether any fault may strike such a call.
    pub fn concern(&self, call: ProviderCall) -> bool {
        self.calls.iter().any(|fault| fault.concerns(call))
    }

    /// What befalls a call.
    pub fn strike(&self, call: ProviderCall, subject: Option<Subject<'_>>) -> Struck {
        let mut struck = Struck::default();
        if !self.concern(call) {
            return struck;
        }
        let number = if subject.is_none() { self.drawn.fetch_add(1, Ordering::Relaxed) } else { 0 };
        for fault in self.calls.iter().filter(|fault| fault.concerns(call)) {
            let hit = subject.map_or_else(|| fault.aim.hits_call(number), |subject| fault.aim.hits(subject));
            match fault.effect {
                _ if !hit => {}
                CallEffect::Error(kind) => struck.before = struck.before.or_else(|| Some(simulated(kind))),
                CallEffect::ErrorAfterEffect(kind) => {
                    struck.after = struck.after.or_else(|| Some(simulated(kind)));
                }
                CallEffect::SlowAnswer(delay) => struck.delay = Some(delay),
                CallEffect::DuplicateAnswer => struck.twice = call == ProviderCall::Launch,
            }
        }
        struck
    }

    /// Whether lists name this machine twice.
    pub fn doubles(&self, subject: Subject<'_>) -> bool {
        self.calls.iter().any(|fault| {
            matches!(fault.effect, CallEffect::DuplicateAnswer)
                && fault.concerns(ProviderCall::List)
                && fault.aim.hits(subject)
        })
    }

    /// What will become of a machine that takes this long to boot.
    pub fn fate(&self, subject: Subject<'_>, boot: LimitedDuration) -> Fate {
        let sooner = |one: Option<Duration>, other: Option<Duration>| one.into_iter().chain(other).min();
        let mut fate = Fate { boot: boot.limit(), ..Fate::default() };
        for fault in self.machines.iter().filter(|fault| fault.aim.hits(subject)) {
            match fault.effect {
                MachineEffect::NeverRegister => fate.boot = None,
                MachineEffect::NotReady(after) => fate.not_ready = sooner(fate.not_ready, after),
                MachineEffect::Vanish(after) => fate.vanish = sooner(fate.vanish, after),
            }
        }
        fate
    }
}

impl CallFault {
    fn concerns(&self, call: ProviderCall) -> bool {
        self.calls.is_empty() || self.calls.contains(&call)
    }
}

fn simulated(kind: LaunchErrorKind) -> ProviderError {
    let message = format!("simulated fault: {kind:?}");
    match kind {
        LaunchErrorKind::InsufficientCapacity => ProviderError::InsufficientCapacity { message },
        LaunchErrorKind::Quota => ProviderError::Quota { message },
        LaunchErrorKind::Throttled => {
            ProviderError::Throttled { message, retry_after: Some(Duration::from_secs(1)) }
        }
        LaunchErrorKind::Unauthorized => ProviderError::Unauthorized { message },
        LaunchErrorKind::InvalidConfiguration => ProviderError::InvalidConfiguration { message },
        LaunchErrorKind::Transient => ProviderError::Transient { message },
    }
}

#[cfg(test)]
mod tests;
