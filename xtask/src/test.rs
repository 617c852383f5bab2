use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::generate::Generate;
use crate::{cargo, root};

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
        println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
        if tally.failed > 0 {
            bail!("not everything is in order");
        }
        Ok(())
    }

    /// Runs all tests, shows what they print, and counts them.
    fn cargo_test(&self, tally: &mut Tally) -> Result<()> {
        println!("== tests");
        let mut command = Command::new(cargo());
        command.args(["test", "--no-fail-fast"]).current_dir(root()).stdout(Stdio::piped());
        if self.package.is_empty() {
            command.arg("--workspace");
        }
        for package in &self.package {
            command.args(["--package", package]);
        }
        let mut child = command.spawn().context("cannot run cargo test")?;
        let output = child.stdout.take().context("cargo test has no output")?;
        let before = *tally;
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            tally.add_result_line(&line);
        }
        std::io::stdout().flush()?;
        let status = child.wait()?;
        if !status.success() && tally.failed == before.failed {
            // Nothing was counted as failed: it did not even get so far.
            println!("cargo test ended with {status}");
            tally.failed += 1;
        }
        Ok(())
    }
}

impl Tally {
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
    let status = Command::new(cargo()).args(arguments).current_dir(root()).status()?;
    if !status.success() {
        bail!("cargo {} failed", arguments.join(" "));
    }
    Ok(())
}

fn core_is_pure() -> Result<()> {
    let tree =
        ["tree", "--package", "windlass-core", "--edges", "normal", "--prefix", "none", "--format", "{lib}"];
    let output = Command::new(cargo()).args(tree).current_dir(root()).stderr(Stdio::inherit()).output()?;
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
