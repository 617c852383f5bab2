use std::fmt;
use std::sync::{Mutex, PoisonError};

use ring::rand::{SecureRandom, SystemRandom};

/// Where secrets come from. Apart from other chance, since names, which anyone can see, must not give away what comes next.
pub trait SecretSource: fmt::Debug + Send + Sync {
    /// Fills a buffer with random bytes.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness>;
}

/// That the system has no randomness to give.
#[derive(Debug, thiserror::Error)]
#[error("the system has no randomness to give")]
pub struct NoRandomness;

/// The system's source, for all but simulations.
#[derive(Debug)]
pub struct SystemSecrets(SystemRandom);

impl Default for SystemSecrets {
    fn default() -> Self {
        Self(SystemRandom::new())
    }
}

impl SecretSource for SystemSecrets {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        self.0.fill(bytes).map_err(|_| NoRandomness)
    }
}

/// A source that follows a seed.
impl SecretSource for Mutex<fastrand::Rng> {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        self.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
        Ok(())
    }
}
