use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use windlass_core::Text;
use windlass_core::model::{DaemonSet, Labels, Nomination, Pod, PodId, PodState};

use super::{Changed, Index};
use crate::Settings;

impl Index {
    /// Takes in a pod that has not ended.
    pub fn saw_pod(&mut self, mut pod: Pod, now: Timestamp) -> Changed {
        self.share_parts(&mut pod);
        if let Some(known) = self.pods.get(&pod.id) {
            // A gate that goes leaves no time behind, and the scheduler is silent from then on only.
            match (&known.state, &mut pod.state) {
                _ if known.uid != pod.uid => {}
                (PodState::Gated, PodState::Waiting { since }) => *since = now,
                (PodState::Waiting { since: known }, PodState::Waiting { since }) => *since = *known,
                _ => {}
            }
            if **known == pod {
                return Changed::nothing();
            }
            // Who is expected where changes no plan, but a node may wait for it.
            if (Pod { nominated: pod.nominated.clone(), ..(**known).clone() }) == pod {
                let ours =
                    |nomination: &Option<Nomination>| nomination.as_ref().is_some_and(|each| each.ours);
                if ours(&known.nominated) || ours(&pod.nominated) {
                    self.nomination_changed = Some(now);
                }
                let claims = self.claims_on(known.nominated.as_ref().map(|nomination| &nomination.node));
                Arc::make_mut(&mut self.pods).insert(pod.id.clone(), Arc::new(pod));
                return Changed { plan: false, claims, providers: false };
            }
        }
        let before = self.pods.get(&pod.id).and_then(|known| known.node().cloned());
        let after = pod.node().cloned();
        if before != after && !pod.shape.belongs_to_node() {
            self.pod_came_or_left(before.as_ref(), now);
            self.pod_came_or_left(after.as_ref(), now);
        }
        if after.is_some() {
            self.held_pods.forgive(&pod.id);
        }
        Arc::make_mut(&mut self.pods).insert(pod.id.clone(), Arc::new(pod));
        Changed { plan: true, claims: self.claims_on(before.as_ref()), providers: false }
    }

    /// Takes in that a pod is gone or has ended.
    pub fn lost_pod(&mut self, id: &PodId, now: Timestamp) -> Changed {
        let Some(pod) = Arc::make_mut(&mut self.pods).remove(id) else { return Changed::nothing() };
        self.held_pods.forgive(id);
        let node = pod.node().cloned();
        if !pod.shape.belongs_to_node() {
            self.pod_came_or_left(node.as_ref(), now);
        }
        Changed { plan: true, claims: self.claims_on(node.as_ref()), providers: false }
    }

    /// Takes in that only these pods exist, named `namespace/name`.
    pub fn retain_pods(&mut self, seen: &BTreeSet<String>, now: Timestamp) -> Changed {
        let absent: Vec<PodId> =
            self.pods.keys().filter(|id| !seen.contains(&id.to_string())).cloned().collect();
        let mut changed = Changed::nothing();
        for id in absent {
            changed |= self.lost_pod(&id, now);
        }
        changed
    }

    /// Takes in a daemonset.
    pub fn saw_daemon_set(&mut self, mut set: DaemonSet) -> Changed {
        set.shape = self.shapes.share(set.shape);
        self.daemon_sets.saw(set.id.clone(), Arc::new(set))
    }

    /// Notes that the node that was launched for a pod does not take it, so that the next is tried ever later.
    pub fn hold_pod(&mut self, id: &PodId, settings: &Settings, now: Timestamp) {
        self.held_pods.strike(id.clone(), |strikes| settings.hold_for(strikes), now);
    }

    /// When Windlass last nominated a pod that waits, or such a nomination was cleared.
    pub fn nomination_changed(&self) -> Option<Timestamp> {
        self.nomination_changed
    }

    /// The pod, if it is known and has not ended.
    pub fn pod(&self, id: &PodId) -> Option<&Arc<Pod>> {
        self.pods.get(id)
    }

    /// Whether a node has pods that would have to go elsewhere if it went.
    pub fn has_keeping_pods(&self, node: &str) -> bool {
        self.pods
            .values()
            .any(|pod| pod.node().is_some_and(|on| **on == *node) && !pod.shape.belongs_to_node())
    }

    /// Pods share what they have in common: a hundred thousand of them must fit in memory.
    fn share_parts(&mut self, pod: &mut Pod) {
        pod.shape = self.shapes.share(pod.shape.clone());
        pod.labels = self.shared_labels(&pod.labels);
        pod.id.namespace = self.texts.share(pod.id.namespace.clone());
        if let PodState::Bound(node) = &mut pod.state {
            *node = self.texts.share(node.clone());
        }
        if let Some(nomination) = &mut pod.nominated {
            nomination.node = self.texts.share(nomination.node.clone());
        }
    }

    /// Labels that differ only in a part still share the keys and values that are the same.
    fn shared_labels(&mut self, labels: &Arc<Labels>) -> Arc<Labels> {
        self.labels.known(labels).unwrap_or_else(|| {
            let texts = &mut self.texts;
            let parts = labels.iter().map(|(key, value)| (key.clone(), value.clone()));
            let shared: Labels = parts.map(|(key, value)| (texts.share(key), texts.share(value))).collect();
            self.labels.share(Arc::new(shared))
        })
    }

