//! Exponential numbers: −ln u, by arithmetic that vectors have.
//!
//! u is a power of two times m from √½ to √2, and ln m is 2 artanh s with s = (m − 1) / (m + 1), a
//! series in s² ≤ 0.0295 (Abramowitz and Stegun, *Handbook of Mathematical Functions*, 1964,
//! 4.1.27). The first term left out is 2 s¹⁷ / 17 < 2·10⁻¹⁴.

use super::open_unit;

const LN_2: f64 = std::f64::consts::LN_2;
/// The bits of √½ and of 1.
const ROOT_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
const ONE_BITS: u64 = 1023 << 52;
const FRACTION: u64 = (1 << 52) - 1;

/// Exponential with mean 1, of a word.
#[inline(always)]
pub(super) fn of(word: u64) -> f64 {
    minus_ln(open_unit(word))
}

/// −ln u, for u within 0 and 1.
#[inline(always)]
fn minus_ln(u: f64) -> f64 {
    let shifted = u.to_bits() + (ONE_BITS - ROOT_BITS);
    let m = f64::from_bits((shifted & FRACTION) + ROOT_BITS);
    // How often m was halved: 1023 less the exponent, by a number whose last bits are it.
    let halved = (0x4330_0000_0000_03ff_u64).wrapping_sub(shifted >> 52);
    let halvings = f64::from_bits(halved) - (1_u64 << 52) as f64;
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let rest = s2 * (1.0 / 3.0 + s2 * (1.0 / 5.0 + s2 * (1.0 / 7.0 + s2 * higher(s2))));
    halvings * LN_2 - 2.0 * (s + s * rest)
}

/// The terms from the ninth power on.
#[inline(always)]
fn higher(s2: f64) -> f64 {
    1.0 / 9.0 + s2 * (1.0 / 11.0 + s2 * (1.0 / 13.0 + s2 * (1.0 / 15.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_and_powers_are_exact_enough() {
        for u in [0.5 * f64::EPSILON, 0.25, 0.5, 0.707_106_781_186_547_5, 1.0 - 0.5 * f64::EPSILON]
        {
            let wanted = -libm::log(u);
            let found = minus_ln(u);
            assert!((found - wanted).abs() <= 2e-14 * wanted.max(1.0), "{u}: {found} {wanted}");
            assert!(found > 0.0);
        }
    }

    proptest! {
        #[test]
        fn it_is_the_logarithm(word in any::<u64>(), zeros in 0u32..60) {
            let u = open_unit(word >> zeros);
            let (found, wanted) = (minus_ln(u), -libm::log(u));
            let error = (found - wanted).abs();
            prop_assert!(error <= 2e-14 * wanted.max(1.0), "{u}: {found} {wanted}");
        }
    }
}
