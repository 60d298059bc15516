//! Which of 48 times have come: one comparison of all, as a mask with a bit each.
//!
//! With AVX2 the times stay in six registers while requests are offered, and a comparison of all is
//! six instructions and as many for the mask; what the machine has is seen at run time. All ways
//! give the same mask.

/// How many times are compared at once.
pub(super) const LANES: usize = 48;

/// Times, relative to some base, in ticks.
pub(super) type Heads = [i32; LANES];

/// A way of comparing.
pub(super) trait Compare: Copy {
    /// From memory.
    fn load(heads: &Heads) -> Self;

    /// To memory.
    fn store(self, heads: &mut Heads);

    /// The lanes whose time is `t` or earlier; `t` is not the greatest number.
    fn come(&self, t: i32) -> u64;

    /// Gives a lane a time.
    fn set(&mut self, lane: usize, at: i32);
}

/// Plain code, for any machine.
#[derive(Clone, Copy)]
pub(super) struct Plain(Heads);

impl Compare for Plain {
    #[inline(always)]
    fn load(heads: &Heads) -> Self {
        Self(*heads)
    }

    #[inline(always)]
    fn store(self, heads: &mut Heads) {
        *heads = self.0;
    }

    #[inline(always)]
    fn come(&self, t: i32) -> u64 {
        let mut bytes = [0_u8; LANES];
        for (byte, head) in bytes.iter_mut().zip(&self.0) {
            *byte = u8::from(*head <= t);
        }
        let (eights, _) = bytes.as_chunks::<8>();
        let masks = eights.iter().map(|&eight| {
            // Byte i, which is 0 or 1, to bit 56 + i: no two products meet in one bit.
            u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
        });
        masks.rev().fold(0, |all, mask| (all << 8) | mask)
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, at: i32) {
        self.0[lane] = at;
    }
}

/// Whether the machine has the vector instructions that are made use of.
pub(in super::super) fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::{Compare, Heads};
    use std::arch::x86_64::{
        __m256i, _mm256_blendv_epi8, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32,
        _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_packs_epi16,
        _mm256_packs_epi32, _mm256_set1_epi32, _mm256_storeu_si256,
    };

    /// Eight lanes a register. Only where the machine has AVX2.
    ///
    /// The first 32 lanes are narrowed to a byte each for one mask. Narrowing takes its operands by
    /// halves, so these lanes lie in the registers as [`ORDER`] says, and the mask is in order.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2([__m256i; 6]);

    /// The lane that is at each place of the registers.
    #[rustfmt::skip]
    static ORDER: Heads = [
        0, 1, 2, 3, 16, 17, 18, 19,
        4, 5, 6, 7, 20, 21, 22, 23,
        8, 9, 10, 11, 24, 25, 26, 27,
        12, 13, 14, 15, 28, 29, 30, 31,
        32, 33, 34, 35, 36, 37, 38, 39,
        40, 41, 42, 43, 44, 45, 46, 47,
    ];

    #[inline(always)]
    #[expect(unsafe_code, reason = "vector instructions")]
    fn registers(of: &Heads) -> [__m256i; 6] {
        // SAFETY: only called where AVX2 was found; 48 numbers are six groups of eight.
        unsafe {
            let at = of.as_ptr();
            [
                _mm256_loadu_si256(at.cast()),
                _mm256_loadu_si256(at.add(8).cast()),
                _mm256_loadu_si256(at.add(16).cast()),
                _mm256_loadu_si256(at.add(24).cast()),
                _mm256_loadu_si256(at.add(32).cast()),
                _mm256_loadu_si256(at.add(40).cast()),
            ]
        }
    }

    impl Compare for Avx2 {
        #[inline(always)]
        fn load(heads: &Heads) -> Self {
            Self(registers(&ORDER.map(|lane| heads[lane as usize])))
        }

        #[inline(always)]
        #[expect(unsafe_code, reason = "vector instructions")]
        fn store(self, heads: &mut Heads) {
            let mut placed: Heads = [0; super::LANES];
            for (n, register) in self.0.into_iter().enumerate() {
                // SAFETY: as in `registers`.
                unsafe { _mm256_storeu_si256(placed.as_mut_ptr().add(8 * n).cast(), register) };
            }
            for (lane, head) in ORDER.into_iter().zip(placed) {
                heads[lane as usize] = head;
            }
        }

        #[inline(always)]
        #[expect(unsafe_code, reason = "vector instructions")]
        fn come(&self, t: i32) -> u64 {
            // SAFETY: only called where AVX2 was found.
            let (low, high, last) = unsafe {
                let after = _mm256_set1_epi32(t + 1);
                let [a, b, c, d, e, f] = self.0;
                let (a, b) = (_mm256_cmpgt_epi32(after, a), _mm256_cmpgt_epi32(after, b));
                let (c, d) = (_mm256_cmpgt_epi32(after, c), _mm256_cmpgt_epi32(after, d));
                let (e, f) = (_mm256_cmpgt_epi32(after, e), _mm256_cmpgt_epi32(after, f));
                let (ab, cd) = (_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
                let low = _mm256_movemask_epi8(_mm256_packs_epi16(ab, cd));
                let high = _mm256_movemask_ps(_mm256_castsi256_ps(e));
                (low, high, _mm256_movemask_ps(_mm256_castsi256_ps(f)))
            };
            let mask = |bits: i32| u64::from(bits.cast_unsigned());
            mask(low) | (mask(high) << 32) | (mask(last) << 40)
        }

        #[inline(always)]
        #[expect(unsafe_code, reason = "vector instructions")]
        fn set(&mut self, lane: usize, at: i32) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "48")]
            let lane = lane as i32;
            let order = registers(&ORDER);
            // SAFETY: only called where AVX2 was found.
            unsafe {
                let (lane, at) = (_mm256_set1_epi32(lane), _mm256_set1_epi32(at));
                for (heads, lanes) in self.0.iter_mut().zip(order) {
                    *heads = _mm256_blendv_epi8(*heads, at, _mm256_cmpeq_epi32(lanes, lane));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a way says of these heads after two of them have changed, and the heads then.
    fn said<C: Compare>(heads: &Heads, changes: [(usize, i32); 2], t: i32) -> (u64, Heads) {
        let (mut way, mut after) = (C::load(heads), [0; LANES]);
        changes.into_iter().for_each(|(lane, at)| way.set(lane, at));
        way.store(&mut after);
        (way.come(t), after)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn said_by_avx2(heads: &Heads, changes: [(usize, i32); 2], t: i32) -> (u64, Heads) {
        said::<x86::Avx2>(heads, changes, t)
    }

    proptest! {
        #[test]
        fn all_ways_say_the_same(
            heads in prop::collection::vec(0i32..100, LANES),
            changes in prop::array::uniform2((0usize..LANES, any::<i32>())),
            t in prop_oneof![0i32..100, 0i32..i32::MAX],
        ) {
            let heads: Heads = heads.try_into().unwrap();
            let (mask, after) = said::<Plain>(&heads, changes, t);
            let mut wanted = heads;
            changes.into_iter().for_each(|(lane, at)| wanted[lane] = at);
            prop_assert_eq!(after, wanted);
            for (lane, head) in wanted.iter().enumerate() {
                prop_assert_eq!(mask >> lane & 1 == 1, *head <= t);
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                #[expect(unsafe_code, reason = "vector instructions")]
                // SAFETY: the machine has them.
                let by_vectors = unsafe { said_by_avx2(&heads, changes, t) };
                prop_assert_eq!(by_vectors, (mask, after));
            }
        }
    }
}
