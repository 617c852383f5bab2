use std::ops::Range;

/// Which offers pods may use, as bits: thousands of classes share hundreds of offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferSet(Vec<u64>);

const BITS: usize = 64;

impl OfferSet {
    /// The first offers, so many.
    pub fn first(offers: usize) -> Self {
        (0..offers).collect()
    }

    /// Adds an offer.
    pub fn insert(&mut self, offer: usize) {
        let word = offer / BITS;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (offer % BITS);
    }

    /// Whether an offer is among them.
    pub fn contains(&self, offer: usize) -> bool {
        self.0.get(offer / BITS).is_some_and(|word| word & (1 << (offer % BITS)) != 0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Those that are in a range.
    #[must_use]
    pub fn within(&self, range: &Range<usize>) -> Self {
        // The bits of a word from a number on.
        let from = |number: usize, word: usize| match number.saturating_sub(word * BITS) {
            skipped if skipped < BITS => u64::MAX << skipped,
            _ => 0,
        };
        let words = self.0.iter().take(range.end.div_ceil(BITS)).enumerate();
        Self(words.map(|(word, bits)| bits & from(range.start, word) & !from(range.end, word)).collect())
    }

    /// The offers in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            let mut bits = *bits;
            std::iter::from_fn(move || {
                let bit = usize::try_from(bits.trailing_zeros()).ok().filter(|bit| *bit < BITS)?;
                bits &= bits - 1;
                Some(word * BITS + bit)
            })
        })
    }
}

impl FromIterator<usize> for OfferSet {
    fn from_iter<I: IntoIterator<Item = usize>>(offers: I) -> Self {
        let mut set = Self::default();
        for offer in offers {
            set.insert(offer);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::OfferSet;

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let set: OfferSet = [700, 3, 64, 63, 3].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 700]);
        assert!(set.contains(64) && !set.contains(65) && !set.contains(10_000));
        assert_eq!(OfferSet::first(3).iter().count(), 3);
        let among = |range| set.within(&range).iter().collect::<Vec<_>>();
        assert_eq!(among(0..64), [3, 63]);
        assert_eq!(among(63..700), [63, 64]);
        assert_eq!(among(64..1000), [64, 700]);
    }
}
