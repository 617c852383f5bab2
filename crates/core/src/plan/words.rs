use crate::Text;
use crate::model::{PodId, Resources};

/// How many names a sentence lists before it only counts.
const NAMED: usize = 2;

/// `1 pod`, `3 pods`.
pub(super) fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `3 pods need cpu 4, memory 8Gi`; places for pods go without saying.
pub(super) fn need(pods: usize, requests: &Resources) -> String {
    let verb = if pods == 1 { "needs" } else { "need" };
    let told = requests.iter().filter(|(name, amount)| &***name != Resources::PODS && *amount > 0);
    let told: Resources = told.map(|(name, amount)| (&**name, amount)).collect();
    if told.is_empty() {
        return format!("{} {verb} a place", count(pods, "pod"));
    }
    format!("{} {verb} {told}", count(pods, "pod"))
}

/// `default/web-1, default/web-2 and 1 more`.
pub(super) fn names(pods: &[PodId]) -> String {
    let named = pods.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match pods.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn list(items: &[Text]) -> String {
    match items {
        [] => String::new(),
        [only] => only.to_string(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{list, names, need};
    use crate::model::{PodId, Resources};

    #[test]
    fn sentences_count_and_name_what_they_are_about() {
        let requests = Resources::from_iter([("cpu", 4000), ("memory", 8 << 30), ("pods", 3)]);
        assert_eq!(need(3, &requests), "3 pods need cpu 4, memory 8Gi");
        assert_eq!(need(1, &Resources::from_iter([("pods", 1)])), "1 pod needs a place");
        let pods: Vec<PodId> =
            (1..=3).map(|number| PodId::new("default", &format!("web-{number}"))).collect();
        assert_eq!(names(&pods), "default/web-1, default/web-2 and 1 more");
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
