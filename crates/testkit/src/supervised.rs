//! Processes that end with the process that started them.
//!
//! Between the two stands a shell running `lifeline.sh`: it starts the program, prints its process id, and kills it
//! when standard input ends. The other end of that pipe is held here, so however this process ends, by SIGKILL too,
//! nothing is left behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// What to run, kept so that it can be run again.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) envs: Vec<(String, String)>,
    /// Where its output is appended.
    pub(crate) log: PathBuf,
}

/// A running program and the shell that holds its lifeline.
#[derive(Debug)]
pub(crate) struct Supervised {
    /// Its standard input is the lifeline: it closes when this is dropped and when this process ends in any way.
    shell: Child,
    program: Pid,
}

impl Supervised {
    pub(crate) fn start(launch: &Launch) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(&launch.log)?;
        let mut shell = Command::new("sh")
            .args(["-c", include_str!("lifeline.sh"), "lifeline"])
            .arg(&launch.program)
            .args(&launch.args)
            .envs(launch.envs.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Ctrl-C is for the process that started this one, which ends its programs in its own order.
            .process_group(0)
            .spawn()?;
        match read_pid(&mut shell) {
            Ok(program) => Ok(Self { shell, program }),
            Err(error) => {
                // Its lifeline goes with it.
                shell.kill()?;
                shell.wait()?;
                Err(error)
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.program.as_raw_nonzero().get().unsigned_abs()
    }

    /// How the program ended, when it has. One that a signal ended has the shell's code for it: 128 plus its number.
    pub(crate) fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.shell.try_wait()
    }

    /// Sends a signal to the program; one that has ended already is left in peace.
    pub(crate) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        match self.exited()? {
            Some(_) => Ok(()),
            None => Ok(kill_process(self.program, signal)?),
        }
    }

    /// Waits until the program has ended.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // What cannot be killed here ends with its lifeline. The shell ends once it knows that the program has, so
        // afterwards its port and its files are free.
        if self.signal(Signal::KILL).is_ok() {
            let _ = self.shell.wait();
        }
    }
}

fn read_pid(shell: &mut Child) -> io::Result<Pid> {
    let stdout = shell.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    line.trim()
        .parse()
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other(format!("the shell printed {line:?} instead of a process id")))
}

/// The resident set of a process in bytes: now, and at its largest.
pub(crate) fn resident_bytes(pid: u32) -> io::Result<(u64, u64)> {
    let path = Path::new("/proc").join(pid.to_string()).join("status");
    let status = std::fs::read_to_string(path)?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    };
    field("VmRSS:").zip(field("VmHWM:")).ok_or_else(|| io::Error::other(format!("process {pid} has ended")))
}
