use std::ffi::OsString;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::cargo;
use crate::generate::Generate;
use crate::sim;
use crate::test_binaries::{self, Outcome};

/// Crates that would bring I/O, clocks or clients into `core`.
const NOT_IN_CORE: [&str; 12] = [
    "kube",
    "kube-client",
    "kube-core",
    "k8s-openapi",
    "tokio",
    "reqwest",
    "tonic",
    "axum",
    "hyper",
    "async-trait",
    "fastrand",
    "rand",
];

/// Two minutes of seeds, on both cores.
const SIMULATIONS: [&str; 6] = ["--seeds", "900", "--budget", "120", "--jobs", "2"];

/// Check everything.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Only the checks and tests of this package; may be given several times.
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
}

/// How many tests and checks ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Test {
    pub(crate) fn run(self) -> Result<()> {
        let mut tally = Tally::default();
        tally.check("generated files are up to date", || Generate { check: true }.run());
        tally.check("the code is formatted", || run(&["fmt", "--all", "--check"]));
        tally.check("core stays pure", core_is_pure);
        tally.check("no lint complains", || {
            run(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
        });
        self.cargo_test(&mut tally)?;
        if self.package.is_empty() {
            tally.check("no simulated history goes wrong", || {
                sim::play(false, &SIMULATIONS.map(OsString::from))
            });
        }
        println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
        if tally.failed > 0 {
            bail!("not everything is in order");
        }
        Ok(())
    }

    /// Runs all tests, shows what they print, and counts them.
    fn cargo_test(&self, tally: &mut Tally) -> Result<()> {
        println!("== tests");
        let selection: Vec<String> = if self.package.is_empty() {
            vec!["--workspace".to_owned()]
        } else {
            self.package.iter().map(|package| format!("--package={package}")).collect()
        };
        let Some(binaries) = test_binaries::build(&selection)? else {
            println!("the tests do not compile");
            tally.failed += 1;
            return Ok(());
        };
        test_binaries::run(binaries, |outcome| tally.take_in(&outcome));
        let mut doc = cargo(["test", "--doc", "--no-fail-fast"]);
        let doc =
            doc.args(&selection).stderr(Stdio::inherit()).output().context("cannot run cargo test --doc")?;
        let output = String::from_utf8_lossy(&doc.stdout).into_owned();
        tally.take_in(&Outcome {
            name: "examples in the documentation".to_owned(),
            output,
            success: doc.status.success(),
        });
        Ok(())
    }
}

impl Tally {
    /// Shows what a test binary printed, and counts its tests.
    fn take_in(&mut self, outcome: &Outcome) {
        println!("-- {}\n{}", outcome.name, outcome.output.trim_end());
        let before = self.failed;
        outcome.output.lines().for_each(|line| self.add_result_line(line));
        if !outcome.success && self.failed == before {
            // Nothing was counted as failed: it did not even get so far.
            println!("{} did not end well", outcome.name);
            self.failed += 1;
        }
    }

    fn check(&mut self, what: &str, check: impl FnOnce() -> Result<()>) {
        println!("== {what}");
        match check() {
            Ok(()) => self.passed += 1,
            Err(error) => {
                println!("{error:#}");
                self.failed += 1;
            }
        }
    }

    /// Adds what a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...` says.
    fn add_result_line(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        for count in counts.1.split(';') {
            let mut words = count.split_whitespace();
            let (Some(Ok(number)), Some(kind)) = (words.next().map(str::parse::<u64>), words.next()) else {
                continue;
            };
            match kind {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    let status = cargo(arguments).status()?;
    if !status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}

fn core_is_pure() -> Result<()> {
    let tree =
        ["tree", "--package", "windlass-core", "--edges", "normal", "--prefix", "none", "--format", "{lib}"];
    let output = cargo(tree).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("cargo tree failed");
    }
    let crates = String::from_utf8_lossy(&output.stdout);
    for name in crates.lines() {
        if NOT_IN_CORE.contains(&name.trim().replace('_', "-").as_str()) {
            bail!("windlass-core depends on {name}: planning must stay free of I/O, clocks and clients");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn results_of_several_test_binaries_add_up() {
        let mut tally = Tally::default();
        tally.add_result_line(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        tally.add_result_line(
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        );
        tally.add_result_line("running 3 tests");
        assert_eq!(tally, Tally { passed: 5, failed: 1, skipped: 1 });
    }
}
