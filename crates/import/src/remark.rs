use windlass_manifests::{Document, Place};

/// What a person should know about how an object was carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The object, as `NodePool general`.
    pub object: String,
    /// Where it is written.
    pub place: Place,
    /// The field, as `spec.template.spec.taints[0]`; empty where it is the object as a whole.
    pub field: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, and what to do about it.
    pub message: String,
}

/// What became of a field or of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is not in what was made.
    LeftOut,
    /// It is, in another form or with something to see to.
    Changed,
}

/// The remarks on one object.
#[derive(Debug)]
pub(crate) struct Remarks {
    object: String,
    place: Place,
    made: Vec<Remark>,
}

impl Remarks {
    pub(crate) fn on(document: &Document) -> Self {
        Self { object: document.object(), place: document.place.clone(), made: Vec::new() }
    }

    pub(crate) fn left_out(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add(Outcome::LeftOut, field.into(), message.into());
    }

    pub(crate) fn changed(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add(Outcome::Changed, field.into(), message.into());
    }

    pub(crate) fn into_vec(self) -> Vec<Remark> {
        self.made
    }

    fn add(&mut self, outcome: Outcome, field: String, message: String) {
        let (object, place) = (self.object.clone(), self.place.clone());
        self.made.push(Remark { object, place, field, outcome, message });
    }
}
