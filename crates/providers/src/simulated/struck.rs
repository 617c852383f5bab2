//! What befalls one call.

use std::future::{Future, pending};

use futures::future::join;
use windlass_api::LimitedDuration;

use crate::ProviderError;

/// What befalls one call to a simulated provider.
#[derive(Debug, Default)]
pub(super) struct Struck {
    /// It fails before it has an effect.
    pub before: Option<ProviderError>,
    /// It is carried out twice at the same time.
    pub twice: bool,
    /// Its answer takes this long.
    pub delay: Option<LimitedDuration>,
    /// It fails after it had its effect.
    pub after: Option<ProviderError>,
}

impl Struck {
    /// Carries the call out, with all that befalls it.
    pub async fn carry_out<T, F>(self, call: impl Fn() -> F) -> Result<T, ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        if let Some(error) = self.before {
            return Err(error);
        }
        let answer = if self.twice {
            let (first, second) = join(call(), call()).await;
            first.or(second)
        } else {
            call().await
        };
        match self.delay {
            None => {}
            Some(LimitedDuration::After(delay)) => tokio::time::sleep(delay).await,
            Some(LimitedDuration::Never) => pending().await,
        }
        match self.after {
            Some(error) if answer.is_ok() => Err(error),
            _ => answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use tokio::time::{Instant, timeout};
    use windlass_api::LimitedDuration;

    use super::Struck;
    use crate::ProviderError;

    async fn effects(struck: Struck) -> (u32, Result<(), ProviderError>) {
        let effects = Cell::new(0);
        let answer = struck
            .carry_out(|| async {
                effects.set(effects.get() + 1);
                Ok(())
            })
            .await;
        (effects.get(), answer)
    }

    fn error() -> ProviderError {
        ProviderError::transient("simulated")
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_before_the_effect_prevents_it() {
        assert_eq!(effects(Struck { before: Some(error()), ..Struck::default() }).await, (0, Err(error())));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_after_the_effect_does_not_undo_it() {
        assert_eq!(effects(Struck { after: Some(error()), ..Struck::default() }).await, (1, Err(error())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_duplicate_has_its_effect_twice_and_one_answer() {
        assert_eq!(effects(Struck { twice: true, ..Struck::default() }).await, (2, Ok(())));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_comes_late_or_never() {
        let start = Instant::now();
        let slow = |delay| Struck { delay: Some(delay), ..Struck::default() };
        assert_eq!(effects(slow(LimitedDuration::seconds(60))).await, (1, Ok(())));
        assert_eq!(start.elapsed(), Duration::from_mins(1));
        assert!(timeout(Duration::from_hours(1), effects(slow(LimitedDuration::Never))).await.is_err());
    }
}
