//! Servers that others have written, run as processes of their own for tests to speak with.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::log::tail;
use crate::ports::free_port;
use crate::supervised::{Launch, Supervised};

/// A server that ends with the test that started it.
#[derive(Debug)]
pub struct Emulator {
    process: Supervised,
    log: PathBuf,
    port: u16,
}

impl Emulator {
    /// Starts a program on a loopback port that is free; what it is told depends on the port. What it prints goes to the log.
    pub fn start(
        program: &Path,
        log: &Path,
        arguments: impl FnOnce(u16) -> Vec<OsString>,
    ) -> io::Result<Self> {
        let port = free_port()?;
        let launch = Launch {
            program: program.to_owned(),
            args: arguments(port),
            envs: Vec::new(),
            log: log.to_owned(),
        };
        Ok(Self { process: Supervised::start(&launch)?, log: log.to_owned(), port })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops it where it is: connections stay open, and nothing answers.
    pub fn freeze(&mut self) -> io::Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn thaw(&mut self) -> io::Result<()> {
        self.process.signal(Signal::CONT)
    }

    /// The end of what it has printed.
    pub fn log(&self) -> String {
        tail(&self.log, 20)
    }
}
