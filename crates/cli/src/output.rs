//! What the commands say: their results on standard output, everything else on standard error.

use std::io::{ErrorKind, Write as _};

use anyhow::{Context, Result};

/// Prints a result. Whoever stops reading early, as `head` does, has what they wanted.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Says something that a person should know about a result.
#[expect(clippy::print_stderr, reason = "the command's own message to its user")]
pub(crate) fn note(text: &str) {
    eprintln!("note: {text}");
}

/// Says more about a result, in lines of its own.
#[expect(clippy::print_stderr, reason = "the command's own message to its user")]
pub(crate) fn tell(text: &str) {
    eprint!("{text}");
}

/// Says why a command ends as it does.
#[expect(clippy::print_stderr, reason = "the command's own message to its user")]
pub(crate) fn complain(text: &str) {
    eprintln!("windlass: {text}");
}
