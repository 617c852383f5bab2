//! Classes and offers that are the same become one.

use super::model::{Draw, Item, Machine};
use super::order::Canonical;
use super::problem::Problem;

/// The classes, in canonical order, where those that are the same stand side by side.
pub(super) fn items(problem: &Problem, canonical: &Canonical<'_>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for (class, shape) in &canonical.classes {
        let count = u64::from(problem.classes[*class].count);
        let choice = canonical.choices.get(&problem.classes[*class].offers).copied().unwrap_or_default();
        match items.last_mut() {
            Some(last) if last.shape == *shape && last.choice == choice => {
                last.count += count;
                last.origins.push((*class, count));
            }
            _ => items.push(Item { count, shape: shape.clone(), choice, origins: vec![(*class, count)] }),
        }
    }
    items
}

/// The offers, in canonical order, which is that of their prices.
pub(super) fn machines(problem: &Problem, canonical: &Canonical<'_>) -> Vec<Machine> {
    let mut machines: Vec<Machine> = Vec::new();
    for (number, capacity) in &canonical.offers {
        let offer = &problem.offers[*number];
        let limits = problem.pools.get(offer.pool).map_or(&[][..], |pool| &pool.limits);
        let counted = limits.iter().enumerate().map(|(dim, limit)| match limit {
            Some(_) => offer.counted.get(dim).map_or(0, |counted| *counted.max(&0)),
            None => 0,
        });
        let draw = Draw::of(offer, &problem.stores);
        let cut = draw.as_ref().map_or(u64::MAX, |draw| draw.room(&problem.stores[draw.store]));
        let available = offer.available.map_or(u64::MAX, u64::from).min(cut);
        let machine = Machine {
            capacity: capacity.clone(),
            price: offer.price,
            weight: offer.price.max(1),
            available,
            pool: offer.pool,
            counted: counted.collect(),
            draw,
            admission: canonical.admission[*number],
            origins: vec![(*number, available)],
        };
        if available == 0 {
            continue;
        }
        match machines
            .iter_mut()
            .rev()
            .take_while(|last| last.price == machine.price)
            .find(|last| last.alike(&machine))
        {
            Some(last) => {
                last.available = last.available.saturating_add(available).min(cut);
                last.origins.extend(machine.origins);
            }
            None => machines.push(machine),
        }
    }
    machines
}
