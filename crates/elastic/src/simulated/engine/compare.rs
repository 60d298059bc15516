//! Which of 48 times have come: one comparison of all, as a mask with a bit each.
//!
//! With AVX-512 it is three instructions, with AVX2 six comparisons and six moves; what the machine
//! has is seen at run time. All of them give the same mask.

/// How many times are compared at once.
pub(super) const LANES: usize = 48;

/// Times, relative to some base, in ticks.
#[derive(Clone)]
#[repr(C, align(64))]
pub(super) struct Heads(pub(super) [i32; LANES]);

/// A way of comparing.
pub(super) trait Compare {
    /// The lanes whose time is `t` or earlier.
    fn come(heads: &Heads, t: i32) -> u64;
}

/// Plain code, for any machine.
pub(super) struct Plain;

impl Compare for Plain {
    #[inline(always)]
    fn come(heads: &Heads, t: i32) -> u64 {
        let mut mask = 0;
        for (lane, head) in heads.0.iter().enumerate() {
            mask |= u64::from(*head <= t) << lane;
        }
        mask
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::{Compare, Heads};
    use std::arch::x86_64::{
        _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_load_si256, _mm256_movemask_ps,
        _mm256_set1_epi32, _mm512_cmple_epi32_mask, _mm512_load_si512, _mm512_set1_epi32,
    };

    /// Eight lanes at once. Only where the machine has AVX2.
    pub(in super::super) struct Avx2;

    /// Sixteen lanes at once. Only where the machine has AVX-512F.
    pub(in super::super) struct Avx512;

    impl Compare for Avx2 {
        #[inline(always)]
        #[expect(unsafe_code, reason = "vector instructions")]
        fn come(heads: &Heads, t: i32) -> u64 {
            let mut later = 0;
            for group in 0..6 {
                // SAFETY: only called where AVX2 was found; 48 aligned lanes are six groups of 8.
                let bits = unsafe {
                    let lanes = _mm256_load_si256(heads.0.as_ptr().add(8 * group).cast());
                    let above = _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(t));
                    _mm256_movemask_ps(_mm256_castsi256_ps(above))
                };
                later |= u64::from(bits.cast_unsigned()) << (8 * group);
            }
            !later & ((1 << super::LANES) - 1)
        }
    }

    impl Compare for Avx512 {
        #[inline(always)]
        #[expect(unsafe_code, reason = "vector instructions")]
        fn come(heads: &Heads, t: i32) -> u64 {
            let mut mask = 0;
            for group in 0..3 {
                // SAFETY: only called where AVX-512F was found; 48 aligned lanes are three groups.
                let bits = unsafe {
                    let lanes = _mm512_load_si512(heads.0.as_ptr().add(16 * group).cast());
                    _mm512_cmple_epi32_mask(lanes, _mm512_set1_epi32(t))
                };
                mask |= u64::from(bits) << (16 * group);
            }
            mask
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_ways_say_the_same(
            lanes in prop::array::uniform32(any::<i32>()),
            more in prop::array::uniform16(any::<i32>()),
            t in any::<i32>(),
            at in 0usize..LANES,
        ) {
            let mut heads = Heads([0; LANES]);
            heads.0[..32].copy_from_slice(&lanes);
            heads.0[32..].copy_from_slice(&more);
            heads.0[at] = t;
            let plain = Plain::come(&heads, t);
            prop_assert!(plain & (1 << at) != 0);
            #[cfg(target_arch = "x86_64")]
            {
                if std::arch::is_x86_feature_detected!("avx2") {
                    prop_assert_eq!(x86::Avx2::come(&heads, t), plain);
                }
                if std::arch::is_x86_feature_detected!("avx512f") {
                    prop_assert_eq!(x86::Avx512::come(&heads, t), plain);
                }
            }
        }
    }
}
