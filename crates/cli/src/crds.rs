use anyhow::Result;

/// Prints the custom resource definitions as YAML documents.
#[expect(clippy::print_stdout, reason = "the command's output")]
pub(crate) fn print() -> Result<()> {
    for definition in windlass_api::crds() {
        print!("---\n{}", serde_saphyr::to_string(&definition)?);
    }
    Ok(())
}
