use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_core::Quantity;
use windlass_core::model::{Resources, Settings};

use crate::duration::{parse as duration, parse_interval as interval};

/// What machines are launched for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Planning")]
pub(crate) struct Planning {
    /// Pods of a lower priority than this get no machines; they run where there is room.
    #[arg(
        long,
        env = "WINDLASS_MIN_PRIORITY",
        default_value = "-10",
        value_name = "NUMBER",
        allow_negative_numbers = true
    )]
    min_priority: i32,
    /// How long a pod may wait without a word from the scheduler before it is taken for one that has no place.
    #[arg(long, env = "WINDLASS_SCHEDULER_SILENCE", default_value = "30s", value_parser = duration, value_name = "TIME")]
    scheduler_silence: Duration,
    /// What to do about what pods prefer but do not require, such as preferred affinity.
    #[arg(long, env = "WINDLASS_PREFERENCES", default_value = "respect", value_name = "CHOICE")]
    preferences: Preferences,
    /// A ceiling over all pools, such as `nodes=200`, `cpu=1000` or `memory=4Ti`; may be given several times.
    #[arg(long = "limit", env = "WINDLASS_LIMIT", value_delimiter = ',', value_parser = limit, value_name = "RESOURCE=AMOUNT")]
    limits: Vec<(String, i64)>,
    /// How many machines may be launched within a minute, over all pools. Default: any number.
    #[arg(long, env = "WINDLASS_MAX_LAUNCHES_PER_MINUTE", value_name = "NUMBER")]
    max_launches_per_minute: Option<u32>,
    /// How many nodes may go within a minute, over all pools. Default: any number.
    #[arg(long, env = "WINDLASS_MAX_REMOVALS_PER_MINUTE", value_name = "NUMBER")]
    max_removals_per_minute: Option<u32>,
    /// How long a pod stays where it is before it is moved to save money.
    #[arg(long, env = "WINDLASS_TIME_BETWEEN_MOVES", default_value = "5m", value_parser = duration, value_name = "TIME")]
    time_between_moves: Duration,
    /// How long new machines take until they can take pods; those that they replace run on until then.
    #[arg(long, env = "WINDLASS_START_UP_TIME", default_value = "3m", value_parser = duration, value_name = "TIME")]
    start_up_time: Duration,
    /// The time within which replacing machines by cheaper ones has to pay.
    #[arg(long, env = "WINDLASS_PAYS_WITHIN", default_value = "1h", value_parser = interval, value_name = "TIME")]
    pays_within: Duration,
    /// How long before the provider ends its machine a node is drained at the latest, also if its replacement is not ready.
    #[arg(long, env = "WINDLASS_LAST_CALL", default_value = "1m", value_parser = duration, value_name = "TIME")]
    last_call: Duration,
}

/// A ceiling as it is written on the command line.
fn limit(text: &str) -> Result<(String, i64), String> {
    let advice =
        || format!("{text:?} is no limit: write a resource and an amount, such as cpu=100 or nodes=20");
    let (name, amount) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(advice)?;
    let quantity: Quantity = amount.parse().map_err(|error| format!("{error}"))?;
    if quantity.milli() < 0 {
        return Err(format!("{amount} is negative: write 0 or more"));
    }
    let amount = if name == Resources::CPU { quantity.milli() } else { quantity.units() };
    Ok((name.to_owned(), amount))
}

/// What to do about what pods prefer but do not require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preferences {
    /// Follow it as long as no pod stays pending for it, also where that costs more.
    Respect,
    /// Launch the cheapest machines that will do.
    Ignore,
}

/// The name of the limit on the number of machines.
const NODES: &str = "nodes";

fn count(amount: i64) -> u32 {
    u32::try_from(amount).unwrap_or(u32::MAX)
}

impl Planning {
    /// How to plan.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            min_priority: self.min_priority,
            scheduler_silence: self.scheduler_silence,
            respects_preferences: self.preferences == Preferences::Respect,
            max_nodes: self.limits.iter().find(|(name, _)| name == NODES).map(|(_, most)| count(*most)),
            limits: self
                .limits
                .iter()
                .filter(|(name, _)| name != NODES)
                .map(|(name, most)| (name.as_str(), *most))
                .collect(),
            launches_per_minute: self.max_launches_per_minute,
            removals_per_minute: self.max_removals_per_minute,
            moves_apart: self.time_between_moves,
            start_up: self.start_up_time,
            pays_within: self.pays_within,
            last_call: self.last_call,
            ..Settings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn a_limit_is_a_resource_and_an_amount() {
        assert_eq!(limit("cpu=2500m"), Ok(("cpu".to_owned(), 2500)));
        assert_eq!(limit("memory=1Gi"), Ok(("memory".to_owned(), 1 << 30)));
        assert_eq!(limit("nodes=20"), Ok(("nodes".to_owned(), 20)));
        for (wrong, words) in
            [("cpu", "cpu=100"), ("=3", "cpu=100"), ("cpu=many", "many"), ("cpu=-1", "negative")]
        {
            assert!(limit(wrong).unwrap_err().contains(words), "{wrong}");
        }
    }
}
