use std::fmt;

/// Where an object is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, or what stands for it.
    pub file: String,
    /// The number of the document in it, from 1. Documents without content do not count.
    pub document: usize,
    /// The number of the object in a list, from 1.
    pub item: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, document {}", self.file, self.document)?;
        self.item.map_or(Ok(()), |item| write!(f, ", item {item}"))
    }
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{}: {flaw}", .object.as_ref().map(|object| format!(" ({object})")).unwrap_or_default())]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// The object, as `Deployment default/web`, as far as that could be read.
    pub object: Option<String>,
    /// What.
    pub flaw: Flaw,
}

/// What is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The field, as `spec.template.spec.containers[0].image`; empty where it is the object as a whole.
    pub field: String,
    /// What is wrong with it and what to do.
    pub message: String,
}

impl Flaw {
    /// Something wrong with a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }

    /// The same flaw seen from further up.
    pub(crate) fn within(self, field: &str) -> Self {
        Self { field: join(field, &self.field), message: self.message }
    }
}

/// The name of a field in another.
pub fn join(outer: &str, inner: &str) -> String {
    match (outer, inner) {
        ("", only) | (only, "") => only.to_owned(),
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}
