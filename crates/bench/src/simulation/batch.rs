use std::sync::Arc;
use std::time::Duration;

use super::script::{Script, Task};
use crate::catalogue;
use crate::demand::asking;
use crate::dice::Dice;

/// The shortest job, and the longest.
const SHORTEST: f64 = 120.0;
const LONGEST: f64 = 6.0 * 3600.0;

/// Bursts of jobs, so many at most in each: most take minutes and some take hours, and these are what keeps nodes.
pub fn batch_jobs(largest: usize, lasts: Duration) -> Script {
    let mut dice = Dice(23);
    let mut script = Script::new("bursts of batch jobs", lasts, catalogue::usual_sizes());
    let mut at = Duration::ZERO;
    let mut burst = 0;
    while at < lasts {
        let milli = dice.pick(&[250, 500, 1_000, 1_000, 2_000, 4_000]);
        let shape = Arc::new(asking(milli, milli * dice.pick(&[1, 2, 4]), 0));
        let count = largest / dice.pick(&[1, 2, 2, 4, 4, 4, 8, 8]);
        for _ in 0..count {
            let work = Some(Duration::from_secs(seconds(&mut dice)));
            let task = Task { app: format!("batch-{burst}").into(), shape: shape.clone(), work };
            script.start(at, &task);
        }
        burst += 1;
        at += Duration::from_secs(60 * dice.pick(&[4, 8, 12, 15, 20, 30]));
    }
    script
}

/// Heavy-tailed: one job of twelve takes more than ten times as long as the shortest, one of a hundred and fifty more
/// than a hundred times.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "hours at most")]
fn seconds(dice: &mut Dice) -> u64 {
    (SHORTEST * (1.0 - dice.roll()).powf(-1.0 / 1.1)).min(LONGEST) as u64
}
