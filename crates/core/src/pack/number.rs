//! The only places where integers become floats and back.

/// For values and ratios; what must be exact stays an integer.
#[allow(clippy::cast_precision_loss, reason = "an error of one in 2^53 changes no choice that matters")]
pub(super) fn float(number: u64) -> f64 {
    number as f64
}

/// An amount as a float; none is negative.
pub(super) fn amount(number: i64) -> f64 {
    float(number.unsigned_abs())
}

/// The whole part of a number, nothing for what is negative or not a number.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and what is negative is cut off first"
)]
pub(super) fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}

/// A count as an amount.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
