//! A server that stands still once while the ramp goes on: the window that this cuts must not bound
//! the search. `bench_capacity N stalls` is the larger form.

use plimsoll_capacity::adaptive::{Adaptive, Settings};
use plimsoll_capacity::conduct::{Ended, Limits, Outcome, conduct};
use plimsoll_capacity::search::Found;
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

/// Nothing is slow up to some per cent below the saturation. The capacity is one of simulations of
/// 1,600 s.
const STEEP: Server = Server {
    service: "lognormal:250us,0.5",
    workers: 1,
    slo: (0.99, 20_000_000),
    start_per_s: 100.0,
    most_s: 180.0,
    capacity_per_s: 3845.0,
};

/// Its capacity is exact (Erlang's C).
const MILD: Server = Server {
    service: "exp:4ms",
    workers: 8,
    slo: (0.9, 20_000_000),
    start_per_s: 1.0,
    most_s: 240.0,
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
    let settings =
        Settings { slo, start_per_s, precision: 0.05, most_errors: None, max_rate_per_s: None };
    let limits = Limits { seconds: server.most_s, ..Limits::default() };
    let Ok(outcome) = conduct(&mut Adaptive::new(settings), &mut world, limits, &mut |_| {});
    outcome
}

/// Of so many searches, how many contradict the capacity (an estimate more than a tenth from it, or
/// a bracket that does not hold it), how many have no estimate, and how many say that something was
/// disturbed, or that no queue's curve fits.
fn wrong_open_told(server: Server, seeds: u64) -> (u64, u64, u64) {
    let truth = server.capacity_per_s;
    (0..seeds).map(|seed| (seed, search(server, seed))).fold(
        (0, 0, 0),
        |(wrong, open, told), (seed, outcome)| {
            let Found { estimate_per_s, held_per_s, broken_per_s, .. } = outcome.found;
            let is_wrong = match estimate_per_s {
                Some(estimate) => (estimate / truth - 1.0).abs() > 0.1,
                None => {
                    held_per_s.is_none_or(|held| held > truth)
                        || broken_per_s.is_none_or(|broken| broken < truth)
                }
            };
            let says = |of: &str| outcome.found.notes.iter().any(|note| note.contains(of));
            let is_told = says("disturbed") || says("not a queue's wait alone");
            let is_excepted = server.slo == STEEP.slo && seed == 0;
            assert!(
                outcome.ended == Ended::Found || is_excepted,
                "seed {seed}: {:?}",
                outcome.ended
            );
            let is_open = outcome.ended != Ended::Found;
            (wrong + u64::from(is_wrong), open + u64::from(is_open), told + u64::from(is_told))
        },
    )
}

/// Where that window is believed, 4 of these 10 are far off, and 4 come to no end. The windows of
/// one of them disagree on where its steep line is, within 3.6%, as long as it may take: a bracket
/// is what it ends with.
#[test]
fn of_a_server_with_a_steep_line_does_not_bound_the_search() {
    let (wrong, open, told) = wrong_open_told(STEEP, 10);
    assert_eq!(wrong, 0, "of 10 searches");
    assert!(open <= 1, "{open} of 10 have no estimate");
    assert!(told >= 8, "{told} of 10 say that something else than a queue was seen");
}

/// Where that window is believed, 1 of these 8 is far off, and 3 come to no end within 180 s.
#[test]
fn of_a_server_with_a_mild_line_does_not_bound_the_search() {
    let (wrong, open, _) = wrong_open_told(MILD, 8);
    assert_eq!((wrong, open), (0, 0), "of 8 searches");
}
