//! Any order of ready, failed, gone and refused, of balancers that fail and come back, of what the
//! policy wants, and of the end: in 256 seeds.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use plimsoll_testbed::balance::State;
use plimsoll_workload::pool::{ChargeFrom, Termination};
use plimsoll_workload::random::Stream;

use super::super::time::Time;
use super::balancer::Manner;
use super::rules::{Rules, Watch};
use super::servers::Ask;
use super::world::{Ground, SECOND, World, with_world};

const SEEDS: u64 = 256;
/// So often something happens before all is well again.
const STEPS: usize = 400;
/// So long all is well then, seconds: who has refused is asked again within a minute.
const WELL: u64 = 150;

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Turn,
    Passes,
    Said,
    Drained,
    Served,
    Fails,
    IsWell,
    HostGoes,
    BalancerDies,
    Refuses,
    Wants,
}

/// Chance of one seed.
struct Chance {
    stream: Stream,
    /// How likely each is, beside the others.
    weights: Vec<(What, u64)>,
    /// Of a hundred starts so many are refused.
    refused: u64,
}

impl Chance {
    fn of(seed: u64) -> Self {
        let mut stream = Stream::named(seed, "pool");
        let mut some = |most: u64| stream.below(most + 1);
        let weights = vec![
            (What::Turn, 30),
            (What::Passes, 2 + some(8)),
            (What::Said, 2 + some(8)),
            (What::Drained, 1 + some(4)),
            (What::Served, 3),
            (What::Fails, some(4)),
            (What::IsWell, some(1)),
            (What::HostGoes, some(1)),
            (What::BalancerDies, some(2)),
            (What::Refuses, some(1)),
            (What::Wants, some(3)),
        ];
        let refused = [0, 20, 60, 100][usize::try_from(some(3)).unwrap()];
        Self { stream, weights, refused }
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.stream.below(most as u64)).unwrap()
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())].clone())
    }

    fn what(&mut self) -> What {
        let all: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut at = self.stream.below(all);
        for (what, weight) in &self.weights {
            if at < *weight {
                return *what;
            }
            at -= weight;
        }
        What::Turn
    }
}

/// Has one thing happen; whether there was one to whom it could.
fn happens(world: &World<'_, '_, '_>, chance: &mut Chance, what: What) -> bool {
    let (ground, board) = (world.ground, &world.ground.board);
    match what {
        What::Turn => chance.one(&ground.time.ready()).is_some_and(|thread| {
            ground.time.turn(thread);
            true
        }),
        What::Passes => {
            let next_ns = ground.time.next_ns().unwrap_or(0).saturating_sub(ground.time.now());
            let some_ns = chance.stream.below(2 * SECOND);
            ground.time.passes(if chance.below(2) == 0 { next_ns } else { some_ns });
            true
        }
        What::Said => chance.one(&ground.works.asked()).is_some_and(|(thread, ask)| {
            let refused = match ask {
                Ask::Launch => chance.refused,
                Ask::End(_) => 10,
                Ask::Again => 0,
            };
            ground.works.says(thread, chance.stream.below(100) >= refused);
            true
        }),
        What::Drained => {
            let draining: Vec<u64> = board.table().draining.keys().copied().collect();
            chance.one(&draining).is_some_and(|thread| {
                board.drained(thread);
                true
            })
        }
        What::Served => {
            board.serves(chance.stream.below(5));
            true
        }
        What::Fails | What::IsWell => {
            let state = if what == What::Fails { State::Out } else { State::In };
            chance.one(&board.names()).is_some_and(|name| {
                board.checks(&name, state);
                true
            })
        }
        What::HostGoes => {
            let standing: Vec<u32> = ground.works.stock().standing.keys().copied().collect();
            chance.one(&standing).is_some_and(|number| ground.works.stock().away.insert(number))
        }
        What::BalancerDies => {
            // One that fails as it is made anew does not come to stand: that ends the cell.
            let may_die = !world.yard.life().is_reviving && !board.table().is_gone;
            may_die.then(|| board.dies()).is_some()
        }
        What::Refuses => {
            let mut table = board.table();
            table.refuses = !table.refuses;
            true
        }
        What::Wants => {
            let wish = u32::try_from(chance.below(9)).unwrap();
            ground.wish.store(wish, Ordering::Relaxed);
            true
        }
    }
}

