use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::amounts::Amounts;
use super::budget::Budget;
use super::candidate::Candidate;
use super::class::Class;
use super::draft::Draft;
use super::worth::float;

/// Chooses machines for pods that fit nowhere, one machine after another: always the one that holds most for its price.
pub(super) struct Packer<'p, 'a> {
    pub(super) classes: &'p [Class],
    pub(super) candidates: &'p [Candidate<'a>],
}

/// Offerings that are the same to the pods, cheapest first.
type Alike<'p, 'a> = Vec<&'p Candidate<'a>>;

/// What one machine would hold.
struct Bid<'p, 'a> {
    choice: &'p Candidate<'a>,
    load: Vec<(usize, usize)>,
    worth: f64,
}

impl<'p, 'a> Packer<'p, 'a> {
    /// Packs so many pods of each class. A pool of higher weight gets all that it can serve before others are asked.
    pub(super) fn pack(&self, mut left: Vec<usize>, budget: &mut Budget<'a>) -> Vec<Draft<'p, 'a>> {
        let mut packed = Vec::new();
        for tier in self.candidates.chunk_by(|a, b| a.pool.weight == b.pool.weight) {
            if left.iter().all(|left| *left == 0) {
                break;
            }
            packed.extend(self.pack_tier(tier, &mut left, budget));
        }
        packed
    }

