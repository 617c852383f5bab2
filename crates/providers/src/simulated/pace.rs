//! How often the simulated cloud tries one and the same thing.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::agenda::Duty;

/// How long a machine's end is older than the silence of its node. Whoever ended the machine mostly deletes the node at
/// once, and KWOK takes notice of that only while the node still bears its annotation.
const BURIAL: Duration = Duration::from_secs(1);

/// How long what is being done is held back: it says itself when it is done, and that is sooner.
const UNDER_WAY: Duration = Duration::from_hours(1);

/// When each duty may next be tried. What was done is due until the watch shows it, and what failed until it works.
#[derive(Debug, Default)]
pub(super) struct Pace(BTreeMap<(String, Duty), Instant>);

impl Pace {
    /// Those of all that is due which are to be tried now, at most so many. They are held back until they are done.
    /// What is not due any more is forgotten.
    pub fn admit(&mut self, due: Vec<(String, Duty)>, now: Instant, hands: usize) -> Vec<(String, Duty)> {
        let before = std::mem::take(&mut self.0);
        let mut admitted = Vec::new();
        for key in due {
            let first = if key.1 == Duty::Bury { now + BURIAL } else { now };
            let mut from = before.get(&key).copied().unwrap_or(first);
            if from <= now && admitted.len() < hands {
                admitted.push(key.clone());
                from = now + UNDER_WAY;
            }
            self.0.insert(key, from);
        }
        admitted
    }

    /// Notes that this is not to be tried again before then.
    pub fn hold(&mut self, key: (String, Duty), until: Instant) {
        self.0.insert(key, until);
    }

    /// When the first of what is held back may be tried. What only waits for hands is not held back.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        self.0.values().filter(|from| **from > now).min().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{BURIAL, Duty, Pace};

    fn due(duty: Duty) -> Vec<(String, Duty)> {
        vec![("m".to_owned(), duty)]
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_being_done_or_was_done_is_not_done_again_at_once() {
        let (mut pace, now, second) = (Pace::default(), Instant::now(), Duration::from_secs(1));
        assert_eq!(pace.admit(due(Duty::Register), now, 9), due(Duty::Register));
        assert!(pace.admit(due(Duty::Register), now + second, 9).is_empty());
        pace.hold(("m".to_owned(), Duty::Register), now + second);
        assert!(pace.admit(due(Duty::Register), now, 9).is_empty());
        assert_eq!(pace.next(now), Some(now + second));
        assert_eq!(pace.admit(due(Duty::Register), now + second, 9), due(Duty::Register));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_is_begun_than_there_are_hands() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        let both = [due(Duty::Register), due(Duty::Sicken)].concat();
        assert_eq!(pace.admit(both.clone(), now, 1), due(Duty::Register));
        assert!(pace.admit(both.clone(), now, 0).is_empty());
        assert!(pace.next(now).is_some_and(|next| next > now));
        assert_eq!(pace.admit(both, now, 1), due(Duty::Sicken));
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_falls_silent_a_while_after_its_machine() {
        let (mut pace, now) = (Pace::default(), Instant::now());
        assert!(pace.admit(due(Duty::Bury), now, 9).is_empty());
        assert_eq!(pace.admit(due(Duty::Bury), now + BURIAL, 9), due(Duty::Bury));
        assert!(pace.admit(Vec::new(), now, 9).is_empty());
        assert_eq!(pace.next(now), None);
    }
}
