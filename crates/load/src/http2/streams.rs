//! The streams of one connection that are not finished, found by their number.
//!
//! Numbers ascend by two, so a stream's place is its number modulo the table's length; one that
//! lives so long that the place comes round again makes the newer ones stand a place further on
//! (linear probing). The table is at least twice as long as it is full: every operation takes a few
//! steps, and memory depends on how many streams there are at once, not on how long the oldest
//! lives.

use crate::driver::Slot;

/// A stream that is not finished.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// Its number, odd; 0 in a free place.
    pub(super) id: u32,
    /// Whose answer comes on it.
    pub(super) slot: Slot,
    /// Bytes of its frames so far.
    pub(super) bytes: u64,
    /// Bytes of the body that are still to come; [`UNKNOWN`] where no length was announced.
    pub(super) left: u64,
    /// Bytes that its flow-control window has not been given back.
    pub(super) taken: u32,
    /// The final status; 0 before.
    pub(super) status: u16,
    /// Whether the answer has no body whatever its head says: the answer to HEAD.
    pub(super) head_only: bool,
    /// Whether a part of the request's body waits to be sent.
    pub(super) sending: bool,
}

/// No length was announced.
pub(super) const UNKNOWN: u64 = u64::MAX;

impl Stream {
    const FREE: Self = Self {
        id: 0,
        slot: Slot(0),
        bytes: 0,
        left: UNKNOWN,
        taken: 0,
        status: 0,
        head_only: false,
        sending: false,
    };
}

/// The table.
#[derive(Default)]
pub(super) struct Streams {
    /// A power of two of places, or none.
    places: Vec<Stream>,
    count: u32,
}

impl Streams {
    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    /// Bytes on the heap.
    pub(super) fn held(&self) -> usize {
        self.places.capacity() * size_of::<Stream>()
    }

    /// Adds a stream, whose number is new.
    #[inline]
    pub(super) fn add(&mut self, id: u32, slot: Slot, head_only: bool) {
        if (self.count as usize + 1) * 2 > self.places.len() {
            self.grow();
        }
        self.place(Stream { id, slot, head_only, ..Stream::FREE });
        self.count += 1;
    }

    /// Where a stream is.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        let last = self.places.len().checked_sub(1)?;
        let mut at = home(id, last);
        loop {
            let found = self.places[at].id;
            if found == id {
                return Some(at);
            }
            if found == 0 {
                return None;
            }
            at = (at + 1) & last;
        }
    }

    /// The stream at a place that [`Streams::find`] has told.
    #[inline]
    pub(super) fn at(&mut self, at: usize) -> &mut Stream {
        &mut self.places[at]
    }

    /// Takes it out; what stands behind it moves up.
    #[inline]
    pub(super) fn remove(&mut self, at: usize) -> Stream {
        let removed = self.places[at];
        let last = self.places.len() - 1;
        let (mut gap, mut next) = (at, (at + 1) & last);
        while self.places[next].id != 0 {
            let from_home = next.wrapping_sub(home(self.places[next].id, last)) & last;
            if from_home >= (next.wrapping_sub(gap) & last) {
                self.places[gap] = self.places[next];
                gap = next;
            }
            next = (next + 1) & last;
        }
        self.places[gap] = Stream::FREE;
        self.count -= 1;
        removed
    }

    /// Takes out all that `chosen` says.
    pub(super) fn drain(&mut self, chosen: impl Fn(&Stream) -> bool) -> Vec<Stream> {
        let (mut gone, kept): (Vec<_>, Vec<_>) =
            self.places.iter().copied().filter(|stream| stream.id != 0).partition(|s| chosen(s));
        self.places.fill(Stream::FREE);
        for stream in &kept {
            self.place(*stream);
        }
        self.count -= u32::try_from(gone.len()).unwrap_or(0);
        gone.sort_unstable_by_key(|stream| stream.id);
        gone
    }

    /// The number of the stream with this request.
    pub(super) fn with_slot(&self, slot: Slot) -> Option<u32> {
        self.places.iter().find(|stream| stream.id != 0 && stream.slot == slot).map(|s| s.id)
    }

    fn place(&mut self, stream: Stream) {
        let last = self.places.len() - 1;
        let mut at = home(stream.id, last);
        while self.places[at].id != 0 {
            at = (at + 1) & last;
        }
        self.places[at] = stream;
    }

    fn grow(&mut self) {
        let len = (self.places.len() * 2).max(16);
        let old = std::mem::replace(&mut self.places, vec![Stream::FREE; len]);
        for stream in old.into_iter().filter(|stream| stream.id != 0) {
            self.place(stream);
        }
    }
}

#[inline]
fn home(id: u32, last: usize) -> usize {
    (id >> 1) as usize & last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn an_old_stream_does_not_make_the_table_grow() {
        let mut streams = Streams::default();
        streams.add(1, Slot(0), false);
        for n in 1..100_000u32 {
            streams.add(n * 2 + 1, Slot(n), false);
            let at = streams.find(n * 2 + 1).unwrap();
            assert_eq!(streams.remove(at).slot, Slot(n));
        }
        assert_eq!((streams.len(), streams.places.len()), (1, 16));
        assert!(streams.find(1).is_some());
        assert!(streams.find(3).is_none());
        assert_eq!(std::mem::size_of::<Stream>(), 32);
    }

    proptest! {
        #[test]
        fn does_what_a_map_does(
            steps in proptest::collection::vec((any::<bool>(), any::<u16>()), 0..600),
        ) {
            let (mut streams, mut map, mut next) = (Streams::default(), BTreeMap::new(), 1u32);
            for (add, pick) in steps {
                if add || map.is_empty() {
                    streams.add(next, Slot(next ^ 7), false);
                    map.insert(next, Slot(next ^ 7));
                    next += 2;
                } else {
                    let id = *map.keys().nth(usize::from(pick) % map.len()).unwrap();
                    let at = streams.find(id).unwrap();
                    prop_assert_eq!(Some(streams.remove(at).slot), map.remove(&id));
                    prop_assert!(streams.find(id).is_none());
                }
                prop_assert_eq!(streams.len() as usize, map.len());
                for (&id, &slot) in &map {
                    let at = streams.find(id).unwrap();
                    prop_assert_eq!(streams.at(at).slot, slot);
                }
            }
            let gone = streams.drain(|stream| stream.id > next / 2);
            let expected: Vec<u32> = map.keys().copied().filter(|&id| id > next / 2).collect();
            prop_assert_eq!(gone.iter().map(|stream| stream.id).collect::<Vec<_>>(), expected);
            for &id in map.keys() {
                prop_assert_eq!(streams.find(id).is_some(), id <= next / 2);
            }
        }
    }
}
