use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use windlass_api::{Budget, BudgetReason, LimitedDuration};
use windlass_core::model::{DisruptionBudget, DisruptionReason, Share, Window};

/// A pool's budgets, and what is wrong with them. One that cannot be understood lets no node go: it was meant to keep
/// some.
pub(super) fn budgets(budgets: &[Budget]) -> (Vec<DisruptionBudget>, Option<String>) {
    let mut problem = None;
    let read = budgets.iter().enumerate().map(|(number, api)| {
        budget(api).unwrap_or_else(|(field, words)| {
            problem = Some(format!("spec.disruption.budgets[{number}].{field}: {words}"));
            DisruptionBudget { nodes: Share::Count(0), reasons: BTreeSet::new(), window: None }
        })
    });
    (read.collect(), problem)
}

fn budget(api: &Budget) -> Result<DisruptionBudget, (&'static str, String)> {
    let number = |text: &str| {
        let not_a_number = |_| ("nodes", format!("{text:?} is neither a number nor a percentage"));
        text.parse::<u32>().map_err(not_a_number)
    };
    let nodes = match api.nodes.strip_suffix('%') {
        Some(percent) => Share::Percent(number(percent)?.min(100)),
        None => Share::Count(number(&api.nodes)?),
    };
    Ok(DisruptionBudget {
        nodes,
        reasons: api.reasons.iter().copied().map(reason).collect(),
        window: window(api)?,
    })
}

fn window(api: &Budget) -> Result<Option<Window>, (&'static str, String)> {
    let Some(schedule) = &api.schedule else { return Ok(None) };
    let begins = schedule.parse().map_err(|error| ("schedule", format!("{error}")))?;
    let zone = match &api.time_zone {
        Some(name) => {
            let unknown = |_| {
                ("timeZone", format!("there is no time zone {name:?}: write one such as \"Europe/Berlin\""))
            };
            TimeZone::get(name).map_err(unknown)?
        }
        None => TimeZone::UTC,
    };
    let Some(lasts) = api.duration.and_then(LimitedDuration::limit) else {
        return Err(("duration", "a schedule needs one".to_owned()));
    };
    Ok(Some(Window { begins, zone, lasts }))
}

fn reason(reason: BudgetReason) -> DisruptionReason {
    match reason {
        BudgetReason::Empty => DisruptionReason::Empty,
        BudgetReason::Underutilized => DisruptionReason::Underutilized,
        BudgetReason::Drifted => DisruptionReason::Drifted,
        BudgetReason::Expiring => DisruptionReason::Expiring,
        BudgetReason::Surplus => DisruptionReason::Surplus,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};
    use windlass_core::model::{DisruptionReason, Share};

    use super::budgets;

    fn read(list: Value) -> (Vec<windlass_core::model::DisruptionBudget>, Option<String>) {
        budgets(&from_value::<Vec<windlass_api::Budget>>(list).unwrap())
    }

    #[test]
    fn numbers_percentages_reasons_and_times_are_understood() {
        let (budgets, problem) = read(json!([
            {"nodes": "3"},
            {"nodes": "10%", "reasons": ["Empty"], "schedule": "0 9 * * mon-fri", "duration": "8h", "timeZone": "Europe/Berlin"},
        ]));
        assert_eq!(problem, None);
        assert_eq!((budgets[0].nodes, budgets[1].nodes), (Share::Count(3), Share::Percent(10)));
        assert!(budgets[0].window.is_none() && budgets[0].reasons.is_empty());
        assert!(budgets[1].reasons.contains(&DisruptionReason::Empty));
        let monday_morning = "2026-11-16T08:30:00Z".parse().unwrap();
        assert!(budgets[1].applies(DisruptionReason::Empty, monday_morning), "half past nine in Berlin");
    }

    #[test]
    fn a_budget_that_makes_no_sense_says_where_and_keeps_all_nodes() {
        for (budget, words) in [
            (
                json!({"nodes": "0", "schedule": "often", "duration": "1h"}),
                "spec.disruption.budgets[1].schedule: \"often\"",
            ),
            (
                json!({"nodes": "5", "schedule": "@daily", "duration": "1h", "timeZone": "Mars/Base"}),
                "budgets[1].timeZone: there is no time zone \"Mars/Base\"",
            ),
            (json!({"nodes": "some"}), "budgets[1].nodes: \"some\""),
            (json!({"nodes": "5", "schedule": "@daily"}), "budgets[1].duration"),
        ] {
            let (budgets, problem) = read(json!([{"nodes": "7"}, budget]));
            assert!(problem.as_ref().is_some_and(|problem| problem.contains(words)), "{problem:?}");
            assert_eq!((budgets[0].nodes, budgets[1].nodes), (Share::Count(7), Share::Count(0)));
        }
    }

    #[test]
    fn more_than_all_nodes_is_all_of_them() {
        assert_eq!(read(json!([{"nodes": "250%"}])).0[0].nodes, Share::Percent(100));
    }

    #[test]
    fn a_budget_without_reasons_is_for_all_of_them_and_one_with_several_for_these() {
        let (budgets, _) =
            read(json!([{"nodes": "1"}, {"nodes": "1", "reasons": ["Empty", "Underutilized"]}]));
        let now = jiff::Timestamp::UNIX_EPOCH;
        assert!(budgets.iter().all(|budget| budget.applies(DisruptionReason::Underutilized, now)));
        assert!(
            budgets[0].applies(DisruptionReason::Sick, now)
                && !budgets[1].applies(DisruptionReason::Sick, now)
        );
    }
}
