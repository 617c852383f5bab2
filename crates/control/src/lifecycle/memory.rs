use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use windlass_core::Text;
use windlass_providers::{Machine, ProviderError, Termination};

use super::{Answer, Nominations};
use crate::planted::{Mistake, is_planted};

/// What is remembered of a claim between steps. None of it has to survive a restart: without it, everything is asked
/// again.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The answers of the provider that there is no such machine.
    pub absence: Absence,
    /// How many errors there were in a row.
    pub errors: u32,
    /// The nominations of pods to the claim's node; who is missing is looked up each time.
    pub nominations: Nominations,
    /// What the provider last said about how long the machine will do.
    pub outlook: Option<Outlook>,
    /// Since when it has been in doubt whether its machine has become a node that the index does not know of.
    pub node_missed_since: Option<Instant>,
    /// The answer to the last effect, not yet looked at.
    pub answer: Option<Answer>,
}

/// How long a machine will do, as its provider sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// When the provider will end it.
    pub ends_at: Option<Timestamp>,
    /// In which way it is not what the provider would launch today.
    pub drift: Option<Text>,
}

impl Outlook {
    /// What a provider says of a machine. Of the time only what the API keeps, which is whole seconds: with more, a status
    /// that is read would never be the one that was written.
    pub fn of(machine: &Machine) -> Self {
        let whole = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time);
        Self { ends_at: machine.ends_at.map(whole), drift: machine.drift.clone() }
    }
}

/// How sure it is that a machine does not exist. An error, a timeout or a single empty answer is never proof: it takes
/// two answers, some time apart, and no sight of the machine in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Absence {
    /// Whether a list lacked the machine. Lists lag, so that is a reason to ask and no answer.
    unlisted: bool,
    times: u32,
    last: Option<Timestamp>,
}

impl Absence {
    /// Whether it is proven.
    pub fn is_proven(self) -> bool {
        self.times >= 2 || (self.times == 1 && is_planted(Mistake::TrustsOneAnswer))
    }

    /// Whether it was ever said.
    pub fn is_suspected(self) -> bool {
        self.unlisted || self.times > 0
    }

    /// Takes in an answer that there is no such machine. One that follows too soon on the last tells nothing new. When the
    /// clock was set back, nobody knows how long ago the last was: it counts from now.
    #[must_use]
    pub fn said_again(self, now: Timestamp, interval: Duration) -> Self {
        match self.last {
            Some(last) if now < last => Self { last: Some(now), ..self },
            Some(last) if now.duration_since(last) < signed(interval) => self,
            _ => Self { times: self.times.saturating_add(1), last: Some(now), ..self },
        }
    }

    /// How long to wait before asking again tells something new.
    pub fn ask_after(self, now: Timestamp, interval: Duration) -> Duration {
        let Some(last) = self.last else { return Duration::ZERO };
        let passed = now.duration_since(last).max(SignedDuration::ZERO);
        signed(interval).saturating_sub(passed).max(SignedDuration::ZERO).unsigned_abs()
    }
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

impl Memory {
    /// Takes in the answer to an effect, to be looked at in the next step.
    pub fn take_in(&mut self, answer: Answer, absence_interval: Duration, now: Timestamp) {
        match &answer {
            Answer::Got(Ok(machine)) | Answer::Found(Ok(Some(machine))) | Answer::Launched(Ok(machine)) => {
                self.absence = Absence::default();
                self.outlook = Some(Outlook::of(machine));
            }
            Answer::Terminated(Ok(Termination::UnderWay)) => self.absence = Absence::default(),
            // A machine that has lost our mark is not ours to end: for us it is as good as gone.
            Answer::Found(Ok(None))
            | Answer::Got(Err(ProviderError::NotFound { .. }))
            | Answer::Terminated(
                Ok(Termination::Gone) | Err(ProviderError::NotFound { .. } | ProviderError::NotOurs { .. }),
            ) => {
                self.absence = self.absence.said_again(now, absence_interval);
            }
            _ => {}
        }
        if answer.is_error() {
            self.errors = self.errors.saturating_add(1);
        } else {
            self.errors = 0;
        }
        self.answer = Some(answer);
    }

