//! What holds of every live pool, whatever fails and in whichever order, worked out from
//! `docs/pools.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use plimsoll_elastic::observation::Instance;
use plimsoll_runs::Event;
use plimsoll_testbed::Instance as Server;

use super::super::life::{EVENT, Sees};
use super::servers::{REFUSED, STANDS};
use super::world::{SECOND, States, World, states};
use crate::replay::{lives, read};

/// The states of an instance in their order; of those in a row each comes once at most.
const ORDER: [(&str, u32); 9] = [
    ("requested", 0),
    ("adopted", 0),
    ("pending", 1),
    ("running", 3),
    ("ready", 4),
    ("draining", 5),
    ("failed", 6),
    ("terminated", 8),
    ("could not be ended", 8),
];

/// When whoever has refused may be asked again, and for how many.
#[derive(Default)]
struct Asking {
    refusals: u32,
    since_ns: u64,
    /// The one that shows whether it refuses still.
    tried: Option<u32>,
    /// How many refusals were known when each was asked for.
    asked: BTreeMap<u32, u32>,
    known: u32,
}

impl Asking {
    fn asked(&mut self, number: u32, at_ns: u64) {
        if self.refusals > 0 {
            let pause_s = 60.min(1 << (self.refusals - 1).min(6));
            let due_ns = self.since_ns + pause_s * SECOND;
            assert!(at_ns >= due_ns, "{number} asked at {at_ns}, which is before {due_ns}");
            assert_eq!(self.tried, None, "one at a time: {number}");
            self.tried = Some(number);
        }
        self.asked.insert(number, self.known);
    }

    fn refused(&mut self, number: u32, at_ns: u64) {
        if self.refusals > 0 && self.asked.get(&number).is_none_or(|known| *known < self.known) {
            return;
        }
        (self.refusals, self.known) = (self.refusals + 1, self.known + 1);
        (self.since_ns, self.tried) = (at_ns, None);
    }

    fn granted(&mut self) {
        (self.refusals, self.tried) = (0, None);
    }

    fn spared(&mut self, number: u32) {
        self.tried.take_if(|tried| *tried == number);
    }
}

/// Whether times are the same but for that between two looks at the clock.
fn is_near(one: Option<u64>, other: Option<u64>) -> bool {
    one.is_some() == other.is_some() && one.zip(other).is_none_or(|(a, b)| a.abs_diff(b) < 1000)
}

/// What is known of an instance by its events.
#[derive(Debug, Default)]
struct Known {
    rank: Option<u32>,
    requested_ns: u64,
    ready_ns: Option<u64>,
    ended_ns: Option<u64>,
    /// Whether its server was started, and whether it has failed.
    stands: bool,
    has_failed: bool,
}

/// What holds of a pool of which events come.
#[derive(Default)]
pub(super) struct Rules {
    /// How many events were taken.
    taken: usize,
    last_ns: u64,
    known: BTreeMap<u32, Known>,
    /// Who starts servers, and the balancer that takes them.
    starts: Asking,
    takes: Asking,
}

impl Rules {
    /// Takes what has happened since the last time.
    pub(super) fn take(&mut self, told: &[Event]) {
        for of in &told[self.taken..] {
            self.event(of);
        }
        self.taken = told.len();
    }

    fn event(&mut self, of: &Event) {
        let Some((number, state)) = read(&of.text).filter(|_| of.kind == EVENT) else { return };
        assert!(of.at_ns >= self.last_ns, "time goes back: {of:?}");
        self.last_ns = of.at_ns;
        let known = self.known.entry(number).or_default();
        let (was_ready, stood) = (known.ready_ns.is_some(), known.stands);
        if let Some((_, rank)) = ORDER.iter().find(|(name, _)| *name == state) {
            assert!(known.rank.is_none_or(|before| before < *rank), "out of order: {of:?}");
            assert!(known.rank.is_some() || *rank <= 1, "begins with: {of:?}");
            known.rank = Some(*rank);
        }
        match state {
            "requested" => {
                known.requested_ns = of.at_ns;
                self.takes.asked(number, of.at_ns);
                self.starts.asked(number, of.at_ns);
            }
            STANDS => {
                known.stands = true;
                self.starts.granted();
            }
            "ready" => {
                known.ready_ns = Some(of.at_ns);
                self.takes.granted();
            }
            "draining" if !was_ready => {
                known.ended_ns.get_or_insert(of.at_ns);
                self.takes.spared(number);
            }
            "failed" => {
                known.has_failed = true;
                known.ended_ns.get_or_insert(of.at_ns);
                if of.text.ends_with(REFUSED) {
                    assert!(!stood, "{of:?}");
                    self.starts.refused(number, of.at_ns);
                    self.takes.spared(number);
                } else if !was_ready {
                    self.takes.refused(number, of.at_ns);
                }
            }
            "terminated" | "could not be ended" => {
                known.ended_ns.get_or_insert(of.at_ns);
                self.starts.spared(number);
                self.takes.spared(number);
            }
            _ => {}
        }
    }

