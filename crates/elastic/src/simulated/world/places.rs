//! What is done at each place behind the balancer, in stretches of the load: so it is seen how
//! evenly the balancer spreads its requests.

use super::World;
use crate::outcome::AtPlace;
use crate::pool::Instance;
use crate::simulated::engine::{Account, TICK_NS};

/// A load is told in so many stretches at most, and in so many figures of places.
const MOST_STRETCHES: u64 = 96;
const MOST_FIGURES: u64 = 20_000;

/// What has been done at the places.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The ends of stretches lie so many ticks apart, and the next one so many ahead.
    each: u64,
    left: u64,
    /// Of each instance what it had done when it was looked at last.
    marks: Vec<Mark>,
    /// Of each place what was done in this stretch.
    now: Vec<AtPlace>,
    /// The stretches that have ended.
    done: Vec<AtPlace>,
}

/// What an instance had done at a time.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at_ns: u64,
    account: Account,
    /// Ticks of cores.
    worked: u64,
}

impl Places {
    /// For a load of so many ticks on so many places.
    pub(super) fn new(ticks: u64, places: u32) -> Self {
        let stretches = (MOST_FIGURES / u64::from(places.max(1))).clamp(1, MOST_STRETCHES);
        let each = ticks.div_ceil(stretches).max(1);
        Self { each, left: each, ..Self::default() }
    }
}

impl World<'_> {
    /// An instance takes requests from now on.
    pub(super) fn mark(&mut self, of: &Instance) {
        let account = self.engine.account(of.slot, self.now_ns / TICK_NS);
        let marks = &mut self.places.marks;
        if marks.len() <= of.number {
            marks.resize(of.number + 1, Mark::default());
        }
        marks[of.number] = Mark { at_ns: self.now_ns, account, worked: 0 };
    }

    /// Counts what an instance has done since it was looked at last.
    pub(super) fn look_at(&mut self, of: &Instance) {
        if !self.has_begun[of.number] {
            return;
        }
        let now = self.now_ns / TICK_NS;
        let account = self.engine.account(of.slot, now);
        let worked = self.engine.worked(of.slot, now);
        let places = &mut self.places;
        let mark = Mark { at_ns: self.now_ns, account, worked };
        let before = std::mem::replace(&mut places.marks[of.number], mark);
        if places.now.len() <= of.slot {
            places.now.resize(of.slot + 1, AtPlace::default());
        }
        let place = &mut places.now[of.slot];
        place.ready_ns += self.now_ns - before.at_ns;
        place.served += account.served - before.account.served;
        place.cpu_s += self.setup.cpu_of(((worked - before.worked) * TICK_NS) as f64 / 1e9);
        let stayed = account.stayed.wrapping_sub(before.account.stayed);
        place.stayed_s += stayed as f64 * TICK_NS as f64 / 1e9;
    }

    /// Ends a tick, and a stretch where it is time to.
    pub(super) fn count_places(&mut self, is_last: bool) {
        self.places.left -= 1;
        if self.places.left > 0 && !is_last {
            return;
        }
        self.places.left = self.places.each;
        let alive: Vec<Instance> = self.pool.alive().copied().collect();
        alive.iter().for_each(|of| self.look_at(of));
        let at_s = self.now_ns as f64 / 1e9;
        let now = std::mem::take(&mut self.places.now);
        let with = now.into_iter().enumerate().filter(|(_, of)| of.ready_ns > 0);
        self.places.done.extend(with.map(|(slot, of)| AtPlace { at_s, slot, ..of }));
    }

    /// What was done at the places, stretch by stretch.
    pub(super) fn at_places(&mut self) -> Vec<AtPlace> {
        std::mem::take(&mut self.places.done)
    }
}
