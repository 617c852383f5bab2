//! The binary `windlass`.

mod connection;
mod crds;
mod duration;
mod logging;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A node autoscaler for Kubernetes: the cheapest machines that run your pods, from any infrastructure.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller.
    Run(Box<run::Run>),
    /// Print the custom resource definitions, ready for `kubectl apply --server-side -f -`.
    Crds,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Fails only if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let outcome = match arguments.command {
        Command::Run(command) => command.execute(),
        Command::Crds => crds::print(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

#[expect(clippy::print_stderr, reason = "the command's own message to its user")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("windlass: {}", in_words(error));
    ExitCode::FAILURE
}

/// An error and its causes, without those that an earlier one has told already.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}
