//! `windlass import`: manifests of other autoscalers, as Windlass' own.

mod list;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use windlass_import::{Options, Outcome, import};
use windlass_manifests::Document;

use crate::{inputs, output};

/// Something was left out.
const INCOMPLETE: u8 = 2;

const EXAMPLES: &str = "\
What it reads:
  Karpenter      NodePool and NodeClaim (karpenter.sh/v1)
  KubeNodeSmith  NodeSmithProvider, NodeSmithPool, NodeSmithControlPlane and NodeSmithClaim
                 (kubenodesmith.parawell.cloud/v1alpha1)
Objects of other kinds are ignored, which the list says.

Examples:
  The pools of a cluster that runs Karpenter, with machines of NodeProvider \"rack\":
    kubectl get nodepools.karpenter.sh -o yaml | windlass import -f - --provider rack > pools.yaml
  A folder with KubeNodeSmith's manifests:
    windlass import -f smith/ > windlass.yaml
  What would these pools launch, before anything is applied:
    windlass plan --live -f pools.yaml

Exit codes: 0 everything was carried over, 2 something was left out (the list on standard error says what), 1 anything else.";

/// Make NodePools and NodeProviders of the manifests of Karpenter or KubeNodeSmith. Nothing is changed.
///
/// The manifests are printed on standard output, ready for `kubectl apply`. What could not be carried over or means something
/// else is listed on standard error, by object and field, with what to do about it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ImportCommand {
    /// Manifests: files, folders (all *.yaml, *.yml and *.json in them and below), or - for standard input.
    #[arg(long = "filename", short = 'f', value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// The NodeProvider that machines of Karpenter's pools are to come from. Default: one that is named like the node class of
    /// each pool.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    provider: Option<String>,
    /// How to print the manifests.
    #[arg(long, short, default_value = "yaml", value_name = "FORMAT")]
    output: Format,
}

/// How to print manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One document for each object.
    Yaml,
    /// One list of all of them.
    Json,
}

impl ImportCommand {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let sources = inputs::files::read(&self.files)?;
        let documents = Document::read(&sources)?;
        let imported = import(&documents, &Options { provider: self.provider })?;
        output::tell(&list::write(&imported));
        ensure!(
            imported.known > 0,
            "there is nothing to import: give manifests of Karpenter (karpenter.sh/v1) or KubeNodeSmith"
        );
        output::print(&match self.output {
            Format::Yaml => imported.yaml()?,
            Format::Json => format!("{}\n", serde_json::to_string_pretty(&imported.list())?),
        })?;
        let is_incomplete = imported.remarks.iter().any(|remark| remark.outcome == Outcome::LeftOut);
        Ok(if is_incomplete { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS })
    }
}