    fn pod_came_or_left(&mut self, node: Option<&Text>, now: Timestamp) {
        if let Some(node) = node {
            Arc::make_mut(&mut self.last_pod_change).insert(node.clone(), now);
        }
    }

    fn claims_on(&self, node: Option<&Text>) -> BTreeSet<Text> {
        let id = node.and_then(|name| self.nodes.get(name)).and_then(|node| node.provider_id.clone());
        id.iter().flat_map(|id| self.claims.names_by_provider_id(id)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use serde_json::{Value, json};
    use windlass_core::model::{Nomination, Pod, PodId, PodState};

    use crate::adapt;
    use crate::index::{Changed, Index};

    fn pod(name: &str, labels: Value, nominated: &str) -> Pod {
        let object = json!({
            "metadata": {"name": name, "namespace": "d", "labels": labels},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {"nominatedNodeName": nominated},
        });
        adapt::pod(&serde_json::from_value(object).unwrap()).unwrap()
    }

    fn seen(index: &Index, name: &str) -> Arc<Pod> {
        index.pod(&PodId::new("d", name)).unwrap().clone()
    }

    #[test]
    fn pods_share_what_they_have_in_common() {
        let mut index = Index::default();
        index.saw_pod(pod("a", json!({"app": "web"}), "n1"), Timestamp::UNIX_EPOCH);
        index.saw_pod(pod("b", json!({"app": "web"}), "n1"), Timestamp::UNIX_EPOCH);
        index.saw_pod(pod("c", json!({"app": "web", "index": "0"}), ""), Timestamp::UNIX_EPOCH);
        let [a, b, c] = ["a", "b", "c"].map(|name| seen(&index, name));
        assert!(Arc::ptr_eq(&a.shape, &b.shape) && Arc::ptr_eq(&a.shape, &c.shape));
        assert!(Arc::ptr_eq(&a.labels, &b.labels));
        assert!(Arc::ptr_eq(a.labels.get("app").unwrap(), c.labels.get("app").unwrap()));
        assert!(Arc::ptr_eq(&a.id.namespace, &c.id.namespace));
        let node = |pod: &Pod| pod.nominated.clone().unwrap().node;
        assert!(Arc::ptr_eq(&node(&a), &node(&b)));
    }

    #[test]
    fn a_pod_whose_gate_goes_waits_for_the_scheduler_from_then_on() {
        let mut index = Index::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut saw = |uid: &str, state: PodState, now: i64| {
            let changed = Pod { uid: uid.into(), state, ..pod("a", json!({"at": now.to_string()}), "") };
            index.saw_pod(changed, at(now));
            seen(&index, "a").state.clone()
        };
        let waiting = |since| PodState::Waiting { since: at(since) };
        saw("one", PodState::Gated, 1);
        assert_eq!(saw("one", waiting(0), 100), waiting(100));
        assert_eq!(saw("one", waiting(0), 110), waiting(100), "also after another change");
        assert_eq!(saw("two", waiting(105), 120), waiting(105), "another pod of the same name");
    }

    #[test]
    fn a_change_of_labels_concerns_the_planner_and_a_nomination_does_not() {
        let mut index = Index::default();
        let mut saw = |labels: Value, nominated: &str| {
            index.saw_pod(pod("a", labels, nominated), Timestamp::UNIX_EPOCH)
        };
        assert_eq!(saw(json!({"app": "web"}), ""), Changed::plan());
        assert_eq!(saw(json!({"app": "web"}), ""), Changed::nothing());
        assert_eq!(saw(json!({"app": "db"}), ""), Changed::plan());
        assert_eq!(saw(json!({"app": "db"}), "n1"), Changed::nothing());
    }

    #[test]
    fn only_nominations_of_our_own_are_waited_for() {
        let mut index = Index::default();
        let mut saw = |node: &str, ours: bool, second: i64| {
            let nominated = Some(Nomination { node: node.into(), ours });
            let pod = Pod { nominated, ..pod("a", json!({}), "") };
            index.saw_pod(pod, Timestamp::from_second(second).unwrap());
            index.nomination_changed().map(Timestamp::as_second)
        };
        assert_eq!((saw("n1", false, 1), saw("n2", false, 2)), (None, None));
        assert_eq!((saw("n1", true, 3), saw("n3", false, 4)), (Some(3), Some(4)));
        assert_eq!(saw("n1", false, 5), Some(4));
    }

    #[test]
    fn a_daemonset_of_which_only_the_status_changes_concerns_nobody() {
        let set = |cpu: &str, ready: i32| {
            let containers = json!([{"name": "c", "resources": {"requests": {"cpu": cpu}}}]);
            let object = json!({
                "metadata": {"name": "agent", "namespace": "d"},
                "spec": {"selector": {}, "template": {"spec": {"containers": containers}}},
                "status": {
                    "currentNumberScheduled": 1, "desiredNumberScheduled": 1, "numberMisscheduled": 0,
                    "numberReady": ready,
                },
            });
            adapt::daemon_set(&serde_json::from_value(object).unwrap()).unwrap()
        };
        let mut index = Index::default();
        assert_eq!(index.saw_daemon_set(set("1", 0)), Changed::plan());
        assert_eq!(index.saw_daemon_set(set("1", 1)), Changed::nothing());
        assert_eq!(index.saw_daemon_set(set("2", 1)), Changed::plan());
    }
}
