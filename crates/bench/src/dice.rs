/// A generator of numbers that look random and are the same each time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// At least 0 and less than 1.
    pub(crate) fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        #[allow(clippy::cast_precision_loss, reason = "any number will do")]
        let number = (self.0 >> 11) as f64;
        number / 9_007_199_254_740_992.0
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "few"
    )]
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.roll() * of.len() as f64) as usize]
    }
}