    /// Holds the figures of a pool against what has happened.
    pub(super) fn figures(&self, world: &World<'_, '_, '_>) {
        let (life, ground) = (world.yard.life(), world.ground);
        let all = self.known.values();
        let failed_starts = all.clone().filter(|of| of.has_failed && of.ready_ns.is_none()).count();
        assert_eq!(life.churn.start_failures, failed_starts as u64);
        let failed = all.filter(|of| of.has_failed && of.ready_ns.is_some()).count() as u64;
        assert!(life.churn.replaced <= failed, "{} of {failed}", life.churn.replaced);
        assert!(life.churn.replaced + life.owed <= failed, "{} owed of {failed}", life.owed);
        let now_ns = self.last_ns.max(life.now_ns());
        for of in life.pool.instances() {
            let used = of.used(now_ns);
            let known = &self.known[&u32::try_from(of.number + 1).unwrap()];
            assert!(is_near(used.ready_ns, known.ready_ns), "{of:?}: {known:?}");
            assert!(is_near(Some(used.launched_ns), Some(known.requested_ns)), "{of:?}: {known:?}");
            assert!(is_near(of.ended_ns, known.ended_ns), "{of:?}: {known:?}");
        }
        let most = ground.setup().most;
        assert!(life.pool.wanted().count() <= most as usize, "more than {most} are wanted");
        assert!(world.decided.iter().all(|of| (1..=most).contains(&of.to)));
    }

    /// What a policy saw at each decision is what the events say of that time.
    pub(super) fn replays(&self, world: &World<'_, '_, '_>) {
        let seen = world.ground.seen.lock().unwrap();
        let lives = lives(&world.told);
        for (of, seen) in world.decided.iter().zip(seen.iter()) {
            let there: Vec<Instance> =
                lives.values().filter_map(|life| life.at(of.at_ns)).collect();
            let told: States = states(&there);
            assert_eq!(told, *seen, "at {}: {:#?}", of.at_ns, world.told);
        }
    }

    /// Where nothing is going on, the balancer has those that take requests, and no others; they
    /// are watched; and what was lost is counted once.
    pub(super) fn at_rest(&self, world: &World<'_, '_, '_>, watch: &Watch) {
        let ground = world.ground;
        assert_eq!(ground.board.names(), world.names(), "{:#?}", world.texts());
        assert_eq!(watch.names(), world.names(), "{:#?}", world.texts());
        let table = ground.board.table();
        assert_eq!(table.revivals, world.yard.revivals());
        let lost = table.told_before.plus(&table.told);
        assert_eq!((world.yard.lost(Some(&table.told)), world.yard.lost(None)), (lost, lost));
    }

    /// Each server was ended once, or is left to who ends all.
    pub(super) fn at_the_end(&self, world: &World<'_, '_, '_>) {
        let stock = world.ground.works.stock();
        let left = world.yard.life().servers();
        for number in 1..=u32::try_from(stock.started).unwrap() {
            let ended = stock.ended.get(&number).copied().unwrap_or(0);
            let is_left = left.iter().any(|of| of.number == number);
            assert_eq!(ended + u32::from(is_left), 1, "web-{number}: {:#?}", world.texts());
        }
        assert_eq!(stock.faults, Vec::<String>::new());
        assert_eq!(world.ground.board.table().faults, Vec::<String>::new());
    }
}

/// What is watched of a pool.
#[derive(Clone, Default)]
pub(super) struct Watch(Arc<Mutex<BTreeSet<String>>>);

impl Watch {
    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().cloned().collect()
    }
}

impl Sees for Watch {
    fn joins(&self, server: &Server) {
        assert!(self.0.lock().unwrap().insert(server.name.clone()), "{} twice", server.name);
    }

    fn leaves(&self, server: &Server) {
        assert!(self.0.lock().unwrap().remove(&server.name), "{} was not there", server.name);
    }
}
