use windlass_manifests::Flaw;

use crate::fields::Fields;
use crate::handover;
use crate::remark::Remarks;

/// Tells what is to be done about a machine of Karpenter's.
pub(crate) fn claim(mut object: Fields, remarks: &mut Remarks) -> Result<(), Flaw> {
    let labels = object.inner("metadata")?.text_map("labels")?;
    let mut status = object.inner("status")?;
    let (machine, node) = (status.text("providerID")?, status.text("nodeName")?);
    let pool = labels.get("karpenter.sh/nodepool").map(String::as_str);
    remarks.left_out("", handover::of("Karpenter", machine.as_deref(), node.as_deref(), pool));
    Ok(())
}
