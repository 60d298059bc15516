//! Bytes of servers, changed as no server sends them; those of stores are played through their
//! driver: whatever comes, every request ends at most once, and what is kept stays bounded.
//!
//! Shared with the examples that look for trouble as long as one likes.

use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::store::{Connection, Pipeline, Speech};
use plimsoll_workload::random::Stream;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done(u16, u64),
    Failed,
    None,
}

/// How long the next piece of so many bytes is; what is more than these is less.
pub(crate) type Piece<'a> = &'a mut dyn FnMut(usize) -> usize;

pub(crate) fn below(random: &mut Stream, most: usize) -> usize {
    usize::try_from(random.below(most as u64)).expect("below a usize")
}

/// What a protocol's bytes are changed with.
pub(crate) struct Ways {
    /// Bytes that mean something.
    pub(crate) marks: &'static [u8],
    /// Several of them.
    pub(crate) word: fn(&mut Stream) -> Vec<u8>,
    /// Bits of the greatest length of one byte again and again: beyond what a line may have.
    pub(crate) long_bits: usize,
}

/// Changes bytes in one of the ways in which servers and networks do, or worse ones.
pub(crate) fn mutate(random: &mut Stream, bytes: &mut Vec<u8>, ways: &Ways) {
    let Ways { marks, word, long_bits } = ways;
    for _ in 0..=below(random, 4) {
        if bytes.is_empty() {
            return;
        }
        let at = below(random, bytes.len());
        let to = at + below(random, (bytes.len() - at).min(64) + 1);
        match below(random, 8) {
            0 => bytes[at] ^= 1 << below(random, 8),
            1 => bytes[at] = marks[below(random, marks.len())],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..to)),
            4 => {
                let again = bytes[at..to].to_vec();
                bytes.splice(at..at, again);
            }
            5 => {
                let word = word(random);
                bytes.splice(at..at, word);
            }
            6 => {
                let long = vec![bytes[at]; 1 << below(random, *long_bits)];
                bytes.splice(at..at, long);
            }
            _ => {
                let tail = bytes[..to].to_vec();
                bytes.extend_from_slice(&tail);
            }
        }
    }
}

/// Sends requests 0 to `count` on a connection that takes so many, plays what the server sends, and
/// closes. With `pass_over` bytes that the driver does not want to see are not shown.
///
/// # Panics
/// Where a request ends twice, or more than `most_held` bytes are kept.
pub(crate) fn play<S: Speech>(
    driver: &mut Pipeline<S>,
    connection: &mut Connection<S>,
    (count, bytes): (u32, &[u8]),
    piece: Piece<'_>,
    pass_over: bool,
    most_held: usize,
) -> Vec<End> {
    for index in 0..count {
        assert_eq!(driver.room(connection), count - index);
        driver.request(connection, Slot(index), index, &mut Vec::new());
    }
    let mut ends = vec![End::None; count as usize];
    let (mut events, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let left = bytes.len() - at;
        let n = piece(left).clamp(1, left);
        let disinterest = usize::try_from(driver.disinterest(connection)).unwrap_or(usize::MAX);
        let unseen = disinterest.min(n);
        let fate = if unseen > 0 && pass_over {
            at += unseen;
            driver.discarded(connection, unseen as u64, &mut events)
        } else {
            at += n;
            driver.receive(connection, &bytes[at - n..at], &mut Vec::new(), &mut events)
        };
        assert!(connection.held() <= most_held, "{} bytes are held", connection.held());
        for event in events.drain(..) {
            let (slot, end) = match event {
                Event::FirstByte(slot) => (slot, None),
                Event::Done { slot, code, bytes } => (slot, Some(End::Done(code, bytes))),
                Event::Failed { slot, .. } | Event::Refused(slot) => (slot, Some(End::Failed)),
            };
            assert_eq!(ends[slot.0 as usize], End::None, "{slot:?} ends once");
            ends[slot.0 as usize] = end.unwrap_or(End::None);
        }
        if fate == Fate::Close {
            assert_eq!(driver.room(connection), 0, "closed, so it takes none");
            assert!(!ends.contains(&End::None), "closed, so nothing is unanswered");
            return ends;
        }
    }
    driver.end(connection, &mut events);
    assert!(events.is_empty() && driver.room(connection) == 0);
    ends
}
