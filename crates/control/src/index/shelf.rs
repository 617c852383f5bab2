use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use super::Changed;

/// Objects of one kind by their names, as planning sees them. Most changes of such objects are to parts that planning does
/// not see, and those concern nobody.
#[derive(Debug)]
pub struct Shelf<K, V>(Arc<BTreeMap<K, V>>);

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Ord + Clone + Display, V: Clone + PartialEq> Shelf<K, V> {
    /// Takes in an object.
    pub fn saw(&mut self, name: K, object: V) -> Changed {
        if self.0.get(&name) == Some(&object) {
            return Changed::nothing();
        }
        Arc::make_mut(&mut self.0).insert(name, object);
        Changed::plan()
    }

    /// Takes in that an object is gone.
    pub fn lost<Q: Ord + ?Sized>(&mut self, name: &Q) -> Changed
    where
        K: Borrow<Q>,
    {
        if !self.0.contains_key(name) {
            return Changed::nothing();
        }
        Arc::make_mut(&mut self.0).remove(name);
        Changed::plan()
    }

    /// Takes in that only these objects exist.
    pub fn retain(&mut self, seen: &BTreeSet<String>) -> Changed {
        let exists = |name: &K| seen.contains(&name.to_string());
        if self.0.keys().all(exists) {
            return Changed::nothing();
        }
        Arc::make_mut(&mut self.0).retain(|name, _| exists(name));
        Changed::plan()
    }

    /// The objects, for planning.
    pub fn model(&self) -> Arc<BTreeMap<K, V>> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use windlass_core::Text;
    use windlass_core::model::PodId;

    use super::{Changed, Shelf};

    #[test]
    fn only_what_changes_the_model_concerns_the_planner() {
        let mut shelf: Shelf<Text, u32> = Shelf::default();
        assert_eq!(shelf.saw("a".into(), 1), Changed::plan());
        assert_eq!(shelf.saw("a".into(), 1), Changed::nothing());
        assert_eq!(shelf.saw("a".into(), 2), Changed::plan());
        assert_eq!(shelf.lost("b"), Changed::nothing());
        assert_eq!(shelf.lost("a"), Changed::plan());
        assert!(shelf.model().is_empty());
    }

    #[test]
    fn what_a_list_does_not_name_is_gone() {
        let mut shelf: Shelf<PodId, u32> = Shelf::default();
        shelf.saw(PodId::new("d", "a"), 1);
        shelf.saw(PodId::new("d", "b"), 2);
        let both = BTreeSet::from(["d/a".to_owned(), "d/b".to_owned()]);
        assert_eq!(shelf.retain(&both), Changed::nothing());
        let one = BTreeSet::from(["d/b".to_owned()]);
        assert_eq!(shelf.retain(&one), Changed::plan());
        assert_eq!(shelf.model().keys().map(ToString::to_string).collect::<Vec<_>>(), ["d/b"]);
    }

    #[test]
    fn a_snapshot_stays_as_it_was_taken() {
        let mut shelf: Shelf<Text, u32> = Shelf::default();
        shelf.saw("a".into(), 1);
        let before = shelf.model();
        shelf.saw("a".into(), 2);
        assert_eq!((before["a"], shelf.model()["a"]), (1, 2));
    }
}
