use std::collections::BTreeSet;

use super::{Labels, Requirements};
use crate::Text;

/// Which objects are meant, by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selector {
    /// None: a selector that was left out.
    #[default]
    Nothing,
    /// Those that meet all these demands; without demands, all.
    Matching(Requirements),
}

impl Selector {
    /// Whether an object with these labels is meant.
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            Self::Matching(requirements) => requirements.check(labels).is_ok(),
        }
    }
}

/// Which namespaces are meant: those that are listed, and those whose labels match.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespaces {
    /// By name.
    pub listed: BTreeSet<Text>,
    /// By labels.
    pub selector: Selector,
}

impl Namespaces {
    /// This one.
    pub fn only(name: Text) -> Self {
        Self { listed: BTreeSet::from([name]), selector: Selector::Nothing }
    }

    /// Whether a namespace is meant; one whose labels are not known is meant only by its name.
    pub fn include(&self, name: &str, labels: Option<&Labels>) -> bool {
        self.listed.contains(name) || labels.is_some_and(|labels| self.selector.matches(labels))
    }
}

#[cfg(test)]
mod tests {
    use super::{Namespaces, Selector};
    use crate::model::{Labels, Requirements};

    #[test]
    fn a_selector_that_was_left_out_means_nothing_and_an_empty_one_everything() {
        let labels = Labels::new().with("app", "web");
        assert!(!Selector::Nothing.matches(&labels));
        assert!(Selector::Matching(Requirements::new()).matches(&labels));
        let web = Selector::Matching(Requirements::from_labels(&labels));
        assert!(web.matches(&labels) && !web.matches(&Labels::new()));
    }

    #[test]
    fn namespaces_are_meant_by_name_or_by_label() {
        let team = Labels::new().with("team", "a");
        let selector = Selector::Matching(Requirements::from_labels(&team));
        let both = Namespaces { selector, ..Namespaces::only("shop".into()) };
        assert!(both.include("shop", None));
        assert!(both.include("other", Some(&team)));
        assert!(!both.include("other", Some(&Labels::new())) && !both.include("other", None));
    }
}
