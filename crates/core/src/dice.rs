/// Numbers that look random and are the same each time, so that the same problem has the same answer.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// A number below another, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end.max(1)
    }

    /// A number from -1 to 1.
    pub(crate) fn swing(&mut self) -> f64 {
        let number = u32::try_from(self.below(2001)).unwrap_or(1000);
        f64::from(number) / 1000.0 - 1.0
    }
}
