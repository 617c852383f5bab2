use std::collections::{BTreeSet, HashMap};

/// Names grouped by what they have in common.
#[derive(Debug, Default)]
pub(super) struct Groups(HashMap<String, BTreeSet<String>>);

impl Groups {
    pub(super) fn insert(&mut self, group: &str, member: &str) {
        self.0.entry(group.to_owned()).or_default().insert(member.to_owned());
    }

    pub(super) fn remove(&mut self, group: &str, member: &str) {
        if let Some(members) = self.0.get_mut(group) {
            members.remove(member);
            if members.is_empty() {
                self.0.remove(group);
            }
        }
    }

    pub(super) fn of(&self, group: &str) -> impl Iterator<Item = &str> {
        self.0.get(group).into_iter().flatten().map(String::as_str)
    }
}
