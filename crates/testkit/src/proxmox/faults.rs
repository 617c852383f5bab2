//! Misfortune on demand: answers that are lost, locks that time out, and a process that dies while it waits for an answer.

use std::future::pending;
use std::sync::Mutex;

use fastrand::Rng;
use tokio::sync::Notify;

/// What goes wrong.
#[derive(Debug, Default)]
pub struct Faults {
    planned: Mutex<Plan>,
    reached: Notify,
}

#[derive(Debug, Default)]
struct Plan {
    rng: Rng,
    /// How many faults are left to strike at random.
    left: u32,
    /// One request in so many is struck.
    one_in: u32,
    /// The request, counted from now, after which nothing is answered any more.
    stop_after: Option<u32>,
}

/// How a request goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It has no effect, and a lock is said to be the reason.
    Locked,
    /// It has no effect, and the host is said not to answer.
    Unreachable,
    /// It has its effect, and the answer is lost.
    Lost,
    /// Its task fails.
    TaskFails,
}

impl Faults {
    /// Strikes so many requests at random, about one in `one_in`.
    pub fn strike(&self, seed: u64, number: u32, one_in: u32) {
        let mut plan = self.plan();
        plan.rng = Rng::with_seed(seed);
        (plan.left, plan.one_in) = (number, one_in);
    }

    /// How many faults have not struck yet.
    pub fn left(&self) -> u32 {
        self.plan().left
    }

    /// Answers so many further requests, and then none: whoever drops the call that waits has killed it there.
    pub fn stop_after(&self, requests: u32) {
        self.plan().stop_after = Some(requests);
    }

    /// Answers again.
    pub fn go_on(&self) {
        self.plan().stop_after = None;
    }

    /// Ends when a request is not answered any more.
    pub async fn reached(&self) {
        self.reached.notified().await;
    }

    pub(super) fn next(&self) -> Option<Fault> {
        let mut plan = self.plan();
        let one_in = plan.one_in;
        if plan.left == 0 || !plan.rng.u32(..).is_multiple_of(one_in.max(1)) {
            return None;
        }
        plan.left -= 1;
        let all = [Fault::Locked, Fault::Unreachable, Fault::Lost, Fault::TaskFails];
        plan.rng.choice(all)
    }

    /// Never ends if this request is not to be answered.
    pub(super) async fn answered(&self) {
        let stops = {
            let mut plan = self.plan();
            match &mut plan.stop_after {
                None => false,
                Some(0) => true,
                Some(left) => {
                    *left -= 1;
                    *left == 0
                }
            }
        };
        if stops {
            self.reached.notify_one();
            pending::<()>().await;
        }
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.planned.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
