use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use windlass_core::Text;

/// Names to be worked on, each at its time, none by two workers at once. A name that is asked for while it is worked on
/// comes again afterwards.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
    asked: Notify,
}

#[derive(Debug, Default)]
struct State {
    due: BTreeMap<Text, Instant>,
    working: BTreeSet<Text>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a name to be worked on now.
    pub(crate) fn add(&self, name: Text) {
        self.add_at(name, Instant::now());
    }

    /// Asks for a name to be worked on at a time; an earlier time already asked for stays.
    pub(crate) fn add_at(&self, name: Text, at: Instant) {
        let mut state = self.lock();
        let due = state.due.entry(name).or_insert(at);
        *due = at.min(*due);
        drop(state);
        self.changed.notify_one();
        self.asked.notify_waiters();
    }

    /// Waits until a name is asked for while it is worked on. Whoever works on it has then heard that.
    pub(crate) async fn asked_again(&self, name: &Text) {
        loop {
            let mut asked = pin!(self.asked.notified());
            asked.as_mut().enable();
            {
                let mut state = self.lock();
                if state.due.get(name).is_some_and(|at| *at <= Instant::now()) {
                    state.due.remove(name);
                    return;
                }
            }
            asked.await;
        }
    }

    /// Waits for the next name that is due and that nobody works on.
    pub(crate) async fn next(&self) -> Text {
        loop {
            let changed = self.changed.notified();
            let earliest = {
                let mut state = self.lock();
                let free = state.due.iter().filter(|(name, _)| !state.working.contains(*name));
                match free.min_by_key(|(_, at)| **at).map(|(name, at)| (name.clone(), *at)) {
                    Some((name, at)) if at <= Instant::now() => {
                        state.due.remove(&name);
                        state.working.insert(name.clone());
                        return name;
                    }
                    Some((_, at)) => Some(at),
                    None => None,
                }
            };
            match earliest {
                Some(at) => {
                    tokio::select! {
                        () = sleep_until(at) => {}
                        () = changed => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// Says that nobody works on anything any more: whoever did has gone without a word.
    pub(crate) fn abandon(&self) {
        self.lock().working.clear();
        self.changed.notify_one();
    }

    /// Says that the work on a name has ended.
    pub(crate) fn done(&self, name: &Text) {
        self.lock().working.remove(name);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, timeout};

    use super::Queue;

    #[tokio::test(start_paused = true)]
    async fn a_name_asked_for_twice_is_worked_on_once() {
        let queue = Queue::default();
        queue.add("a".into());
        queue.add("a".into());
        assert_eq!(&*queue.next().await, "a");
        queue.done(&"a".into());
        assert!(timeout(Duration::from_secs(60), queue.next()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_asked_for_while_worked_on_comes_again_afterwards() {
        let queue = Queue::default();
        queue.add("a".into());
        let name = queue.next().await;
        queue.add("a".into());
        assert!(timeout(Duration::from_secs(60), queue.next()).await.is_err(), "still worked on");
        queue.done(&name);
        assert_eq!(&*queue.next().await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn who_works_on_a_name_can_hear_that_it_is_asked_for_again() {
        let queue = Queue::default();
        queue.add("a".into());
        let name = queue.next().await;
        let soon = Duration::from_secs(60);
        assert!(timeout(soon, queue.asked_again(&name)).await.is_err(), "nobody has asked");
        let (heard, ()) = tokio::join!(timeout(soon, queue.asked_again(&name)), async {
            queue.add("b".into());
            queue.add("a".into());
        });
        assert!(heard.is_ok());
        queue.done(&name);
        assert_eq!(&*queue.next().await, "b");
        assert!(timeout(soon, queue.next()).await.is_err(), "what was heard does not come again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_whose_worker_has_gone_can_be_worked_on_again() {
        let queue = Queue::default();
        queue.add("a".into());
        queue.next().await;
        queue.add("a".into());
        queue.abandon();
        assert_eq!(&*queue.next().await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn names_come_at_their_time_and_the_earliest_wins() {
        let (queue, start) = (Queue::default(), Instant::now());
        queue.add_at("late".into(), start + Duration::from_secs(20));
        queue.add_at("soon".into(), start + Duration::from_secs(30));
        queue.add_at("soon".into(), start + Duration::from_secs(10));
        assert_eq!(&*queue.next().await, "soon");
        assert_eq!(start.elapsed(), Duration::from_secs(10));
        assert_eq!(&*queue.next().await, "late");
        assert_eq!(start.elapsed(), Duration::from_secs(20));
    }
}
