use std::collections::BTreeMap;

use windlass_manifests::Flaw;

use crate::fields::Fields;
use crate::remark::Remarks;

/// Annotations that tools write for their own use and that say nothing about the object.
const BOOKKEEPING: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "karpenter.sh/nodepool-hash",
    "karpenter.sh/nodepool-hash-version",
    "karpenter.sh/stored-version-migrated",
    "compatibility.karpenter.sh/v1beta1-nodeclass-reference",
];

/// What every object begins with.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) name: String,
    /// Empty for what is in none.
    pub(crate) namespace: String,
    pub(crate) is_going: bool,
    marks: [(&'static str, BTreeMap<String, String>); 2],
}

impl Head {
    /// Takes what every object begins with, and its status, which is nobody's wish.
    pub(crate) fn take(object: &mut Fields) -> Result<Self, Flaw> {
        for name in ["apiVersion", "kind", "status"] {
            object.value(name);
        }
        let mut metadata = object.inner("metadata")?;
        let labels = metadata.text_map("labels")?;
        let mut annotations = metadata.text_map("annotations")?;
        annotations.retain(|key, _| !BOOKKEEPING.contains(&key.as_str()));
        Ok(Self {
            name: metadata.required("name")?,
            namespace: metadata.text("namespace")?.unwrap_or_default(),
            is_going: metadata.value("deletionTimestamp").is_some(),
            marks: [("metadata.labels", labels), ("metadata.annotations", annotations)],
        })
    }

    /// Tells of the labels and annotations of the object itself. By them tools such as those that deploy it know it as theirs,
    /// and would delete another one that has them too.
    pub(crate) fn tell_marks(&self, remarks: &mut Remarks) {
        for (field, marks) in &self.marks {
            if !marks.is_empty() {
                let keys: Vec<&str> = marks.keys().map(String::as_str).take(20).collect();
                let message = format!(
                    "{}: by these, tools may take the new object for theirs; add those that it is to have",
                    keys.join(", ")
                );
                remarks.left_out(*field, message);
            }
        }
    }
}
