//! Windlass as a process of its own, to be killed and started again.

use std::io;
use std::path::Path;
use std::process::ExitStatus;

use rustix::process::Signal;

use crate::log::tail;
use crate::supervised::{Launch, Supervised, resident_bytes};

/// How much memory a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Bytes resident now.
    pub resident: u64,
    /// Bytes resident at most since the process started.
    pub peak: u64,
}

/// A running `windlass`, which ends when this is dropped and when this process ends, however it does.
///
/// A shell stands between the two, so an exit by a signal has the shell's exit code: 128 plus the signal's number.
#[derive(Debug)]
pub struct WindlassProcess {
    launch: Launch,
    process: Supervised,
}

impl WindlassProcess {
    /// Starts `program`; its output is appended to `log`, and `envs` are added to this process's environment.
    pub fn start(program: &Path, args: &[String], envs: &[(String, String)], log: &Path) -> io::Result<Self> {
        let launch = Launch {
            program: program.to_owned(),
            args: args.iter().map(Into::into).collect(),
            envs: envs.to_vec(),
            log: log.to_owned(),
        };
        let process = Supervised::start(&launch)?;
        Ok(Self { launch, process })
    }

    /// The process id of the program itself.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Sends SIGKILL, as the kernel does when memory runs out.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.signal(Signal::KILL)
    }

    /// Sends SIGTERM, as the kubelet does when it stops a pod.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.process.signal(Signal::TERM)
    }

    /// Waits until it has ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// How it ended, or nothing while it runs.
    pub fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.exited()
    }

    /// Kills it, if it still runs, and starts it again as it was started before.
    pub async fn restart(&mut self) -> io::Result<()> {
        self.kill()?;
        self.wait().await?;
        self.process = Supervised::start(&self.launch)?;
        Ok(())
    }

    /// The memory it holds; an error once it has ended.
    pub fn memory(&self) -> io::Result<Memory> {
        let (resident, peak) = resident_bytes(self.pid())?;
        Ok(Memory { resident, peak })
    }

    /// The bytes it has resident now.
    pub fn rss_bytes(&self) -> io::Result<u64> {
        Ok(self.memory()?.resident)
    }

    /// The end of what it printed, over all its runs.
    pub fn log_tail(&self, lines: usize) -> String {
        tail(&self.launch.log, lines)
    }

    /// Where its output goes.
    pub fn log_path(&self) -> &Path {
        &self.launch.log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    fn shell(script: &str, log: &Path) -> WindlassProcess {
        let args = ["-c".to_owned(), script.to_owned()];
        WindlassProcess::start(Path::new("sh"), &args, &[("GREETING".to_owned(), "hello".to_owned())], log)
            .unwrap()
    }

    #[test]
    fn a_process_that_ends_by_itself_leaves_its_code_and_its_output() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut process = shell("echo first; echo $GREETING; exit 3", log.path());
        assert_eq!(block_on(process.wait()).unwrap().code(), Some(3));
        assert_eq!(process.log_tail(1), "hello");
        process.kill().unwrap();
        assert!(process.memory().is_err());
    }

    #[test]
    fn a_killed_process_can_be_started_again() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut process = shell("exec sleep 600", log.path());
        let first = process.pid();
        process.kill().unwrap();
        assert_eq!(block_on(process.wait()).unwrap().code(), Some(128 + 9));
        block_on(process.restart()).unwrap();
        assert_ne!(process.pid(), first);
        let memory = process.memory().unwrap();
        assert!(memory.resident > 0 && memory.peak >= memory.resident, "{memory:?}");
        process.terminate().unwrap();
        assert_eq!(block_on(process.wait()).unwrap().code(), Some(128 + 15));
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let process = shell("exec sleep 600", log.path());
        let pid = process.pid();
        drop(process);
        assert!(!Path::new("/proc").join(pid.to_string()).exists());
    }
}
