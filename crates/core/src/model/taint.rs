use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Text;

/// A taint on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: Text,
    /// Its value, often empty.
    pub value: Text,
    /// What it does.
    pub effect: Effect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are Kubernetes' own")]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

/// What a pod puts up with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Toleration {
    /// The taint's key; none means every key.
    pub key: Option<Text>,
    /// How the value is compared.
    pub operator: TolerationOperator,
    /// The taint's value, for `Equal`.
    pub value: Text,
    /// The effect; none means every effect.
    pub effect: Option<Effect>,
}

/// How a toleration compares the value of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TolerationOperator {
    /// The values are the same.
    Equal,
    /// Any value will do.
    Exists,
}

impl Taint {
    /// A taint with a value.
    pub fn new(key: &str, value: &str, effect: Effect) -> Self {
        Self { key: key.into(), value: value.into(), effect }
    }

    /// Whether pods that do not tolerate it are kept off, rather than only discouraged.
    pub fn keeps_off(&self) -> bool {
        self.effect != Effect::PreferNoSchedule
    }
}

impl fmt::Display for Taint {
    /// As kubectl writes it: `key=value:Effect`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{:?}", self.key, self.value, self.effect)
    }
}

impl Toleration {
    /// Whether the toleration covers the taint.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && self.key.as_ref().is_none_or(|key| *key == taint.key)
            && match self.operator {
                TolerationOperator::Exists => true,
                TolerationOperator::Equal => self.key.is_some() && self.value == taint.value,
            }
    }
}

/// The first taint that would keep a pod with these tolerations off, as an error.
pub fn tolerates_all<'a>(
    tolerations: &[Toleration],
    taints: impl IntoIterator<Item = &'a Taint>,
) -> Result<(), &'a Taint> {
    let untolerated = taints
        .into_iter()
        .find(|taint| taint.keeps_off() && !tolerations.iter().any(|toleration| toleration.tolerates(taint)));
    untolerated.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::{Effect, Taint, Toleration, TolerationOperator, tolerates_all};

    fn toleration(key: Option<&str>, operator: TolerationOperator, value: &str) -> Toleration {
        Toleration { key: key.map(Into::into), operator, value: value.into(), effect: None }
    }

    #[test]
    fn a_toleration_without_a_key_that_exists_tolerates_everything() {
        let all = [toleration(None, TolerationOperator::Exists, "")];
        assert!(tolerates_all(&all, &[Taint::new("gpu", "yes", Effect::NoExecute)]).is_ok());
    }

    #[test]
    fn an_equal_toleration_needs_the_same_value() {
        let taint = Taint::new("gpu", "a100", Effect::NoSchedule);
        assert!(
            tolerates_all(&[toleration(Some("gpu"), TolerationOperator::Equal, "a100")], [&taint]).is_ok()
        );
        assert_eq!(
            tolerates_all(&[toleration(Some("gpu"), TolerationOperator::Equal, "h100")], [&taint]),
            Err(&taint)
        );
    }

    #[test]
    fn a_taint_that_only_discourages_keeps_nobody_off() {
        assert!(tolerates_all(&[], &[Taint::new("old", "", Effect::PreferNoSchedule)]).is_ok());
    }
}
