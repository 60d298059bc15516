//! The last step of SplitMix64: every bit of a number changes all of the result (Steele, Lea and
//! Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014; constants of Stafford's
//! variant 13).

/// The step between two states of SplitMix64. Added or multiplied first, it keeps small numbers
/// apart, and zero from staying zero.
pub(crate) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes the bits of a number; one to one.
#[inline(always)]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

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
