use std::collections::BTreeMap;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::PodId;

use super::script::{Replica, Script, Step, Task};

/// Something that happens by itself.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A replica is wanted.
    Starts(Replica, Task),
    /// A replica is no longer wanted.
    Ends(Replica),
    /// A pod has done its work, unless it has been moved since: then it has another name.
    Done(PodId),
    /// A claim's node can take pods.
    Ready(Text),
    /// A claim's node is drained and its machine given back.
    Drained(Text),
    /// It is time to find out what the pods would cost at least.
    Sample,
}

/// What happens when; what was put down first comes first.
pub(super) struct Agenda {
    events: BTreeMap<(Timestamp, usize), Event>,
    added: usize,
}

impl Agenda {
    /// What a script says, and samples.
    pub(super) fn of(script: &Script, begin: Timestamp) -> Self {
        let mut agenda = Self { events: BTreeMap::new(), added: 0 };
        for (after, step) in script.steps() {
            let event = match step {
                Step::Start(replica, task) => Event::Starts(*replica, task.clone()),
                Step::End(replica) => Event::Ends(*replica),
            };
            agenda.add(begin + *after, event);
        }
        agenda.add(begin, Event::Sample);
        agenda
    }

    pub(super) fn add(&mut self, at: Timestamp, event: Event) {
        self.events.insert((at, self.added), event);
        self.added += 1;
    }

    pub(super) fn next_at(&self) -> Option<Timestamp> {
        self.events.keys().next().map(|(at, _)| *at)
    }

    /// The next event, if its time has come.
    pub(super) fn due(&mut self, now: Timestamp) -> Option<Event> {
        let first = self.events.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }
}
