//! The computed queue against the plain recursion, and both against values computed by hand.

use std::num::NonZeroU32;

use plimsoll_target::Stall;
use plimsoll_target::queue::{Admission, Queue};
use plimsoll_target::recursion::{Arrival, System, Truth, departures, truth};
use proptest::prelude::*;

fn workers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn queue_of(system: System) -> Queue {
    let queue = Queue::new(system.workers, system.bound);
    match system.stall {
        Some(stall) => queue.stalling(stall),
        None => queue,
    }
}

fn served(admission: Admission) -> Option<u64> {
    match admission {
        Admission::Served(times) => Some(times.depart_ns),
        Admission::Refused => None,
    }
}

fn arrivals(gaps_and_services: &[(u64, u64)]) -> Vec<Arrival> {
    let mut at_ns = 0;
    gaps_and_services
        .iter()
        .map(|&(gap, service_ns)| {
            at_ns += gap;
            Arrival { at_ns, service_ns }
        })
        .collect()
}

#[test]
fn one_worker_by_hand() {
    let mut queue = Queue::new(workers(1), None);
    let times: Vec<_> = [(0, 5), (1, 5), (20, 1), (21, 2)]
        .map(|(at, service)| match queue.arrive(at, service) {
            Admission::Served(times) => (times.start_ns, times.depart_ns),
            Admission::Refused => panic!("the queue has no bound"),
        })
        .into();
    assert_eq!(times, [(0, 5), (5, 10), (20, 21), (21, 23)]);
    assert_eq!((queue.peak(), queue.worked_ns(22)), (2, 12));
}

#[test]
fn a_request_overtakes_on_another_worker() {
    let mut queue = Queue::new(workers(2), None);
    let departures = [(0, 100), (1, 10), (2, 10)].map(|(at, s)| served(queue.arrive(at, s)));
    assert_eq!(departures, [Some(100), Some(11), Some(21)]);
}

#[test]
fn the_bound_counts_those_that_wait() {
    let mut queue = Queue::new(workers(1), Some(1));
    // In service until 10; waits until 10; refused; the second is in service, so this one waits.
    let departures =
        [(0, 10), (1, 10), (9, 10), (10, 10), (19, 1)].map(|(at, s)| served(queue.arrive(at, s)));
    assert_eq!(departures, [Some(10), Some(20), None, Some(30), None]);
    let mut loss = Queue::new(workers(1), Some(0));
    let departures = [(0, 10), (9, 1), (10, 1)].map(|(at, s)| served(loss.arrive(at, s)));
    assert_eq!(departures, [Some(10), None, Some(11)]);
}

#[test]
fn a_stall_shifts_what_is_in_service_and_what_would_depart() {
    let stall = Stall::new(1_000, 100).unwrap();
    let mut queue = Queue::new(workers(1), None).stalling(stall);
    let cases = [
        (900, 50, 950),     // over before the stall
        (950, 50, 1_100),   // would depart as it begins
        (1_050, 30, 1_130), // arrives in it
        (1_990, 20, 2_110), // in service as it begins
        (2_200, 2_000, 4_400),
    ];
    for (at, service, depart) in cases {
        assert_eq!(served(queue.arrive(at, service)), Some(depart), "arrival at {at}");
    }
}

#[test]
fn nothing_departs_in_a_stall_even_without_service() {
    let stall = Stall::new(1_000, 100).unwrap();
    let mut queue = Queue::new(workers(1), Some(1)).stalling(stall);
    let departures = [1_000, 1_001, 1_002, 1_100].map(|at| served(queue.arrive(at, 0)));
    // One in service, frozen; one waits; the third finds the queue full.
    assert_eq!(departures, [Some(1_100), Some(1_100), None, Some(1_100)]);
    assert_eq!(queue.peak(), 2);
}

