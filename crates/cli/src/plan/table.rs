//! A plan for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_core::Text;
use windlass_core::model::{OfferingKey, PodId};
use windlass_core::plan::Target;

use super::outcome::Outcome;
use crate::search::Answer;

/// How many pods a line names before it only counts.
const NAMED: usize = 3;

pub(super) fn write(answer: &Answer, outcome: &Outcome) -> String {
    let mut text = String::new();
    launches(answer, &mut text);
    placements(answer, &mut text);
    removals(answer, &mut text);
    pending(answer, outcome, &mut text);
    let (plan, report) = (&answer.plan, &answer.report);
    let _ = writeln!(
        text,
        "cost ${}/h, lower bound ${}/h, gap {}%, planned in {} ms",
        plan.launch_cost(),
        report.lower_bound,
        outcome.gap_percent,
        answer.elapsed.as_millis()
    );
    text
}

fn launches(answer: &Answer, text: &mut String) {
    let mut groups: BTreeMap<(&Text, &OfferingKey, String), (usize, Vec<&PodId>)> = BTreeMap::new();
    for launch in &answer.plan.launches {
        let Some(first) = launch.offerings.first() else { continue };
        let (nodes, pods) =
            groups.entry((&launch.pool, &first.key, format!("${}", first.price))).or_default();
        *nodes += 1;
        pods.extend(&launch.pods);
    }
    if groups.is_empty() {
        let _ = writeln!(text, "Nothing to launch.\n");
        return;
    }
    let mut rows =
        vec![["POOL", "TYPE", "ZONE", "CAPACITY", "PRICE/H", "NODES", "PODS", ""].map(str::to_owned)];
    for ((pool, key, price), (nodes, mut pods)) in groups {
        pods.sort();
        rows.push([
            pool.to_string(),
            key.instance_type.to_string(),
            key.zone.to_string(),
            key.capacity_type.to_string(),
            price,
            nodes.to_string(),
            pods.len().to_string(),
            names(&pods),
        ]);
    }
    section("Nodes to launch", &rows, text);
}

fn placements(answer: &Answer, text: &mut String) {
    let mut groups: BTreeMap<&Target, Vec<&PodId>> = BTreeMap::new();
    for placement in &answer.plan.placements {
        if !matches!(placement.target, Target::Launch(_)) {
            groups.entry(&placement.target).or_default().push(&placement.pod);
        }
    }
    let mut rows = vec![["NODE", "PODS", ""].map(str::to_owned)];
    for (target, pods) in groups {
        let place = match target {
            Target::Node(node) => node.to_string(),
            Target::Claim(claim) => format!("{claim} (on its way)"),
            Target::Launch(_) => continue,
        };
        rows.push([place, pods.len().to_string(), names(&pods)]);
    }
    section("Fits on nodes that are there", &rows, text);
}

fn removals(answer: &Answer, text: &mut String) {
    let mut rows = vec![["CLAIM", "NODE", "WHY"].map(str::to_owned)];
    for (claim, _, message) in answer.plan.going() {
        let told = answer.report.nodes.iter().find(|node| node.claim == *claim);
        let node =
            told.and_then(|node| node.node.as_ref()).map_or_else(|| "-".to_owned(), ToString::to_string);
        rows.push([claim.to_string(), node, message.to_owned()]);
    }
    section("Nodes to give back", &rows, text);
}

fn pending(answer: &Answer, outcome: &Outcome, text: &mut String) {
    let report = &answer.report;
    if !report.unplaced.is_empty() {
        let _ = writeln!(text, "Stays pending");
        for group in &report.unplaced {
            let _ = writeln!(text, "  {}", names(&group.pods.iter().collect::<Vec<_>>()));
            if group.everywhere.is_some() || group.pools.is_empty() {
                let _ = writeln!(text, "    {}", group.summary());
            }
            for reason in &group.pools {
                let _ = writeln!(text, "    pool {}: {}", reason.pool, reason.exclusion);
            }
        }
        text.push('\n');
    }
    if !report.short_pools.is_empty() {
        let _ = writeln!(text, "Fewer nodes than the pool's minimum");
        for short in &report.short_pools {
            let _ = writeln!(text, "  pool {}: {}", short.pool, short.exclusion);
        }
        text.push('\n');
    }
    if !outcome.not_planned.is_empty() {
        let _ = writeln!(text, "Not planned for");
        let mut by_reason: BTreeMap<&str, Vec<&PodId>> = BTreeMap::new();
        for each in &outcome.not_planned {
            by_reason.entry(&each.message).or_default().push(&each.pod);
        }
        for (message, pods) in by_reason {
            let _ = writeln!(text, "  {}: {message}", names(&pods));
        }
        text.push('\n');
    }
}

/// A heading and columns as wide as they must be; the first row names them. Without further rows there is nothing to say.
fn section<const N: usize>(heading: &str, rows: &[[String; N]], text: &mut String) {
    if rows.len() < 2 {
        return;
    }
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let _ = writeln!(text, "{heading}");
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| {
            let is_number = cell.trim_start_matches('$').starts_with(|first: char| first.is_ascii_digit());
            let is_number =
                is_number && cell.chars().all(|each| each.is_ascii_digit() || "$.".contains(each));
            if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        let _ = writeln!(text, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text.push('\n');
}

/// `default/web-0, default/web-1 and 8 more`.
fn names(pods: &[&PodId]) -> String {
    let named: Vec<String> = pods.iter().take(NAMED).map(ToString::to_string).collect();
    match pods.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