    /// While there is enough for all, priorities do not matter to what is cheapest. When there is not, those of higher
    /// priority are served first, and the others get what room is left beside them.
    fn pack_tier(
        &self,
        tier: &'p [Candidate<'a>],
        left: &mut Vec<usize>,
        budget: &mut Budget<'a>,
    ) -> Vec<Draft<'p, 'a>> {
        let groups = alike(tier);
        let (mut rest, mut spent) = (left.clone(), budget.clone());
        let together = self.greedily(&groups, &mut rest, &mut spent);
        let wanted = self.classes.iter().zip(left.iter()).filter(|(_, left)| **left > 0);
        let priorities: BTreeSet<i32> = wanted.map(|(class, _)| class.shape.priority).collect();
        let short = self.classes.iter().zip(&rest).any(|(class, rest)| {
            *rest > 0 && tier.iter().any(|candidate| self.holds(candidate, &[(class.number, 1)]))
        });
        if !short || priorities.len() < 2 {
            (*left, *budget) = (rest, spent);
            return together;
        }
        let mut packed: Vec<Draft<'p, 'a>> = Vec::new();
        for priority in priorities.into_iter().rev() {
            self.settle(&mut packed, left, priority);
            let of_priority = |class: &Class| class.shape.priority == priority;
            let band = self.classes.iter().zip(left.iter());
            let band: Vec<usize> =
                band.map(|(class, left)| if of_priority(class) { *left } else { 0 }).collect();
            let mut rest = band.clone();
            packed.extend(self.greedily(&groups, &mut rest, budget));
            for ((left, band), rest) in left.iter_mut().zip(band).zip(rest) {
                *left -= band.saturating_sub(rest).min(*left);
            }
        }
        packed
    }

    /// Puts pods of one priority beside those that machines have been chosen for.
    fn settle(&self, packed: &mut [Draft<'p, 'a>], left: &mut [usize], priority: i32) {
        for draft in packed {
            let (choice, load) = (draft.first, &mut draft.load);
            let mut free = self.free_beside(choice, load);
            for (class, left) in self.classes.iter().zip(left.iter_mut()) {
                if *left > 0 && class.shape.priority == priority && choice.admission.allows(class.constraint)
                {
                    let count = free.times(&class.request, *left);
                    if count > 0 {
                        free.take(&class.request, count);
                        *left -= count;
                        load.push((class.number, count));
                    }
                }
            }
        }
    }

    /// Takes the best bid until there is none. Bids only get worse as pods get their places, so a bid that is still the
    /// best after it has been made anew beats the others without asking them again.
    fn greedily(
        &self,
        groups: &[Alike<'p, 'a>],
        left: &mut [usize],
        budget: &mut Budget<'a>,
    ) -> Vec<Draft<'p, 'a>> {
        let mut packed = Vec::new();
        let mut round = 0_usize;
        let mut bids: Vec<(usize, &Alike<'p, 'a>, Bid<'p, 'a>)> = Vec::new();
        bids.extend(groups.iter().filter_map(|group| Some((round, group, self.bid(group, left, budget)?))));
        while let Some(best) = (0..bids.len()).min_by(|a, b| match (bids.get(*a), bids.get(*b)) {
            (Some((.., a)), Some((.., b))) => a.compare(b),
            _ => Ordering::Equal,
        }) {
            let (made, group, bid) = bids.swap_remove(best);
            if made == round {
                let choice = self.smallest_holding(groups, &bid, budget);
                let repeats = repeats(&bid.load, left);
                let repeats = budget.room(choice, repeats).max(1);
                budget.take(choice, repeats);
                for (class, count) in &bid.load {
                    if let Some(left) = left.get_mut(*class) {
                        *left = left.saturating_sub(count.saturating_mul(repeats));
                    }
                }
                packed.extend((0..repeats).map(|_| Draft::new(choice, bid.load.clone())));
                round += 1;
            }
            bids.extend(self.bid(group, left, budget).map(|bid| (round, group, bid)));
        }
        packed
    }

    /// What a machine of a group would hold, filled in the order of the classes.
    fn bid(&self, group: &Alike<'p, 'a>, left: &[usize], budget: &Budget<'a>) -> Option<Bid<'p, 'a>> {
        let choice = *group.iter().find(|candidate| budget.room(candidate, 1) > 0)?;
        let mut free = choice.free.clone();
        let mut bid = Bid { choice, load: Vec::new(), worth: 0.0 };
        for (class, left) in self.classes.iter().zip(left) {
            if *left == 0 || !choice.admission.allows(class.constraint) {
                continue;
            }
            let count = free.times(&class.request, *left);
            if count > 0 {
                free.take(&class.request, count);
                bid.worth += class.worth * float(i64::try_from(count).unwrap_or(i64::MAX));
                bid.load.push((class.number, count));
            }
        }
        (!bid.load.is_empty()).then_some(bid)
    }

    /// The cheapest machine that holds the load of a bid; of those that cost the same the smallest.
    fn smallest_holding(
        &self,
        groups: &[Alike<'p, 'a>],
        bid: &Bid<'p, 'a>,
        budget: &Budget<'a>,
    ) -> &'p Candidate<'a> {
        let usable = groups.iter().flatten().filter(|candidate| {
            candidate.cost() <= bid.choice.cost()
                && self.holds(candidate, &bid.load)
                && budget.room(candidate, 1) > 0
        });
        let best = usable.min_by(|a, b| (a.cost(), &a.free).cmp(&(b.cost(), &b.free)));
        best.copied().unwrap_or(bid.choice)
    }

    /// Whether a machine holds a load.
    pub(super) fn holds(&self, candidate: &Candidate<'_>, load: &[(usize, usize)]) -> bool {
        let mut free = candidate.free.clone();
        load.iter().all(|(class, count)| {
            self.classes.get(*class).is_some_and(|class| {
                let fits = candidate.admission.allows(class.constraint)
                    && free.times(&class.request, *count) >= *count;
                free.take(&class.request, *count);
                fits
            })
        })
    }

    fn free_beside(&self, candidate: &Candidate<'_>, load: &[(usize, usize)]) -> Amounts {
        let mut free = candidate.free.clone();
        for (class, count) in load {
            if let Some(class) = self.classes.get(*class) {
                free.take(&class.request, *count);
            }
        }
        free
    }
}

/// Groups offerings that are the same to the pods.
fn alike<'p, 'a>(tier: &'p [Candidate<'a>]) -> Vec<Alike<'p, 'a>> {
    let mut groups: BTreeMap<_, Alike<'p, 'a>> = BTreeMap::new();
    for candidate in tier {
        let key =
            (candidate.pool_number, &candidate.free, &candidate.admission, &candidate.instance_type.name);
        groups.entry(key).or_default().push(candidate);
    }
    groups.into_values().collect()
}

/// How many machines can be filled the same way.
fn repeats(load: &[(usize, usize)], left: &[usize]) -> usize {
    let times = load.iter().map(|(class, count)| left.get(*class).map_or(0, |left| left / (*count).max(1)));
    times.min().unwrap_or(1)
}

impl Bid<'_, '_> {
    /// The cheaper for what it holds is less; between equals the one that holds more, then the one that is smaller.
    fn compare(&self, other: &Self) -> Ordering {
        let ratio = |bid: &Self| float(bid.choice.cost()) / bid.worth;
        ratio(self)
            .total_cmp(&ratio(other))
            .then_with(|| other.worth.total_cmp(&self.worth))
            .then_with(|| self.choice.free.cmp(&other.choice.free))
            .then_with(|| self.choice.order().cmp(&other.choice.order()))
    }
}
