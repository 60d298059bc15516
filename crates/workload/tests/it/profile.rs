//! Profiles: the day that ships, its noise, and what makes no profile.

use plimsoll_workload::profile::{Noise, Profile, ProfileError};
use plimsoll_workload::trace::TraceOptions;

use crate::statistics::mean_and_variance;

const S: u64 = 1_000_000_000;

#[test]
fn the_day_sums_to_what_was_published() {
    let day = Profile::clarknet_day();
    let sum: f64 = day.means_per_s().iter().sum::<f64>() * 900.0;
    assert!((sum - 22.18e6).abs() < 0.005e6, "{sum}");
    let schedule = day.schedule(1).unwrap();
    assert_eq!(schedule.duration_ns(), 86_400 * S);
    // Noise of 54/s in each of 1440 minutes: the sum scatters by 54·60·√1440 = 123,000; cutting at
    // 35 and 600 moves it a little.
    assert!((schedule.total() as f64 - sum).abs() < 5.0 * 123_000.0, "{}", schedule.total());
    assert!(schedule.peak() <= 600.0);
    assert!(schedule.pieces().count() > 1_000);
}

#[test]
fn the_noise_is_as_given_and_seeded() {
    let day = Profile::clarknet_day();
    let trace = day.trace(7);
    assert_eq!(trace, day.trace(7));
    assert_ne!(trace, day.trace(8));
    assert_eq!((trace.points().len(), trace.interval_ns()), (1440, 60 * S));
    let rates = || trace.points().iter().map(|point| point.rate_per_s);
    assert!(rates().all(|rate| (35.0..=600.0).contains(&rate)));
    // Away from the cuts the residuals are normal with 54/s, independent from minute to minute.
    let residuals: Vec<f64> = rates()
        .zip(day.means_per_s().iter().flat_map(|mean| [mean; 15]))
        .filter(|(_, mean)| (300.0..350.0).contains(*mean))
        .map(|(rate, mean)| rate - mean)
        .collect();
    let (mean, variance) = mean_and_variance(&residuals);
    let n = residuals.len() as f64;
    assert!(mean.abs() < 5.0 * 54.0 / n.sqrt(), "{mean}");
    assert!((variance / 54.0_f64.powi(2) - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{variance}");
}

#[test]
fn a_profile_is_scaled_and_compressed_like_a_trace() {
    let options = TraceOptions { scale: Some((1.0, 9.0)), speed: 60.0, ..TraceOptions::default() };
    let (schedule, _) = Profile::clarknet_day().trace(1).schedule(&options).unwrap();
    assert_eq!(schedule.duration_ns(), 1_440 * S);
    assert!((schedule.peak() - 9.0).abs() < 1e-12);
}

#[test]
fn without_noise_it_is_its_means() {
    let profile = Profile::new("two", 60 * S, vec![1.0, 3.0], None).unwrap();
    assert_eq!(profile.schedule(1).unwrap().to_string(), "1/s for 1m, 3/s for 1m");
}

#[test]
fn what_makes_no_profile_is_refused() {
    let noise = |step_ns, least_per_s, greatest_per_s| {
        Some(Noise { deviation_per_s: 1.0, step_ns, least_per_s, greatest_per_s, has_peak: false })
    };
    let new = |means: &[f64], noise| Profile::new("x", 60 * S, means.to_vec(), noise).unwrap_err();
    assert_eq!(new(&[], None), ProfileError::Steps { found: 0 });
    assert_eq!(new(&[-1.0], None), ProfileError::Rate { found: -1.0 });
    assert!(matches!(new(&[f64::NAN], None), ProfileError::Rate { .. }));
    assert!(matches!(new(&[1.0], noise(7 * S, 0.0, 1.0)), ProfileError::Interval { .. }));
    assert!(matches!(new(&[1.0], noise(0, 0.0, 1.0)), ProfileError::Interval { .. }));
    assert!(matches!(new(&[1.0], noise(1, 0.0, 1.0)), ProfileError::Steps { .. }));
    assert!(matches!(new(&[1.0], noise(S, 2.0, 1.0)), ProfileError::Cut { .. }));
}