    /// Takes in whether the machine was in a complete list of the provider's machines. Lists that lack it raise a
    /// suspicion, however many they are; only an answer about the machine itself can prove its absence.
    pub fn listed(&mut self, machine: Option<&Machine>) {
        if let Some(machine) = machine {
            self.absence = Absence::default();
            self.outlook = Some(Outlook::of(machine));
        } else if is_planted(Mistake::TrustsLists) {
            self.absence = Absence { times: 2, ..self.absence };
        } else {
            self.absence.unlisted = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{Timestamp, ToSpan};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use serde_json::{from_value, to_value};
    use windlass_providers::{Machine, ProviderError, Termination};

    use super::{Absence, Memory, Outlook};
    use crate::lifecycle::Answer;
    use crate::lifecycle::tests::machine;

    const INTERVAL: Duration = Duration::from_secs(5);
    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn an_end_between_two_seconds_reads_back_from_the_api_as_it_was_told() {
        let ends_at = Some(NOW + 1_500.milliseconds());
        let told = Outlook::of(&Machine { ends_at, ..machine("uid") }).ends_at.map(Time);
        let kept: Option<Time> = from_value(to_value(&told).unwrap()).unwrap();
        assert_eq!(kept, told);
    }

    #[test]
    fn absence_takes_two_answers_some_time_apart() {
        let once = Absence::default().said_again(NOW, INTERVAL);
        assert!(once.is_suspected() && !once.is_proven());
        let too_soon = once.said_again(NOW + 4.seconds(), INTERVAL);
        assert!(!too_soon.is_proven());
        assert_eq!(too_soon.ask_after(NOW + 4.seconds(), INTERVAL), Duration::from_secs(1));
        assert_eq!(too_soon.ask_after(NOW + 60.seconds(), INTERVAL), Duration::ZERO);
        assert!(too_soon.said_again(NOW + 5.seconds(), INTERVAL).is_proven());
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_absence_from_being_proven() {
        let once = Absence::default().said_again(NOW + 1.hour(), INTERVAL);
        let set_back = once.said_again(NOW, INTERVAL);
        assert!(!set_back.is_proven(), "nobody knows how much later that was");
        assert!(set_back.said_again(NOW + 5.seconds(), INTERVAL).is_proven());
    }

    #[test]
    fn a_sight_of_the_machine_makes_its_absence_unproven_again() {
        let (mut memory, machine) = (Memory::default(), machine("u"));
        memory.take_in(Answer::Terminated(Ok(Termination::Gone)), INTERVAL, NOW);
        memory.listed(Some(&machine));
        memory.take_in(Answer::Found(Ok(None)), INTERVAL, NOW + 5.seconds());
        assert!(!memory.absence.is_proven());
    }

    #[test]
    fn a_list_raises_a_suspicion_and_is_none_of_the_two_answers() {
        let mut memory = Memory::default();
        memory.listed(None);
        assert!(memory.absence.is_suspected());
        let gone = || Answer::Got(Err(ProviderError::NotFound { provider_id: "m".to_owned() }));
        memory.take_in(gone(), INTERVAL, NOW + 60.seconds());
        assert!(!memory.absence.is_proven());
        memory.take_in(gone(), INTERVAL, NOW + 65.seconds());
        assert!(memory.absence.is_proven());
    }

    #[test]
    fn an_error_proves_nothing() {
        let mut memory = Memory::default();
        for second in 0..100 {
            let error = ProviderError::transient("timed out");
            memory.take_in(Answer::Terminated(Err(error)), INTERVAL, NOW + second.seconds());
        }
        assert!(!memory.absence.is_suspected());
        assert_eq!(memory.errors, 100);
    }
}
