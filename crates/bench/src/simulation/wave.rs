use std::collections::VecDeque;
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Duration;

use super::script::{Replica, Script, Task};
use crate::catalogue;
use crate::demand::asking;
use crate::dice::Dice;

const DAY: f64 = 1440.0;
/// For so many minutes a service keeps the most replicas that it wanted meanwhile, as autoscalers do.
const STEADY: usize = 5;

/// A service whose load follows the day.
struct Service {
    task: Task,
    /// How many replicas it has at night, and how many at noon.
    night: f64,
    noon: f64,
    /// By how many minutes its day is later than others'.
    late: f64,
}

/// Services that follow the day, from one midnight on, each a little differently and with ups and downs of its own; their
/// replicas are adjusted once a minute.
pub fn daily_wave(services: usize, lasts: Duration) -> Script {
    let mut dice = Dice(11);
    let mut script = Script::new("services that follow the day", lasts, catalogue::usual_sizes());
    for number in 0..services {
        Service::draw(number, &mut dice).play(&mut script, &mut dice);
    }
    script
}

impl Service {
    fn draw(number: usize, dice: &mut Dice) -> Self {
        let milli = dice.pick(&[100, 250, 250, 500, 500, 500, 1_000, 1_000, 2_000, 4_000]);
        let mib = milli * dice.pick(&[1, 2, 2, 4]);
        let night = if milli >= 2_000 { dice.pick(&[1.0, 2.0]) } else { dice.pick(&[2.0, 3.0, 5.0]) };
        let noon = night * dice.pick(&[3.0, 4.0, 6.0, 8.0]);
        let late = 180.0 * (dice.roll() - 0.5);
        let app = format!("service-{number}").into();
        Self { task: Task { app, shape: Arc::new(asking(milli, mib, 0)), work: None }, night, noon, late }
    }

    fn play(&self, script: &mut Script, dice: &mut Dice) {
        let mut fleet: Vec<Replica> = Vec::new();
        let mut lately: VecDeque<usize> = VecDeque::new();
        let mut mood = 0.0;
        for minute in 0..script.lasts.as_secs() / 60 {
            mood = 0.95 * mood + 0.2 * (dice.roll() - 0.5);
            lately.push_back(self.wanted(minute, mood));
            if lately.len() > STEADY {
                lately.pop_front();
            }
            let wanted = lately.iter().copied().max().unwrap_or_default();
            let at = Duration::from_secs(60 * minute);
            while fleet.len() < wanted {
                fleet.push(script.start(at, &self.task));
            }
            while fleet.len() > wanted {
                let numbers: Vec<usize> = (0..fleet.len()).collect();
                script.end(at, fleet.swap_remove(dice.pick(&numbers)));
            }
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a few replicas"
    )]
    fn wanted(&self, minute: u64, mood: f64) -> usize {
        let day = (1.0 - (TAU * (minute as f64 - self.late) / DAY).cos()) / 2.0;
        let load = (self.night + (self.noon - self.night) * day) * (1.0 + mood);
        load.round().max(1.0) as usize
    }
}
