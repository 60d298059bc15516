//! Streams: golden values, independence of names, and the laws of each draw.
//!
//! The statistical bounds are five standard errors of the statistic at a fixed seed, so a test
//! fails because the law changed, not by chance.

use plimsoll_workload::random::Stream;

use crate::statistics::{ks_distance, mean_and_variance};

const N: usize = 400_000;

fn draws(name: &str, draw: impl Fn(&mut Stream) -> f64) -> Vec<f64> {
    let mut stream = Stream::named(42, name);
    (0..N).map(|_| draw(&mut stream)).collect()
}

#[test]
fn golden_values() {
    let mut stream = Stream::named(1, "arrivals");
    let words: [u64; 4] = std::array::from_fn(|_| stream.next_u64());
    let exact = [stream.exponential(), stream.normal(), stream.uniform()].map(f64::to_bits);
    let below: [u64; 4] = std::array::from_fn(|_| stream.below(1_000_000));
    assert_eq!(words, GOLDEN_WORDS);
    assert_eq!(exact, GOLDEN_BITS);
    assert_eq!(below, GOLDEN_BELOW);
    // Far enough for the rare branches, the tails among them, to have been taken.
    let sum = |draw: fn(&mut Stream) -> f64| {
        let mut stream = Stream::named(1, "sum");
        (0..100_000).map(|_| draw(&mut stream)).sum::<f64>().to_bits()
    };
    assert_eq!(sum(Stream::exponential), GOLDEN_SUMS[0]);
    assert_eq!(sum(Stream::normal), GOLDEN_SUMS[1]);
}

const GOLDEN_WORDS: [u64; 4] =
    [6777504604097017528, 16739885461226215683, 31624356832077024, 849789127311348907];
const GOLDEN_BITS: [u64; 3] = [4604056108600107049, 4611068845711034988, 4605712974232871777];
const GOLDEN_BELOW: [u64; 4] = [367017, 546267, 184729, 290151];
const GOLDEN_SUMS: [u64; 2] = [4681581788845928480, 13870138835883652613];

#[test]
fn names_and_seeds_are_independent() {
    let names = ["arrivals", "service", "routing", "boot", "a", "b", ""];
    let mut firsts: Vec<u64> = names
        .iter()
        .flat_map(|name| (0..100).map(|seed| Stream::named(seed, name).next_u64()))
        .collect();
    let before = firsts.len();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), before);
    // Two streams: their correlation is that of independent numbers, 1/√N.
    let (a, b) = (draws("arrivals", Stream::uniform), draws("service", Stream::uniform));
    let covariance = a.iter().zip(&b).map(|(a, b)| (a - 0.5) * (b - 0.5)).sum::<f64>() / N as f64;
    assert!((covariance * 12.0).abs() < 5.0 / (N as f64).sqrt());
    // And neighbouring seeds too.
    let mut next = Stream::named(43, "arrivals");
    let c = a.iter().map(|a| (a - 0.5) * (next.uniform() - 0.5)).sum::<f64>() / N as f64;
    assert!((c * 12.0).abs() < 5.0 / (N as f64).sqrt());
}

#[test]
fn uniform_is_uniform() {
    let values = draws("uniform", Stream::uniform);
    assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
    assert!(ks_distance(&values, |x| x) < 2.2 / (N as f64).sqrt());
}

#[test]
fn exponential_has_mean_and_variance_one_and_the_right_law() {
    let values = draws("exponential", Stream::exponential);
    let (mean, variance) = mean_and_variance(&values);
    // The variance of the sample variance of an exponential is 8/n.
    assert!((mean - 1.0).abs() < 5.0 / (N as f64).sqrt(), "{mean}");
    assert!((variance - 1.0).abs() < 5.0 * (8.0 / N as f64).sqrt(), "{variance}");
    assert!(ks_distance(&values, |x| 1.0 - (-x).exp()) < 2.2 / (N as f64).sqrt());
    // Beyond the start of the tail, at 7.697: e^-7.697 of all; and beyond 10.
    for bound in [7.697_117, 10.0] {
        let beyond = values.iter().filter(|value| **value > bound).count() as f64;
        let expected = N as f64 * f64::exp(-bound);
        assert!((beyond - expected).abs() < 5.0 * expected.sqrt(), "{beyond} of {expected}");
    }
}

#[test]
fn normal_has_the_right_law() {
    let values = draws("normal", Stream::normal);
    let (mean, variance) = mean_and_variance(&values);
    assert!(mean.abs() < 5.0 / (N as f64).sqrt(), "{mean}");
    assert!((variance - 1.0).abs() < 5.0 * (2.0 / N as f64).sqrt(), "{variance}");
    let cumulative = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    assert!(ks_distance(&values, cumulative) < 2.2 / (N as f64).sqrt());
    let beyond = values.iter().filter(|value| value.abs() > 3.654_152).count() as f64;
    let expected = N as f64 * 2.0 * cumulative(-3.654_152);
    assert!((beyond - expected).abs() < 5.0 * expected.sqrt(), "{beyond} of {expected}");
}

#[test]
fn below_is_unbiased_and_within() {
    let mut stream = Stream::named(7, "below");
    assert_eq!(stream.below(0), 0);
    assert_eq!(stream.below(1), 0);
    for n in [2, 3, 10, 1000] {
        let mut counts = vec![0.0; n];
        for _ in 0..N {
            counts[usize::try_from(stream.below(n as u64)).unwrap()] += 1.0;
        }
        let expected = N as f64 / n as f64;
        let chi: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
        let free = n as f64 - 1.0;
        assert!((chi - free).abs() < 5.0 * (2.0 * free).sqrt(), "{n}: {chi}");
    }
    // 2^64 is 4/3 of this: without rejection every third result would come twice as often.
    let n = 3 << 62;
    let thirds = (0..N).filter(|_| stream.below(n).is_multiple_of(3)).count() as f64;
    let off = (thirds - N as f64 / 3.0).abs();
    assert!(off < 5.0 * (N as f64 * 2.0 / 9.0).sqrt(), "{thirds}");
}
