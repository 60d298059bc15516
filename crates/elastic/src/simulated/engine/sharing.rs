//! Instances with processor sharing: their requests share the cores alike, none has more than one.
//!
//! Each instance has a clock of its own that runs as fast as each of its requests is served: with n
//! requests on c cores at the rate min(1, c / n). A request leaves when that clock has gone on by
//! its service time (virtual time; S. F. Yashkov, *Processor-sharing queues*, Queueing Systems 2,
//! 1987). So an arrival changes only when the first of an instance leaves, not the order of the
//! others, and only the first is kept among the [`Departures`]. Where service is slower the more
//! requests an instance has, its clock is, for all that it has.
//!
//! Requests are counted when they leave: until then it is not known when that will be. Those whose
//! clients have given up before are worked on to their end.

use super::departures::Departures;
use super::dispatch::Instances;
use super::queue::Request;
use super::tally::Tally;
use super::{Rules, scaled};
use crate::outcome::Loss;

/// A request at an instance.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// The instance's own time at which it leaves.
    leaves: f64,
    /// When it was due; [`GIVEN_UP`] where its client has given up, and that was counted.
    due: u64,
}

/// Instead of when it was due, of a request that was counted as lost, and is still worked on.
const GIVEN_UP: u64 = u64::MAX;

/// An instance.
#[derive(Debug, Clone)]
struct Instance {
    /// Its own time, and when that was.
    own: f64,
    at: u64,
    /// What it has, the first to leave last.
    held: Vec<Held>,
    slowness: u64,
    /// When the last one left.
    done_at: u64,
    /// The work that it has done since it was opened, ticks of cores.
    worked: u64,
    /// Requests that ever left its place without being served in time.
    lost: u64,
}

/// How fast an instance's own clock runs with so many requests, one over it, and how many cores
/// work.
#[derive(Debug, Clone, Copy)]
struct Pace {
    rate: f64,
    slower: f64,
    busy: u64,
}

/// The state of all instances.
pub(super) struct Sharing {
    rules: Rules,
    first: Departures,
    instances: Vec<Instance>,
    /// By the number of requests, as far as it has come.
    paces: Vec<Pace>,
}

impl Pace {
    fn of(rules: &Rules, present: usize) -> Self {
        let busy = (present as u64).min(u64::from(rules.cores));
        let shared = (present as f64 / f64::from(rules.cores)).max(1.0);
        let count = u32::try_from(present).unwrap_or(u32::MAX);
        let slower = shared * rules.slowdown.at(count, super::ONE) as f64 / super::ONE as f64;
        Self { rate: 1.0 / slower, slower, busy }
    }
}

impl Sharing {
    /// No instance is open.
    pub(super) fn new(rules: &Rules) -> Self {
        let paces = vec![Pace::of(rules, 0)];
        Self { rules: rules.clone(), first: Departures::new(), instances: Vec::new(), paces }
    }

    /// Takes an instance's own time up to now.
    #[inline(always)]
    fn bring(&mut self, slot: usize, now: u64) {
        let of = &mut self.instances[slot];
        let pace = self.paces[of.held.len()];
        of.own += float(now - of.at) * pace.rate;
        of.worked += (now - of.at) * pace.busy;
        of.at = now;
    }

    /// Says anew when the first of an instance leaves.
    #[inline(always)]
    fn plan(&mut self, slot: usize) {
        let of = &self.instances[slot];
        let slower = self.paces[of.held.len()].slower;
        let at = of.held.last().map(|first| of.at + up((first.leaves - of.own) * slower));
        self.first.set(slot, at);
    }
}

/// Numbers up to 2⁵² added to this have no digits behind the point, and their last bits are them:
/// so they are converted without the cases that a conversion of any number has.
const SHIFT: f64 = (1_u64 << 52) as f64;

/// A number of ticks below 2⁵².
#[inline(always)]
fn float(ticks: u64) -> f64 {
    f64::from_bits(ticks | SHIFT.to_bits()) - SHIFT
}

/// Ticks, rounded up; those below zero are none.
#[inline(always)]
fn up(ticks: f64) -> u64 {
    let bounded = ticks.clamp(0.0, 0.5 * SHIFT);
    let shifted = bounded + SHIFT;
    let nearest = shifted - SHIFT;
    (shifted.to_bits() ^ SHIFT.to_bits()) + u64::from(nearest < bounded)
}

