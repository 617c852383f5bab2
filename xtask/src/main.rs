//! The developer's commands: `cargo xtask COMMAND`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "commands talk to whoever runs them")]

mod bench;
mod cluster;
mod demo;
mod generate;
mod machine;
mod sim;
mod test;
mod test_binaries;
mod view;
mod windlass;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// The developer's commands.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show Windlass at work: a control plane, three pools, sixty pods, up and down again.
    Demo(demo::Demo),
    /// Run a control plane with KWOK until interrupted; its KUBECONFIG is the first line printed.
    Cluster,
    /// Check everything: generated files, format, lints, all tests.
    Test(test::Test),
    /// Play the whole controller in simulated worlds; `--seeds N`, `--seed S --trace`, `--planted`.
    Sim(sim::Sim),
    /// Write the files that are generated from the code.
    Generate(generate::Generate),
    /// Measure, and write docs/benchmarks.md.
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Demo(command) => block_on(command.run()),
        Command::Cluster => block_on(cluster::run()),
        Command::Test(command) => command.run(),
        Command::Sim(command) => command.run(),
        Command::Generate(command) => command.run(),
        Command::Bench(command) => block_on(command.run()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(future)
}

/// The root of the checkout.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A command of cargo, in the checkout. What cargo tells this process about its own package is kept from it: build
/// scripts that look at that (ring's does) would run anew, and half the dependencies be compiled again, each time the
/// same cargo is used by hand and from here.
fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> std::process::Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
    }
    command.args(arguments).current_dir(root());
    command
}
