use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use kube::ResourceExt;

use crate::root;

/// Write the files that are generated from the code.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Write nothing; fail if a file is not as it would be written.
    #[arg(long)]
    pub(crate) check: bool,
}

impl Generate {
    pub(crate) fn run(self) -> Result<()> {
        for (path, content) in files()? {
            let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            let current = fs::read_to_string(&path).unwrap_or_default();
            if self.check {
                ensure!(current == content, "{shown} is not up to date: run cargo xtask generate");
            } else if current != content {
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(&path, content).with_context(|| format!("cannot write {shown}"))?;
                println!("wrote {shown}");
            }
        }
        Ok(())
    }
}

/// The generated files and what belongs in them.
fn files() -> Result<Vec<(PathBuf, String)>> {
    let folder = root().join("deploy/crds");
    let definitions = windlass_api::crds();
    let file = |definition| -> Result<_> {
        let name = format!("{}.yaml", ResourceExt::name_any(definition));
        Ok((folder.join(name), serde_saphyr::to_string(definition)?))
    };
    definitions.iter().map(file).collect()
}
