use std::collections::BTreeMap;

use windlass_core::Text;
use windlass_core::model::OfferingKey;

use super::entry::Entry;
use crate::index::Index;

/// What providers have, less what was claimed and is not launched yet: of that they do not know.
pub(super) struct Stock {
    left: BTreeMap<(Text, OfferingKey), u32>,
}

impl Stock {
    pub(super) fn new(index: &Index) -> Self {
        let mut left: BTreeMap<(Text, OfferingKey), u32> = BTreeMap::new();
        for (provider, entry) in index.providers() {
            for kind in entry.last_offer.iter() {
                let known = kind.offerings.iter().filter_map(|each| Some((kind.key(each), each.available?)));
                left.extend(known.map(|(key, available)| ((provider.clone(), key), available)));
            }
        }
        for claim in index.claims.model().values() {
            let awaits = claim.launched.is_none() && !claim.deleting && !claim.given_up;
            let (Some(pool), Some(first)) = (index.pool(&claim.pool), claim.offerings.first()) else {
                continue;
            };
            if let Some(available) = left.get_mut(&(pool.provider.clone(), first.key.clone())) {
                *available = available.saturating_sub(u32::from(awaits));
            }
        }
        Self { left }
    }

    /// How many more machines of a group a provider has, where that is known.
    pub(super) fn left(&self, provider: &Text, entry: &Entry) -> Option<u32> {
        self.left.get(&(provider.clone(), entry.id.key.clone())).copied()
    }
}
