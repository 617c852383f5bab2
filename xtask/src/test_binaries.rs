use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cargo;

/// How many test binaries run at the same time. Each runs several tests at a time by itself, on a control plane of its
/// own, which keeps two cores busy.
const AT_ONCE: usize = 1;

/// A compiled set of tests.
#[derive(Debug)]
pub(crate) struct TestBinary {
    name: String,
    package: String,
    executable: PathBuf,
    folder: PathBuf,
    is_integration: bool,
}

/// What a run of a binary printed, and whether it ended well.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) output: String,
    pub(crate) success: bool,
}

/// Compiles all tests. `selection` are arguments of cargo that choose packages.
pub(crate) fn build(selection: &[String]) -> Result<Option<Vec<TestBinary>>> {
    let mut command = cargo(["test", "--no-run", "--message-format=json-render-diagnostics"]);
    let mut child =
        command.args(selection).stdout(Stdio::piped()).spawn().context("cannot run cargo test")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut binaries = Vec::new();
    for line in BufReader::new(output).lines() {
        if let Some(binary) = serde_json::from_str(&line?).ok().as_ref().and_then(binary) {
            binaries.push(binary);
        }
    }
    // The long ones first, so that none of them is left alone at the end.
    binaries.sort_by_key(|binary| !binary.is_integration);
    Ok(child.wait()?.success().then_some(binaries))
}

fn binary(message: &Value) -> Option<TestBinary> {
    let is_test = message["profile"]["test"] == true;
    let executable = PathBuf::from(message["executable"].as_str().filter(|_| is_test)?);
    let folder = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let target = message["target"]["name"].as_str()?;
    let is_integration = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "test");
    Some(TestBinary { name: format!("{package}: {target}"), package, executable, folder, is_integration })
}

/// Runs binaries, a few at a time, and hands over what each printed as soon as it has ended.
pub(crate) fn run(binaries: Vec<TestBinary>, mut ended: impl FnMut(Outcome)) {
    let queue = Mutex::new(binaries.into_iter());
    thread::scope(|scope| {
        let (results, outcomes) = mpsc::channel();
        for _ in 0..AT_ONCE {
            let (queue, results) = (&queue, results.clone());
            scope.spawn(move || {
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.next());
                    let Some(binary) = next else { return };
                    if results.send(binary.run()).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        outcomes.iter().for_each(&mut ended);
    });
}

impl TestBinary {
    fn run(&self) -> Outcome {
        let run = Command::new(&self.executable)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_PKG_NAME", format!("windlass-{}", self.package))
            .stdin(Stdio::null())
            .output();
        match run {
            Ok(run) => {
                let mut output = String::from_utf8_lossy(&run.stdout).into_owned();
                output.push_str(&String::from_utf8_lossy(&run.stderr));
                Outcome { name: self.name.clone(), output, success: run.status.success() }
            }
            Err(error) => Outcome { name: self.name.clone(), output: format!("{error}\n"), success: false },
        }
    }
}
