use super::admission::admits;
use super::amounts::{Amounts, Demand, Dimensions};
use super::view::View;
use super::volumes::VolumeNeeds;
use crate::model::{DaemonSet, Labels, Pod, PodOwner, Taint};

/// The daemonsets: each node that is not there yet will carry their pods before it carries others.
pub(super) struct Daemons<'a>(Vec<(&'a DaemonSet, Demand)>);

/// Kubernetes cuts the name of an owner to this length before it appends five characters to name a pod.
const LONGEST_NAME_BASE: usize = 58;

impl<'a> Daemons<'a> {
    pub(super) fn new(view: &View<'a>, dimensions: &Dimensions) -> Self {
        let sets = view.snapshot.daemon_sets.values();
        let none = VolumeNeeds::default();
        Self(sets.map(|set| (&**set, dimensions.demand(&set.shape, &none))).collect())
    }

    /// What a node has left for others once the daemonsets that have no pod there yet have come.
    pub(super) fn leave(
        &self,
        allocatable: &Amounts,
        labels: &Labels,
        taints: &[&Taint],
        pods: &[&Pod],
    ) -> Amounts {
        let mut free = allocatable.clone();
        for (set, request) in &self.0 {
            // What does not fit the bare machine will never run there, so it takes nothing.
            let comes = allocatable.covers(request)
                && admits(&set.shape, labels, taints.iter().copied())
                && !pods.iter().any(|pod| belongs(pod, set));
            if comes {
                free.take(request, 1);
            }
        }
        free
    }
}

/// Whether a pod is one of the daemonset's, by its name: the pod's shape is not its template's, for the controller adds
/// tolerations and the node's name.
fn belongs(pod: &Pod, set: &DaemonSet) -> bool {
    let base = format!("{}-", set.id.name);
    let base = base.get(..LONGEST_NAME_BASE).unwrap_or(&base);
    let suffix = pod.id.name.strip_prefix(base);
    pod.shape.owner == PodOwner::DaemonSet
        && pod.id.namespace == set.id.namespace
        && suffix.is_some_and(|suffix| !suffix.is_empty() && !suffix.contains('-'))
}
