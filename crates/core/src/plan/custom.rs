use crate::Text;
use crate::model::{Labels, Pool};

/// The most sets of labels that a pool's machines are looked at with.
const MOST: usize = 32;

/// The labels that a pool defines by asking for them: a requirement that lists values of a label that neither the pool's
/// template nor any of its machines has means that its nodes get one of these values, whichever the pods ask for. One
/// set for each combination; a single empty one where there is nothing of the kind.
///
/// A requirement that lists no values (`Exists`, `Gt`) says nothing that could be put on a node, so without a machine
/// that has the label it is not met. Neither are labels made up in the domains of Kubernetes and of Windlass, for they
/// say what a machine is: a pool that asks for `kubernetes.io/arch` of a machine that does not tell gets none.
pub(super) fn labels(pool: &Pool) -> Vec<Labels> {
    let known = |key: &Text| {
        let by_machine = || pool.instance_types.iter().any(|each| each.labels.get(key).is_some());
        pool.labels.get(key).is_some() || by_machine()
    };
    let mut sets = vec![Labels::new()];
    for (key, requirement) in pool.requirements.iter().filter(|(key, _)| !is_reserved(key) && !known(key)) {
        let Some(values) = requirement.listed().filter(|values| !values.is_empty()) else { continue };
        let with_each = sets.iter().flat_map(|set| {
            values.iter().map(move |value| {
                let mut set = set.clone();
                set.set(key.clone(), value.clone());
                set
            })
        });
        sets = with_each.take(MOST).collect();
    }
    sets
}

/// Whether a label is in a domain of Kubernetes or ours.
fn is_reserved(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    ["kubernetes.io", "k8s.io", "windlass.dev"].iter().any(|reserved| {
        domain.strip_suffix(reserved).is_some_and(|above| above.is_empty() || above.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::is_reserved;

    #[test]
    fn labels_that_say_what_a_machine_is_are_not_made_up() {
        for key in ["kubernetes.io/arch", "topology.kubernetes.io/zone", "node.k8s.io/x", "windlass.dev/pool"]
        {
            assert!(is_reserved(key), "{key}");
        }
        for key in ["team", "example.com/team", "notkubernetes.io/team"] {
            assert!(!is_reserved(key), "{key}");
        }
    }
}
