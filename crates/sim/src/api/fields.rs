use std::collections::BTreeMap;

/// A step of the way to a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// Into a map.
    Field(String),
    /// To the item of a list that has this key, or that is this.
    Item(String),
}

/// A set of fields of an object, as Kubernetes keeps it for those who write to the object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet(BTreeMap<Element, Branch>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branch {
    /// Whether the field itself is in the set, and not only some that are below it.
    is_member: bool,
    below: FieldSet,
}

impl FieldSet {
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        if !self.0.contains_key(first) {
            self.0.insert(first.clone(), Branch::default());
        }
        let Some(branch) = self.0.get_mut(first) else { return };
        if rest.is_empty() {
            branch.is_member = true;
        } else {
            branch.below.insert(rest);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What lies below a field, if anything does or the field is in the set.
    pub fn below(&self, element: &Element) -> Option<&Self> {
        self.0.get(element).map(|branch| &branch.below)
    }

    pub fn has(&self, element: &Element) -> bool {
        self.0.get(element).is_some_and(|branch| branch.is_member)
    }

    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.0.keys()
    }

    pub fn add_all(&mut self, other: &Self) {
        for (element, branch) in &other.0 {
            let mine = self.0.entry(element.clone()).or_default();
            mine.is_member |= branch.is_member;
            mine.below.add_all(&branch.below);
        }
    }

    /// Takes out each field that is in the other set. Fields below it stay.
    pub fn remove_all(&mut self, other: &Self) {
        self.0.retain(|element, branch| {
            if let Some(theirs) = other.0.get(element) {
                branch.is_member &= !theirs.is_member;
                branch.below.remove_all(&theirs.below);
            }
            branch.is_member || !branch.below.is_empty()
        });
    }

    /// Takes out a field of the object and everything below it.
    pub fn remove_branch(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else { return };
        let element = Element::Field((*first).to_owned());
        if rest.is_empty() {
            self.0.remove(&element);
        } else if let Some(branch) = self.0.get_mut(&element) {
            branch.below.remove_branch(rest);
            if !branch.is_member && branch.below.is_empty() {
                self.0.remove(&element);
            }
        }
    }

    /// Whether a field is in both sets.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|(element, branch)| {
            other.0.get(element).is_some_and(|theirs| {
                branch.is_member && theirs.is_member || branch.below.meets(&theirs.below)
            })
        })
    }
}
