//! The lab's reference trace, "cachelab trace v1", in integers only: popularity by Zipf's law of
//! exponent 0.8, sizes Pareto of shape 1 by octaves from 1 KiB to 8 MiB.

/// What a trace is made of: the object of each request, then names and sizes of objects.
pub(crate) type Parts = (Vec<u32>, Vec<u64>, Vec<u64>);

/// Requests to objects by rank, renumbered by first appearance; the reference itself has 10^6
/// objects, 10^7 requests and the seed 42.
pub(crate) fn parts(objects: u64, requests: usize, seed: u64) -> Parts {
    let mut sum = 0;
    let cumulative: Vec<u64> = (1..=objects)
        .map(|rank| {
            sum += weight(rank);
            sum
        })
        .collect();
    let mut numbers = vec![u32::MAX; cumulative.len() + 1];
    let (mut asked, mut names, mut sizes) = (Vec::with_capacity(requests), Vec::new(), Vec::new());
    let mut state = seed;
    for _ in 0..requests {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let drawn = ((u128::from(mix(state)) * u128::from(sum)) >> 64) as u64;
        let rank = cumulative.partition_point(|&below| below <= drawn) as u64 + 1;
        let number = &mut numbers[rank as usize];
        if *number == u32::MAX {
            *number = names.len() as u32;
            names.push(mix(rank));
            sizes.push(size(rank));
        }
        asked.push(*number);
    }
    (asked, names, sizes)
}

/// The greatest w with w^5 rank^4 <= 2^125, bit by bit: 2^25 / rank^0.8, rounded down.
fn weight(rank: u64) -> u64 {
    let fits = |w: u64| -> Option<u64> {
        let both = u128::from(w).checked_pow(5)?.checked_mul(u128::from(rank).pow(4))?;
        (both <= 1 << 125).then_some(w)
    };
    (0..=25).rev().fold(0, |w: u64, bit| fits(w | 1 << bit).unwrap_or(w))
}

fn size(rank: u64) -> u64 {
    let hash = mix(rank ^ 0xA5A5_A5A5_A5A5_A5A5);
    let octave = (hash | 1 << 63).trailing_zeros().min(12);
    let base = 1024u64 << octave;
    base + (((hash >> 32) * base) >> 32)
}

/// The last step of SplitMix64.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
