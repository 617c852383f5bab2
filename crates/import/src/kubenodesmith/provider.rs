use windlass_api::NodeProvider;
use windlass_manifests::Flaw;

use crate::fields::Fields;
use crate::head::Head;
use crate::remark::Remarks;

/// What a `NodeSmithProvider` stands for here.
pub(crate) fn provider(
    head: Head,
    mut object: Fields,
    remarks: &mut Remarks,
) -> Result<Option<NodeProvider>, Flaw> {
    let kind = object.inner("spec")?.required("type")?;
    let message = format!(
        "nothing was made of it: there is no provider for {kind} yet; write a NodeProvider {:?} by hand",
        head.name
    );
    remarks.left_out("spec.type", message);
    Ok(None)
}
