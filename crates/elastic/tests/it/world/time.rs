//! Time: when instances are there, and when metrics are.

use super::{SECOND_NS, Saw, demand, played, script, setup};
use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::simulated::engine::Loss;
use plimsoll_elastic::simulated::{Failures, Setup, run};

fn saw(setup: &Setup, says: &[u32]) -> Vec<Saw> {
    let mut policy = script(says);
    let _ = run(setup, &demand(setup), &mut policy, 0);
    policy.saw
}

fn metric(saw: &Saw, metric: Metric) -> f64 {
    f64::from_bits(saw.values[metric as usize])
}

#[test]
fn an_instance_takes_requests_when_it_has_booted() {
    let ready = |setup: &Setup| -> Vec<String> {
        played(setup, &[3]).ticks.iter().map(|of| format!("{:.3}", of.ready)).collect()
    };
    // Launched at 10 s, there at 70 s.
    let even = Setup { start: 1, ..setup("10/s for 2m") };
    assert_eq!(ready(&even), [&["1.000"; 7][..], &["3.000"; 5][..]].concat());
    let odd = Setup { start: 1, tick_ns: 40 * SECOND_NS, ..setup("10/s for 2m") };
    assert_eq!(ready(&odd), ["1.000", "1.000", "2.000"], "from 100 s on, of 80 to 120 s");
    assert_eq!(saw(&odd, &[3]).iter().map(|of| of.ready).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn metrics_come_as_late_as_they_are() {
    let at_once = setup("50/s for 2m");
    let late = Setup { delay_ns: 25 * SECOND_NS, ..at_once.clone() };
    let ends = |setup: &Setup| -> Vec<Option<f64>> {
        saw(setup, &[4]).iter().map(|of| of.until_s).collect()
    };
    let until = |seconds: f64| (seconds > 0.0).then_some(seconds);
    let moments = || (1..12).map(|tick| 10.0 * f64::from(tick));
    assert_eq!(ends(&at_once), moments().map(until).collect::<Vec<_>>());
    assert_eq!(ends(&late), moments().map(|now_s| until(now_s - 30.0)).collect::<Vec<_>>());
    // They are the same metrics, only later.
    let (now, then) = (saw(&at_once, &[4]), saw(&late, &[4]));
    assert_eq!(then[5].values, now[2].values);
}

/// 200 requests a second of 60 ms on ten instances of two cores: 60%.
#[test]
fn metrics_say_what_there_is() {
    let steady = Setup { start: 10, tick_ns: 60 * SECOND_NS, ..setup("200/s for 20m") };
    let saw = saw(&steady, &[10]);
    let mean =
        |which: Metric| saw.iter().map(|of| metric(of, which)).sum::<f64>() / saw.len() as f64;
    let near = |which: Metric, wanted: f64, share: f64| {
        let found = mean(which);
        assert!((found / wanted - 1.0).abs() < share, "{which:?}: {found} for {wanted}");
    };
    near(Metric::Rate, 200.0, 0.02);
    near(Metric::Cpu, 60.0, 0.02);
    // 14 erlang on 20 cores hardly wait; Little's law.
    near(Metric::Concurrency, 14.1, 0.03);
    assert!(mean(Metric::Lost).abs() < 1e-12 && mean(Metric::Queue).abs() < 1e-12);
    // Exponential: a hundredth is longer than 4.6 times the mean.
    near(Metric::Response, 0.07 * 4.605, 0.05);
}

#[test]
fn noise_scatters_what_is_seen_and_not_what_is() {
    let exact = Setup { start: 10, tick_ns: SECOND_NS, ..setup("200/s for 10m") };
    let noisy = Setup { noise: 0.1, ..exact.clone() };
    let (truth, seen) = (saw(&exact, &[10]), saw(&noisy, &[10]));
    assert_eq!(seen, saw(&noisy, &[10]), "of the same seed");
    let ratio = |(a, b): (&Saw, &Saw)| metric(b, Metric::Rate) / metric(a, Metric::Rate);
    let ratios: Vec<f64> = truth.iter().zip(&seen).map(ratio).collect();
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let deviation = (ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / count).sqrt();
    assert!((mean - 1.0).abs() < 0.02 && (deviation - 0.1).abs() < 0.015, "{mean} {deviation}");
    assert!(seen.iter().all(|of| metric(of, Metric::Cpu) <= 100.0));
    let of = |setup: &Setup| played(setup, &[10]);
    assert_eq!(of(&exact).ticks, of(&noisy).ticks);
}

#[test]
fn without_an_instance_there_is_no_processor_time() {
    let setup = Setup { start: 0, least: 0, ..setup("10/s for 1m") };
    let saw = saw(&setup, &[0]);
    assert!(saw.iter().all(|of| metric(of, Metric::Cpu).is_nan()));
    assert!(saw.iter().all(|of| metric(of, Metric::Response).is_nan()));
    assert!(
        saw.iter().all(|of| (metric(of, Metric::Rate) - metric(of, Metric::Lost)).abs() < 1e-12)
    );
}

/// Ten minutes of life and one of repair: ten elevenths of the time.
#[test]
fn instances_are_there_for_the_share_of_time_that_they_last() {
    let failures = Some(Failures { mttf_s: 600.0, mttr_s: 60.0 });
    let many = Setup {
        failures,
        start: 50,
        least: 50,
        most: 50,
        tick_ns: 60 * SECOND_NS,
        ..setup("20/s for 10h")
    };
    let of = played(&many, &[50]);
    let ready = of.ticks.iter().map(|of| of.ready).sum::<f64>() / of.ticks.len() as f64 / 50.0;
    assert!((ready - 10.0 / 11.0).abs() < 0.01, "{ready}");
    // Each failure has one that takes its place, and takes with it what it has: 1.4 requests of all
    // fifty, so hardly any.
    let failed = of.instances.len() - 50;
    assert!((failed as f64 / (50.0 * 36_000.0 / 660.0) - 1.0).abs() < 0.06, "{failed}");
    assert_eq!(of.lost(), of.lost[Loss::InstanceFailed as usize]);
    assert!(of.lost() > 10 && of.lost() < 200, "{}", of.lost());
    assert_eq!((of.scale_out, of.scale_in), (0, 0), "nobody decided that");
}
