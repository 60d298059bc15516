//! Random numbers that are the same everywhere: named, independent streams of one seed.
//!
//! A [`Stream`] belongs to one purpose (`arrivals`, `service`, `routing` …). Streams of one seed
//! and different names have nothing to do with each other, so one consumer that draws more or less
//! never shifts what another one sees, and two systems compared under one seed see the same
//! requests (common random numbers).
//!
//! # Determinism
//!
//! Equal seed and name give equal bits on every machine: integers are exact, `+ - * /` and square
//! root are correctly rounded by IEEE 754, and every other function comes from the `libm` crate,
//! never from the machine's C library. Golden values are in `tests/it/random.rs`.
//!
//! # Sources
//!
//! xoshiro256++ 1.0 and SplitMix64, Blackman and Vigna, *Scrambled Linear Pseudorandom Number
//! Generators*, ACM TOMS 47(4), 2021, and their reference code in the public domain. Names are
//! hashed with FNV-1a, 64 bits. Bounded integers: Lemire, *Fast Random Integer Generation in an
//! Interval*, ACM TOMACS 29(1), 2019. Exponential and normal draws: see `ziggurat`.

mod ziggurat;

use plimsoll_units::hash::{GOLDEN, fnv_1a, mix};
use ziggurat::{EXPONENTIAL, NORMAL, Table};

/// A stream of random numbers: xoshiro256++, period 2^256 − 1.
///
/// # Example
/// ```
/// use plimsoll_workload::random::Stream;
/// let (mut a, mut b) = (Stream::named(7, "service"), Stream::named(7, "service"));
/// assert_eq!(a.next_u64(), b.next_u64());
/// assert_ne!(a.next_u64(), Stream::named(7, "routing").next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    state: [u64; 4],
}

/// The seed of a replication: a draw of the stream of its number.
#[must_use]
pub fn seed_of(seed: u64, replication: u64) -> u64 {
    Stream::numbered(Stream::named(seed, "replications").next_u64(), replication).next_u64()
}

impl Stream {
    /// The stream of that name under that seed.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        // Seed and name each go through a mixing function before they meet, so that neighbouring
        // seeds and similar names start far apart; SplitMix64 then never yields four zeros.
        let mut split = mix(seed.wrapping_add(GOLDEN)) ^ fnv_1a(name.as_bytes());
        let state = std::array::from_fn(|_| {
            split = split.wrapping_add(GOLDEN);
            mix(split)
        });
        Self { state }
    }

    /// The stream of one number under a key, which is itself a draw of a named stream. What is
    /// drawn for request n is then a function of n alone, whoever draws for the requests before it.
    #[inline]
    #[must_use]
    pub fn numbered(key: u64, number: u64) -> Self {
        let mut split = mix(key ^ mix(number.wrapping_mul(GOLDEN)));
        let state = std::array::from_fn(|_| {
            split = split.wrapping_add(GOLDEN);
            mix(split)
        });
        Self { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let word = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        word
    }

    /// Uniform in `[0, 1)`, a multiple of 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// Uniform in `0..n`, without bias; 0 where `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if low(product) < n {
            // The words that would make some results likelier than others are 2^64 mod n.
            let excess = n.wrapping_neg() % n;
            while low(product) < excess {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        high(product)
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        let word = self.next_u64();
        match EXPONENTIAL.read(word) {
            Some(x) => x,
            None => self.rare_exponential(word),
        }
    }

    /// Goes on with a word that the table did not accept at once. Apart from the frequent path,
    /// which then stays short enough to be inlined with the state in registers.
    #[cold]
    #[inline(never)]
    fn rare_exponential(&mut self, mut word: u64) -> f64 {
        loop {
            if Table::is_tail(word) {
                // Without memory: beyond the tail's start lies the whole density again.
                return EXPONENTIAL.tail - libm::log(1.0 - self.uniform());
            }
            let second = self.uniform();
            if let Some(x) = EXPONENTIAL.decide(word, |x| libm::exp(-x), second) {
                return x;
            }
            word = self.next_u64();
            if let Some(x) = EXPONENTIAL.read(word) {
                return x;
            }
        }
    }

    /// Normal with mean 0 and standard deviation 1.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let word = self.next_u64();
        match NORMAL.read(word) {
            Some(x) => signed(word, x),
            None => self.rare_normal(word),
        }
    }

    /// As [`Stream::rare_exponential`].
    #[cold]
    #[inline(never)]
    fn rare_normal(&mut self, mut word: u64) -> f64 {
        loop {
            if Table::is_tail(word) {
                return signed(word, NORMAL.tail + self.beyond(NORMAL.tail));
            }
            let second = self.uniform();
            if let Some(x) = NORMAL.decide(word, |x| libm::exp(-0.5 * x * x), second) {
                return signed(word, x);
            }
            word = self.next_u64();
            if let Some(x) = NORMAL.read(word) {
                return signed(word, x);
            }
        }
    }

    /// How far a normal value lies beyond `tail`, given that it does (Marsaglia 1964).
    fn beyond(&mut self, tail: f64) -> f64 {
        loop {
            let x = -libm::log(1.0 - self.uniform()) / tail;
            let y = -libm::log(1.0 - self.uniform());
            if 2.0 * y > x * x {
                return x;
            }
        }
    }
}

/// The high 53 bits of a word as a number in `[0, 1)`.
#[inline]
pub(crate) fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A value with a sign from bit 8 of its word, which is used neither for the strip (0 to 7) nor for
/// the place in it (11 to 63).
#[inline]
fn signed(word: u64, x: f64) -> f64 {
    if word & 0x100 == 0 { x } else { -x }
}

#[inline]
fn high(product: u128) -> u64 {
    (product >> 64) as u64
}

#[inline]
fn low(product: u128) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
    let low = product as u64;
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the authors' reference code for the state 1, 2, 3, 4.
    #[test]
    fn agrees_with_the_reference_code_of_xoshiro256_plus_plus() {
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(std::array::from_fn(|_| stream.next_u64()), expected);
    }
}
