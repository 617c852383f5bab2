//! Calls to a provider that end in time, are not too many at once, and are tried again where that is safe.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use windlass_core::model::InstanceType;

use crate::{Inventory, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};

/// How a provider is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardSettings {
    /// How long a try may take, including the wait for its turn.
    pub timeout: Duration,
    /// How many tries may be under way at once.
    pub concurrency: usize,
    /// How often a call that changes nothing is tried in all.
    pub attempts: u32,
    /// The longest pause after the first try; it doubles with each further one.
    pub first_pause: Duration,
    /// The longest pause after any try. A provider that asks for a longer one gets its error passed on.
    pub longest_pause: Duration,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            concurrency: 32,
            attempts: 3,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(10),
        }
    }
}

/// A provider whose calls end in time and are not too many at once. Calls that change nothing are tried again, after
/// a random pause, when they fail in a way that may pass; launch and terminate are not, because their caller knows
/// when that is safe.
pub struct Guarded {
    inner: Arc<dyn Provider>,
    settings: GuardSettings,
    turns: Semaphore,
    rng: Mutex<Rng>,
}

impl Guarded {
    /// Guards a provider. The randomness is passed in, so that it can be seeded.
    pub fn new(inner: Arc<dyn Provider>, settings: GuardSettings, rng: Rng) -> Self {
        let turns = Semaphore::new(settings.concurrency.clamp(1, Semaphore::MAX_PERMITS));
        Self { inner, settings, turns, rng: Mutex::new(rng) }
    }

    async fn once<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let in_turn = async {
            let _turn = self.turns.acquire().await.map_err(ProviderError::transient)?;
            call.await
        };
        let late = |_| ProviderError::transient(format!("timed out after {:?}", self.settings.timeout));
        timeout(self.settings.timeout, in_turn).await.map_err(late)?
    }

    async fn again<T, F>(&self, call: impl Fn() -> F) -> Result<T, ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        let mut tries = 1;
        loop {
            let answer = self.once(call()).await;
            let Some(pause) = answer.as_ref().err().and_then(|error| self.pause(error, tries)) else {
                return answer;
            };
            sleep(pause).await;
            tries += 1;
        }
    }

    /// How long to wait after so many tries, if there is to be another.
    fn pause(&self, error: &ProviderError, tries: u32) -> Option<Duration> {
        let asked = match error {
            ProviderError::Transient { .. } => Duration::ZERO,
            ProviderError::Throttled { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => return None,
        };
        if tries >= self.settings.attempts || asked > self.settings.longest_pause {
            return None;
        }
        let doubled =
            self.settings.first_pause.saturating_mul(1_u32.checked_shl(tries - 1).unwrap_or(u32::MAX));
        let half = doubled.min(self.settings.longest_pause) / 2;
        let share = self.rng.lock().unwrap_or_else(PoisonError::into_inner).f64();
        Some((half + half.mul_f64(share)).max(asked))
    }
}

#[async_trait]
impl Provider for Guarded {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.again(|| self.inner.instance_types()).await
    }

    async fn launch(&self, request: &LaunchRequest) -> Result<Machine, ProviderError> {
        self.once(self.inner.launch(request)).await
    }

    async fn terminate(&self, provider_id: &str, tag: &MachineTag) -> Result<Termination, ProviderError> {
        self.once(self.inner.terminate(provider_id, tag)).await
    }

    async fn get(&self, provider_id: &str) -> Result<Machine, ProviderError> {
        self.again(|| self.inner.get(provider_id)).await
    }

    async fn list(&self) -> Result<Vec<Machine>, ProviderError> {
        self.again(|| self.inner.list()).await
    }

    async fn inventory(&self) -> Result<Inventory, ProviderError> {
        self.again(|| self.inner.inventory()).await
    }

    async fn run(&self) {
        self.inner.run().await;
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded")
            .field("inner", &self.inner)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
