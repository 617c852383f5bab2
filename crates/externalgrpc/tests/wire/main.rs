//! The wire, compared with bytes that other implementations produced: Google's of protobuf, and that of Kubernetes for its own
//! objects. `fixtures/README.md` says how they were made.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

mod kubernetes;
mod messages;
mod requests;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The bytes of a file of hexadecimal digits.
fn bytes(name: &str) -> Vec<u8> {
    let digits: String = text(&format!("{name}.hex")).split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Writes our own bytes where `WINDLASS_WRITE_GENERATED` is set, so that others can read them.
fn write(name: &str, bytes: &[u8]) {
    if std::env::var_os("WINDLASS_WRITE_GENERATED").is_some() {
        let mut lines = String::new();
        for line in bytes.chunks(50) {
            for byte in line {
                write!(lines, "{byte:02x}").unwrap();
            }
            lines.push('\n');
        }
        fs::write(path(&format!("{name}.hex")), lines).unwrap();
    }
}
