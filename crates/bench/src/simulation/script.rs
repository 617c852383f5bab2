use std::sync::Arc;
use std::time::Duration;

use windlass_core::Text;
use windlass_core::model::{InstanceType, PodShape};

/// The number of something that is to run: a pod at a time, another one under another name after each move.
pub type Replica = usize;

/// What a replica is.
#[derive(Clone, Debug)]
pub struct Task {
    /// What it belongs to, after which its pods are named.
    pub app: Text,
    /// What its pods ask for.
    pub shape: Arc<PodShape>,
    /// How long it has to run before it ends by itself. A job goes on where it was when it is moved, so that the same work
    /// is done whatever becomes of the nodes.
    pub work: Option<Duration>,
}

/// Something that is wanted from outside.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Start(Replica, Task),
    End(Replica),
}

/// What is to run when, and on which machines it may.
#[derive(Clone, Debug)]
pub struct Script {
    /// The workload, in words.
    pub name: &'static str,
    /// How long it is played.
    pub lasts: Duration,
    /// The machines to choose from.
    pub machines: Vec<InstanceType>,
    steps: Vec<(Duration, Step)>,
    replicas: usize,
}

impl Script {
    /// Nothing runs yet.
    pub fn new(name: &'static str, lasts: Duration, machines: Vec<InstanceType>) -> Self {
        Self { name, lasts, machines, steps: Vec::new(), replicas: 0 }
    }

    /// Has a replica run from then on.
    pub fn start(&mut self, after: Duration, task: &Task) -> Replica {
        let replica = self.replicas;
        self.replicas += 1;
        self.steps.push((after, Step::Start(replica, task.clone())));
        replica
    }

    /// Has a replica end then.
    pub fn end(&mut self, after: Duration, replica: Replica) {
        self.steps.push((after, Step::End(replica)));
    }

    /// The same up to a time, with nothing coming or going afterwards, and played for as long as that.
    #[must_use]
    pub fn at_rest_after(mut self, time: Duration, lasts: Duration) -> Self {
        self.steps.retain(|(after, _)| *after <= time);
        self.lasts = lasts;
        self
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &(Duration, Step)> {
        self.steps.iter()
    }
}
