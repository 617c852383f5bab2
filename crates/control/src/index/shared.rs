use std::collections::BTreeSet;
use std::sync::Arc;

/// Values that many objects have in common, each held once: shapes and labels of pods, and the names in them.
#[derive(Debug)]
pub(super) struct Shared<T: Ord + ?Sized> {
    known: BTreeSet<Arc<T>>,
    tidy_at: usize,
}

/// Fewer values than this are not worth looking through.
const TIDY_AT_LEAST: usize = 1024;

impl<T: Ord + ?Sized> Shared<T> {
    /// The value that is held in place of this one, if one is.
    pub(super) fn known(&self, value: &T) -> Option<Arc<T>> {
        self.known.get(value).cloned()
    }

    /// The value that is held in place of this one, which from now on is this one if there was none. What nobody uses any
    /// more is let go whenever the number of values has doubled, so that a cluster in which everything keeps changing does
    /// not fill the memory.
    pub(super) fn share(&mut self, value: Arc<T>) -> Arc<T> {
        if let Some(known) = self.known(&value) {
            return known;
        }
        if self.known.len() >= self.tidy_at {
            self.known.retain(|value| Arc::strong_count(value) > 1);
            self.tidy_at = (2 * self.known.len()).max(TIDY_AT_LEAST);
        }
        self.known.insert(value.clone());
        value
    }
}

impl<T: Ord + ?Sized> Default for Shared<T> {
    fn default() -> Self {
        Self { known: BTreeSet::new(), tidy_at: TIDY_AT_LEAST }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Shared, TIDY_AT_LEAST};

    #[test]
    fn equal_values_are_held_once() {
        let mut names: Shared<str> = Shared::default();
        let first = names.share("a".into());
        assert!(Arc::ptr_eq(&first, &names.share("a".into())));
        assert!(names.known("b").is_none());
    }

    #[test]
    fn what_nobody_uses_is_let_go_in_time() {
        let mut numbers: Shared<usize> = Shared::default();
        let kept = numbers.share(Arc::new(0));
        for number in 1..100 * TIDY_AT_LEAST {
            numbers.share(Arc::new(number));
        }
        assert!(numbers.known.len() <= 2 * TIDY_AT_LEAST);
        assert!(Arc::ptr_eq(&kept, &numbers.share(Arc::new(0))));
    }
}
