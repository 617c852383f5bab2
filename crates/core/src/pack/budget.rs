/// How long to go on improving. The packer reads no clock: it asks this before each piece of work, so that a caller can
/// bound it by time and a test by the number of pieces.
pub trait Budget {
    /// The part of the budget that is left, from 1 down to 0. At 0 the packer stops with what it has.
    fn left(&mut self) -> f64;
}

/// A budget of so many pieces of work, for answers that do not depend on the speed of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    total: u32,
    done: u32,
}

impl Steps {
    /// So many pieces of work.
    pub fn new(total: u32) -> Self {
        Self { total, done: 0 }
    }
}

impl Budget for Steps {
    fn left(&mut self) -> f64 {
        let left = self.total.saturating_sub(self.done);
        self.done = self.done.saturating_add(1);
        f64::from(left) / f64::from(self.total.max(1))
    }
}

impl<F: FnMut() -> f64> Budget for F {
    fn left(&mut self) -> f64 {
        self()
    }
}
