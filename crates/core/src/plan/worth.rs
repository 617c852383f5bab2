use super::amounts::{Amounts, Demand, Dimensions};
use super::candidate::Candidate;

/// What a unit of each resource costs on the machines on offer, by which pods that ask for different resources can be
/// compared: a GPU is worth many cores.
pub(super) struct Worth(Vec<f64>);

/// What a pod is worth that asks for nothing, so that it counts for something.
const BARE_POD: f64 = 1.0;

impl Worth {
    pub(super) fn of(candidates: &[Candidate<'_>], dimensions: &Dimensions) -> Self {
        let mut sums = vec![(0.0, 0.0); dimensions.len()];
        for candidate in candidates {
            for (number, _) in dimensions.resources() {
                let there = candidate.allocatable.get(number);
                if let Some((cost, amount)) = sums.get_mut(number).filter(|_| there > 0) {
                    *cost += float(candidate.cost());
                    *amount += float(there);
                }
            }
        }
        let unit = |(cost, amount): (f64, f64)| if amount > 0.0 { cost / amount } else { 0.0 };
        Self(sums.into_iter().map(unit).collect())
    }

    pub(super) fn measure(&self, amounts: &Amounts) -> f64 {
        self.0.iter().zip(amounts.iter()).fold(BARE_POD, |sum, (unit, amount)| sum + unit * float(amount))
    }

    pub(super) fn of_demand(&self, demand: &Demand) -> f64 {
        let unit = |dimension: usize| self.0.get(dimension).copied().unwrap_or(0.0);
        demand.iter().fold(BARE_POD, |sum, (dimension, amount)| sum + unit(dimension) * float(amount))
    }
}

#[allow(clippy::cast_precision_loss, reason = "worth only tells large from small")]
pub(super) fn float(amount: i64) -> f64 {
    amount as f64
}
