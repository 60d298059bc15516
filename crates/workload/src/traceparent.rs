//! The header `traceparent` of the W3C's Trace Context: under which id a server records a request.
//!
//! An id is a number that is counted up, enciphered by a key: so none comes twice within a key,
//! however many threads count, and nothing is remembered. The key is drawn anew for each run, from
//! the system and not from the run's seed, so that runs have nothing in common either.
//!
//! # Source
//! W3C, *Trace Context*, Recommendation of 23 November 2021, section 3.2.

use std::num::{NonZeroU64, NonZeroU128};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll_units::hash::{GOLDEN, mix};

/// The name of the header, as it is sent.
pub const NAME: &str = "traceparent";
/// The word that stands for its value in texts.
pub const WORD: &str = "traceparent";
/// The share of the requests that servers are asked to record, where nobody says.
pub const USUAL_SHARE: f64 = 0.01;
/// How long its value is, bytes.
pub const LEN: usize = 55;

/// So many bits of a draw decide whether a request is recorded: as many as a share is exact to.
const BITS: u32 = 53;
/// Each stream has so many ids before the next one's begin, as far as the parent's id goes.
const STREAM_BITS: u32 = 44;

/// What is enciphered before it is used up: the key of one run.
pub type Key = [u64; 4];

/// One value of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traceparent {
    /// The id of the whole trace.
    pub trace_id: NonZeroU128,
    /// The id of the request within it, from which what the server does descends.
    pub parent_id: NonZeroU64,
    /// Whether servers are asked to record it.
    pub is_sampled: bool,
}

impl Traceparent {
    /// Appends the value: version, both ids and the flags, in lower case.
    pub fn push(&self, out: &mut Vec<u8>) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let hex = |bytes: &[u8], out: &mut Vec<u8>| {
            for byte in bytes {
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        };
        out.extend_from_slice(b"00-");
        hex(&self.trace_id.get().to_be_bytes(), out);
        out.push(b'-');
        hex(&self.parent_id.get().to_be_bytes(), out);
        // Servers are known that compare the whole flags with 01: no other bit is ever set.
        out.extend_from_slice(if self.is_sampled { b"-01" } else { b"-00" });
    }

