//! Which instance takes the next request.
//!
//! *Least connections* is the one with the fewest requests. Of several, the first in the list, as
//! nginx's module "fair" of 2010 chose; or one by turns, or by chance. *Power of two choices*: of
//! two drawn by chance, the one with fewer (M. Mitzenmacher, IEEE TPDS 12(10), 2001). *Weighted* is
//! nginx's smooth weighted round robin: each gains its weight, the greatest is taken and loses the
//! sum. None takes an instance that has as many requests as it may.

use super::levels::Levels;
use plimsoll_workload::pool::{Choice, Ties};
use plimsoll_workload::random::Stream;

/// The weight of an instance of speed 1.
const UNIT_WEIGHT: u64 = 1 << 16;
/// So that sums over all instances stay far below the greatest number.
const MOST_WEIGHT: i64 = 1 << 32;

/// The balancer's view of the instances.
pub(super) struct Balancer {
    choice: Choice,
    /// The most requests of an instance.
    limit: u32,
    present: Vec<u32>,
    /// The open instances, in the order of the list, and by how many requests they have.
    open: Vec<usize>,
    levels: Levels,
    weight: Vec<i64>,
    gained: Vec<i64>,
    /// The place in the list after the one taken last.
    next: usize,
    chance: Stream,
    /// What each instance was given.
    given: Vec<Given>,
}

/// What an instance was given.
#[derive(Debug, Clone, Copy, Default)]
struct Given {
    /// How many requests.
    count: u64,
    /// When they left less when they came, summed up modulo 2⁶⁴.
    stayed: u64,
}

impl Balancer {
    /// No instance is open yet.
    pub(super) fn new(choice: Choice, limit: Option<u32>, chance: Stream) -> Self {
        Self {
            // Both mean the fewest: the short path asks for one of them.
            choice: choice.ties().map_or(choice, Choice::Fair),
            limit: limit.unwrap_or(u32::MAX),
            present: Vec::new(),
            open: Vec::new(),
            levels: Levels::new(),
            weight: Vec::new(),
            gained: Vec::new(),
            next: 0,
            chance,
            given: Vec::new(),
        }
    }

    /// Takes an instance into the list.
    pub(super) fn open(&mut self, slot: usize) {
        if slot >= self.present.len() {
            self.present.resize(slot + 1, 0);
            self.weight.resize(slot + 1, 1);
            self.gained.resize(slot + 1, 0);
            self.given.resize(slot + 1, Given::default());
        }
        if let Err(place) = self.open.binary_search(&slot) {
            self.open.insert(place, slot);
            self.next += usize::from(place < self.next);
            self.levels.open(slot, self.present[slot]);
        }
    }

    /// The same, with a weight: twice as fast, twice as often.
    pub(super) fn open_by_speed(&mut self, slot: usize, slowness: u64) {
        self.open(slot);
        self.set_weight(slot, super::ONE.saturating_mul(UNIT_WEIGHT) / slowness.max(1));
    }

    /// Takes an instance off the list.
    pub(super) fn close(&mut self, slot: usize) {
        if let Ok(place) = self.open.binary_search(&slot) {
            self.open.remove(place);
            self.next -= usize::from(place < self.next);
            self.levels.close(slot, self.present[slot]);
            self.gained[slot] = 0;
        }
    }

    /// How often an instance is to be taken, beside the others.
    pub(super) fn set_weight(&mut self, slot: usize, weight: u64) {
        self.weight[slot] = i64::try_from(weight).unwrap_or(i64::MAX).clamp(1, MOST_WEIGHT);
    }

    /// How many requests an instance has; one that was never open has none.
    pub(super) fn present(&self, slot: usize) -> u32 {
        self.present.get(slot).copied().unwrap_or(0)
    }

    /// How many places there are.
    pub(super) fn places(&self) -> usize {
        self.given.len()
    }

    /// How many requests an instance was ever given, and how long requests have stayed at it up to
    /// a time, ticks modulo 2⁶⁴.
    pub(super) fn account(&self, slot: usize, now: u64) -> (u64, u64) {
        let Given { count, stayed } = self.given.get(slot).copied().unwrap_or_default();
        let present = u64::from(self.present(slot));
        (count, stayed.wrapping_add(present.wrapping_mul(now)))
    }

