//! Two hashes for tables, digests and streams of random numbers. Neither withstands an adversary.

/// The increment of SplitMix64, the odd number nearest to 2⁶⁴ over the golden ratio. Added or
/// multiplied first, it keeps small numbers apart, and zero from staying zero.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the bits of a number, one to one: the output function of SplitMix64 (Steele, Lea and
/// Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014; D. Stafford's variant 13).
#[inline(always)]
#[must_use]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Where FNV-1a begins.
pub const FNV_1A: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a of 64 bits (G. Fowler, L. C. Noll, K.-P. Vo), gone on with from a state.
#[inline]
#[must_use]
pub fn fnv_1a_on(state: u64, bytes: &[u8]) -> u64 {
    let take = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(state, take)
}

/// FNV-1a of 64 bits.
#[inline]
#[must_use]
pub fn fnv_1a(bytes: &[u8]) -> u64 {
    fnv_1a_on(FNV_1A, bytes)
}

/// Bytes as lower-case hexadecimal digits, two each.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64 of seed 0 and FNV-1a as their authors publish them.
    #[test]
    fn agree_with_the_published_values() {
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a_on(fnv_1a(b"foo"), b"bar"), 0x8594_4171_f739_67e8);
    }
}
