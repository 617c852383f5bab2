//! docs/benchmarks.md: a section for each thing that is measured, with the day and the machine.

use std::fs;

use anyhow::{Context, Result};
use jiff::Zoned;

use crate::{machine, root};

/// Puts what was measured in the place of the section of this title, or at the end if there is none.
pub(super) fn write(title: &str, text: &str) -> Result<()> {
    let path = root().join("docs/benchmarks.md");
    let report = fs::read_to_string(&path).context("cannot read docs/benchmarks.md")?;
    let measured =
        format!("Measured on {}, {}.\n\n{}", Zoned::now().date(), machine::description(), text.trim());
    fs::write(&path, with_section(&report, title, &measured))?;
    println!("wrote the section {title:?} of docs/benchmarks.md");
    Ok(())
}

fn with_section(report: &str, title: &str, text: &str) -> String {
    let mut parts: Vec<String> =
        report.trim_end().split("\n## ").map(|part| part.trim().to_owned()).collect();
    let section = format!("{title}\n\n{text}");
    match parts.iter_mut().skip(1).find(|part| part.lines().next() == Some(title)) {
        Some(part) => *part = section,
        None => parts.push(section),
    }
    parts.join("\n\n## ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::with_section;

    #[test]
    fn a_section_replaces_the_one_of_its_title_and_leaves_the_others() {
        let report = "# Report\n\nWords.\n\n## One\n\nold\n\n### Part\n\nold\n\n## Two\n\nstays\n";
        let new = with_section(report, "One", "new");
        assert_eq!(new, "# Report\n\nWords.\n\n## One\n\nnew\n\n## Two\n\nstays\n");
        let longer = with_section(&new, "Three", "added");
        assert_eq!(longer, format!("{new}\n## Three\n\nadded\n"));
    }
}
