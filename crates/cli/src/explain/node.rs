use std::fmt::Write as _;

use anyhow::{Result, bail};
use windlass_control::offline::Cluster;
use windlass_core::model::Node;
use windlass_core::plan::{NodeReport, why_kept};

use super::alike;
use crate::search::Answer;

/// Says of a node why it stays or goes. It may be named by its claim.
pub(super) fn explain(name: &str, _: &Cluster, answer: &Answer) -> Result<String> {
    let snapshot = &answer.snapshot;
    let is_named = |report: &&NodeReport| report.node.as_deref() == Some(name) || &*report.claim == name;
    if let Some(report) = answer.report.nodes.iter().find(is_named) {
        return Ok(ours(report, answer));
    }
    match snapshot.nodes.get(name) {
        Some(node) => Ok(foreign(node, answer)),
        None => {
            let names = snapshot.nodes.keys().chain(snapshot.claims.keys());
            bail!(
                "there is no node {name} and no claim of that name{}",
                alike(name, names.map(|name| &**name))
            )
        }
    }
}

fn ours(report: &NodeReport, answer: &Answer) -> String {
    let who = match &report.node {
        Some(node) => format!("Node {node} of claim {}", report.claim),
        None => format!("Claim {}, which has no node yet,", report.claim),
    };
    let verdict = if report.goes { "goes" } else { "stays" };
    let mut words = format!("{who} {verdict}: {}.\n", report.why);
    let kept = || why_kept(&answer.snapshot, answer.now, &report.claim);
    if let Some(why) = if report.goes { None } else { kept() } {
        let _ = writeln!(words, "It is not given back to save money: {why}.");
    }
    if let Some(claim) = answer.snapshot.claims.get(&report.claim) {
        let launched = claim.launched.as_ref().map(|launched| &launched.key);
        let planned = || claim.offerings.first().map(|offering| &offering.key);
        if let Some(key) = launched.or_else(planned) {
            let _ = writeln!(
                words,
                "It is of pool {}: {} in {}, {}, ${}/h.",
                claim.pool,
                key.instance_type,
                key.zone,
                key.capacity_type,
                claim.price()
            );
        }
    }
    words
}

fn foreign(node: &Node, answer: &Answer) -> String {
    let pods = answer.snapshot.pods.values().filter(|pod| pod.node() == Some(&node.name)).count();
    let mut state = vec![if node.is_ready() { "ready" } else { "not ready" }];
    state.extend(node.unschedulable.then_some("cordoned"));
    state.extend(node.deleting.then_some("being deleted"));
    let pods = if pods == 1 { "1 pod".to_owned() } else { format!("{pods} pods") };
    format!(
        "Node {} is not one that Windlass launched: it is used where it has room, and never touched.\n\
         It is {} and has {pods}.\n",
        node.name,
        state.join(", ")
    )
}
