//! The binary at work on the files beside the tests.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a command said.
pub struct Told {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// The folder with the files.
pub fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import")
}

/// What an import of files says.
pub fn import(arguments: &[&str]) -> Told {
    import_of(arguments, "")
}

/// What an import says that reads a text from its standard input.
pub fn import_of(arguments: &[&str], input: &str) -> Told {
    windlass(&[&["import"], arguments].concat(), input)
}

/// What a command says that reads a text from its standard input.
pub fn windlass(arguments: &[&str], input: &str) -> Told {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).env_clear().env("HOME", "/nonexistent").current_dir(files());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever fails before reading has closed the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(!err.contains("panicked"), "{err}");
    Told { code: output.status.code().unwrap(), out, err }
}

/// What an import of a text says.
pub fn import_text(text: &str) -> Told {
    import_of(&["-f", "-"], text)
}
