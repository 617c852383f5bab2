use anyhow::Result;
use clap::Args;

/// Measure, and write docs/benchmarks.md.
#[derive(Debug, Args)]
pub(crate) struct Bench {}

impl Bench {
    pub(crate) async fn run(self) -> Result<()> {
        Ok(())
    }
}
