use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::{GroupError, NodeRef};

/// Something that Cluster Autoscaler wants done.
#[derive(Debug)]
pub(super) enum Order {
    /// So many more nodes.
    Increase(u32),
    /// These nodes are to go.
    Delete(Vec<NodeRef>),
    /// So many of those that have no machine are not to come.
    Decrease(u32),
}

impl Order {
    /// Its name, for metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Increase(_) => "increase",
            Self::Delete(_) => "delete",
            Self::Decrease(_) => "decrease",
        }
    }
}

/// An order for a group, and where the answer goes.
#[derive(Debug)]
pub(super) struct Slip {
    pub(super) group: String,
    pub(super) order: Order,
    pub(super) answer: oneshot::Sender<Result<(), GroupError>>,
}

/// Where orders are taken, while this process leads and knows what there is. What was ordered is seen through also when
/// whoever ordered it does not wait for the answer any more, and given up when this process leads no longer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desk(Arc<Mutex<Option<mpsc::Sender<Slip>>>>);

/// How many orders may wait.
const WAITING: usize = 64;

impl Desk {
    /// Opens the desk; it is closed when the first of both is dropped.
    pub(super) fn open(&self) -> (Open, mpsc::Receiver<Slip>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        (Open(self.clone()), receiver)
    }

    /// Where to put orders, if the desk is open.
    pub(super) fn sender(&self) -> Option<mpsc::Sender<Slip>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Keeps a desk open.
pub(super) struct Open(Desk);

impl Drop for Open {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
