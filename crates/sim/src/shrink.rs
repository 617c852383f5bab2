//! Making a failing history smaller: whatever can be left out without changing how it fails, is.

use crate::history::{Event, History};

/// The smallest history found that still fails in the same way, as `fails` says.
pub fn shrink(history: &History, mut fails: impl FnMut(&History) -> bool) -> History {
    let mut smallest = history.clone();
    let mut chunk = smallest.events.len().div_ceil(2);
    while chunk > 0 {
        let mut start = 0;
        while start < smallest.events.len() {
            let end = (start + chunk).min(smallest.events.len());
            let rest: Vec<Event> = [&smallest.events[..start], &smallest.events[end..]].concat();
            let candidate = History { events: rest, ..smallest.clone() };
            if fails(&candidate) {
                smallest = candidate;
            } else {
                start = end;
            }
        }
        chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use crate::generate::generate;
    use crate::history::What;

    #[test]
    fn what_is_not_needed_for_a_failure_is_left_out() {
        let history = generate(7);
        let deployments = |history: &crate::History| {
            history.events.iter().filter(|event| matches!(event.what, What::Deploy { .. })).count()
        };
        let smallest = shrink(&history, |candidate| deployments(candidate) >= 2);
        assert_eq!((smallest.events.len(), deployments(&smallest)), (2, 2));
    }
}
