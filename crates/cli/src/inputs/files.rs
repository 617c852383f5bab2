use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use windlass_manifests::Source;

/// The endings of files with manifests.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Reads files, folders and standard input.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Source>> {
    ensure!(
        paths.iter().filter(|path| is_standard_input(path)).count() < 2,
        "standard input can be read only once: give -f - once"
    );
    let mut sources = Vec::new();
    for path in paths {
        if is_standard_input(path) {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            sources.push(Source { name: "standard input".to_owned(), text });
        } else if path.is_dir() {
            let before = sources.len();
            folder(path, &mut sources)?;
            if sources.len() == before {
                bail!("the folder {} has no *.yaml, *.yml or *.json in it or below", path.display());
            }
        } else {
            sources.push(file(path)?);
        }
    }
    Ok(sources)
}

fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn file(path: &Path) -> Result<Source> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Source { name: path.display().to_string(), text })
}

/// The files of a folder and those below it, in the order of their names.
fn folder(path: &Path, sources: &mut Vec<Source>) -> Result<()> {
    let cannot = || format!("cannot read the folder {}", path.display());
    let entries = std::fs::read_dir(path).with_context(cannot)?;
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .with_context(cannot)?;
    entries.sort();
    for entry in entries {
        // A link to a folder may lead back up.
        if entry.is_dir() && !entry.is_symlink() {
            folder(&entry, sources)?;
        } else if entry.is_file() && has_manifests(&entry) {
            sources.push(file(&entry)?);
        }
    }
    Ok(())
}

fn has_manifests(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
}
