use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ObjectMeta;
use windlass_api::labels;

use super::{Watched, name, namespaced};
use crate::adapt;
use crate::index::{Changed, Index, Kind};

impl Watched for Pod {
    const KIND: Kind = Kind::Pod;

    fn seen(self, index: &mut Index, now: Timestamp) -> Changed {
        match adapt::pod(&self) {
            Some(pod) => index.saw_pod(pod, now),
            None => index.lost_pod(&namespaced(&self.metadata), now),
        }
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, now: Timestamp) -> Changed {
        index.lost_pod(&namespaced(gone), now)
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, now: Timestamp) -> Changed {
        index.retain_pods(seen, now)
    }
}

impl Watched for Node {
    const KIND: Kind = Kind::Node;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.saw_node(adapt::seen_node(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.lost_node(name(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.retain_nodes(seen)
    }
}

impl Watched for DaemonSet {
    const KIND: Kind = Kind::DaemonSet;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        adapt::daemon_set(&self).map_or_else(Changed::nothing, |set| index.saw_daemon_set(set))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.daemon_sets.lost(&namespaced(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.daemon_sets.retain(seen)
    }
}

impl Watched for PodDisruptionBudget {
    const KIND: Kind = Kind::PodDisruptionBudget;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        index.pod_budgets.saw(namespaced(&self.metadata), adapt::pod_budget(&self))
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        index.pod_budgets.lost(&namespaced(gone))
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.pod_budgets.retain(seen)
    }
}

impl Watched for Namespace {
    const KIND: Kind = Kind::Namespace;

    fn seen(self, index: &mut Index, _: Timestamp) -> Changed {
        let annotations = self.metadata.annotations.as_ref();
        let why = annotations.and_then(|all| all.get(labels::PAUSED)).map(|why| why.as_str().into());
        let mut changed = index.saw_pause(name(&self.metadata), why);
        changed |= index.saw_namespace(name(&self.metadata).into(), adapt::namespace(&self));
        changed
    }

    fn lost(gone: &ObjectMeta, index: &mut Index, _: Timestamp) -> Changed {
        let mut changed = index.saw_pause(name(gone), None);
        changed |= index.namespaces.lost(name(gone));
        changed
    }

    fn retain(index: &mut Index, seen: &BTreeSet<String>, _: Timestamp) -> Changed {
        index.namespaces.retain(seen)
    }
}
