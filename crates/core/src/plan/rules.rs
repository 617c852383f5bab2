use super::keys::Domains;
use super::tally::Tally;

/// What a class demands of the pods around it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// No domain may have so many more of the counted pods than the one with the fewest.
    Spread {
        tally: usize,
        max_skew: u32,
        min_domains: u32,
        /// Whether the class itself is counted.
        own: bool,
    },
    /// Some of the counted pods must be in the same domain; where there are none anywhere, a pod that is one of them
    /// may be the first.
    With { tally: usize, own: bool },
    /// None of the counted pods may be in the same domain.
    Away { tally: usize, own: bool },
}

/// A rule that a class would rather keep, and how much it counts among its other wishes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SoftRule {
    pub(super) weight: i32,
    pub(super) rule: Rule,
}

/// What a class has to do with the pods around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Relations {
    pub(super) rules: Vec<Rule>,
    /// What it would rather have. Being spread counts less than all else.
    pub(super) wishes: Vec<SoftRule>,
    /// The tallies in which it is counted.
    pub(super) counted_in: Vec<usize>,
}

/// What a class's rules say about all nodes at a moment.
pub(super) struct Survey {
    /// Whether a pod of the class may be the first of those that it wants to be with.
    pub(super) first: bool,
    /// For each rule the fewest pods that any domain has.
    least: Vec<u32>,
}

/// A node as rules see it.
#[derive(Clone, Copy)]
pub(super) struct At<'d> {
    pub(super) domains: &'d Domains,
    /// Whether pods can be bound there now.
    pub(super) ready: bool,
}

/// There is no bound.
pub(super) const ANY: usize = usize::MAX;

impl Rule {
    pub(super) fn tally(&self) -> usize {
        match self {
            Self::Spread { tally, .. } | Self::With { tally, .. } | Self::Away { tally, .. } => *tally,
        }
    }

    /// The tally over whose domains it spreads, if it does.
    pub(super) fn spread_over(&self) -> Option<usize> {
        matches!(self, Self::Spread { .. }).then(|| self.tally())
    }

    /// How many pods of the class may be added at a node. `least` is the fewest that any domain has.
    fn room(&self, tally: &Tally, at: At<'_>, first: bool, least: u32) -> usize {
        let At { domains, ready } = at;
        let least = tally.least_by_then(least, ready);
        let Some(domain) = domains.get(tally.key) else {
            let anywhere = matches!(self, Self::Away { .. }) && !domains.is_unsure(tally.key);
            return if anywhere { ANY } else { 0 };
        };
        let count = tally.count(domain);
        match self {
            Self::Spread { max_skew, own, .. } => match least.saturating_add(*max_skew).checked_sub(count) {
                None => 0,
                Some(room) if *own => room as usize,
                Some(_) => ANY,
            },
            Self::With { .. } => {
                if count > 0 || first {
                    ANY
                } else {
                    0
                }
            }
            Self::Away { .. } if count > 0 => 0,
            Self::Away { own, .. } => {
                if *own {
                    1
                } else {
                    ANY
                }
            }
        }
    }

    /// Whether a wish is met at a node. Nobody can be with pods that are nowhere.
    pub(super) fn is_met(&self, tallies: &[Tally], domains: &Domains) -> bool {
        tallies
            .get(self.tally())
            .is_some_and(|tally| self.room(tally, At { domains, ready: true }, false, u32::MAX) > 0)
    }
}

impl Relations {
    /// Whether it matters to the class or to others where it is.
    pub(super) fn matter(&self) -> bool {
        !self.rules.is_empty() || !self.wishes.is_empty() || !self.counted_in.is_empty()
    }

    /// Whether it does not matter what else is where.
    pub(super) fn is_free(&self) -> bool {
        self.rules.is_empty()
    }

