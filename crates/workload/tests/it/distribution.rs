//! Distributions: texts, means, laws.

use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

use crate::statistics::{ks_distance, mean_and_variance};

const N: usize = 200_000;

fn parse(text: &str) -> Distribution {
    Distribution::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn samples(text: &str) -> Vec<f64> {
    let mut stream = Stream::named(11, "service");
    let distribution = parse(text);
    (0..N).map(|_| distribution.sample(&mut stream)).collect()
}

#[test]
fn reads_each_form() {
    assert_eq!(parse("none"), Distribution::Constant { ns: 0 });
    assert_eq!(parse("const:5ms"), Distribution::Constant { ns: 5_000_000 });
    assert_eq!(parse(" exp:5ms "), Distribution::Exponential { mean_ns: 5_000_000 });
    let (low_ns, high_ns) = (1_000_000, 9_000_000);
    assert_eq!(parse("uniform:1ms..9ms"), Distribution::Uniform { low_ns, high_ns });
    let lognormal = Distribution::LogNormal { mean_ns: 5_000_000, sigma: 0.8 };
    assert_eq!(parse("lognormal:5ms, 0.8"), lognormal);
    let pareto = Distribution::Pareto { shape: 1.5, low_ns, high_ns: 1_000_000_000 };
    assert_eq!(parse("pareto:1.5,1ms..1s"), pareto);
}

#[test]
fn each_mistake_has_one_clear_message_at_its_place() {
    for (text, at, wanted) in [
        ("", 0, "a distribution such as"),
        ("5ms", 0, "a distribution such as"),
        ("gauss:5ms", 0, "a distribution such as"),
        ("expo:5ms", 0, "a distribution such as"),
        ("exp:5", 4, "a duration"),
        (" exp:-5ms", 5, "a duration"),
        ("uniform:5ms", 8, "bounds such as 1ms..9ms"),
        ("uniform:9ms..1ms", 8, "bounds with the lesser one first"),
        ("uniform:1ms..x", 13, "a duration"),
        ("lognormal:5ms", 10, "a mean and the sigma"),
        ("lognormal:5ms,-1", 14, "a standard deviation of the logarithm"),
        ("lognormal:5ms,nan", 14, "a standard deviation of the logarithm"),
        ("pareto:0,1ms..1s", 7, "a shape from"),
        ("pareto:1.5", 7, "a shape and bounds"),
        ("pareto:1.5,0ms..1s", 11, "a least value above zero"),
    ] {
        let error = Distribution::parse(text).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error:?}");
        assert!(error.wanted.starts_with(wanted), "{text}: {error:?}");
        assert!(error.at + error.len <= text.len(), "{text}: {error:?}");
    }
    let hint = |text| Distribution::parse(text).unwrap_err().hint.unwrap();
    assert!(hint("expo:5ms").contains("`exp`"));
    assert!(hint("5ms").contains("const:5ms"));
}

#[test]
fn means_by_hand() {
    for (text, mean) in [
        ("none", 0.0),
        ("const:5ms", 0.005),
        ("exp:5ms", 0.005),
        ("uniform:1ms..9ms", 0.005),
        ("lognormal:5ms,0.8", 0.005),
        // a = 2, low 1, high 2: density (8/3)·x^-3, mean (8/3)·(1 − 1/2).
        ("pareto:2,1s..2s", 4.0 / 3.0),
        // a = 1: density 2·x^-2 on 1..2, mean 2·ln 2.
        ("pareto:1,1s..2s", 2.0 * std::f64::consts::LN_2),
        ("pareto:1.0000000000001,1s..2s", 2.0 * std::f64::consts::LN_2),
    ] {
        let found = parse(text).mean();
        assert!((found - mean).abs() < 1e-9, "{text}: {found} instead of {mean}");
    }
}

/// Each sample against its law, and its mean within five standard errors.
#[test]
fn samples_follow_their_law() {
    let normal = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let mu = 0.005_f64.ln() - 0.32;
    let cut = 1.0 - 1e-3_f64.powf(1.5);
    let laws: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("exp:5ms", &|x| 1.0 - (-x / 0.005).exp()),
        ("uniform:1ms..9ms", &|x| (x - 0.001) / 0.008),
        ("lognormal:5ms,0.8", &|x| normal((x.ln() - mu) / 0.8)),
        ("pareto:1.5,1ms..1s", &|x| (1.0 - (0.001 / x).powf(1.5)) / cut),
    ];
    for (text, cumulative) in laws {
        let values = samples(text);
        let distance = ks_distance(&values, cumulative);
        assert!(distance < 2.2 / (N as f64).sqrt(), "{text}: {distance}");
        let (mean, variance) = mean_and_variance(&values);
        let error = (variance / N as f64).sqrt();
        assert!((mean - parse(text).mean()).abs() < 5.0 * error, "{text}: {mean}");
    }
}

#[test]
fn bounds_hold_and_whole_nanoseconds_are_the_samples_rounded() {
    for (text, low, high) in
        [("pareto:0.01,1ms..2ms", 0.001, 0.002), ("uniform:1ns..2ns", 1e-9, 2e-9)]
    {
        assert!(samples(text).iter().all(|value| (low..=high).contains(value)), "{text}");
    }
    let (mut a, mut b) = (Stream::named(1, "x"), Stream::named(1, "x"));
    let exponential = parse("exp:1ms");
    for _ in 0..1_000 {
        let exact = exponential.sample(&mut a) * 1e9;
        assert!((exponential.sample_ns(&mut b) as f64 - exact).abs() <= 0.5 + 1e-6);
    }
    let before = a.clone();
    assert_eq!(parse("const:7ns").sample_ns(&mut a), 7);
    assert_eq!(a, before, "a constant draws nothing");
}

proptest! {
    #[test]
    fn the_text_reads_back_to_the_same(
        kind in 0..5,
        low in 1..1u64 << 50,
        more in 1..1u64 << 50,
        x in 0.01..10.0,
    ) {
        let distribution = match kind {
            0 => Distribution::Constant { ns: low },
            1 => Distribution::Uniform { low_ns: low, high_ns: low + more },
            2 => Distribution::Exponential { mean_ns: low },
            3 => Distribution::LogNormal { mean_ns: low, sigma: x },
            _ => Distribution::Pareto { shape: x, low_ns: low, high_ns: low + more },
        };
        prop_assert_eq!(Distribution::parse(&distribution.to_string()).unwrap(), distribution);
        let mean = distribution.mean() * 1e9;
        prop_assert!(mean >= low as f64 * (1.0 - 1e-9));
        prop_assert!(mean <= (low + more) as f64 * (1.0 + 1e-9));
    }
}
