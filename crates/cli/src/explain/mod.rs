//! `windlass explain`: why a pod waits or where it will go, and why a node stays or goes.

mod node;
mod pod;

use anyhow::Result;
use clap::{Args, Subcommand};

pub(crate) use pod::left_alone;

use crate::inputs::Inputs;
use crate::output;
use crate::planning::Planning;
use crate::search::{Answer, Search};
use windlass_control::offline::Cluster;

/// What to explain.
#[derive(Debug, Subcommand)]
pub(crate) enum Explain {
    /// Say why a pod waits, or where it is or will be.
    #[command(
        after_help = "Examples:\n  windlass explain pod shop/web-0\n  windlass explain pod web-0 -f shop.yaml -f pools.yaml"
    )]
    Pod(Box<About>),
    /// Say why a node stays or goes.
    #[command(after_help = "Example:\n  windlass explain node general-x7f2p")]
    Node(Box<About>),
}

/// Which object, and in which cluster.
#[derive(Debug, Args)]
pub(crate) struct About {
    /// The object: NAMESPACE/NAME for a pod (without a namespace, default), the name of a node or of its claim.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    search: Search,
}

impl Explain {
    pub(crate) fn execute(self) -> Result<()> {
        let words = match self {
            Self::Pod(about) => about.explain(pod::explain)?,
            Self::Node(about) => about.explain(node::explain)?,
        };
        output::print(&words)
    }
}

impl About {
    fn explain(mut self, words: impl Fn(&str, &Cluster, &Answer) -> Result<String>) -> Result<String> {
        self.inputs.or_live();
        let cluster = self.inputs.gather()?;
        let answer = self.search.plan(&cluster, &self.inputs.settings(&self.planning, &cluster));
        words(&self.name, &cluster, &answer)
    }
}

/// Up to three names that begin like the one that was not found, for who mistyped it.
fn alike<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    let stem = wanted.trim_end_matches(|last: char| last.is_ascii_digit() || last == '-');
    let found: Vec<&str> = names.filter(|name| !stem.is_empty() && name.starts_with(stem)).take(3).collect();
    if found.is_empty() { String::new() } else { format!("; there is {}", found.join(", ")) }
}
