//! One process of the controller, and the chance by which it is killed.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_testkit::{ControlPlane, WindlassProcess, eventually};

/// A process and its log.
pub struct Windlass {
    pub identity: String,
    process: WindlassProcess,
}

impl Windlass {
    pub fn start(plane: &ControlPlane, identity: &str, command: &[&str], flags: &[(&str, &str)]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_windlass"));
        let flags = flags.iter().flat_map(|(flag, value)| [*flag, *value]);
        let arguments: Vec<String> = command.iter().copied().chain(flags).map(str::to_owned).collect();
        let log = plane.folder().join(format!("windlass-{identity}.log"));
        let process = WindlassProcess::start(program, &arguments, &[], &log).unwrap();
        Self { identity: identity.to_owned(), process }
    }

    /// Kills it and waits until it is dead.
    pub async fn kill(mut self) {
        self.must_run();
        self.process.kill().unwrap();
        let status = self.process.wait().await.unwrap();
        assert_eq!(status.code(), Some(128 + 9), "{}", self.log());
    }

    /// Kills it and starts it again as it was started.
    pub async fn restart(&mut self) {
        self.must_run();
        self.process.restart().await.unwrap();
    }

    /// Asks it to stop and waits until it has, at most so long.
    pub async fn stop(mut self, within: Duration) -> String {
        self.must_run();
        self.process.terminate().unwrap();
        let status = tokio::time::timeout(within, self.process.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("it still runs after {within:?}: {}", self.log()));
        assert_eq!(status.unwrap().code(), Some(0), "{}", self.log());
        self.log()
    }

    /// Stops its clock, and all else of it.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.pid()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Panics with its last words if it has ended by itself.
    pub fn must_run(&mut self) {
        if let Some(status) = self.process.exited().unwrap() {
            panic!("{} ended with {status}: {}", self.identity, self.log());
        }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.process.log_path()).unwrap()
    }

    /// Waits for words in the log.
    pub async fn says(&mut self, words: &str) {
        eventually(&format!("the log says {words:?}"), Duration::from_secs(30), async || {
            self.must_run();
            let log = self.log();
            if log.contains(words) { Ok(()) } else { Err(log) }
        })
        .await;
    }

    /// Where it serves its probes, according to its log.
    pub async fn address(&mut self) -> SocketAddr {
        self.says("serving /healthz").await;
        let log = self.log();
        let address = log.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next());
        address.unwrap_or_else(|| panic!("{log}")).parse().unwrap()
    }

    /// Asks for a page; its status and its body.
    pub async fn get(&mut self, path: &str) -> (u16, String) {
        let address = self.address().await;
        let mut connection = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("{head}")), body.to_owned())
    }

    /// The sum of a metric over all its labels.
    pub async fn metric(&mut self, name: &str) -> f64 {
        let (_, page) = self.get("/metrics").await;
        let of_metric =
            |line: &&str| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} "));
        let lines: Vec<&str> = page.lines().filter(of_metric).collect();
        lines.iter().map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }
}

/// Chance that can be had again: the seed is `WINDLASS_TEST_SEED` or a fixed one, and is printed when the test fails.
pub struct Dice {
    seed: u64,
    random: fastrand::Rng,
}

impl Dice {
    pub fn new(seed: u64) -> Self {
        let given = std::env::var("WINDLASS_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(seed);
        Self { seed, random: fastrand::Rng::with_seed(seed) }
    }

    /// Whether it is this one time out of so many.
    pub fn one_in(&mut self, times: u32) -> bool {
        self.random.u32(..times) == 0
    }

    /// Lets a moment pass, drawn from a range of milliseconds: when something happens is the input of the test.
    pub async fn moment(&mut self, milliseconds: std::ops::Range<u64>) {
        tokio::time::sleep(Duration::from_millis(self.random.u64(milliseconds))).await;
    }
}

impl Drop for Dice {
    #[expect(clippy::print_stderr, reason = "it is of use to who looks for the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to draw the same moments again: WINDLASS_TEST_SEED={}", self.seed);
        }
    }
}