    /// The value as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = Vec::with_capacity(LEN);
        self.push(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Where the values of a run come from. Clones share what they have counted.
#[derive(Debug, Clone)]
pub struct Traceparents {
    cipher: Cipher,
    counted: Arc<Counted>,
}

/// What all that come from one key have counted.
#[derive(Debug)]
struct Counted {
    /// The next stream of its own; 0 is the one that is shared.
    streams: AtomicU64,
    /// The next number of the shared one.
    numbers: AtomicU64,
}

impl Traceparents {
    /// Those of a key, of which `share` (0 to 1) are sampled.
    #[must_use]
    pub fn new(key: Key, share: f64) -> Self {
        let counted = Counted { streams: AtomicU64::new(1), numbers: AtomicU64::new(0) };
        Self { cipher: Cipher::new(key, share), counted: Arc::new(counted) }
    }

    /// A stream of its own for one thread, which counts without the others.
    #[must_use]
    pub fn stream(&self) -> TraceparentStream {
        let stream = self.counted.streams.fetch_add(1, Ordering::Relaxed);
        TraceparentStream { cipher: self.cipher, stream, number: 0 }
    }

    /// The next one of all that have no stream of their own.
    #[must_use]
    pub fn draw(&self) -> Traceparent {
        self.cipher.value(0, self.counted.numbers.fetch_add(1, Ordering::Relaxed))
    }
}

/// The values of one thread.
#[derive(Debug, Clone)]
pub struct TraceparentStream {
    cipher: Cipher,
    stream: u64,
    number: u64,
}

impl TraceparentStream {
    /// The next value. Allocates nothing.
    #[inline]
    #[must_use]
    pub fn draw(&mut self) -> Traceparent {
        let number = self.number;
        self.number = number.wrapping_add(1);
        self.cipher.value(self.stream, number)
    }

    /// Values that say nothing to anybody: of a seed, so that they come again in each run, and
    /// never sampled. For texts that are looked at, not sent.
    #[must_use]
    pub fn of_nobody(seed: u64) -> Self {
        Self { cipher: Cipher::new([seed; 4], 0.0), stream: 0, number: 0 }
    }
}

/// Turns a stream and a number in it into ids, one to one.
#[derive(Clone, Copy)]
struct Cipher {
    key: Key,
    /// Of 2^53 draws so many are sampled.
    sampled: u64,
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cipher(redacted)")
    }
}

impl Cipher {
    fn new(key: Key, share: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 2^53 is a whole number of 53 bits"
        )]
        let sampled = (share.clamp(0.0, 1.0) * (1_u64 << BITS) as f64).round() as u64;
        Self { key, sampled }
    }

    /// The value of a number. Each pair gives another trace id: a network of Feistel is one to one
    /// whatever its rounds are, and of four good ones it tells nothing of what went in.
    fn value(&self, stream: u64, number: u64) -> Traceparent {
        let (mut left, mut right) = (stream, number);
        for key in self.key {
            (left, right) = (right, left ^ mix(mix(right ^ key).wrapping_add(GOLDEN ^ key)));
        }
        let id = u128::from(left) << 64 | u128::from(right);
        let [a, b, c, d] = self.key;
        let packed = (stream << STREAM_BITS).wrapping_add(number);
        let parent = mix(mix(packed ^ b.rotate_left(17)).wrapping_add(d));
        let drawn = mix(mix(left ^ a.rotate_left(29)).wrapping_add(right ^ c));
        // One id of 2^128 is nothing, and none of its own then: it is as good as never met.
        Traceparent {
            trace_id: NonZeroU128::new(id).unwrap_or(NonZeroU128::MAX),
            parent_id: NonZeroU64::new(parent).unwrap_or(NonZeroU64::MAX),
            is_sampled: drawn >> (64 - BITS) < self.sampled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const KEY: Key = [1, 2, 3, 4];

    /// What receivers hold against a value (Trace Context, section 3.2.2).
    pub(crate) fn is_valid(value: &str) -> bool {
        let parts: Vec<&str> = value.split('-').collect();
        let [version, trace, parent, flags] = parts[..] else { return false };
        let hex = |text: &str, len: usize| {
            text.len() == len
                && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
                && text.bytes().any(|byte| byte != b'0')
        };
        version == "00" && hex(trace, 32) && hex(parent, 16) && matches!(flags, "00" | "01")
    }

    proptest! {
        #[test]
        fn each_value_is_valid(key: Key, share in 0.0..=1.0_f64, stream: u64, number: u64) {
            let value = Cipher::new(key, share).value(stream, number);
            prop_assert!(is_valid(&value.text()), "{}", value.text());
            prop_assert_eq!(value.text().len(), LEN);
            prop_assert_eq!(value.text().ends_with("-01"), value.is_sampled);
        }

        /// Ids of neighbours have nothing in common that could be seen: about half of their bits
        /// differ, in the low seven bytes, too, which ratio samplers look at.
        #[test]
        fn neighbours_differ_everywhere(key: Key, stream in 0..9_u64, number in 0..99_u64) {
            let of = |number| Cipher::new(key, 0.5).value(stream, number).trace_id.get();
            let changed = of(number) ^ of(number + 1);
            let low = (changed & ((1 << 56) - 1)).count_ones();
            prop_assert!((30..=98).contains(&changed.count_ones()), "{changed:032x}");
            prop_assert!((8..=48).contains(&low), "{changed:032x}");
        }
    }

    #[test]
    fn no_id_comes_twice_over_threads_and_runs() {
        let (mut traces, mut parents) = (BTreeSet::new(), BTreeSet::new());
        for key in [KEY, [1, 2, 3, 5], [0; 4]] {
            let of = Traceparents::new(key, 0.5);
            let threads: Vec<_> = (0..4)
                .map(|_| of.clone())
                .map(|of| {
                    std::thread::spawn(move || {
                        let mut own = of.stream();
                        let own = std::iter::repeat_with(move || own.draw()).take(5000);
                        let shared = std::iter::repeat_with(move || of.draw()).take(5000);
                        own.chain(shared).collect::<Vec<_>>()
                    })
                })
                .collect();
            for thread in threads {
                for value in thread.join().unwrap() {
                    assert!(traces.insert(value.trace_id), "{}", value.text());
                    assert!(parents.insert(value.parent_id), "{}", value.text());
                }
            }
        }
        assert_eq!(traces.len(), 3 * 4 * 10_000);
    }

    /// Counted exactly, of one key: within five deviations of a binomial count.
    #[test]
    fn the_share_is_that_which_was_asked_for() {
        const ALL: u32 = 1_000_000;
        for share in [0.0, 0.000_1, 0.01, 0.25, 0.5, 0.999, 1.0] {
            let mut stream = Traceparents::new(KEY, share).stream();
            let sampled = (0..ALL).filter(|_| stream.draw().is_sampled).count();
            let mean = f64::from(ALL) * share;
            let off = (sampled as f64 - mean).abs();
            assert!(off <= 5.0 * (mean * (1.0 - share)).sqrt(), "{sampled} of {ALL} at {share}");
        }
    }

    /// Whoever samples by the id itself keeps the same share of what is flagged as of all.
    #[test]
    fn the_flag_hangs_on_no_bit_of_the_id() {
        let mut stream = Traceparents::new(KEY, 0.5).stream();
        let mut met = [0_u32; 128];
        let sampled = (0..20_000).map(|_| stream.draw()).filter(|of| of.is_sampled);
        let count = sampled.fold(0, |count, value| {
            for (bit, met) in met.iter_mut().enumerate() {
                *met += u32::from(value.trace_id.get() >> bit & 1 == 1);
            }
            count + 1
        });
        let half = f64::from(count) / 2.0;
        let bound = 5.0 * half.sqrt();
        assert!(met.iter().all(|n| (f64::from(*n) - half).abs() < bound), "{met:?} of {count}");
    }
}
