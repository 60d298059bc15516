//! The requests that are on their way.
//!
//! A table with a list through it, in the order in which they were sent: adding, removing and
//! finding the oldest cost the same whatever their number, and nothing is allocated once the table
//! has its size. As the time-out is one for all, the oldest is also the next to run out of time.

use crate::driver::Slot;
use plimsoll_runs::{Phase, TraceId};
use std::collections::BTreeMap;

/// A request that is on its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// When it was due.
    pub(crate) due: u64,
    /// When it was (last) given to the kernel.
    pub(crate) sent: u64,
    /// When the first byte of its answer was read; 0 before.
    pub(crate) first_byte: u64,
    /// How late it was sent by our own doing, the first time.
    pub(crate) late: u64,
    /// What was asked: its place in the list, or the seat of its user.
    pub(crate) request: u32,
    /// The number of its name.
    pub(crate) name: u16,
    /// The number of its user's label.
    pub(crate) label: u16,
    /// On which connection, unique in the run.
    pub(crate) connection: u32,
    /// The phase it was due in.
    pub(crate) phase: Phase,
}

/// The requests that are on their way, oldest first.
#[derive(Default)]
pub(crate) struct InFlight {
    entries: Vec<Entry>,
    free: Vec<u32>,
    first: u32,
    last: u32,
    count: u32,
    /// The traces of those that servers are asked to record.
    pub(crate) traces: Traces,
}

/// The traces of requests that are on their way. Empty where none is to be recorded.
#[derive(Debug, Default)]
pub(crate) struct Traces(BTreeMap<Slot, TraceId>);

impl Traces {
    /// A request was sent under this id; of none, nobody is asked to record it.
    pub(crate) fn note(&mut self, slot: Slot, trace: Option<TraceId>) {
        match trace {
            Some(trace) => self.0.insert(slot, trace),
            None => self.0.remove(&slot),
        };
    }

    /// That of a request that has ended.
    #[inline]
    pub(crate) fn take(&mut self, slot: Slot) -> Option<TraceId> {
        if self.0.is_empty() { None } else { self.0.remove(&slot) }
    }
}

struct Entry {
    sent: Sent,
    /// The worker's own number of the connection ([`NOBODY`] while it waits to be sent again), and
    /// the user of a closed loop.
    holder: u32,
    user: u32,
    retried: bool,
    refusals: u8,
    live: bool,
    before: u32,
    after: u32,
}

const NONE: u32 = u32::MAX;
/// How often a peer may refuse a request before it has failed.
const MAX_REFUSALS: u8 = 16;
/// In place of the connection of a request that has none at the moment.
pub(crate) const NOBODY: u32 = u32::MAX;

