use super::model::{Fill, Model};
use super::number::signed;

/// What is free on a node, counted exactly.
#[derive(Clone, Debug)]
pub(super) struct Room<'m> {
    model: &'m Model,
    machine: usize,
    free: Vec<i64>,
    slots: Vec<(usize, i64)>,
    /// How many pods there are with each mark, and how many shun it.
    marks: Vec<(usize, Presence)>,
}

/// Pods that have a mark, and pods that shun it. There are never both.
#[derive(Clone, Copy, Debug, Default)]
struct Presence {
    there: i64,
    shunned: i64,
}

impl<'m> Room<'m> {
    /// An empty node.
    pub(super) fn of(model: &'m Model, machine: usize) -> Self {
        Self {
            model,
            machine,
            free: model.machines[machine].capacity.clone(),
            slots: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// A node that is filled so far, if that is possible.
    pub(super) fn beside(model: &'m Model, machine: usize, fill: &Fill) -> Option<Self> {
        let mut room = Self::of(model, machine);
        for (item, count) in fill {
            if room.times(*item, *count) < *count {
                return None;
            }
            room.take(*item, *count);
        }
        Some(room)
    }

    /// Whether there is as much of all resources as a pod asks for.
    pub(super) fn has_resources_for(&self, item: usize) -> bool {
        let request = &self.model.items[item].shape.request;
        self.free.iter().zip(request).all(|(free, ask)| free >= ask)
    }

    /// How many pods fit, up to a number.
    pub(super) fn times(&self, item: usize, at_most: u64) -> u64 {
        let shape = &self.model.items[item].shape;
        let mut times = at_most.min(self.model.most(self.machine, item));
        for (free, ask) in self.free.iter().zip(&shape.request) {
            if times == 0 {
                return 0;
            }
            if *ask > 0 {
                times = times.min(u64::try_from(free / ask).unwrap_or(0));
            }
        }
        if times == 0 || self.clashes(item) {
            return 0;
        }
        for (slot, ask) in &shape.slots {
            let free = self.slots.iter().find(|(of, _)| of == slot).map(|(_, free)| *free);
            if let Some(free) = free {
                times = times.min(u64::try_from(free / ask).unwrap_or(0));
            }
        }
        times
    }

    /// Whether pods are there that these shun or that shun these.
    fn clashes(&self, item: usize) -> bool {
        let shape = &self.model.items[item].shape;
        let any = |marks: &[usize], clashes: fn(&Presence) -> bool| {
            !marks.is_empty()
                && self.marks.iter().any(|(mark, presence)| clashes(presence) && marks.contains(mark))
        };
        any(&shape.marks, |presence| presence.shunned > 0) || any(&shape.shuns, |presence| presence.there > 0)
    }

    /// Puts pods there, no more than fit.
    pub(super) fn take(&mut self, item: usize, count: u64) {
        self.change(item, signed(count));
    }

    /// Takes pods away that were put there.
    pub(super) fn give_back(&mut self, item: usize, count: u64) {
        self.change(item, -signed(count));
    }

    fn change(&mut self, item: usize, count: i64) {
        let shape = &self.model.items[item].shape;
        for (free, ask) in self.free.iter_mut().zip(&shape.request) {
            *free -= ask * count;
        }
        for mark in &shape.marks {
            presence(&mut self.marks, *mark).there += count;
        }
        for mark in &shape.shuns {
            presence(&mut self.marks, *mark).shunned += count;
        }
        for (slot, ask) in &shape.slots {
            match self.slots.iter_mut().find(|(of, _)| of == slot) {
                Some((_, free)) => *free -= ask * count,
                None => self.slots.push((*slot, self.model.slots[*slot] - ask * count)),
            }
        }
    }
}

/// What there is of a mark, which is noted if need be.
fn presence(marks: &mut Vec<(usize, Presence)>, mark: usize) -> &mut Presence {
    let number = marks.iter().position(|(of, _)| *of == mark).unwrap_or_else(|| {
        marks.push((mark, Presence::default()));
        marks.len() - 1
    });
    &mut marks[number].1
}
