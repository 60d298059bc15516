//! All paths through the engine say the same, to the last bit, of what several can run: the
//! textbook's heap of events, the general path, and the fast one with and without vector
//! instructions.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a test")]

use plimsoll_elastic::simulated::engine::{Engine, Loss, ONE, Rules, Tally};
use plimsoll_stats::Histogram;
use plimsoll_workload::random::Stream;
use proptest::prelude::*;

#[path = "../../examples/bench_simulate/textbook.rs"]
mod textbook;

use textbook::Textbook;

/// When requests are due, and their services.
type Requests = (Vec<u64>, Vec<u64>);

/// A mean service, ticks.
const SERVICE: f64 = 1_000_000.0;

/// Requests with exponential gaps and services; `wild` ones have a gap of hours now and then, and a
/// service as long.
fn requests(seed: u64, count: usize, gap: f64, wild: bool) -> Requests {
    let (mut gaps, mut services) = (Stream::named(seed, "gaps"), Stream::named(seed, "services"));
    let mut now = 0.0;
    let times = |stream: &mut Stream, mean: f64| {
        let longer = if wild && stream.below(100) == 0 { 1e6 } else { 1.0 };
        mean * longer * stream.exponential()
    };
    let due = (0..count).map(|_| {
        now += times(&mut gaps, gap);
        now as u64
    });
    let due: Vec<u64> = due.collect();
    (due, (0..count).map(|_| times(&mut services, SERVICE) as u64).collect())
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

/// Runs blocks of requests, each with its end as the horizon; after each, an instance begins,
/// changes its speed or ends, as the steps say. Returns the tally, and what was seen on the way.
fn by_engine(
    mut engine: Engine,
    of: &Requests,
    block: usize,
    start: usize,
    steps: &[(usize, u64)],
) -> (Tally, Vec<u64>) {
    let (mut tally, mut seen) = (Tally::default(), Vec::new());
    let mut open = [false; 40];
    for (slot, open) in open.iter_mut().enumerate().take(start) {
        engine.open(slot, ONE, 0, &mut tally);
        *open = true;
    }
    let mut steps = steps.iter().cycle();
    for (due, service) in of.0.chunks(block).zip(of.1.chunks(block)) {
        let Some(&now) = due.last() else { break };
        tally.until(now);
        engine.offer(due, service, &mut tally);
        engine.pass(now, &mut tally);
        let mut in_flight = 0;
        engine.in_flight(&tally, &mut |_| in_flight += 1);
        let lost: u64 = tally.lost.iter().sum();
        assert_eq!(tally.offered, tally.served + lost + in_flight);
        seen.extend([tally.served, tally.sum]);
        seen.push(engine.presence(now));
        let accounts: Vec<_> = (0..open.len()).map(|slot| engine.account(slot, now)).collect();
        assert_eq!(accounts.iter().map(|of| of.served).sum::<u64>(), tally.served);
        seen.extend(accounts.iter().flat_map(|of| [of.served, of.stayed]));
        let Some(&(slot, what)) = steps.next() else { continue };
        seen.extend([u64::from(engine.present(slot)), engine.worked(slot, now)]);
        if open[slot] && what < 4 {
            engine.close(slot);
            open[slot] = false;
        } else if open[slot] {
            engine.set_slowness(slot, what * ONE / 8);
        } else if engine.present(slot) == 0 {
            seen.push(engine.done_at(slot));
            engine.open(slot, what.max(1) * ONE / 8, now, &mut tally);
            open[slot] = true;
        }
    }
    tally.until(u64::MAX);
    (tally, seen)
}

proptest! {
    #[test]
    fn all_paths_say_what_the_textbook_says(
        seed in 0u64..1000,
        slots in 1usize..24,
        cores in 1u32..3,
        limit in 1u32..16,
        load in 0.1f64..1.6,
        block in 1usize..300,
        wild in any::<bool>(),
    ) {
        let gap = SERVICE / (load * slots as f64 * f64::from(cores));
        let of = requests(seed, 2000, gap, wild);
        let rules = Rules { limit: Some(limit), ..Rules::new(cores) };
        let chance = || Stream::named(seed, "balancer");
        let mut textbook = Textbook::new(slots, cores, limit);
        let mut tally = Tally::default();
        textbook.offer(&of.0, &of.1, &mut tally);
        textbook.finish(&mut tally);
        let wanted = said(tally);
        for engine in [
            Engine::general(&rules, chance()),
            Engine::portable(&rules, chance()),
            Engine::new(&rules, chance()),
        ] {
            let (tally, _) = by_engine(engine, &of, block, slots, &[]);
            prop_assert_eq!(&said(tally), &wanted);
        }
    }

    #[test]
    fn instances_that_come_change_and_go_are_the_same_on_all_paths(
        seed in 0u64..1000,
        start in 0usize..24,
        cores in 1u32..3,
        limit in 1u32..16,
        load in 0.1f64..3.0,
        block in 1usize..60,
        // Beyond 24 the fast path goes over to the general one.
        steps in prop_oneof![
            prop::collection::vec((0usize..24, 0u64..30), 1..80),
            prop::collection::vec((0usize..40, 0u64..30), 1..80),
        ],
        wild in any::<bool>(),
    ) {
        let gap = SERVICE / (load * start.max(1) as f64 * f64::from(cores));
        let of = requests(seed, 3000, gap, wild);
        let rules = Rules { limit: Some(limit), ..Rules::new(cores) };
        let chance = || Stream::named(seed, "balancer");
        let [wanted, portable, fast] = [
            Engine::general(&rules, chance()),
            Engine::portable(&rules, chance()),
            Engine::new(&rules, chance()),
        ]
        .map(|engine| by_engine(engine, &of, block, start, &steps))
        .map(|(tally, seen)| (said(tally), seen));
        prop_assert_eq!(&portable, &wanted);
        prop_assert_eq!(&fast, &wanted);
    }

    #[test]
    fn one_instance_is_the_same_whatever_is_chosen_by(
        seed in 0u64..1000,
        cores in 1u32..40,
        load in 0.1f64..1.5,
        limit in prop::option::of(1u32..20),
        wild in any::<bool>(),
    ) {
        let of = requests(seed, 2000, SERVICE / (load * f64::from(cores)), wild);
        let rules = Rules { limit, ..Rules::new(cores) };
        let chance = || Stream::named(seed, "balancer");
        let alone = rules.clone().of_one_instance();
        let [wanted, alone] = [Engine::general(&rules, chance()), Engine::new(&alone, chance())]
            .map(|engine| by_engine(engine, &of, 50, 1, &[]))
            .map(|(tally, seen)| (said(tally), seen));
        prop_assert_eq!(&alone, &wanted);
    }
}