impl Instances for Sharing {
    fn grow(&mut self, slots: usize) {
        if slots > self.instances.len() {
            let slowness = super::ONE;
            let idle = Instance {
                own: 0.0,
                at: 0,
                held: Vec::new(),
                slowness,
                done_at: 0,
                worked: 0,
                lost: 0,
            };
            self.instances.resize(slots, idle);
            self.first.grow(slots);
        }
    }

    fn open(&mut self, slot: usize, slowness: u64, now: u64) {
        let instance = &mut self.instances[slot];
        (instance.own, instance.at, instance.done_at) = (0.0, now, now);
        (instance.slowness, instance.worked) = (slowness, 0);
    }

    fn set_slowness(&mut self, slot: usize, slowness: u64) {
        self.instances[slot].slowness = slowness;
    }

    fn fail(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        self.bring(slot, now);
        self.instances[slot].lost += self.instances[slot].held.len() as u64;
        let held = self.instances[slot].held.drain(..);
        for held in held.filter(|held| held.due != GIVEN_UP) {
            tally.lose(self.rules.fails_as(held.due, now), 1);
        }
        self.first.set(slot, None);
    }

    fn lost(&self, slot: usize) -> u64 {
        self.instances.get(slot).map_or(0, |of| of.lost)
    }

    fn done_at(&self, slot: usize) -> u64 {
        self.instances.get(slot).map_or(0, |of| of.done_at)
    }

    fn worked(&self, slot: usize, now: u64) -> u64 {
        self.instances
            .get(slot)
            .map_or(0, |of| of.worked + now.saturating_sub(of.at) * self.paces[of.held.len()].busy)
    }

    fn settle(&mut self, now: u64, tally: &mut Tally) {
        let timeout = self.rules.client_timeout;
        if timeout == u64::MAX {
            return;
        }
        for held in self.instances.iter_mut().flat_map(|of| &mut of.held) {
            if held.due != GIVEN_UP && now - held.due >= timeout {
                held.due = GIVEN_UP;
                tally.lose(Loss::ClientTimeout, 1);
            }
        }
    }

    fn in_flight(&self, _: &Tally, each: &mut dyn FnMut(u64)) {
        let held = self.instances.iter().flat_map(|of| &of.held);
        held.filter(|held| held.due != GIVEN_UP).for_each(|held| each(held.due));
    }

    #[inline(always)]
    fn accept(&mut self, slot: usize, request: Request, _: u32, now: u64, _: &mut Tally) {
        self.bring(slot, now);
        let of = &mut self.instances[slot];
        let work = scaled(request.service, of.slowness);
        let leaves = of.own + float(work);
        // Of those that leave at once the one that came first goes first.
        let mut place = of.held.len();
        while place > 0 && of.held[place - 1].leaves <= leaves {
            place -= 1;
        }
        of.held.insert(place, Held { leaves, due: request.due });
        if of.held.len() == self.paces.len() {
            self.paces.push(Pace::of(&self.rules, of.held.len()));
        }
        self.plan(slot);
    }

    #[inline(always)]
    fn leave(&mut self, now: u64, tally: &mut Tally) -> Option<(usize, u64)> {
        let (slot, at) = self.first.come(now)?;
        self.bring(slot, at);
        let of = &mut self.instances[slot];
        of.done_at = at;
        let first = of.held.pop()?;
        if of.held.is_empty() {
            // Sums begin anew, so that they stay exact.
            of.own = 0.0;
        }
        self.plan(slot);
        let is_late = first.due == GIVEN_UP || at - first.due > self.rules.client_timeout;
        if !is_late {
            tally.serve(at - first.due);
        } else {
            self.instances[slot].lost += 1;
            if first.due != GIVEN_UP {
                tally.lose(Loss::ClientTimeout, 1);
            }
        }
        Some((slot, at))
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "of numbers that a test has made")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ticks_are_converted_exactly(
            ticks in 0u64..1 << 50,
            part in 0.0f64..1.0,
            bits in 0u32..50,
        ) {
            let ticks = ticks >> bits;
            prop_assert!((float(ticks) - ticks as f64).abs() < 1e-300);
            let more = ticks as f64 + part;
            prop_assert_eq!(up(more), more.ceil() as u64);
            prop_assert_eq!(up(-more), 0);
        }
    }
}
