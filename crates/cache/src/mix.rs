//! Hashes of small numbers, and numbers from 0 to 1 of hashes.

use plimsoll_units::hash::{GOLDEN, mix};

/// The hash of a small number.
#[inline(always)]
pub(crate) fn hash(number: u64) -> u64 {
    mix(number.wrapping_mul(GOLDEN))
}

/// From 0 to 1, without 1, by the upper bits of a number that is mixed.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
pub(crate) fn unit(mixed: u64) -> f64 {
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}
