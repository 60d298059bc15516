//! The computed queue against the formulas of queueing theory, over millions of arrivals.
//!
//! Sources: Erlang's B and C formulas and the exponential tail of the M/M/c wait as in
//! L. Kleinrock, *Queueing Systems* 1 (1975), sections 3.4 to 3.6; Pollaczek–Khinchine for M/D/1,
//! section 5.6. Seeds are fixed, so a test either always passes or never does; tolerances are
//! some four standard errors of correlated waits.

use std::num::NonZeroU32;

use plimsoll_target::queue::{Admission, Queue};
use plimsoll_workload::random::Stream;

/// Mean service, nanoseconds: large, so that rounding to whole ones does not matter.
const SERVICE_NS: f64 = 1e6;

struct Waits {
    mean: f64,
    p99: f64,
    mean_response: f64,
    refused: f64,
}

/// Waits in units of the mean service, of Poisson arrivals at `load` per worker.
fn waits(workers: u32, load: f64, bound: Option<u64>, is_exponential: bool, n: usize) -> Waits {
    let mut queue = Queue::new(NonZeroU32::new(workers).unwrap(), bound);
    let (mut gaps, mut services) = (Stream::named(11, "gaps"), Stream::named(11, "services"));
    let gap_ns = SERVICE_NS / (load * f64::from(workers));
    let (mut at, mut refused, mut responses) = (0.0, 0.0, 0.0);
    let mut waits = Vec::with_capacity(n);
    for _ in 0..n {
        at += gap_ns * gaps.exponential();
        let service = SERVICE_NS * if is_exponential { services.exponential() } else { 1.0 };
        let (at_ns, service_ns) = (at as u64, service as u64);
        match queue.arrive(at_ns, service_ns) {
            Admission::Served(times) => {
                waits.push((times.start_ns - at_ns) as f64 / SERVICE_NS);
                responses += (times.depart_ns - at_ns) as f64 / SERVICE_NS;
            }
            Admission::Refused => refused += 1.0,
        }
    }
    let served = waits.len() as f64;
    let mean = waits.iter().sum::<f64>() / served;
    let rank = (waits.len() as f64 * 0.99).ceil() as usize - 1;
    let (_, p99, _) = waits.select_nth_unstable_by(rank, f64::total_cmp);
    Waits { mean, p99: *p99, mean_response: responses / served, refused: refused / n as f64 }
}

/// Erlang's B: share of arrivals lost by `workers` servers without a queue.
fn erlang_b(workers: u32, offered: f64) -> f64 {
    (1..=workers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b))
}

/// Erlang's C: share of arrivals that wait.
fn erlang_c(workers: u32, offered: f64) -> f64 {
    let (b, load) = (erlang_b(workers, offered), offered / f64::from(workers));
    b / (1.0 - load * (1.0 - b))
}

fn assert_near(what: &str, measured: f64, theory: f64, tolerance: f64) {
    let off = (measured / theory - 1.0).abs();
    assert!(off <= tolerance, "{what}: {measured}, but theory says {theory} (off by {off:.4})");
}

fn assert_mmc(workers: u32, load: f64, n: usize, tolerance: f64) {
    let waits = waits(workers, load, None, true, n);
    let must_wait = erlang_c(workers, load * f64::from(workers));
    // P(wait > t) = C·exp(−c(1 − ρ)·t), t in mean services.
    let drain = f64::from(workers) * (1.0 - load);
    let name = format!("M/M/{workers} at {load}");
    assert_near(&format!("{name}: mean wait"), waits.mean, must_wait / drain, tolerance);
    assert_near(
        &format!("{name}: p99 wait"),
        waits.p99,
        (must_wait / 0.01).ln() / drain,
        tolerance,
    );
    let response = 1.0 + must_wait / drain;
    assert_near(&format!("{name}: mean response"), waits.mean_response, response, tolerance);
}

#[test]
fn mm1_at_half_load() {
    assert_mmc(1, 0.5, 4_000_000, 0.01);
}

#[test]
fn mm1_at_80_percent() {
    assert_mmc(1, 0.8, 4_000_000, 0.02);
}

#[test]
fn mmc_of_4_at_70_percent() {
    assert_mmc(4, 0.7, 4_000_000, 0.02);
}

#[test]
fn mmc_of_16_at_90_percent() {
    assert_mmc(16, 0.9, 4_000_000, 0.05);
}

#[test]
fn md1_by_pollaczek_khinchine() {
    let waits = waits(1, 0.7, None, false, 4_000_000);
    assert_near("M/D/1 at 0.7: mean wait", waits.mean, 0.7 / (2.0 * (1.0 - 0.7)), 0.01);
}

#[test]
fn a_queue_without_places_loses_as_erlang_b_says() {
    let waits = waits(5, 0.8, Some(0), true, 2_000_000);
    assert_near("M/M/5/5 at 0.8: lost", waits.refused, erlang_b(5, 4.0), 0.01);
    assert!(waits.mean.abs() < f64::EPSILON, "nobody waits where there is no place to");
}

/// One server, `places` in all: lost = (1 − ρ)·ρ^K / (1 − ρ^(K+1)).
#[test]
fn a_bound_loses_as_mm1k_says() {
    let (load, places) = (0.9_f64, 5);
    let waits = waits(1, load, Some(4), true, 2_000_000);
    let lost = (1.0 - load) * load.powi(places) / (1.0 - load.powi(places + 1));
    assert_near("M/M/1/5 at 0.9: lost", waits.refused, lost, 0.01);
}
