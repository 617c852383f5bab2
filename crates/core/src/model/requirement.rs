use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Labels;
use crate::Text;

/// How a requirement relates a label to its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are Kubernetes' own")]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    Gte,
    Lte,
}

/// Why a requirement makes no sense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RequirementError {
    /// `In` or `NotIn` without values.
    #[error("the requirement on {0} needs at least one value")]
    NoValues(Text),
    /// `Exists` or `DoesNotExist` with values.
    #[error("the requirement on {0} takes no values")]
    Values(Text),
    /// A comparison that is not with one whole number.
    #[error("the requirement on {0} compares numbers: give one whole number as its value")]
    NotANumber(Text),
}

/// What a single label may be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Requirement {
    /// Whether a node without the label will do.
    absent: bool,
    /// The values allowed, or all but these.
    values: Values,
    /// The value as a number must be more than this.
    above: Option<i64>,
    /// The value as a number must be less than this.
    below: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Values {
    Only(BTreeSet<Text>),
    AllBut(BTreeSet<Text>),
}

impl Requirement {
    /// Builds a requirement from its Kubernetes notation.
    pub fn new(key: &Text, operator: Operator, values: &[Text]) -> Result<Self, RequirementError> {
        let any = || Values::AllBut(BTreeSet::new());
        let set = || values.iter().cloned().collect::<BTreeSet<_>>();
        let number = || match values {
            [value] => value.parse::<i64>().map_err(|_| RequirementError::NotANumber(key.clone())),
            _ => Err(RequirementError::NotANumber(key.clone())),
        };
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                return Err(RequirementError::NoValues(key.clone()));
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                return Err(RequirementError::Values(key.clone()));
            }
            _ => {}
        }
        let exists = Self { absent: false, values: any(), above: None, below: None };
        Ok(match operator {
            Operator::In => Self { values: Values::Only(set()), ..exists },
            Operator::NotIn => Self { absent: true, values: Values::AllBut(set()), ..exists },
            Operator::Exists => exists,
            Operator::DoesNotExist => Self { absent: true, values: Values::Only(BTreeSet::new()), ..exists },
            Operator::Gt => Self { above: Some(number()?), ..exists },
            Operator::Gte => Self { above: Some(number()?.saturating_sub(1)), ..exists },
            Operator::Lt => Self { below: Some(number()?), ..exists },
            Operator::Lte => Self { below: Some(number()?.saturating_add(1)), ..exists },
        })
    }

    /// Exactly this value.
    pub fn equals(value: Text) -> Self {
        Self { absent: false, values: Values::Only(BTreeSet::from([value])), above: None, below: None }
    }

    /// Whether a node with this value of the label, or without the label, will do.
    pub fn allows(&self, value: Option<&Text>) -> bool {
        let Some(value) = value else { return self.absent };
        let listed = match &self.values {
            Values::Only(only) => only.contains(value),
            Values::AllBut(but) => !but.contains(value),
        };
        listed && self.within(value)
    }

    fn within(&self, value: &Text) -> bool {
        if self.above.is_none() && self.below.is_none() {
            return true;
        }
        value.parse::<i64>().is_ok_and(|number| {
            self.above.is_none_or(|above| number > above) && self.below.is_none_or(|below| number < below)
        })
    }

    /// What both allow.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let values = match (&self.values, &other.values) {
            (Values::Only(a), Values::Only(b)) => Values::Only(a.intersection(b).cloned().collect()),
            (Values::Only(only), Values::AllBut(but)) | (Values::AllBut(but), Values::Only(only)) => {
                Values::Only(only.difference(but).cloned().collect())
            }
            (Values::AllBut(a), Values::AllBut(b)) => Values::AllBut(a.union(b).cloned().collect()),
        };
        let both = |a: Option<i64>, b: Option<i64>, pick: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(pick(a, b)),
            (one, other) => one.or(other),
        };
        Self {
            absent: self.absent && other.absent,
            values,
            above: both(self.above, other.above, i64::max),
            below: both(self.below, other.below, i64::min),
        }
    }

    /// The values of which the label must have one, where they are listed one by one.
    pub fn must_be(&self) -> Option<&BTreeSet<Text>> {
        self.listed().filter(|_| !self.absent)
    }

    /// The values, where they are listed one by one.
    pub fn listed(&self) -> Option<&BTreeSet<Text>> {
        match &self.values {
            Values::Only(only) => Some(only),
            Values::AllBut(_) => None,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |set: &BTreeSet<Text>| set.iter().map(|value| &**value).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        match &self.values {
            Values::Only(only) if only.is_empty() => parts.push("must be absent".to_owned()),
            Values::Only(only) => parts.push(format!("in [{}]", list(only))),
            Values::AllBut(but) if but.is_empty() && self.above.is_none() && self.below.is_none() => {
                parts.push("must be present".to_owned());
            }
            Values::AllBut(but) if but.is_empty() => {}
            Values::AllBut(but) => parts.push(format!("not in [{}]", list(but))),
        }
        parts.extend(self.above.map(|above| format!("more than {above}")));
        parts.extend(self.below.map(|below| format!("less than {below}")));
        f.write_str(&parts.join(" and "))
    }
}

