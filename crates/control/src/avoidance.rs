use std::collections::BTreeMap;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::OfferingKey;

use crate::Settings;

/// Offerings that could not be had lately. They are left alone for a while that doubles each time, so that a shortage
/// does not turn into a storm of launches. Kept in memory only: after a restart each is tried once more.
#[derive(Debug, Default)]
pub(crate) struct Avoidance {
    avoided: BTreeMap<(Text, OfferingKey), Strikes>,
}

#[derive(Clone, Copy, Debug)]
struct Strikes {
    count: u32,
    until: Timestamp,
}

impl Avoidance {
    /// Notes that an offering could not be had. While it is avoided already, further failures change nothing: they were
    /// asked for before the first was known.
    pub(crate) fn strike(&mut self, provider: &Text, key: &OfferingKey, settings: &Settings, now: Timestamp) {
        let entry =
            self.avoided.entry((provider.clone(), key.clone())).or_insert(Strikes { count: 0, until: now });
        if entry.count == 0 || entry.until <= now {
            entry.count += 1;
            entry.until = now.saturating_add(settings.avoid_for(entry.count)).unwrap_or(Timestamp::MAX);
        }
    }

    /// Notes that an offering was had.
    pub(crate) fn forgive(&mut self, provider: &Text, key: &OfferingKey) -> bool {
        self.avoided.remove(&(provider.clone(), key.clone())).is_some()
    }

    /// Until when an offering is to be left alone.
    pub(crate) fn until(&self, provider: &Text, key: &OfferingKey) -> Option<Timestamp> {
        self.avoided.get(&(provider.clone(), key.clone())).map(|strikes| strikes.until)
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};
    use windlass_core::model::OfferingKey;

    use super::Avoidance;
    use crate::Settings;

    #[test]
    fn an_offering_that_keeps_failing_is_avoided_for_longer_each_time() {
        let settings = Settings::new("c".into(), "n".into(), "me".into());
        let key = OfferingKey { instance_type: "t".into(), zone: "z".into(), capacity_type: "spot".into() };
        let (provider, start, mut avoidance) = ("p".into(), Timestamp::UNIX_EPOCH, Avoidance::default());
        avoidance.strike(&provider, &key, &settings, start);
        avoidance.strike(&provider, &key, &settings, start + 1.second());
        assert_eq!(avoidance.until(&provider, &key), Some(start + 60.seconds()), "a burst counts once");
        avoidance.strike(&provider, &key, &settings, start + 60.seconds());
        assert_eq!(avoidance.until(&provider, &key), Some(start + 180.seconds()));
        assert!(avoidance.forgive(&provider, &key));
        assert_eq!(avoidance.until(&provider, &key), None);
    }
}
