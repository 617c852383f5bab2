//! `windlass plan`: what would happen.

mod outcome;
mod table;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use windlass_core::Price;

use crate::inputs::Inputs;
use crate::output;
use crate::planning::Planning;
use crate::search::Search;
use outcome::Outcome;

/// Something stays pending.
const PENDING: u8 = 2;
/// The plan costs more than it may.
const TOO_EXPENSIVE: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  What would run these manifests, and for how much (no cluster needed):
    windlass plan -f pools.yaml -f shop/
  What would happen in the cluster now, or with a change that is not made yet:
    windlass plan --live
    windlass plan --live -f deployment-with-more-replicas.yaml
  In CI, fail when it would cost more than two dollars an hour or anything stays pending:
    kustomize build . | windlass plan -f pools.yaml -f - --max-cost 2 -o json

Exit codes: 0 everything has a place, 2 something stays pending, 3 costs more than --max-cost, 1 anything else.";

/// Show what would be launched for pods, where they would go and what it would cost. Nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    inputs: Inputs,
    /// How to print the plan.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,
    /// End with code 3 if the machines to launch cost more than so many dollars per hour.
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<Price>,
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    search: Search,
}

/// How to print a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}

impl PlanCommand {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        ensure!(
            self.inputs.are_given(),
            "there is nothing to plan for: give manifests with -f, or --live for the cluster"
        );
        let cluster = self.inputs.gather()?;
        let answer = self.search.plan(&cluster, &self.inputs.settings(&self.planning, &cluster));
        let outcome = Outcome::of(&answer);
        output::print(&match self.output {
            Format::Table => table::write(&answer, &outcome),
            Format::Json => format!("{}\n", serde_json::to_string_pretty(&outcome)?),
            Format::Yaml => serde_saphyr::to_string(&outcome)?,
        })?;
        Ok(self.verdict(&outcome, answer.plan.launch_cost()))
    }

    fn verdict(&self, outcome: &Outcome, cost: Price) -> ExitCode {
        if let Some(most) = self.max_cost.filter(|most| cost > *most) {
            output::complain(&format!("the plan costs ${cost}/h, which is more than --max-cost {most}"));
            return ExitCode::from(TOO_EXPENSIVE);
        }
        if outcome.something_is_pending() { ExitCode::from(PENDING) } else { ExitCode::SUCCESS }
    }
}
