use windlass_api::{Budget, BudgetReason, LimitedDuration};
use windlass_core::model::Cron;
use windlass_manifests::Flaw;

use crate::fields::Fields;
use crate::remark::Remarks;

/// What a budget counts for that names no reasons. Karpenter's hold back neither nodes whose time is over nor those that a pool
/// of a fixed size has too many.
const REASONS: [BudgetReason; 3] = [BudgetReason::Empty, BudgetReason::Underutilized, BudgetReason::Drifted];
const DEFAULT_NODES: &str = "10%";
/// More nodes than a pool here can have.
const MOST_NODES: &str = "99999";
const LEAST_DURATION: LimitedDuration = LimitedDuration::seconds(60);

/// How many nodes may go at the same time.
pub(super) fn budgets(disruption: &mut Fields, remarks: &mut Remarks) -> Result<Vec<Budget>, Flaw> {
    let name = "budgets";
    let Some(entries) = disruption.list(name)? else {
        return Ok(vec![always(DEFAULT_NODES.to_owned(), REASONS.to_vec())]);
    };
    let mut made = Vec::new();
    for (path, entry) in entries {
        made.extend(budget(Fields::of(path, entry)?, remarks)?);
    }
    Ok(made)
}

fn always(nodes: String, reasons: Vec<BudgetReason>) -> Budget {
    Budget { nodes, reasons, schedule: None, duration: None, time_zone: None }
}

fn budget(mut entry: Fields, remarks: &mut Remarks) -> Result<Option<Budget>, Flaw> {
    let path = entry.path("");
    let nodes = nodes(&mut entry)?;
    let reasons = reasons(&mut entry)?;
    let (schedule_path, schedule) = (entry.path("schedule"), entry.text("schedule")?);
    let duration = entry.duration("duration", remarks)?;
    entry.tell_unknown(remarks);
    let budget = always(nodes, reasons);
    let (schedule, duration) = match (schedule, duration) {
        (None, None) => return Ok(Some(budget)),
        (Some(schedule), Some(duration)) => (schedule, duration),
        _ => return Err(Flaw::new(path, "schedule and duration go together")),
    };
    if duration.limit() < LEAST_DURATION.limit() {
        remarks
            .left_out(path, format!("a budget that counts for {duration} is none: write a minute or more"));
        return Ok(None);
    }
    match schedule.parse::<Cron>() {
        Ok(_) if schedule.chars().count() <= 200 => {
            Ok(Some(Budget { schedule: Some(schedule), duration: Some(duration), ..budget }))
        }
        Ok(_) => Err(Flaw::new(schedule_path, "is longer than 200 characters")),
        Err(error) => {
            let message = format!(
                "{error}; the budget counts at all times now, so that no more nodes go than should: write the schedule in \
                 another way"
            );
            remarks.left_out(schedule_path, message);
            Ok(Some(budget))
        }
    }
}

fn nodes(entry: &mut Fields) -> Result<String, Flaw> {
    let path = entry.path("nodes");
    let Some(text) = entry.text("nodes")? else { return Ok(DEFAULT_NODES.to_owned()) };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.strip_suffix('%') {
        Some(percent) if is_number(percent) && (percent.len() < 3 || percent == "100") => Ok(text),
        None if is_number(&text) => {
            let digits = text.trim_start_matches('0');
            Ok(match digits.len() {
                0 => "0".to_owned(),
                1..=5 => digits.to_owned(),
                _ => MOST_NODES.to_owned(),
            })
        }
        _ => {
            let text: String = text.chars().take(100).collect();
            Err(Flaw::new(path, format!("{text:?} is neither a number nor a percentage such as \"10%\"")))
        }
    }
}

fn reasons(entry: &mut Fields) -> Result<Vec<BudgetReason>, Flaw> {
    let given = entry.list("reasons")?.unwrap_or_default();
    let read = given.into_iter().map(|(path, value)| match value.as_str() {
        Some("Empty") => Ok(BudgetReason::Empty),
        Some("Underutilized") => Ok(BudgetReason::Underutilized),
        Some("Drifted") => Ok(BudgetReason::Drifted),
        _ => Err(Flaw::new(path, "is none of Underutilized, Empty, Drifted")),
    });
    let read = read.collect::<Result<Vec<_>, _>>()?;
    Ok(if read.is_empty() { REASONS.to_vec() } else { read })
}
