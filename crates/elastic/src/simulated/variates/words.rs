//! Random words, eight streams side by side: xoshiro256++ (Blackman and Vigna, *Scrambled Linear
//! Pseudorandom Number Generators*, ACM TOMS 47(4), 2021), in plain code and by vector
//! instructions. The words are the same.

use plimsoll_workload::random::Stream;

/// Streams side by side.
const LANES: usize = 8;

type Lanes = [u64; LANES];

/// A stream of words: word n is one of stream n mod 8.
#[derive(Clone)]
pub(super) struct Words {
    state: [Lanes; 4],
}

impl Words {
    /// The words of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let key = Stream::named(seed, "service").next_u64();
        let mut state = [[0; LANES]; 4];
        for (lane, number) in (0..LANES).zip(0..) {
            let mut stream = Stream::numbered(key, number);
            for word in &mut state {
                word[lane] = stream.next_u64();
            }
        }
        Self { state }
    }

    /// The next words; a multiple of eight.
    #[inline(always)]
    pub(super) fn fill<const N: usize>(&mut self, out: &mut [u64; N]) {
        const { assert!(N.is_multiple_of(LANES)) };
        let [mut s0, mut s1, mut s2, mut s3] = self.state;
        for out in out.chunks_exact_mut(LANES) {
            for lane in 0..LANES {
                let sum = s0[lane].wrapping_add(s3[lane]);
                out[lane] = sum.rotate_left(23).wrapping_add(s0[lane]);
                let shifted = s1[lane] << 17;
                s2[lane] ^= s0[lane];
                s3[lane] ^= s1[lane];
                s1[lane] ^= s2[lane];
                s0[lane] ^= s3[lane];
                s2[lane] ^= shifted;
                s3[lane] = s3[lane].rotate_left(45);
            }
        }
        self.state = [s0, s1, s2, s3];
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, Words};
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_or_si256, _mm256_slli_epi64,
        _mm256_srli_epi64, _mm256_storeu_si256, _mm256_xor_si256,
    };

    impl Words {
        /// [`Words::fill`] by vector instructions.
        #[target_feature(enable = "avx2")]
        #[expect(unsafe_code, reason = "vector instructions")]
        pub(in super::super) fn fill_avx2<const N: usize>(&mut self, out: &mut [u64; N]) {
            const { assert!(N.is_multiple_of(LANES)) };
            for half in [0, LANES / 2] {
                // SAFETY: four numbers from `half` on are within eight lanes.
                let load = |of: &[u64; LANES]| unsafe {
                    _mm256_loadu_si256(of.as_ptr().add(half).cast::<__m256i>())
                };
                let [mut s0, mut s1, mut s2, mut s3] = [
                    load(&self.state[0]),
                    load(&self.state[1]),
                    load(&self.state[2]),
                    load(&self.state[3]),
                ];
                for out in out.chunks_exact_mut(LANES) {
                    let sum = _mm256_add_epi64(s0, s3);
                    let high = _mm256_slli_epi64::<23>(sum);
                    let turned = _mm256_or_si256(high, _mm256_srli_epi64::<41>(sum));
                    let words = _mm256_add_epi64(turned, s0);
                    // SAFETY: as above; each part of `out` has eight.
                    unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(half).cast(), words) };
                    let shifted = _mm256_slli_epi64::<17>(s1);
                    s2 = _mm256_xor_si256(s2, s0);
                    s3 = _mm256_xor_si256(s3, s1);
                    s1 = _mm256_xor_si256(s1, s2);
                    s0 = _mm256_xor_si256(s0, s3);
                    s2 = _mm256_xor_si256(s2, shifted);
                    let high = _mm256_slli_epi64::<45>(s3);
                    s3 = _mm256_or_si256(high, _mm256_srli_epi64::<19>(s3));
                }
                for (state, after) in self.state.iter_mut().zip([s0, s1, s2, s3]) {
                    // SAFETY: as above.
                    unsafe { _mm256_storeu_si256(state.as_mut_ptr().add(half).cast(), after) };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the authors' reference code for the state 1, 2, 3, 4, in every lane.
    #[test]
    fn each_lane_is_the_reference_codes() {
        let mut words = Words { state: [[1; LANES], [2; LANES], [3; LANES], [4; LANES]] };
        let mut out = [0; 4 * LANES];
        words.fill(&mut out);
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        for (of_step, expected) in out.chunks(LANES).zip(expected) {
            assert!(of_step.iter().all(|&word| word == expected), "{of_step:?}");
        }
    }

    #[test]
    fn blocks_of_any_length_are_one_stream_and_seeds_are_apart() {
        let (mut long, mut short, mut again) = ([0; 64], [0; 8], Words::new(7));
        Words::new(7).fill(&mut long);
        for expected in long.chunks(8) {
            again.fill(&mut short);
            assert_eq!(short, expected);
        }
        let mut other = [0; 64];
        Words::new(8).fill(&mut other);
        let mut all: Vec<u64> = long.into_iter().chain(other).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 128, "no word twice");
    }
}
