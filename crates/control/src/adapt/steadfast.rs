use std::collections::BTreeMap;

use jiff::Timestamp;
use windlass_api::{LimitedDuration, labels};

/// Annotations that ask for a pod or node to be left alone: ours, Karpenter's, and with the opposite sense Cluster
/// Autoscaler's.
const KARPENTERS: &str = "karpenter.sh/do-not-disrupt";
const AUTOSCALERS: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";

/// Until when a pod or node is to be left alone, where its annotations say so: for ever, or for a while from when it
/// started.
pub(super) fn stays_until(
    annotations: Option<&BTreeMap<String, String>>,
    started: Option<Timestamp>,
) -> Option<Timestamp> {
    let value = |key: &str| annotations.and_then(|all| all.get(key)).map(String::as_str);
    let asked = [labels::DO_NOT_DISRUPT, KARPENTERS].into_iter().filter_map(value);
    let until = asked.filter_map(|text| match text.parse() {
        _ if text == "true" => Some(Timestamp::MAX),
        Ok(LimitedDuration::After(time)) => started?.saturating_add(time).ok(),
        Ok(LimitedDuration::Never) | Err(_) => None,
    });
    until.chain((value(AUTOSCALERS) == Some("false")).then_some(Timestamp::MAX)).max()
}

/// Whether a pod may be evicted although nobody would make it anew.
pub(super) fn may_go(annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.and_then(|all| all.get(AUTOSCALERS)).is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::{Timestamp, ToSpan};

    use super::{may_go, stays_until};

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn until(annotations: &[(&str, &str)]) -> Option<Timestamp> {
        let all: BTreeMap<String, String> =
            annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        stays_until(Some(&all), Some(START))
    }

    #[test]
    fn annotations_of_three_autoscalers_keep_a_pod_where_it_is() {
        assert_eq!(until(&[("windlass.dev/do-not-disrupt", "true")]), Some(Timestamp::MAX));
        assert_eq!(until(&[("karpenter.sh/do-not-disrupt", "true")]), Some(Timestamp::MAX));
        assert_eq!(
            until(&[("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")]),
            Some(Timestamp::MAX)
        );
        for other in ["false", "", "yes", "Never"] {
            assert_eq!(until(&[("windlass.dev/do-not-disrupt", other)]), None);
        }
        assert_eq!(until(&[("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")]), None);
        assert_eq!(until(&[]), None);
    }

    #[test]
    fn who_calls_a_pod_safe_to_evict_lets_it_go_though_nobody_makes_it_anew() {
        let said = |value: &str| BTreeMap::from([(super::AUTOSCALERS.to_owned(), value.to_owned())]);
        assert!(may_go(Some(&said("true"))));
        for other in ["false", "", "yes", "TRUE"] {
            assert!(!may_go(Some(&said(other))), "{other}");
        }
        assert!(!may_go(None));
    }

    #[test]
    fn a_duration_counts_from_the_start_and_the_longest_wish_wins() {
        let five = [("karpenter.sh/do-not-disrupt", "5m")];
        assert_eq!(until(&five), Some(START + 5.minutes()));
        assert_eq!(stays_until(None, Some(START)), None);
        let both = [("karpenter.sh/do-not-disrupt", "5m"), ("windlass.dev/do-not-disrupt", "1h")];
        assert_eq!(until(&both), Some(START + 1.hour()));
    }

    #[test]
    fn what_is_no_duration_keeps_nothing() {
        for wrong in ["5 minutes", "-5m", "1", "TRUE"] {
            assert_eq!(until(&[("karpenter.sh/do-not-disrupt", wrong)]), None, "{wrong}");
        }
    }

    #[test]
    fn a_duration_of_a_pod_that_has_not_started_does_not_count_yet() {
        let all = BTreeMap::from([("windlass.dev/do-not-disrupt".to_owned(), "5m".to_owned())]);
        assert_eq!(stays_until(Some(&all), None), None);
    }
}
