//! The binary `windlass`.

mod connection;
mod crds;
mod duration;
mod explain;
mod groups;
mod grpc;
mod import;
mod inputs;
mod installation;
mod joining;
mod logging;
mod output;
mod plan;
mod planning;
mod run;
mod search;

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
    /// Show what would be launched for pods, where they would go and what it would cost. Nothing is changed.
    Plan(Box<plan::PlanCommand>),
    /// Say why a pod waits or where it will go, or why a node stays or goes. Nothing is changed.
    #[command(subcommand)]
    Explain(explain::Explain),
    /// Make NodePools and NodeProviders of the manifests of Karpenter or KubeNodeSmith. Nothing is changed.
    Import(import::ImportCommand),
    /// Serve node groups to Cluster Autoscaler, and make the certificates for it.
    #[command(subcommand)]
    Grpc(grpc::Grpc),
    /// Print the custom resource definitions, ready for `kubectl apply --server-side -f -`.
    Crds,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(stop) => return say(&stop),
    };
    // Fails only if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let outcome = match arguments.command {
        Command::Run(command) => command.execute().map(|()| ExitCode::SUCCESS),
        Command::Plan(command) => command.execute(),
        Command::Explain(command) => command.execute().map(|()| ExitCode::SUCCESS),
        Command::Import(command) => command.execute(),
        Command::Grpc(command) => command.execute().map(|()| ExitCode::SUCCESS),
        Command::Crds => crds::print().map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => complain(&error),
    }
}

/// Says what is wrong with the arguments, or the help that they ask for. The code is that of every other error: the one
/// that such errors usually end with means something else here.
fn say(stop: &clap::Error) -> ExitCode {
    // Where this cannot be printed, nothing can.
    let _ = stop.print();
    if stop.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn complain(error: &anyhow::Error) -> ExitCode {
    output::complain(&in_words(error));
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
