//! Queues with known answers.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a test")]

use plimsoll_elastic::simulated::engine::{Engine, Loss, ONE, Rules, TICK_NS, Tally};
use plimsoll_stats::queueing::{Finite, mg1_response, mg1_sharing_response};
use plimsoll_workload::random::Stream;

const COUNT: usize = 2_000_000;
/// A mean service time of 10 ms, in ticks.
const SERVICE: f64 = 1e7 / TICK_NS as f64;

/// A queue's share of losses and mean response in service times, of `COUNT` Poisson arrivals.
fn queue(rules: &Rules, load: f64, service: impl Fn(&mut Stream) -> f64) -> (f64, f64) {
    let (mut gaps, mut services) = (Stream::named(11, "gaps"), Stream::named(11, "services"));
    let mut engine = Engine::general(rules, Stream::named(11, "balancer"));
    let gap = SERVICE / (load * f64::from(rules.cores));
    let (mut tally, mut now) = (Tally::default(), 0.0);
    engine.open(0, ONE, 0, &mut tally);
    for _ in 0..COUNT / 1000 {
        let mut due = Vec::with_capacity(1000);
        let mut work = Vec::with_capacity(1000);
        for _ in 0..1000 {
            now += gap * gaps.exponential();
            due.push(now as u64);
            work.push((SERVICE * service(&mut services)) as u64);
        }
        engine.offer(&due, &work, &mut tally);
    }
    engine.pass(now as u64 + 1_000_000_000_000, &mut tally);
    let lost = tally.lost[Loss::NoSlot as usize] as f64 / COUNT as f64;
    (lost, tally.sum as f64 / tally.served as f64 / SERVICE)
}

fn near(found: f64, wanted: f64, share: f64) {
    assert!((found / wanted - 1.0).abs() < share, "{found} for {wanted}");
}

#[test]
fn a_finite_queue_loses_and_waits_as_computed() {
    for (load, cores, room) in [(0.7, 1, 10), (0.9, 2, 10), (1.2, 4, 12)] {
        let rules = Rules { limit: Some(room), ..Rules::new(cores) };
        let (lost, response) = queue(&rules, load, Stream::exponential);
        let wanted = Finite::of(load * f64::from(cores), cores, room).unwrap();
        near(lost, wanted.lost, 0.03);
        near(response, wanted.response(), 0.01);
    }
}

#[test]
fn one_server_waits_as_pollaczek_and_khinchine_say() {
    for load in [0.5, 0.8] {
        let (_, constant) = queue(&Rules::new(1), load, |_| 1.0);
        near(constant, mg1_response(load, 0.0), 0.02);
        let (_, exponential) = queue(&Rules::new(1), load, Stream::exponential);
        near(exponential, mg1_response(load, 1.0), 0.03);
    }
}

#[test]
fn sharing_does_not_see_the_law_of_service() {
    let rules = Rules { is_shared: true, ..Rules::new(1) };
    for load in [0.5, 0.8] {
        let (_, constant) = queue(&rules, load, |_| 1.0);
        let (_, exponential) = queue(&rules, load, Stream::exponential);
        near(constant, mg1_sharing_response(load), 0.03);
        near(exponential, mg1_sharing_response(load), 0.03);
    }
}
