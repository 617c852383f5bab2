use std::ffi::OsString;

use anyhow::{Result, bail};
use clap::Args;

use crate::cargo;

/// Play simulated histories.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Sim {
    /// Try whether mistakes that are planted into the controller are caught.
    #[arg(long)]
    planted: bool,
    /// What the simulation is told: `--seeds 10000`, `--seed 7 --trace`, `--help` for all.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

impl Sim {
    pub(crate) fn run(self) -> Result<()> {
        play(self.planted, &self.arguments)
    }
}

/// Builds the simulation, optimised, and runs it with these arguments.
pub(crate) fn play(planted: bool, arguments: &[OsString]) -> Result<()> {
    let mut command = cargo(["run", "--quiet", "--release", "--package", "windlass-sim"]);
    if planted {
        command.args(["--features", "planted"]);
    }
    command.arg("--");
    if planted {
        command.arg("--planted");
    }
    if !command.args(arguments).status()?.success() {
        bail!("not all went well");
    }
    Ok(())
}
