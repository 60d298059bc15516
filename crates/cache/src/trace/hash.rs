//! Hashes of numbers and texts: folded multiplications, as in wyhash (Wang Yi, public domain). The
//! same on every machine; no defence against names made to collide.

const K: [u64; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the halves of the product")]
    let folded = product as u64 ^ (product >> 64) as u64;
    folded
}

/// The upper half of the hash of a number.
#[inline(always)]
pub(super) fn number(number: u64) -> u32 {
    // What a fold leaves regular in its upper half, the lower half's product does not.
    let mixed = fold(number ^ K[1], K[0]).wrapping_mul(K[1]);
    (mixed >> 32) as u32
}

/// The upper half of the hash of a text.
#[inline]
pub(super) fn text(text: &[u8]) -> u32 {
    let mut state = text.len() as u64 ^ K[1];
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), K[0]).wrapping_add(K[1]);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let state = fold(state ^ u64::from_le_bytes(last), K[0] ^ K[1]);
    (state >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets of 2^17 that stay free of 2^16 hashes by their upper bits: a random function leaves
    /// about e^(-1/2) = 0.607 of them, 79,500.
    fn free(hashes: impl Iterator<Item = u32>) -> usize {
        let mut seen = vec![false; 1 << 17];
        hashes.take(1 << 16).for_each(|hash| seen[(hash >> 15) as usize] = true);
        seen.iter().filter(|seen| !**seen).count()
    }

    #[test]
    fn hashes_spread() {
        let spread = |free: usize| (78_500..80_500).contains(&free);
        for shift in [0, 8, 12, 16, 20, 32, 44, 48] {
            let found = free((0..u64::MAX).map(|n| number(n << shift)));
            assert!(spread(found), "{found} free of numbers shifted by {shift}");
        }
        let found = free((0u64..).map(|n| number(n * 4096 + 17)));
        assert!(spread(found), "{found} free of numbers a page apart");
        let found = free((0..).map(|n| text(format!("/images/{n}.gif").as_bytes())));
        assert!(spread(found), "{found} free of texts");
    }
}
