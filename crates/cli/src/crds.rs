use anyhow::Result;

use crate::output;

/// Prints the custom resource definitions as YAML documents.
pub(crate) fn print() -> Result<()> {
    for definition in windlass_api::crds() {
        output::print(&format!("---\n{}", serde_saphyr::to_string(&definition)?))?;
    }
    Ok(())
}