    /// Says what an instance was given elsewhere, and what [`Balancer::account`] would say of the
    /// stay at time zero, if none of those present left.
    pub(super) fn set_given(&mut self, slot: usize, count: u64, stayed: u64) {
        self.given[slot] = Given { count, stayed };
    }

    /// One request more at an instance, which then has so many.
    #[inline(always)]
    pub(super) fn add(&mut self, slot: usize, now: u64) -> u32 {
        let given = &mut self.given[slot];
        given.count += 1;
        given.stayed = given.stayed.wrapping_sub(now);
        let before = self.present[slot];
        self.present[slot] = before + 1;
        self.levels.change(slot, before, before + 1);
        before + 1
    }

    /// One request fewer.
    #[inline(always)]
    pub(super) fn remove(&mut self, slot: usize, at: u64) {
        self.given[slot].stayed = self.given[slot].stayed.wrapping_add(at);
        let before = self.present[slot];
        self.present[slot] = before - 1;
        self.levels.change(slot, before, before - 1);
    }

    /// All requests of an instance that is closed are gone.
    pub(super) fn clear(&mut self, slot: usize, now: u64) {
        let gone = u64::from(std::mem::take(&mut self.present[slot]));
        let given = &mut self.given[slot];
        given.stayed = given.stayed.wrapping_add(gone.wrapping_mul(now));
    }

    fn has_room(&self, slot: usize) -> bool {
        self.present[slot] < self.limit
    }

    /// An instance with room; `None` where there is none.
    #[inline(always)]
    pub(super) fn choose(&mut self) -> Option<usize> {
        match self.choice {
            Choice::Fair(Ties::First) => self.first_of_least(),
            _ => self.choose_otherwise(),
        }
    }

    fn choose_otherwise(&mut self) -> Option<usize> {
        match self.choice {
            Choice::Fair(ties) | Choice::LeastConnections(ties) => match ties {
                Ties::First => self.first_of_least(),
                Ties::Next => {
                    let least = self.least()?;
                    self.in_turn(|of, slot| of.present[slot] == least)
                }
                Ties::Random => {
                    let least = self.least()?;
                    self.by_chance(|of, slot| of.present[slot] == least)
                }
            },
            Choice::RoundRobin => self.in_turn(Self::has_room),
            Choice::Weighted => self.by_weight(),
            Choice::Random => self.by_chance(Self::has_room),
            Choice::TwoChoices => self.of_two(),
        }
    }

    #[inline(always)]
    fn first_of_least(&mut self) -> Option<usize> {
        match self.levels.least() {
            Some((slot, present)) if present < self.limit => Some(slot),
            _ => None,
        }
    }

    /// The fewest requests of an instance with room.
    fn least(&mut self) -> Option<u32> {
        self.first_of_least().map(|slot| self.present[slot])
    }

    fn in_turn(&mut self, takes: impl Fn(&Self, usize) -> bool) -> Option<usize> {
        let count = self.open.len();
        // Without a division, which would take longer than all else.
        let within = |place: usize| if place < count { place } else { 0 };
        let mut place = within(self.next);
        for _ in 0..count {
            let slot = self.open[place];
            let next = within(place + 1);
            if takes(self, slot) {
                self.next = next;
                return Some(slot);
            }
            place = next;
        }
        None
    }

    fn by_chance(&mut self, takes: impl Fn(&Self, usize) -> bool) -> Option<usize> {
        let among = self.open.iter().filter(|&&slot| takes(self, slot)).count();
        let wanted = self.chance.below(among as u64);
        let mut fitting = self.open.iter().copied().filter(|&slot| takes(self, slot));
        usize::try_from(wanted).ok().and_then(|wanted| fitting.nth(wanted))
    }

