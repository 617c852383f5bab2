use std::collections::{BTreeMap, BTreeSet};

use windlass_core::Text;
use windlass_core::model::PodId;
use windlass_core::plan::{Placement, Target};

use super::Index;

/// Where the last plan expects the pods that wait.
#[derive(Debug, Default)]
pub(super) struct Expected {
    by_claim: BTreeMap<Text, Vec<PodId>>,
    by_node: BTreeMap<Text, Vec<PodId>>,
    all: BTreeSet<PodId>,
}

impl Index {
    /// Notes where a plan expects pods to go. What it launches is not counted: the new claims name their pods.
    pub fn expect(&mut self, placements: &[Placement]) {
        let mut expected = Expected::default();
        for Placement { pod, target } in placements {
            let pods = match target {
                Target::Claim(claim) => expected.by_claim.entry(claim.clone()).or_default(),
                Target::Node(node) => expected.by_node.entry(node.clone()).or_default(),
                Target::Launch(_) => continue,
            };
            pods.push(pod.clone());
            expected.all.insert(pod.clone());
        }
        self.expected = expected;
    }

    /// The pods that are expected on the node of a claim: by the last plan, or since the claim was made for them and that
    /// plan says nothing else.
    pub fn expected_on(&self, claim: &str, node: &str) -> Vec<PodId> {
        let Expected { by_claim, by_node, all } = &self.expected;
        let claims = self.claims.model();
        let planned = by_claim.get(claim).into_iter().chain(by_node.get(node)).flatten();
        let made_for = claims.get(claim).into_iter().flat_map(|claim| &claim.pods);
        planned.chain(made_for.filter(|pod| !all.contains(pod))).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_api::NodeClaim;
    use windlass_core::model::PodId;
    use windlass_core::plan::{Placement, Target};

    use super::Index;

    fn claim_for(pods: &[&str]) -> NodeClaim {
        let spec = json!({
            "poolRef": {"name": "pool"}, "providerRef": {"name": "provider"},
            "reason": {"purpose": "PendingPods", "message": "", "pods": pods},
        });
        serde_json::from_value(json!({"metadata": {"name": "new"}, "spec": spec})).unwrap()
    }

    fn on(name: &str, target: Target) -> Placement {
        Placement { pod: PodId::new("d", name), target }
    }

    #[test]
    fn a_claim_s_pods_are_expected_on_its_node_until_a_plan_sends_them_elsewhere() {
        let mut index = Index::default();
        index.claims.saw(claim_for(&["d/a", "d/b", "d/c"]));
        let names = |index: &Index| {
            index.expected_on("new", "new-1").iter().map(|pod| pod.name.to_string()).collect::<Vec<_>>()
        };
        index.expect(&[on("a", Target::Launch(0))]);
        assert_eq!(names(&index), ["a", "b", "c"], "the plan that made the claim");
        index.expect(&[on("a", Target::Node("n".into())), on("b", Target::Claim("other".into()))]);
        assert_eq!(names(&index), ["c"]);
    }

    #[test]
    fn pods_that_a_later_plan_puts_into_the_room_of_a_claim_are_expected_on_its_node() {
        let mut index = Index::default();
        for target in [Target::Claim("new".into()), Target::Node("new-1".into())] {
            index.expect(&[on("late", target)]);
            assert_eq!(index.expected_on("new", "new-1"), [PodId::new("d", "late")]);
        }
    }
}