/// Requirements on several labels, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Requirements(BTreeMap<Text, Requirement>);

impl Requirements {
    /// No demands.
    pub fn new() -> Self {
        Self::default()
    }

    /// The demand that a node has all these labels.
    pub fn from_labels(labels: &Labels) -> Self {
        Self(labels.iter().map(|(key, value)| (key.clone(), Requirement::equals(value.clone()))).collect())
    }

    /// Adds a demand to those on the same label.
    pub fn add(&mut self, key: &Text, requirement: Requirement) {
        let combined = match self.0.get(key) {
            Some(existing) => existing.and(&requirement),
            None => requirement,
        };
        self.0.insert(key.clone(), combined);
    }

    /// Adds all of the other's demands.
    pub fn extend(&mut self, other: &Self) {
        for (key, requirement) in &other.0 {
            self.add(key, requirement.clone());
        }
    }

    /// The demand on one label.
    pub fn get(&self, key: &str) -> Option<&Requirement> {
        self.0.get(key)
    }

    /// Labels and demands in the order of the labels.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &Requirement)> {
        self.0.iter()
    }

    /// Whether there are no demands.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a node with these labels meets all demands; the error is the first one it does not meet.
    pub fn check<'a>(&'a self, labels: &Labels) -> Result<(), (&'a Text, &'a Requirement)> {
        let unmet = self.0.iter().find(|(key, requirement)| !requirement.allows(labels.get(key)));
        unmet.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::{Operator, Requirement, RequirementError, Requirements};
    use crate::Text;
    use crate::model::Labels;

    fn requirement(operator: Operator, values: &[&str]) -> Requirement {
        let values: Vec<Text> = values.iter().map(|value| (*value).into()).collect();
        Requirement::new(&"key".into(), operator, &values).unwrap()
    }

    fn allows(requirement: &Requirement, value: &str) -> bool {
        requirement.allows(Some(&value.into()))
    }

    #[test]
    fn each_operator_means_what_it_means_in_kubernetes() {
        for (operator, values, value, expected) in [
            (Operator::In, &["a", "b"][..], Some("a"), true),
            (Operator::In, &["a"], Some("c"), false),
            (Operator::In, &["a"], None, false),
            (Operator::NotIn, &["a"], Some("b"), true),
            (Operator::NotIn, &["a"], Some("a"), false),
            (Operator::NotIn, &["a"], None, true),
            (Operator::Exists, &[], Some("x"), true),
            (Operator::Exists, &[], None, false),
            (Operator::DoesNotExist, &[], Some("x"), false),
            (Operator::DoesNotExist, &[], None, true),
            (Operator::Gt, &["4"], Some("5"), true),
            (Operator::Gt, &["4"], Some("4"), false),
            (Operator::Gt, &["4"], Some("many"), false),
            (Operator::Gt, &["4"], None, false),
            (Operator::Lt, &["4"], Some("3"), true),
            (Operator::Lt, &["4"], Some("4"), false),
            (Operator::Gte, &["4"], Some("4"), true),
            (Operator::Lte, &["4"], Some("4"), true),
            (Operator::Lte, &["4"], Some("5"), false),
        ] {
            let found = requirement(operator, values).allows(value.map(Text::from).as_ref());
            assert_eq!(found, expected, "{operator:?} {values:?} {value:?}");
        }
    }

    #[test]
    fn two_demands_on_one_label_both_hold() {
        let both = requirement(Operator::In, &["1", "3", "5"]).and(&requirement(Operator::Gt, &["2"]));
        assert!(!allows(&both, "1") && allows(&both, "3") && allows(&both, "5"));
        let none = both.and(&requirement(Operator::NotIn, &["3", "5"]));
        assert!(!allows(&none, "3") && !none.allows(None));
    }

    #[test]
    fn the_first_unmet_demand_is_named() {
        let wanted = Requirements::from_labels(&Labels::new().with("arch", "arm64").with("disk", "ssd"));
        let (key, requirement) = wanted.check(&Labels::new().with("arch", "arm64")).unwrap_err();
        assert_eq!((&**key, requirement.to_string().as_str()), ("disk", "in [ssd]"));
    }

    #[test]
    fn nonsense_is_refused() {
        let new = |operator, values: &[&str]| {
            let values: Vec<Text> = values.iter().map(|value| (*value).into()).collect();
            Requirement::new(&"key".into(), operator, &values)
        };
        assert_eq!(new(Operator::In, &[]), Err(RequirementError::NoValues("key".into())));
        assert_eq!(new(Operator::Exists, &["a"]), Err(RequirementError::Values("key".into())));
        assert_eq!(new(Operator::Gt, &["many"]), Err(RequirementError::NotANumber("key".into())));
        assert_eq!(new(Operator::Lt, &["1", "2"]), Err(RequirementError::NotANumber("key".into())));
    }
}
