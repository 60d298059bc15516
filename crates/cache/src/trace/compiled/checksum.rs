//! FNV-1a over words of 64 bits, in four lanes, so that a processor computes four steps at once.
//! Each step is one to one in its word and in its state, so a change within one word, or of one
//! lane's order, changes the result for certain. It is no defence against intent.
//!
//! FNV: Fowler, Noll and Vo, *The FNV Non-Cryptographic Hash Algorithm* (IETF draft).

const PRIME: u64 = 0x0000_0100_0000_01b3;
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Bytes that are taken at once.
pub(super) const STRIPE: usize = 32;

#[derive(Debug, Clone)]
pub(super) struct Checksum {
    lanes: [u64; 4],
    bytes: u64,
}

impl Checksum {
    pub(super) fn new() -> Self {
        Self { lanes: [BASIS, BASIS ^ 1, BASIS ^ 2, BASIS ^ 3], bytes: 0 }
    }

    /// Takes bytes: whole stripes, but for the last time.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        debug_assert!(self.bytes.is_multiple_of(STRIPE as u64), "only the last part is odd");
        self.bytes += bytes.len() as u64;
        let (stripes, rest) = bytes.as_chunks::<STRIPE>();
        for stripe in stripes {
            self.stripe(stripe);
        }
        if !rest.is_empty() {
            let mut stripe = [0; STRIPE];
            stripe[..rest.len()].copy_from_slice(rest);
            self.stripe(&stripe);
        }
    }

    #[inline(always)]
    fn stripe(&mut self, stripe: &[u8; STRIPE]) {
        let (words, _) = stripe.as_chunks::<8>();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            *lane = step(*lane, u64::from_le_bytes(*word));
        }
    }

    pub(super) fn finish(self) -> u64 {
        let all = self.lanes.iter().fold(BASIS, |state, &lane| step(state, lane));
        step(all, self.bytes)
    }
}

#[inline(always)]
fn step(state: u64, word: u64) -> u64 {
    // Multiplying moves bits up only: the rotation brings the upper ones down again.
    (state ^ word).wrapping_mul(PRIME).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> u64 {
        let mut checksum = Checksum::new();
        checksum.update(bytes);
        checksum.finish()
    }

    #[test]
    fn every_flip_is_seen() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let whole = of(&bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert_ne!(of(&changed), whole);
            }
        }
        assert_ne!(of(&bytes[..999]), whole);
        assert_ne!(of(&[0; 31]), of(&[0; 32]));
    }

    #[test]
    fn parts_give_what_the_whole_gives() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut checksum = Checksum::new();
        checksum.update(&bytes[..64]);
        checksum.update(&bytes[64..960]);
        checksum.update(&bytes[960..]);
        assert_eq!(checksum.finish(), of(&bytes));
    }
}