/// What came of a seed.
#[derive(Default)]
struct Came {
    happened: BTreeMap<What, u64>,
    start_failures: u64,
    replaced: u64,
    revivals: u64,
    /// Whether all was well in the end.
    is_well: bool,
}

fn pool(seed: u64) -> Came {
    let mut chance = Chance::of(seed);
    let manner = [Manner::Listed, Manner::Reloaded][chance.below(2)];
    let mut ground = Ground::new(manner, ["const:0s", "exp:3s"][chance.below(2)]);
    let setup = &mut ground.model.setup;
    setup.prices.from = [ChargeFrom::Running, ChargeFrom::Launch][chance.below(2)];
    setup.termination = [Termination::Oldest, Termination::Random][chance.below(2)];
    let watch = Watch::default();
    let yard = ground.yard(&ground.works);
    with_world(&ground, &yard, |mut world| {
        yard.life().watched_at(Box::new(watch.clone()), &[]);
        world.begins(u32::try_from(1 + chance.below(3)).unwrap());
        let (mut came, mut rules) = (Came::default(), Rules::default());
        for _ in 0..STEPS {
            let what = chance.what();
            *came.happened.entry(what).or_default() +=
                u64::from(happens(&world, &mut chance, what));
            world.listens();
            rules.take(&world.told);
            rules.figures(&world);
        }
        // In half of all it ends amid all that.
        if chance.below(2) == 0 && !world.has_steered() {
            came.is_well = is_well_in_the_end(&mut world, &mut rules, &watch);
        }
        world.ends();
        rules.take(&world.told);
        rules.figures(&world);
        rules.replays(&world);
        rules.at_the_end(&world);
        let churn = yard.life().churn;
        (came.start_failures, came.replaced) = (churn.start_failures, churn.replaced);
        came.revivals = yard.revivals();
        came
    })
}

/// When nothing fails any more, there are as many as were wanted last, and all take requests.
/// Returns whether it came to that: a balancer that had failed again as it was made anew ends a
/// cell.
fn is_well_in_the_end(world: &mut World<'_, '_, '_>, rules: &mut Rules, watch: &Watch) -> bool {
    let ground = world.ground;
    ground.board.table().refuses = false;
    world.lasts(WELL);
    rules.take(&world.told);
    rules.figures(world);
    if world.has_steered() {
        return false;
    }
    rules.at_rest(world, watch);
    let wish = ground.wish.load(Ordering::Relaxed).clamp(1, ground.setup().most) as usize;
    assert_eq!(world.names().len(), wish, "{:#?}", world.texts());
    let alive = world.yard.life().pool.alive().count();
    assert_eq!(alive, wish, "{:#?}", world.texts());
    true
}

#[test]
fn whatever_fails_in_whichever_order_the_pool_is_as_it_is_wanted() {
    let mut all = Came::default();
    let mut well = 0;
    for seed in 0..SEEDS {
        let came = std::panic::catch_unwind(|| pool(seed));
        let came = came.unwrap_or_else(|panic| {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic)
        });
        for (what, count) in came.happened {
            *all.happened.entry(what).or_default() += count;
        }
        all.start_failures += came.start_failures;
        all.replaced += came.replaced;
        all.revivals += came.revivals;
        well += u64::from(came.is_well);
    }
    // All of it has happened, and more than once.
    assert_eq!(all.happened.len(), 11, "{:?}", all.happened);
    assert!(all.happened.values().all(|count| *count > SEEDS / 4), "{:?}", all.happened);
    assert!(all.start_failures > SEEDS && all.replaced > SEEDS && all.revivals > SEEDS / 2);
    assert!(well > SEEDS / 4, "{well}");
}

#[test]
fn a_seed_comes_to_the_same_again() {
    let told = |seed| {
        let came = pool(seed);
        (came.happened, came.start_failures, came.replaced, came.revivals)
    };
    for seed in [3, 5, 8] {
        assert_eq!(told(seed), told(seed));
    }
}
