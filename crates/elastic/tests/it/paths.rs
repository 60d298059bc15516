//! All paths through the engine say the same, to the last bit, of what several can run: the textbook's
//! heap of events, the general path, and the fast one.

use plimsoll_elastic::simulated::engine::{Engine, Loss, ONE, Rules, Tally};
use plimsoll_stats::Histogram;
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

#[path = "../../examples/bench_simulate/textbook.rs"]
#[expect(dead_code, reason = "its other parts are for the bench")]
mod textbook;

use textbook::Textbook;

/// Requests with exponential gaps and services, in ticks.
fn requests(seed: u64, count: usize, gap: f64, service: f64) -> (Vec<u64>, Vec<u64>) {
    let (mut gaps, mut services) = (Stream::named(seed, "gaps"), Stream::named(seed, "services"));
    let mut now = 0.0;
    let due = (0..count).map(|_| {
        now += gap * gaps.exponential();
        now as u64
    });
    let due: Vec<u64> = due.collect();
    (due, (0..count).map(|_| (service * services.exponential()) as u64).collect())
}

/// What a tally says, response times and all.
fn said(mut tally: Tally) -> (u64, u64, u64, u64, Vec<(u64, u64)>) {
    let (offered, served, sum) = (tally.offered, tally.served, tally.sum);
    let lost = tally.lost[Loss::NoSlot as usize];
    let mut histogram = Histogram::new();
    tally.drain_into(&mut histogram);
    let buckets = histogram.buckets().map(|bucket| (bucket.lowest, bucket.count)).collect();
    (offered, served, lost, sum, buckets)
}

fn by_engine(mut engine: Engine, of: &(Vec<u64>, Vec<u64>), block: usize, slots: usize) -> Tally {
    let mut tally = Tally::default();
    (0..slots).for_each(|slot| engine.open(slot, ONE, 0));
    let mut now = 0;
    for (due, service) in of.0.chunks(block).zip(of.1.chunks(block)) {
        // No more than a minute between two moments.
        while due.last().is_some_and(|&last| last - now > 500_000_000) {
            now = (now + 500_000_000).min(due[0]);
            engine.pass(now, &mut tally);
            if now == due[0] {
                break;
            }
        }
        engine.offer(due, service, &mut tally);
        now = due.last().copied().unwrap_or(now);
        engine.pass(now, &mut tally);
    }
    tally
}

proptest! {
    #[test]
    fn all_paths_say_the_same(
        seed in 0u64..1000,
        slots in 1usize..24,
        cores in 1u32..3,
        limit in 1u32..16,
        load in 0.1f64..1.6,
        block in 1usize..300,
    ) {
        let service = 1_000_000.0;
        let gap = service / (load * slots as f64 * f64::from(cores));
        let of = requests(seed, 2000, gap, service);
        let rules = Rules { limit: Some(limit), ..Rules::new(cores) };
        let chance = || Stream::named(seed, "balancer");
        let mut textbook = Textbook::new(slots, cores, limit);
        let mut tally = Tally::default();
        textbook.offer(&of.0, &of.1, &mut tally);
        textbook.finish(&mut tally);
        let wanted = said(tally);
        let fast = by_engine(Engine::new(&rules, slots, chance()), &of, block, slots);
        let general = by_engine(Engine::general(&rules, slots, chance()), &of, block, slots);
        prop_assert_eq!(&said(general), &wanted);
        prop_assert_eq!(&said(fast), &wanted);
    }
}