/// 1,000/s, 0.1 ms each, frozen from 10 s to 11 s. Arrival k of the stall departs at 11 s +
/// 0.1 ms·(k + 1), so its response is 1000.1 − 0.9·k ms, until that is 0.1 ms at k = 1111.1.
#[test]
fn the_truth_of_a_stall_by_hand() {
    let stall = Stall::new(10_000_000_000, 1_000_000_000).unwrap();
    let system = System { workers: workers(1), bound: None, stall: Some(stall) };
    let truth = truth(system, 100_000, (0..20_000).map(|request| request * 1_000_000));
    let response_at = |k: u64| 1_000_100_000 - 900_000 * k;
    assert_eq!(truth.max_ns(), Some(response_at(0)));
    assert_eq!(truth.quantile_ns(0.5), Some(100_000));
    // Ranks count from the fastest: rank r is the (20 000 − r)-th slowest, counted from 0.
    assert_eq!(truth.quantile_ns(0.99), Some(response_at(20_000 - 19_800)));
    assert_eq!(truth.quantile_ns(0.95), Some(response_at(20_000 - 19_000)));
    assert_eq!(truth.quantile_ns(0.944), Some(100_000));
    let delayed: f64 = (0..=1_111).map(|k| response_at(k) as f64 - 100_000.0).sum();
    let mean = 100_000.0 + delayed / 20_000.0;
    assert!((truth.mean_ns().unwrap() - mean).abs() < 1e-3, "{:?} is not {mean}", truth.mean_ns());
}

#[test]
fn an_empty_truth_says_nothing() {
    let nothing = Truth::from_responses([None, None]);
    assert_eq!((nothing.count(), nothing.refused()), (0, 2));
    assert_eq!((nothing.mean_ns(), nothing.quantile_ns(0.5), nothing.max_ns()), (None, None, None));
}

fn system() -> impl Strategy<Value = System> {
    let stall = proptest::option::of((2_u64..60, 1_u64..60))
        .prop_map(|stall| stall.and_then(|(every, length)| Stall::new(every, length % every)));
    (1_u32..5, proptest::option::of(0_u64..4), stall).prop_map(|(count, bound, stall)| System {
        workers: workers(count),
        bound,
        stall,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The queue, with its heaps and its working time, and the plain recursion agree on every
    /// departure and refusal.
    #[test]
    fn the_queue_is_the_recursion(
        system in system(),
        requests in proptest::collection::vec((0_u64..12, 0_u64..20), 0..120),
    ) {
        let arrivals = arrivals(&requests);
        let mut queue = queue_of(system);
        let computed: Vec<_> =
            arrivals.iter().map(|a| served(queue.arrive(a.at_ns, a.service_ns))).collect();
        prop_assert_eq!(computed, departures(system, &arrivals));
    }

    /// What holds of any such queue: nothing leaves in a stall or before it has been served,
    /// starts keep the order of arrival, the peak is what the departures say, work is conserved.
    #[test]
    fn invariants(
        system in system(),
        requests in proptest::collection::vec((0_u64..12, 0_u64..20), 1..120),
    ) {
        let arrivals = arrivals(&requests);
        let mut queue = queue_of(system);
        let mut left: Vec<u64> = Vec::new();
        let (mut last_start, mut work, mut peak) = (0, 0, 0);
        for arrival in &arrivals {
            let Admission::Served(times) = queue.arrive(arrival.at_ns, arrival.service_ns) else {
                continue;
            };
            prop_assert!(times.start_ns >= arrival.at_ns.max(last_start));
            prop_assert!(times.depart_ns >= times.start_ns + arrival.service_ns);
            if let Some(stall) = system.stall {
                prop_assert!(!stall.is_frozen(times.start_ns) && !stall.is_frozen(times.depart_ns));
            }
            last_start = times.start_ns;
            work += u128::from(arrival.service_ns);
            let before = left.iter().filter(|&&depart| depart > arrival.at_ns).count() as u64;
            peak = peak.max(before + 1);
            left.push(times.depart_ns);
        }
        prop_assert_eq!(queue.peak(), peak);
        prop_assert_eq!(queue.worked_ns(u64::MAX >> 16), work);
    }
}