    /// What is the same for all nodes as long as nothing is counted anew.
    pub(super) fn survey(&self, tallies: &[Tally]) -> Survey {
        let least = |rule: &Rule| match rule {
            Rule::Spread { tally, min_domains, .. } => {
                tallies.get(*tally).map_or(0, |tally| tally.least(*min_domains))
            }
            Rule::With { .. } | Rule::Away { .. } => 0,
        };
        Survey { first: self.may_be_first(tallies), least: self.rules.iter().map(least).collect() }
    }

    /// How many pods of the class may be added at a node.
    pub(super) fn room(&self, tallies: &[Tally], survey: &Survey, at: At<'_>) -> usize {
        self.room_by(tallies, survey, at, |_| true)
    }

    /// The same as far as only some node labels are concerned.
    pub(super) fn room_by(
        &self,
        tallies: &[Tally],
        survey: &Survey,
        at: At<'_>,
        concerns: impl Fn(usize) -> bool,
    ) -> usize {
        let each =
            self.rules.iter().zip(&survey.least).map(|(rule, least)| match tallies.get(rule.tally()) {
                Some(tally) if concerns(tally.key) => rule.room(tally, at, survey.first, *least),
                _ => ANY,
            });
        each.min().unwrap_or(ANY)
    }

    /// The first rule that keeps the class off a node.
    pub(super) fn obstacle(&self, tallies: &[Tally], survey: &Survey, at: At<'_>) -> Option<&Rule> {
        let blocked = |(rule, least): &(&Rule, &u32)| {
            tallies.get(rule.tally()).is_some_and(|tally| rule.room(tally, at, survey.first, **least) == 0)
        };
        self.rules.iter().zip(&survey.least).find(blocked).map(|(rule, _)| rule)
    }

    /// Whether it must be spread.
    pub(super) fn must_spread(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule, Rule::Spread { .. }))
    }

    /// As kube-scheduler has it: where no pod anywhere is one that the class wants to be with, and it is one itself by
    /// all its terms, it may be the first.
    pub(super) fn may_be_first(&self, tallies: &[Tally]) -> bool {
        let mut with = self.rules.iter().filter_map(|rule| match rule {
            Rule::With { tally, own } => Some((*tally, *own)),
            _ => None,
        });
        with.all(|(tally, own)| own && tallies.get(tally).is_some_and(|tally| tally.total() == 0))
    }

    /// No node's domains have fewer of the pods that are to be spread.
    pub(super) fn least_crowding(&self, survey: &Survey) -> u32 {
        let spreads = self.rules.iter().zip(&survey.least);
        let spreads = spreads.filter(|(rule, _)| matches!(rule, Rule::Spread { .. }));
        spreads.fold(0, |sum, (_, least)| sum.saturating_add(*least))
    }

    /// How many of the pods that are to be spread a node's domains have: the fewer the better.
    pub(super) fn crowding(&self, tallies: &[Tally], domains: &Domains) -> u32 {
        crowding(self.rules.iter().filter_map(Rule::spread_over), tallies, domains)
    }

    /// The same for the pods that would rather be spread. A node that does not say where it is comes last.
    pub(super) fn soft_crowding(&self, tallies: &[Tally], domains: &Domains) -> u32 {
        crowding(self.wishes.iter().filter_map(|wish| wish.rule.spread_over()), tallies, domains)
    }

    /// Whether it would rather be spread.
    pub(super) fn would_spread(&self) -> bool {
        self.wishes.iter().any(|wish| matches!(wish.rule, Rule::Spread { .. }))
    }
}

/// How many pods of some tallies a node's domains have. A node that does not say where it is has them all.
pub(super) fn crowding(numbers: impl Iterator<Item = usize>, tallies: &[Tally], domains: &Domains) -> u32 {
    let counts = numbers
        .filter_map(|number| tallies.get(number))
        .map(|tally| domains.get(tally.key).map_or(u32::MAX, |domain| tally.count(domain)));
    counts.fold(0, u32::saturating_add)
}