    fn of_two(&mut self) -> Option<usize> {
        let count = self.open.len() as u64;
        if count < 2 {
            return self.first_of_least();
        }
        let (one, other) = (self.chance.below(count), self.chance.below(count - 1));
        let other = if other >= one { other + 1 } else { other };
        let [one, other] = [one, other].map(|place| usize::try_from(place).unwrap_or(0));
        let (one, other) = (self.open[one], self.open[other]);
        let slot = if self.present[other] < self.present[one] { other } else { one };
        // Both are full: as nginx, which then asks all others.
        if self.has_room(slot) { Some(slot) } else { self.first_of_least() }
    }

    fn by_weight(&mut self) -> Option<usize> {
        let (mut sum, mut best) = (0, None);
        for &slot in &self.open {
            if self.present[slot] >= self.limit {
                continue;
            }
            self.gained[slot] += self.weight[slot];
            sum += self.weight[slot];
            if best.is_none_or(|best: usize| self.gained[slot] > self.gained[best]) {
                best = Some(slot);
            }
        }
        let best = best?;
        self.gained[best] -= sum;
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balancer(choice: Choice, limit: u32) -> Balancer {
        let mut balancer = Balancer::new(choice, Some(limit), Stream::named(1, "balancer"));
        (0..3).for_each(|slot| balancer.open(slot));
        balancer
    }

    fn take(balancer: &mut Balancer, times: usize) -> Vec<Option<usize>> {
        let one = |_| {
            let slot = balancer.choose()?;
            balancer.add(slot, 0);
            Some(slot)
        };
        (0..times).map(one).collect()
    }

    #[test]
    fn the_least_is_taken_and_the_first_of_several() {
        let mut balancer = balancer(Choice::Fair(Ties::First), 2);
        let taken = take(&mut balancer, 7);
        assert_eq!(
            taken,
            [0, 1, 2, 0, 1, 2].map(Some).into_iter().chain([None]).collect::<Vec<_>>()
        );
        balancer.remove(1, 0);
        assert_eq!(balancer.choose(), Some(1));
        balancer.close(1);
        assert_eq!(balancer.choose(), None);
    }

    #[test]
    fn turns_pass_over_what_is_full() {
        let mut balancer = balancer(Choice::RoundRobin, 2);
        balancer.add(1, 0);
        balancer.add(1, 0);
        assert_eq!(take(&mut balancer, 5), [Some(0), Some(2), Some(0), Some(2), None]);
    }

    #[test]
    fn turns_go_on_where_they_were_when_the_list_changes() {
        let mut balancer = balancer(Choice::RoundRobin, 9);
        assert_eq!(take(&mut balancer, 2), [Some(0), Some(1)]);
        balancer.close(0);
        assert_eq!(take(&mut balancer, 1), [Some(2)]);
        balancer.open(0);
        balancer.open(3);
        assert_eq!(take(&mut balancer, 4), [Some(0), Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn ties_go_to_the_next_one() {
        let mut balancer = balancer(Choice::Fair(Ties::Next), 9);
        assert_eq!(take(&mut balancer, 2), [Some(0), Some(1)]);
        balancer.remove(0, 0);
        assert_eq!(take(&mut balancer, 2), [Some(2), Some(0)]);
    }

    #[test]
    fn weights_are_kept_and_spread() {
        let mut balancer = balancer(Choice::Weighted, 100);
        balancer.set_weight(0, 5);
        let taken: Vec<usize> = take(&mut balancer, 7).into_iter().flatten().collect();
        assert_eq!(taken, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn chance_takes_all_alike_and_two_choices_keep_even() {
        for choice in [Choice::Random, Choice::Fair(Ties::Random), Choice::TwoChoices] {
            let mut balancer = balancer(choice, 10_000);
            let _ = take(&mut balancer, 3000);
            let spread =
                balancer.present.iter().max().unwrap() - balancer.present.iter().min().unwrap();
            assert!(
                spread < if choice == Choice::Random { 150 } else { 8 },
                "{choice:?}: {spread}"
            );
        }
        let mut full = balancer(Choice::TwoChoices, 1);
        assert_eq!(take(&mut full, 4).into_iter().flatten().count(), 3);
    }
}
