use std::time::Duration;

use clap::{Args, ValueEnum};
use windlass_core::model::Settings;

use crate::duration::parse as duration;

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
}

/// What to do about what pods prefer but do not require.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Preferences {
    /// Follow it as long as no pod stays pending for it, also where that costs more.
    Respect,
    /// Launch the cheapest machines that will do.
    Ignore,
}

impl Planning {
    /// How to plan.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            min_priority: self.min_priority,
            scheduler_silence: self.scheduler_silence,
            respects_preferences: self.preferences == Preferences::Respect,
            ..Settings::default()
        }
    }
}
