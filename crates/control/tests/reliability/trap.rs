//! What kills a controller at a certain effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::faults::{Fate, Faults, Sent};

/// On which side of an effect the controller dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the effect, with all earlier answers taken in.
    Before,
    /// After the effect and before its answer.
    After,
}

/// Springs at the k-th effect of a controller, from 1.
#[derive(Clone, Default)]
pub struct Trap {
    effects: Arc<AtomicUsize>,
    pub sprung: Arc<Notify>,
}

impl Trap {
    pub fn set(&self, faults: &Faults, at: usize, side: Side) {
        self.effects.store(0, Ordering::SeqCst);
        let trap = self.clone();
        faults.decide(move |sent| {
            if !is_effect(sent) {
                return Fate::Passes;
            }
            let number = trap.effects.fetch_add(1, Ordering::SeqCst) + 1;
            if number < at {
                return Fate::Passes;
            }
            match side {
                Side::Before => {
                    if number == at {
                        trap.sprung.notify_one();
                    }
                    Fate::NeverSent
                }
                Side::After if number == at => {
                    let sprung = trap.sprung.clone();
                    Fate::AnsweredAfter(Box::pin(async move {
                        sprung.notify_one();
                        std::future::pending::<()>().await;
                    }))
                }
                // Nothing happens any more once the answer is outstanding.
                Side::After => Fate::NeverSent,
            }
        });
    }
}

/// A change to the cluster that a claim's life consists of; what only reports is left out.
fn is_effect(sent: &Sent) -> bool {
    let reports = ["leases", "events", "nodepools", "nodeproviders"];
    sent.changes() && !reports.iter().any(|kind| sent.concerns(kind))
}
