//! What happened, as text for people and as one number by which two runs are compared.

use windlass_core::stable_hash;

use crate::api::Commit;
use crate::time::Time;

/// How much of the past is kept for when something goes wrong.
const KEPT: usize = 60;

/// The course of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    time: Time,
    hash: u64,
    /// Whether everything is printed as it happens.
    prints: bool,
    last: std::collections::VecDeque<String>,
}

impl Trace {
    pub(crate) fn new(time: Time, prints: bool) -> Self {
        Self { time, hash: 0, prints, last: std::collections::VecDeque::new() }
    }

    /// Takes note of something.
    pub(crate) fn note(&mut self, what: impl FnOnce() -> String) {
        let line = format!("{:>9.3}s  {}", self.time.passed().as_secs_f64(), what());
        self.hash = stable_hash(&[&self.hash.to_le_bytes(), line.as_bytes()]);
        if self.prints {
            show(&line);
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// Takes note of a change on the API.
    pub(crate) fn commit(&mut self, commit: &Commit) {
        self.hash = stable_hash(&[&self.hash.to_le_bytes(), commit.object.bytes()]);
        if commit.kind.kind == "Lease" || commit.kind.kind == "Event" {
            return;
        }
        self.note(|| {
            let metadata = &commit.object.value()["metadata"];
            let name = metadata["name"].as_str().unwrap_or_default();
            format!(
                "{:?} {:?} {} {name} ({})",
                commit.writer, commit.change, commit.kind.kind, commit.version
            )
        });
    }

    /// The number that stands for the whole course.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The last that happened, oldest first.
    pub(crate) fn last(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }
}

#[expect(clippy::print_stdout, reason = "a trace is asked for to be read")]
fn show(line: &str) {
    println!("{line}");
}
