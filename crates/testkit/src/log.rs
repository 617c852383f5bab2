//! The ends of log files, for messages about what went wrong.

use std::fs;
use std::path::Path;

/// The last `count` lines of `text`.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// The last `count` lines of a file; a file that is not there has none.
pub(crate) fn tail(path: &Path, count: usize) -> String {
    let contents = fs::read(path).unwrap_or_default();
    last_lines(&String::from_utf8_lossy(&contents), count)
}
