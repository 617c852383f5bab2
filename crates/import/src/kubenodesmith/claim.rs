use windlass_manifests::Flaw;

use crate::fields::Fields;
use crate::handover;
use crate::remark::Remarks;

/// Tells what is to be done about a machine of KubeNodeSmith's.
pub(crate) fn claim(mut object: Fields, remarks: &mut Remarks) -> Result<(), Flaw> {
    let is_going = object.inner("metadata")?.value("deletionTimestamp").is_some();
    let pool = object.inner("spec")?.text("poolRef")?;
    let mut status = object.inner("status")?;
    let (machine, node) = (status.text("providerID")?, status.text("nodeName")?);
    if is_going {
        remarks.changed("", "is being deleted already: let KubeNodeSmith finish that before it is stopped");
    } else if machine.is_none() && node.is_none() {
        let message = "has no machine yet: delete it, and Windlass gets one for the pods that wait";
        remarks.changed("", message);
    } else {
        let words = handover::of("KubeNodeSmith", machine.as_deref(), node.as_deref(), pool.as_deref());
        remarks.left_out("", words);
    }
    Ok(())
}
