//! The model as a textbook writes it: one heap of events, arrivals among them; a queue an instance;
//! a scan for the least connections. What faster engines are held against.

use plimsoll_elastic::simulated::engine::{Loss, Tally};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An event: when, and what: the next arrival, or the departure at an instance.
type Event = Reverse<(u64, usize)>;

/// The event of an arrival.
const ARRIVAL: usize = usize::MAX;

struct Instance {
    present: u32,
    busy: u32,
    waiting: VecDeque<(u64, u64)>,
}

/// Instances of `cores` cores that take up to `limit` requests each.
pub(crate) struct Textbook {
    events: BinaryHeap<Event>,
    instances: Vec<Instance>,
    cores: u32,
    limit: u32,
}

impl Textbook {
    pub(crate) fn new(count: usize, cores: u32, limit: u32) -> Self {
        let instance = || Instance { present: 0, busy: 0, waiting: VecDeque::new() };
        let instances = std::iter::repeat_with(instance).take(count).collect();
        Self { events: BinaryHeap::new(), instances, cores, limit }
    }

    /// Takes requests in order; each arrival is an event that brings the next one.
    pub(crate) fn offer(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        let Some(&first) = due.first() else { return };
        self.events.push(Reverse((first, ARRIVAL)));
        let mut next = 0;
        while next < due.len() {
            let Some(Reverse((now, what))) = self.events.pop() else { break };
            if what != ARRIVAL {
                self.leave(what, now, tally);
                continue;
            }
            tally.offered += 1;
            self.arrive(now, service[next], tally);
            next += 1;
            if let Some(&after) = due.get(next) {
                self.events.push(Reverse((after, ARRIVAL)));
            }
        }
    }

    /// Finishes everything.
    pub(crate) fn finish(&mut self, tally: &mut Tally) {
        while let Some(Reverse((now, what))) = self.events.pop() {
            self.leave(what, now, tally);
        }
    }

    fn arrive(&mut self, now: u64, service: u64, tally: &mut Tally) {
        let least = self.instances.iter().enumerate().min_by_key(|(_, of)| of.present);
        let Some((slot, _)) = least.filter(|(_, of)| of.present < self.limit) else {
            tally.lost[Loss::NoSlot as usize] += 1;
            return;
        };
        let of = &mut self.instances[slot];
        of.present += 1;
        if of.busy < self.cores {
            of.busy += 1;
            self.events.push(Reverse((now + service, slot)));
            tally.serve(service);
        } else {
            of.waiting.push_back((now, service));
        }
    }

    fn leave(&mut self, slot: usize, now: u64, tally: &mut Tally) {
        let of = &mut self.instances[slot];
        of.present -= 1;
        match of.waiting.pop_front() {
            None => of.busy -= 1,
            Some((due, service)) => {
                self.events.push(Reverse((now + service, slot)));
                tally.serve(now + service - due);
            }
        }
    }
}
