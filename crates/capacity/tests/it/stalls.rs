//! A server that stands still once while the ramp goes on: the window that this cuts must not bound
//! the search. `bench_capacity N stalls` is the larger form.

use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Limits, Outcome, conduct};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::num::NonZeroU32;

/// A server, an SLO, and what a search begins with and may take.
#[derive(Clone, Copy)]
struct Server {
    service: &'static str,
    workers: u32,
    slo: (f64, u64),
    start_per_s: f64,
    most_s: f64,
    capacity_per_s: f64,
}

/// Nothing is slow up to a few per cent below the saturation. The capacity is one of simulations of
/// 1,600 s.
const STEEP: Server = Server {
    service: "const:250us",
    workers: 1,
    slo: (0.99, 20_000_000),
    start_per_s: 100.0,
    most_s: 60.0,
    capacity_per_s: 3884.0,
};

/// Its capacity is exact (Erlang's C).
const MILD: Server = Server {
    service: "exp:4ms",
    workers: 8,
    slo: (0.9, 20_000_000),
    start_per_s: 1.0,
    most_s: 180.0,
    capacity_per_s: 1857.7,
};

/// A search of a server that stands still for 0.3 to 1 s from some time of the last three windows
/// of the ramp that it could serve.
fn search(server: Server, seed: u64) -> Outcome {
    let mut stream = Stream::named(seed, "test/stall");
    let (mut end_s, mut rate) = (0.0, server.start_per_s);
    while rate < server.capacity_per_s {
        // As the ramp has it: two requests at least, and four seconds at most.
        end_s += (2.0 / rate).clamp(1.0, 4.0);
        rate *= 2.0;
    }
    let from_s = end_s - 3.0 + 3.0 * stream.uniform();
    let stall_s = from_s..from_s + 0.3 + 0.7 * stream.uniform();
    let law = ServiceTime::Law(Distribution::parse(server.service).unwrap());
    let mut model = ServiceModel::new(law);
    model.cores = NonZeroU32::new(server.workers).unwrap();
    let mut world = Simulated::new(model, server.slo.1, seed).with_stall(stall_s);
    let (slo, start_per_s) = (server.slo, server.start_per_s);
    let settings = Settings { slo, start_per_s, precision: 0.05, max_rate_per_s: None };
    let limits = Limits { seconds: server.most_s, ..Limits::default() };
    let Ok(outcome) = conduct(&mut Adaptive::new(settings), &mut world, limits, &mut |_| {});
    outcome
}

/// Of so many searches, how many end more than a tenth from the capacity, and their greatest load
/// time.
fn far_off(server: Server, seeds: u64) -> (u64, f64) {
    let outcomes = (0..seeds).map(|seed| search(server, seed));
    outcomes.fold((0, 0.0), |(far, longest), outcome| {
        let off = outcome.found.estimate_per_s.unwrap_or(0.0) / server.capacity_per_s - 1.0;
        (far + u64::from(off.abs() > 0.1), longest.max(outcome.seconds()))
    })
}

#[test]
fn of_a_server_with_a_steep_line_does_not_bound_the_search() {
    let (far, longest) = far_off(STEEP, 16);
    assert_eq!(far, 0);
    assert!(longest < 50.0, "{longest} s");
}

#[test]
fn of_a_server_with_a_mild_line_does_not_bound_the_search() {
    let (far, _) = far_off(MILD, 16);
    assert!(far <= 1, "{far} of 16");
}

/// A server without a stall is not asked again: what was too much is offered once.
#[test]
fn a_stall_is_told_by_a_note() {
    let told = |outcome: &Outcome| outcome.found.notes.iter().any(|n| n.contains("disturbed"));
    let stalled = (0..8).filter(|&seed| told(&search(STEEP, seed))).count();
    assert!(stalled >= 6, "{stalled} of 8");
}
