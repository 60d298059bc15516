//! An open source against a model that keeps plain lists, over drawn sequences of what can be done
//! to it.

use super::*;
use proptest::prelude::*;

/// What can be done.
#[derive(Debug, Clone)]
enum Step {
    /// Time goes on by so much, and so many requests could start at once.
    Poll { by: u64, spare: u64 },
    /// So many are started.
    Take(usize),
    /// A new rate, from so long after or before now on.
    Offer { after: i64, per_s: u16, ms: u64 },
    /// A list of times instead.
    Listed { after: i64, times: Vec<u64> },
    /// All that waits is discarded.
    Discard,
    /// Nothing becomes due from so long after now on.
    EndAt(u64),
    /// Nothing becomes due any more.
    Stop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let after = -20_000_000..50_000_000i64;
    let offer = (after.clone(), 1u16..2000, 1..200u64);
    let listed = (after, prop::collection::vec(0..40_000_000u64, 0..20));
    let step = prop_oneof![
        8 => (0..30_000_000u64, 0..4u64).prop_map(|(by, spare)| Step::Poll { by, spare }),
        6 => (0..60usize).prop_map(Step::Take),
        2 => offer.prop_map(|(after, per_s, ms)| Step::Offer { after, per_s, ms }),
        1 => listed.prop_map(|(after, mut times)| {
            times.sort_unstable();
            Step::Listed { after, times }
        }),
        1 => Just(Step::Discard),
        1 => (0..100_000_000u64).prop_map(Step::EndAt),
        1 => Just(Step::Stop),
    ];
    prop::collection::vec(step, 1..60)
}

/// Every list kept whole.
struct Model {
    /// Not due yet, in the order of the offers.
    coming: Vec<u64>,
    waiting: VecDeque<u64>,
    counted: u64,
    end_ns: u64,
    max_waiting: u64,
    limit: u64,
    share: Share,
}

impl Model {
    fn offer(&mut self, from: u64, times: &Times, number: u64) {
        self.coming.retain(|due| *due < from);
        let seed = 5u64.wrapping_add(number.wrapping_mul(plimsoll_units::hash::GOLDEN));
        let mut stretch = times.stream(seed, self.share);
        let mut block = [0; 7];
        loop {
            let n = stretch.fill(&mut block);
            if n == 0 {
                break;
            }
            self.coming.extend(block[..n].iter().map(|due| from + due));
        }
    }

    fn poll(&mut self, now: u64, spare: u64) -> Vec<(u64, bool)> {
        let mut polled = Vec::new();
        self.coming.retain(|&due| {
            let is_due = due <= now && due < self.end_ns && self.counted < self.limit;
            if is_due {
                self.counted += 1;
                let most = self.max_waiting.saturating_add(spare);
                let dropped = self.waiting.len() as u64 >= most;
                if !dropped {
                    self.waiting.push_back(due);
                }
                polled.push((due, dropped));
            }
            !is_due
        });
        polled
    }

    fn next_due(&self) -> Option<u64> {
        let next = self.coming.first().copied().filter(|due| *due < self.end_ns);
        next.filter(|_| self.counted < self.limit)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn an_open_source_does_as_plain_lists_would(
        steps in steps(),
        max_waiting in prop::option::of(0..20u64),
        limit in prop::option::of(0..300u64),
        (index, of) in (0..3u32, 1..4u32),
        poisson in any::<bool>(),
    ) {
        let share = Share { index: index % of, of };
        let (most, limit_or) = (max_waiting.unwrap_or(u64::MAX), limit.unwrap_or(u64::MAX));
        let mut model = Model {
            coming: Vec::new(), waiting: VecDeque::new(), counted: 0, end_ns: u64::MAX,
            max_waiting: most, limit: limit_or, share,
        };
        let mut source = Source::Open(Open::new(5, share, max_waiting, limit));
        let (mut now, mut number) = (0u64, 0);
        for step in steps {
            match step {
                Step::Poll { by, spare } => {
                    now += by;
                    let mut polled = Vec::new();
                    source.poll(now, || spare, |due, dropped| polled.push((due, dropped)));
                    prop_assert_eq!(polled, model.poll(now, spare));
                    // What lies ahead is known once what is due has been counted.
                    prop_assert_eq!(source.next_due(), model.next_due());
                }
                Step::Take(n) => {
                    for _ in 0..n {
                        let taken = source.take().map(|due| due.at);
                        prop_assert_eq!(taken, model.waiting.pop_front());
                    }
                }
                Step::Offer { after, per_s, ms } => {
                    let from = now.saturating_add_signed(after);
                    let schedule = Schedule::constant(f64::from(per_s), ms * 1_000_000).unwrap();
                    let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Even };
                    let times = Times::Schedule(Arc::new(schedule), arrivals);
                    offer(&mut source, from, &times, number);
                    model.offer(from, &times, number);
                    number += 1;
                }
                Step::Listed { after, times } => {
                    let from = now.saturating_add_signed(after);
                    let times = Times::Listed(times.into());
                    offer(&mut source, from, &times, number);
                    model.offer(from, &times, number);
                    number += 1;
                }
                Step::Discard => {
                    while source.take().is_some() {}
                    model.waiting.clear();
                }
                Step::EndAt(after) => {
                    source.end_at(now + after);
                    model.end_ns = now + after;
                }
                Step::Stop => {
                    source.stop();
                    model.coming.clear();
                }
            }
            prop_assert_eq!(source.waiting(), model.waiting.len() as u64);
            prop_assert_eq!(source.oldest_waiting(), model.waiting.front().copied());
            prop_assert_eq!(source.is_used_up(), model.counted >= limit_or);
        }
    }
}

fn offer(source: &mut Source, from: u64, times: &Times, number: u64) {
    let Source::Open(open) = source else { unreachable!() };
    open.offer(from, times, number);
}
