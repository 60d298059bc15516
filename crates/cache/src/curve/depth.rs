//! The depth of each request in the LRU stack, counted in objects: one more than the number of
//! other objects asked for since the last request to this one. LRU of a capacity hits exactly the
//! requests whose depth is not above it, so one pass knows all capacities.
//!
//! *Source*: Mattson, Gecsei, Slutz and Traiger, *Evaluation techniques for storage hierarchies*,
//! IBM Systems Journal 9(2), 1970.
//!
//! # How it is counted
//!
//! Each request takes the next place on a line. Of every object only the latest place counts; the
//! ones before are holes. The depth of an object is then the number of places from its latest to
//! the end, less the holes among them. That a place is taken is never written down, only that it
//! becomes a hole: one addition a request, and a request that is new to its object costs none.
//! When the line is full, the latest places are numbered anew without holes, in their order.
//!
//! The line is a small multiple of the objects that there are, a bit each, so it stays in the
//! processor's cache where positions in the whole trace would not.

use crate::prefetch::fetch;
use crate::trace::Trace;

use super::holes::Holes;

/// How long the line is, in objects of the trace. A shorter one is numbered anew more often, a
/// longer one leaves the processor's cache: measured with `examples/curve_speed.rs`.
const LINE: u64 = 3;

/// How many requests ahead the place of an object is asked from memory.
const AHEAD: usize = 32;

/// How many requests ahead the holes around that place are: nearer, as the place must be there.
const AHEAD_OF_HOLES: usize = 16;

/// How many requests are told of at once.
const BLOCK: usize = 128;

/// What a request met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) object: u32,
    /// The depth of the object; 0 where this is the first request to it.
    pub(super) depth: u32,
}

/// Tells `each` of all requests, in order, in blocks: what it does for one request then need not
/// wait for what it does for the one before, and tables that it writes can be fetched at once.
///
/// *Cost*: about 16 additions of vectors a request; 4 bytes an object and a line of bits.
pub(super) fn depths(trace: &Trace, each: impl FnMut(&[Met])) {
    let requests = u64::try_from(trace.len()).unwrap_or(u64::MAX);
    let longest = (u64::from(trace.distinct()) * LINE).max(64).min(requests);
    // A line as long as the trace is never full. Traces are shorter than 2^32 - 1.
    walk(trace, u32::try_from(longest + 1).unwrap_or(u32::MAX), each);
}

/// Objects by their latest places.
struct Stack {
    /// The latest place of each object that was asked for.
    latest: Vec<u32>,
    holes: Holes,
    /// The next place.
    now: u32,
    line: u32,
}

fn walk(trace: &Trace, line: u32, mut each: impl FnMut(&[Met])) {
    let mut stack =
        Stack { latest: vec![0; trace.distinct() as usize], holes: Holes::new(line), now: 0, line };
    let requests = trace.requests();
    // Objects are numbered by first appearance, so the next new one is known.
    let mut unseen = 0;
    let mut block = [Met::default(); BLOCK];
    for (at, &object) in requests.iter().enumerate() {
        if let Some(&coming) = requests.get(at + AHEAD) {
            fetch(&stack.latest, coming);
        }
        if let Some(&coming) = requests.get(at + AHEAD_OF_HOLES) {
            // The place may change until then: it is a guess that costs nothing where it fails.
            stack.holes.prefetch(stack.latest[coming as usize]);
        }
        if stack.now == stack.line {
            stack.close_ranks(unseen);
        }
        let depth = if object == unseen {
            unseen += 1;
            stack.latest[object as usize] = stack.now;
            stack.now += 1;
            0
        } else {
            stack.touch(object)
        };
        block[at % BLOCK] = Met { object, depth };
        if at % BLOCK == BLOCK - 1 {
            each(&block);
        }
    }
    each(&block[..requests.len() % BLOCK]);
}

impl Stack {
    /// The depth of an object, which then is on top.
    #[inline(always)]
    fn touch(&mut self, object: u32) -> u32 {
        let latest = &mut self.latest[object as usize];
        let place = std::mem::replace(latest, self.now);
        let depth = self.now - place - self.holes.dig(place);
        self.now += 1;
        depth
    }

    /// Numbers the places of the objects below `seen` anew, without holes.
    #[cold]
    fn close_ranks(&mut self, seen: u32) {
        for place in &mut self.latest[..seen as usize] {
            let depth = self.now - *place - self.holes.behind(*place);
            *place = seen - depth;
        }
        self.holes.clear();
        self.now = seen;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::made;

    /// A list with the latest object first.
    fn by_list(requests: &[u32]) -> Vec<Met> {
        let mut list: Vec<u32> = Vec::new();
        let depth_of = |&object: &u32| {
            let found = list.iter().position(|&other| other == object);
            if let Some(at) = found {
                list.remove(at);
            }
            list.insert(0, object);
            let depth = found.map_or(0, |at| u32::try_from(at).unwrap() + 1);
            Met { object, depth }
        };
        requests.iter().map(depth_of).collect()
    }

    proptest! {
        #[test]
        fn depths_are_those_of_a_list(
            asked in proptest::collection::vec(0u32..60, 0..2000),
            spare in 1u32..300,
        ) {
            let trace = made::trace(&asked);
            let mut found = Vec::new();
            // A line that is full again and again.
            walk(&trace, trace.distinct() + spare, |block| found.extend_from_slice(block));
            prop_assert_eq!(&found, &by_list(trace.requests()));
            found.clear();
            depths(&trace, |block| found.extend_from_slice(block));
            prop_assert_eq!(&found, &by_list(trace.requests()));
        }
    }
}