impl InFlight {
    /// An empty table.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self { first: NONE, last: NONE, ..Self::default() }
    }

    /// How many are on their way.
    #[must_use]
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// Adds one as the youngest.
    pub(crate) fn add(&mut self, sent: Sent, holder: u32, user: u32) -> Slot {
        let entry = Entry {
            sent,
            holder,
            user,
            retried: false,
            refusals: 0,
            live: true,
            before: NONE,
            after: NONE,
        };
        let at = if let Some(at) = self.free.pop() {
            self.entries[at as usize] = entry;
            at
        } else {
            self.entries.push(entry);
            u32::try_from(self.entries.len() - 1).unwrap_or(NONE)
        };
        self.link_last(at);
        Slot(at)
    }

    /// Takes one out, with its connection and its user; `None` if it has ended before.
    pub(crate) fn remove(&mut self, slot: Slot) -> Option<(Sent, u32, u32)> {
        let entry = self.entries.get_mut(slot.0 as usize).filter(|entry| entry.live)?;
        entry.live = false;
        let result = (entry.sent, entry.holder, entry.user);
        self.unlink(slot.0);
        self.free.push(slot.0);
        Some(result)
    }

    /// Makes it the youngest again, on another connection.
    pub(crate) fn resend(&mut self, slot: Slot, sent: u64, connection: u32, holder: u32) {
        self.unlink(slot.0);
        let entry = &mut self.entries[slot.0 as usize];
        entry.sent.sent = sent;
        entry.sent.connection = connection;
        entry.holder = holder;
        self.link_last(slot.0);
    }

    /// Whether it may be sent once more; from now on it may not, and until then it has no
    /// connection: another one may take its former one's place.
    pub(crate) fn may_retry(&mut self, slot: Slot) -> bool {
        let entry = &mut self.entries[slot.0 as usize];
        let may = entry.live
            && entry.sent.first_byte == 0
            && !std::mem::replace(&mut entry.retried, true);
        if may {
            entry.holder = NOBODY;
        }
        may
    }

    /// Takes it off its connection, which is returned: it waits to be sent again. `None` where it
    /// has ended, or has been refused too often.
    pub(crate) fn take_back(&mut self, slot: Slot) -> Option<u32> {
        let entry = self.entries.get_mut(slot.0 as usize).filter(|entry| entry.live)?;
        if entry.refusals == MAX_REFUSALS {
            return None;
        }
        entry.refusals += 1;
        Some(std::mem::replace(&mut entry.holder, NOBODY))
    }

    /// Takes it off its connection, which is returned: it was answered, and goes on elsewhere as
    /// one that was never tried.
    pub(crate) fn lead_on(&mut self, slot: Slot) -> Option<u32> {
        let entry = self.entries.get_mut(slot.0 as usize).filter(|entry| entry.live)?;
        entry.sent.first_byte = 0;
        (entry.retried, entry.refusals) = (false, 0);
        Some(std::mem::replace(&mut entry.holder, NOBODY))
    }

    /// Whether it waits to be sent again. It may have ended meanwhile, and its slot be another's.
    #[must_use]
    pub(crate) fn awaits_retry(&self, slot: Slot) -> bool {
        let entry = self.entries.get(slot.0 as usize);
        entry.is_some_and(|entry| entry.live && entry.holder == NOBODY)
    }

    /// Its figures and its connection, while it is on its way.
    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<(&mut Sent, u32)> {
        let entry = self.entries.get_mut(slot.0 as usize).filter(|entry| entry.live)?;
        Some((&mut entry.sent, entry.holder))
    }

    /// The one that was sent first, and its connection.
    #[must_use]
    pub(crate) fn oldest(&self) -> Option<(Slot, &Sent, u32)> {
        let entry = self.entries.get(self.first as usize)?;
        Some((Slot(self.first), &entry.sent, entry.holder))
    }

    /// Those on one connection, oldest first.
    pub(crate) fn on(&self, holder: u32) -> impl Iterator<Item = Slot> + '_ {
        self.slots().filter(move |slot| self.entries[slot.0 as usize].holder == holder)
    }

    /// All, oldest first.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let mut at = self.first;
        std::iter::from_fn(move || {
            let entry = self.entries.get(at as usize)?;
            let slot = Slot(at);
            at = entry.after;
            Some(slot)
        })
    }

    fn link_last(&mut self, at: u32) {
        let last = self.last;
        let entry = &mut self.entries[at as usize];
        (entry.before, entry.after) = (last, NONE);
        match self.entries.get_mut(last as usize) {
            Some(last) => last.after = at,
            None => self.first = at,
        }
        self.last = at;
        self.count += 1;
    }

    fn unlink(&mut self, at: u32) {
        let Entry { before, after, .. } = self.entries[at as usize];
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.after = after,
            None => self.first = after,
        }
        match self.entries.get_mut(after as usize) {
            Some(entry) => entry.before = before,
            None => self.last = before,
        }
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_runs::labels::NO_LABEL;
    use plimsoll_runs::names::NO_NAME;

    fn sent(request: u32) -> Sent {
        Sent {
            due: 1,
            sent: 2,
            late: 0,
            first_byte: 0,
            request,
            name: NO_NAME,
            label: NO_LABEL,
            connection: 0,
            phase: Phase::Measured,
        }
    }

    #[test]
    fn a_retry_that_is_over_awaits_nothing_though_its_slot_is_anothers() {
        let mut table = InFlight::new();
        let slot = table.add(sent(1), 7, 0);
        assert!(table.may_retry(slot) && table.awaits_retry(slot));
        assert!(!table.may_retry(slot), "once only");
        table.remove(slot);
        assert!(!table.awaits_retry(slot));
        assert_eq!(table.add(sent(2), 8, 0), slot, "slots are used again");
        assert!(!table.awaits_retry(slot), "it has a connection of its own");
        table.resend(slot, 3, 0, 9);
        assert_eq!(table.on(9).collect::<Vec<_>>(), [slot]);
    }
}
