use std::collections::BTreeMap;

use windlass_api::{NodeRequirement, RequirementOperator};
use windlass_manifests::{Flaw, join};

use super::keys::Key;
use crate::fields::Fields;
use crate::remark::Remarks;

/// What the labels of a template stand for.
pub(super) struct Labels {
    /// Those that nodes are given.
    pub(super) kept: BTreeMap<String, String>,
    /// Those that say which machines are taken.
    pub(super) requirements: Vec<NodeRequirement>,
}

const OURS: &str = "windlass.dev/";

/// The labels of a template.
pub(super) fn labels(metadata: &mut Fields, remarks: &mut Remarks) -> Result<Labels, Flaw> {
    let path = metadata.path("labels");
    let mut labels = Labels { kept: BTreeMap::new(), requirements: Vec::new() };
    for (name, value) in metadata.text_map("labels")? {
        let field = join(&path, &name);
        match Key::of(&name) {
            Key::OfMachines(key) => {
                let message = format!("becomes a requirement: only machines whose {key} is {value:?}");
                remarks.changed(field, message);
                let (operator, values) = (RequirementOperator::In, vec![value]);
                labels.requirements.push(NodeRequirement { key, operator, values, min_values: None });
            }
            Key::Plain(key) if !key.starts_with(OURS) => {
                labels.kept.insert(key, value);
            }
            Key::SetByUs | Key::Plain(_) => {
                remarks.left_out(field, "Windlass and the kubelet set this label: use another");
            }
            Key::Karpenters => {
                remarks.left_out(
                    field,
                    "is a label of Karpenter's own: use another, also where pods ask for it",
                );
            }
        }
    }
    Ok(labels)
}

/// The annotations of a template.
pub(super) fn annotations(
    metadata: &mut Fields,
    remarks: &mut Remarks,
) -> Result<BTreeMap<String, String>, Flaw> {
    let path = metadata.path("annotations");
    let mut annotations = metadata.text_map("annotations")?;
    annotations.retain(|name, _| {
        let is_ours = name.starts_with(OURS);
        if is_ours {
            remarks.left_out(join(&path, name), "Windlass sets annotations under windlass.dev/: use another");
        }
        !is_ours
    });
    Ok(annotations)
}
