use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::OfferingKey;

/// Things that were tried lately to no avail: offerings that could not be had, pods that a new node did not help. They are
/// left alone for a while that doubles each time, so that a shortage does not turn into a storm of launches. Kept in
/// memory only: after a restart each is tried once more.
#[derive(Debug)]
pub(crate) struct Avoidance<K> {
    avoided: BTreeMap<K, Strikes>,
}

/// An offering, by its provider.
pub(crate) type OfferingOf = (Text, OfferingKey);

#[derive(Clone, Copy, Debug)]
struct Strikes {
    count: u32,
    until: Timestamp,
}

impl<K> Default for Avoidance<K> {
    fn default() -> Self {
        Self { avoided: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Avoidance<K> {
    /// Notes that something was tried to no avail. While it is avoided already, further failures change nothing: they
    /// were asked for before the first was known. `wait` says for how long it is avoided after the n-th time.
    pub(crate) fn strike(&mut self, key: K, wait: impl Fn(u32) -> Duration, now: Timestamp) {
        let entry = self.avoided.entry(key).or_insert(Strikes { count: 0, until: now });
        if entry.count == 0 || entry.until <= now {
            entry.count += 1;
            entry.until = now.saturating_add(wait(entry.count)).unwrap_or(Timestamp::MAX);
        }
    }

    /// Notes that it was of use.
    pub(crate) fn forgive(&mut self, key: &K) -> bool {
        self.avoided.remove(key).is_some()
    }

    /// All that were struck, and until when each is to be left alone.
    pub(crate) fn all(&self) -> BTreeMap<K, Timestamp> {
        self.avoided.iter().map(|(key, strikes)| (key.clone(), strikes.until)).collect()
    }

    /// Until when it is to be left alone.
    pub(crate) fn until(&self, key: &K) -> Option<Timestamp> {
        self.avoided.get(key).map(|strikes| strikes.until)
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};
    use windlass_core::Text;
    use windlass_core::model::OfferingKey;

    use super::Avoidance;
    use crate::Settings;

    #[test]
    fn an_offering_that_keeps_failing_is_avoided_for_longer_each_time() {
        let settings = Settings::new("c".into(), "n".into(), "me".into());
        let key = OfferingKey { instance_type: "t".into(), zone: "z".into(), capacity_type: "spot".into() };
        let (key, start) = ((Text::from("p"), key), Timestamp::UNIX_EPOCH);
        let mut avoidance = Avoidance::default();
        avoidance.strike(key.clone(), |strikes| settings.avoid_for(strikes), start);
        avoidance.strike(key.clone(), |strikes| settings.avoid_for(strikes), start + 1.second());
        assert_eq!(avoidance.until(&key), Some(start + 60.seconds()), "a burst counts once");
        avoidance.strike(key.clone(), |strikes| settings.avoid_for(strikes), start + 60.seconds());
        assert_eq!(avoidance.until(&key), Some(start + 180.seconds()));
        assert!(avoidance.forgive(&key));
        assert_eq!(avoidance.until(&key), None);
    }
}
