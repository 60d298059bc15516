//! Arrivals: counts in every window against the schedule's integral, laws, shares, golden streams.

use std::sync::Arc;

use plimsoll_workload::arrivals::{Arrivals, DueTimes, Share};
use plimsoll_workload::schedule::Schedule;
use proptest::prelude::*;

use crate::schedule::{instant, schedule};
use crate::statistics::{ks_distance, mean_and_variance};

const S: u64 = 1_000_000_000;

/// All due times, taken in blocks of a size that divides nothing.
fn all(schedule: &Arc<Schedule>, arrivals: Arrivals, seed: u64, share: Share) -> Vec<u64> {
    let mut due = DueTimes::new(Arc::clone(schedule), arrivals, seed, share);
    let mut block = [0; 61];
    let mut times = Vec::new();
    loop {
        let n = due.fill(&mut block);
        if n == 0 {
            assert_eq!(due.fill(&mut block), 0, "the end is the end");
            return times;
        }
        times.extend_from_slice(&block[..n]);
    }
}

fn whole(schedule: &Arc<Schedule>, arrivals: Arrivals, seed: u64) -> Vec<u64> {
    all(schedule, arrivals, seed, Share::WHOLE)
}

fn parse(text: &str) -> Arc<Schedule> {
    Arc::new(Schedule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")))
}

/// Due times before an instant.
fn before(times: &[u64], t: u64) -> f64 {
    times.partition_point(|&due| due < t) as f64
}

/// One schedule of each kind and one of all of them, long and fast enough for statistics.
const KINDS: [(&str, &str); 6] = [
    ("constant", "700/s for 100s"),
    ("linear", "0/s..1400/s in 100s"),
    ("falling", "1400/s..0/s in 100s"),
    ("exponential", "10/s..5k/s in 100s exp"),
    ("stair", "100/s..1k/s step 100/s every 10s"),
    ("mixed", "100/s for 10s, 0/s for 5s, 0/s..2k/s in 30s, 2k/s..20/s in 60s exp, 333/s for 9.7s"),
];

#[test]
fn words() {
    for arrivals in Arrivals::ALL {
        assert_eq!(arrivals.to_string().parse::<Arrivals>(), Ok(arrivals));
    }
    let error = " poison".parse::<Arrivals>().unwrap_err();
    assert_eq!((error.at, error.len), (1, 6));
    assert!(error.hint.unwrap().contains("poisson"));
    let burst = Arrivals::Burst { every_ns: 250_000_000 };
    assert_eq!(burst.to_string(), "burst:250ms");
    assert_eq!(burst.to_string().parse::<Arrivals>(), Ok(burst));
    for (wrong, at) in [("burst", 0), ("burst:0s", 6), ("burst:x", 6)] {
        assert_eq!(wrong.parse::<Arrivals>().unwrap_err().at, at, "{wrong}");
    }
}

/// A burst has the requests of a Poisson process, at the beginnings of their intervals.
#[test]
fn bursts_are_poisson_arrivals_that_come_together() {
    for (_, text) in KINDS {
        let schedule = parse(text);
        let single = whole(&schedule, Arrivals::Poisson, 4);
        let burst = whole(&schedule, Arrivals::Burst { every_ns: 250_000_000 }, 4);
        let beginnings: Vec<u64> = single.iter().map(|due| due - due % 250_000_000).collect();
        assert_eq!(burst, beginnings, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn even_is_the_inverse_of_the_integral(schedule in schedule()) {
        let schedule = Arc::new(schedule);
        let times = whole(&schedule, Arrivals::Even, 1);
        prop_assert_eq!(times.len() as u64, schedule.total());
        for (n, &due) in times.iter().enumerate() {
            prop_assert_eq!(due, schedule.due_at(n as f64), "request {}", n);
        }
    }

    /// In every window the number due is within one of the integral.
    #[test]
    fn even_keeps_every_window(
        schedule in schedule(),
        windows in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 32),
    ) {
        let schedule = Arc::new(schedule);
        let times = whole(&schedule, Arrivals::Even, 1);
        prop_assert!(times.is_sorted());
        prop_assert!(times.last().is_none_or(|&last| last < schedule.duration_ns()));
        let length = schedule.duration_ns();
        // The request that would complete after the end is not made: the integral up to there.
        let integral = |t| schedule.cumulative(t).min(schedule.total() as f64);
        for (a, b) in windows {
            let (a, b) = (instant(a, length), instant(b, length));
            let (a, b) = (a.min(b), a.max(b));
            let due = before(&times, b) - before(&times, a);
            let expected = integral(b) - integral(a);
            // Rounding down to the nanosecond can bring a request into a window: 1 ns of rate.
            let slack = 1.0 + 2e-9 * schedule.peak() + 1e-6;
            let found = format!("{due} due in {a}..{b}, {expected} expected");
            prop_assert!((due - expected).abs() < slack, "{}", found);
        }
    }

    #[test]
    fn random_is_exact_in_every_second(schedule in schedule(), seed: u64) {
        let schedule = Arc::new(schedule);
        let times = whole(&schedule, Arrivals::Random, seed);
        prop_assert!(times.is_sorted());
        prop_assert_eq!(times.len() as u64, schedule.total());
        prop_assert!(times.last().is_none_or(|&last| last < schedule.duration_ns()));
        for second in 0..schedule.duration_ns().div_ceil(S) {
            // An integral counts as whole from a billionth below (`schedule/count.rs`): where it is
            // about so far from whole, rounding may take it either way.
            let floor = |t: u64, share: f64| {
                let integral = schedule.cumulative(t);
                let tolerance = (integral * 2f64.powi(-50)).max(1e-9);
                (integral + share * tolerance).floor()
            };
            let (start, end) = (second * S, (second + 1) * S);
            let least = floor(end, 0.5) - floor(start, 2.0);
            let most = floor(end, 2.0) - floor(start, 0.5);
            let due = before(&times, end) - before(&times, start);
            let found = format!("second {second}: {due} of {least} to {most}");
            prop_assert!((least..=most).contains(&due), "{}", found);
        }
    }

    #[test]
    fn poisson_stays_within_the_schedule(schedule in schedule(), seed: u64) {
        let schedule = Arc::new(schedule);
        let times = whole(&schedule, Arrivals::Poisson, seed);
        prop_assert!(times.is_sorted());
        prop_assert!(times.last().is_none_or(|&last| last < schedule.duration_ns()));
        let expected = schedule.cumulative(schedule.duration_ns());
        let off = (times.len() as f64 - expected).abs();
        prop_assert!(off < 6.0 * expected.sqrt() + 6.0, "{} of {}", times.len(), expected);
        // None where the rate is zero.
        for piece_at in times.iter().step_by(97) {
            prop_assert!(schedule.rate_at(*piece_at) > 0.0);
        }
    }

    #[test]
    fn the_shares_are_the_whole(schedule in schedule(), seed: u64, of in 1..7_u32) {
        let schedule = Arc::new(schedule);
        for arrivals in Arrivals::ALL {
            let expected = whole(&schedule, arrivals, seed);
            let mut union = vec![u64::MAX; expected.len()];
            let mut found = 0;
            for index in 0..of {
                let share = all(&schedule, arrivals, seed, Share { index, of });
                found += share.len();
                for (n, due) in share.into_iter().enumerate() {
                    union[n * of as usize + index as usize] = due;
                }
            }
            prop_assert_eq!(found, expected.len());
            prop_assert_eq!(&union, &expected, "{}", arrivals);
        }
    }

    #[test]
    fn blocks_and_clones_change_nothing(
        schedule in schedule(),
        seed: u64,
        sizes in prop::collection::vec(1..300_usize, 1..20),
    ) {
        let schedule = Arc::new(schedule);
        for arrivals in Arrivals::ALL {
            let expected = whole(&schedule, arrivals, seed);
            let mut due = DueTimes::new(Arc::clone(&schedule), arrivals, seed, Share::WHOLE);
            let mut times = Vec::new();
            let mut block = [0; 300];
            for size in sizes.iter().cycle() {
                let mut twin = due.clone();
                let n = due.fill(&mut block[..*size]);
                let mut other = [0; 300];
                prop_assert_eq!(twin.fill(&mut other[..*size]), n);
                prop_assert_eq!(&other[..n], &block[..n]);
                times.extend_from_slice(&block[..n]);
                if n == 0 {
                    break;
                }
            }
            prop_assert_eq!(&times, &expected, "{}", arrivals);
        }
    }
}

#[test]
fn ends_have_exactly_the_total() {
    for text in ["7/h for 1h", "0.3/s for 10s", "1/s..2/s in 3.5s", "0/s for 9s", "1/s for 0.5s"] {
        let schedule = parse(text);
        for arrivals in [Arrivals::Even, Arrivals::Random] {
            let n = whole(&schedule, arrivals, 3).len() as u64;
            assert_eq!(n, schedule.total(), "{text} {arrivals}");
        }
    }
}

#[test]
fn a_constant_rate_stays_exact_for_a_year() {
    // 333/s: the last due times of 366 days, to the nanosecond.
    let schedule = parse("333/s for 366d");
    let total = schedule.total();
    assert_eq!(total, 333 * 366 * 86_400);
    for n in [0, 1, 332, 333, total / 2, total - 2, total - 1] {
        let exact = u128::from(n) * u128::from(S) / 333;
        assert_eq!(u128::from(schedule.due_at(n as f64)), exact);
    }
}

#[test]
fn a_slow_random_schedule_skips_empty_seconds() {
    // Ten years with a request a day: 316 million seconds, nearly all empty.
    let schedule = parse("0/s for 1000d, 0.041666666/h for 2000d, 5/s for 1s, 0/s for 100d");
    let times = whole(&schedule, Arrivals::Random, 9);
    assert_eq!(times.len() as u64, schedule.total());
    let burst = 3000 * 86_400 * S;
    assert_eq!(times.iter().filter(|due| (burst..burst + S).contains(*due)).count(), 5);
}

/// Within its second a request is anywhere, with equal chance; both ways of drawing, and a last
/// second that is cut short.
#[test]
fn random_instants_are_uniform_in_their_second() {
    for text in ["900/s for 200s", "6000/s for 30s", "4096/s for 30s", "4097/s for 30s"] {
        let times = whole(&parse(text), Arrivals::Random, 5);
        let within: Vec<f64> = times.iter().map(|due| (due % S) as f64 / 1e9).collect();
        let bound = 2.2 / (within.len() as f64).sqrt();
        // Given their number, sorted uniform instants: the distance is that of uniform numbers.
        assert!(ks_distance(&within, |x| x) < bound, "{text}");
        // The gaps in a second of n are distributed as 1 − (1 − x)^n; every 7th, to be nearly free
        // of the dependence between neighbours.
        let n: f64 = text.split_once('/').unwrap().0.parse().unwrap();
        let gaps: Vec<f64> = times
            .windows(2)
            .filter(|pair| pair[0] / S == pair[1] / S)
            .step_by(7)
            .map(|pair| (pair[1] - pair[0]) as f64 / 1e9)
            .collect();
        let bound = 2.2 / (gaps.len() as f64).sqrt();
        assert!(ks_distance(&gaps, |x| 1.0 - (1.0 - x).powf(n)) < bound, "gaps of {text}");
    }
    let cut = whole(&parse("50k/s for 1.5s"), Arrivals::Random, 5);
    let last: Vec<f64> = cut[50_000..].iter().map(|due| (due - S) as f64 / 5e8).collect();
    assert_eq!(last.len(), 25_000);
    assert!(ks_distance(&last, |x| x) < 2.2 / (last.len() as f64).sqrt());
}

/// The time change: taken through Λ, the gaps are exponential with mean one and independent.
#[test]
fn poisson_rescaled_is_a_poisson_process_of_rate_one() {
    for (kind, text) in KINDS {
        let schedule = parse(text);
        for seed in 1..=3 {
            let times = whole(&schedule, Arrivals::Poisson, seed);
            let mut last = 0.0;
            let gaps: Vec<f64> = times
                .iter()
                .map(|&due| {
                    let point = schedule.cumulative(due);
                    let gap = point - last;
                    last = point;
                    gap
                })
                .collect();
            let n = gaps.len() as f64;
            let (mean, variance) = mean_and_variance(&gaps);
            assert!((mean - 1.0).abs() < 5.0 / n.sqrt(), "{kind} {seed}: mean {mean}");
            let spread = 5.0 * (8.0 / n).sqrt();
            assert!((variance - 1.0).abs() < spread, "{kind} {seed}: variance {variance}");
            let distance = ks_distance(&gaps, |x| 1.0 - (-x).exp());
            assert!(distance < 2.2 / n.sqrt(), "{kind} {seed}: {distance}");
            let lag: f64 = gaps.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum();
            assert!((lag / n).abs() < 5.0 / n.sqrt(), "{kind} {seed}: neighbours correlate");
        }
    }
}

/// In every second the number due is Poisson with the integral as mean and variance.
#[test]
fn poisson_counts_have_the_integral_as_mean_and_variance() {
    for (kind, text) in KINDS {
        let schedule = parse(text);
        for seed in 10..13 {
            let times = whole(&schedule, Arrivals::Poisson, seed);
            let mut scores = Vec::new();
            for second in 0..schedule.duration_ns() / S {
                let (from, to) = (second * S, (second + 1) * S);
                let expected = schedule.cumulative(to) - schedule.cumulative(from);
                let due = before(&times, to) - before(&times, from);
                if expected < 25.0 {
                    continue;
                }
                let score = (due - expected) / expected.sqrt();
                assert!(score.abs() < 5.0, "{kind} {seed}, second {second}: {due} of {expected}");
                scores.push(score);
            }
            let n = scores.len() as f64;
            assert!(n > 80.0);
            let (mean, variance) = mean_and_variance(&scores);
            assert!(mean.abs() < 5.0 / n.sqrt(), "{kind} {seed}: {mean}");
            assert!((variance - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{kind} {seed}: {variance}");
        }
    }
}

/// FNV-1a over the bytes of the due times.
fn digest(times: &[u64]) -> u64 {
    times.iter().flat_map(|due| due.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn digests() -> String {
    let mut found = String::new();
    for (kind, text) in KINDS {
        for arrivals in Arrivals::ALL {
            let times = whole(&parse(text), arrivals, 20_120_601);
            found += &format!("{kind} {arrivals} {} {:016x}\n", times.len(), digest(&times));
        }
    }
    found
}

/// The same bits on every machine. Where a change is meant, the goldens are made anew by
/// `cargo test -p plimsoll-workload --test it -- --ignored make_golden_streams_anew`.
#[test]
fn golden_streams() {
    assert_eq!(digests(), include_str!("golden/arrivals.txt"));
}

#[test]
#[ignore = "writes the goldens of golden_streams"]
fn make_golden_streams_anew() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden/arrivals.txt");
    std::fs::write(path, digests()).unwrap();
}

#[test]
fn seeds_differ() {
    let schedule = parse("100/s for 10s");
    for arrivals in [Arrivals::Random, Arrivals::Poisson] {
        assert_ne!(whole(&schedule, arrivals, 1), whole(&schedule, arrivals, 2));
    }
    assert_eq!(whole(&schedule, Arrivals::Even, 1), whole(&schedule, Arrivals::Even, 2));
}
