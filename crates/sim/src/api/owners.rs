use serde_json::{Value, json};

use super::fields::FieldSet;
use super::schema::Schema;
use super::typed::{Difference, compare, fields_of, misfit};

/// Who writes: as whom, to which part of the object, and whether by declaring all that they want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manager {
    pub name: String,
    pub applies: bool,
    pub status: bool,
}

/// Whose the fields of a custom resource are. Kubernetes keeps this in `metadata.managedFields`; here it decides what
/// server-side apply removes, and nobody is shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners(Vec<(Manager, FieldSet)>);

impl Owners {
    /// Whose the fields of a new object are.
    pub fn of_new(object: &Value, schema: &Schema, by: &Manager) -> Self {
        let mut owners = Self::default();
        if misfit(object, schema).is_none() {
            owners.take(&json!({}), object, schema, by);
        }
        owners
    }

    /// Notes a write that was not an apply: who changes a field takes it over. What cannot be noted of a field of the
    /// wrong type, and be it in a part that is not written, makes the server forget all, and it keeps nothing then until
    /// someone applies.
    pub fn written(&mut self, before: &Value, after: &Value, schema: &Schema, by: &Manager) {
        if misfit(after, schema).is_some() {
            self.0.clear();
        }
        if !self.0.is_empty() {
            self.take(before, after, schema, by);
        }
    }

    /// Notes what there is before the first apply to an object of which nothing is noted.
    pub fn begin(&mut self, live: &Value, schema: &Schema, by: &Manager) {
        if self.0.is_empty() {
            let by = Manager { name: "before-first-apply".to_owned(), applies: false, ..by.clone() };
            self.take(&json!({}), live, schema, &by);
        }
    }

    fn take(&mut self, before: &Value, after: &Value, schema: &Schema, by: &Manager) {
        let difference = self.compare(before, after, schema, by);
        for (manager, set) in &mut self.0 {
            if manager != by {
                set.remove_all(&difference.set);
            }
            set.remove_all(&difference.removed);
        }
        match self.0.iter_mut().find(|(manager, _)| manager == by) {
            Some((_, set)) => set.add_all(&difference.set),
            None => self.0.push((by.clone(), difference.set)),
        }
        self.drop_empty();
    }

    /// Notes what someone declares to want, and returns what they declared the last time.
    pub fn declared(&mut self, configuration: &Value, schema: &Schema, by: &Manager) -> FieldSet {
        let mut wanted = fields_of(configuration, schema);
        by.forget_what_is_not_theirs(&mut wanted);
        match self.0.iter_mut().find(|(manager, _)| manager == by) {
            Some((_, set)) => std::mem::replace(set, wanted),
            None => {
                self.0.push((by.clone(), wanted));
                FieldSet::default()
            }
        }
    }

    /// Everything that somebody owns.
    pub fn owned(&self) -> FieldSet {
        let mut all = FieldSet::default();
        self.0.iter().for_each(|(_, set)| all.add_all(set));
        all
    }

    /// Takes from others what an apply changes; without force, names one of those who would lose something.
    pub fn taken_over(
        &mut self,
        before: &Value,
        after: &Value,
        schema: &Schema,
        by: &Manager,
        force: bool,
    ) -> Result<(), String> {
        let difference = self.compare(before, after, schema, by);
        let mut others = self.0.iter_mut().filter(|(manager, _)| manager != by);
        if !force && let Some((loser, _)) = others.find(|(_, set)| set.meets(&difference.set)) {
            return Err(loser.name.clone());
        }
        for (manager, set) in &mut self.0 {
            if manager != by {
                set.remove_all(&difference.set);
                set.remove_all(&difference.removed);
            }
        }
        self.drop_empty();
        Ok(())
    }

    fn compare(&self, before: &Value, after: &Value, schema: &Schema, by: &Manager) -> Difference {
        let mut difference = compare(before, after, schema);
        by.forget_what_is_not_theirs(&mut difference.set);
        by.forget_what_is_not_theirs(&mut difference.removed);
        difference
    }

    fn drop_empty(&mut self) {
        self.0.retain(|(_, set)| !set.is_empty());
        // In an order that does not depend on who came first.
        self.0.sort_by(|(a, _), (b, _)| (&a.name, a.applies, a.status).cmp(&(&b.name, b.applies, b.status)));
    }
}

impl Manager {
    /// Leaves out what is nobody's, and what this part of the object does not let them write.
    fn forget_what_is_not_theirs(&self, set: &mut FieldSet) {
        let nobodys = [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "generation",
            "managedFields",
            "resourceVersion",
        ];
        for top in ["apiVersion", "kind"] {
            set.remove_branch(&[top]);
        }
        if self.status {
            set.remove_branch(&["metadata"]);
            set.remove_branch(&["spec"]);
        } else {
            set.remove_branch(&["status"]);
            for field in nobodys {
                set.remove_branch(&["metadata", field]);
            }
        }
    }
}
