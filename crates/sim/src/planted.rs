//! Planting mistakes into the controller, one at a time, to see whether histories bring them to light.

use anyhow::Result;
use windlass_control::planted::Mistake;

use crate::apart::Apart;

/// In how many histories each mistake has to show.
const SEEDS: u64 = 1000;

/// The mistake of this name.
pub(crate) fn named(name: &str) -> Result<Mistake, String> {
    let found = Mistake::ALL.into_iter().find(|mistake| format!("{mistake:?}") == name);
    found.ok_or_else(|| format!("there is no mistake {name}; there are {:?}", Mistake::ALL))
}

/// Plants every mistake, each until it is caught; whether all were.
pub(crate) fn all_caught(first: u64) -> Result<bool> {
    let mut missed = 0;
    for mistake in Mistake::ALL {
        let apart = Apart::with_mistake(mistake);
        let mut caught = None;
        for seed in first..first + SEEDS {
            if let Some(finding) = apart.play_seed(seed)?.findings.into_iter().next() {
                caught = Some((seed, finding));
                break;
            }
        }
        match caught {
            Some((seed, finding)) => {
                let message = finding.message.lines().next().unwrap_or_default();
                println!("{mistake:?}: caught by seed {seed}: {}: {message}", finding.rule);
            }
            None => {
                missed += 1;
                println!("{mistake:?}: NOT caught within {SEEDS} seeds");
            }
        }
    }
    println!("planted: {} mistakes, {missed} missed", Mistake::ALL.len());
    Ok(missed == 0)
}
