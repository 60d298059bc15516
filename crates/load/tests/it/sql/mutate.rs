//! Seeded mutations of what databases send. Whatever the bytes and their pieces, a request ends
//! once and in the same way, nothing panics, and little is kept.

use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::store::{Login, Pipeline, Speech, Store};
use plimsoll_workload::random::Stream;
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Keys, Kind, Mix, Operations, Wanted, Workload};
use std::sync::{Arc, OnceLock};

/// The most that a connection keeps of what it has received.
const MAX_HELD: usize = 4096;

/// What a server sends.
pub(crate) trait Wire {
    type Speech: Speech;
    fn speech(store: &Store) -> Self::Speech;
    /// Everything until we are let in; whether we are.
    fn login(random: &mut Stream) -> (Vec<u8>, bool);
    /// A right answer to an operation, with its code.
    fn answer(random: &mut Stream, kind: Kind) -> (Vec<u8>, u16);
    /// A few bytes that mean something.
    fn word(random: &mut Stream) -> Vec<u8>;
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done(u16, u64),
    Failed,
    None,
}

pub(crate) fn below(random: &mut Stream, most: usize) -> usize {
    usize::try_from(random.below(most as u64)).expect("below a usize")
}

/// Any operation, and a user with a password.
fn store() -> Store {
    static MADE: OnceLock<Arc<Operations>> = OnceLock::new();
    let make = || {
        let mix = Mix::of_percent(40, 30, 30).expect("the whole");
        let value_size = Sizes::Fixed(8);
        let workload = Workload { mix, keys: Keys::Uniform, records: 10, value_size };
        Arc::new(Operations::new(&workload, 5, Wanted::Mixed))
    };
    let login = Login {
        credentials: Some((b"ann".to_vec(), b"secret".to_vec())),
        database: "test".to_owned(),
    };
    Store { operations: MADE.get_or_init(make).clone(), login }
}

/// Changes bytes in one of the ways in which servers and networks do, or worse ones.
fn mutate<W: Wire>(random: &mut Stream, bytes: &mut Vec<u8>) {
    for _ in 0..=below(random, 3) {
        if bytes.is_empty() {
            return;
        }
        let at = below(random, bytes.len());
        let to = at + below(random, (bytes.len() - at).min(64) + 1);
        match below(random, 7) {
            0 => bytes[at] ^= 1 << below(random, 8),
            1 => bytes[at] = [0, 1, 0xfb, 0xfe, 0xff, b'E', b'Z'][below(random, 7)],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..to)),
            4 => {
                let again = bytes[at..to].to_vec();
                bytes.splice(at..at, again);
            }
            5 => {
                let word = W::word(random);
                bytes.splice(at..at, word);
            }
            _ => {
                let long = vec![bytes[at]; 1 << below(random, 13)];
                bytes.splice(at..at, long);
            }
        }
    }
}

/// A login and some requests at once; what the server sends, as it is or mutated, whole and in
/// pieces, passed over or not, ends the same.
///
/// # Panics
/// Where it does not.
pub(crate) fn case<W: Wire>(seed: u64) {
    let mut random = Stream::named(seed, "sql-case");
    let count = u32::try_from(below(&mut random, 6) + 1).expect("a few");
    let (mut login, let_in) = W::login(&mut random);
    let (mut bytes, mut wanted) = (Vec::new(), Vec::new());
    for index in 0..count {
        let kind = store().operations.at(u64::from(index)).kind;
        let (part, code) = W::answer(&mut random, kind);
        wanted.push(End::Done(code, part.len() as u64));
        bytes.extend_from_slice(&part);
    }
    let mutated = below(&mut random, 4);
    match mutated {
        0 => {}
        1 => mutate::<W>(&mut random, &mut login),
        _ => mutate::<W>(&mut random, &mut bytes),
    }
    let whole = play::<W>(count, &login, &bytes, &mut |left| left, false);
    if mutated == 0 {
        assert_eq!(whole.0, if let_in { wanted } else { Vec::new() }, "seed {seed}");
        assert_eq!(whole.1.is_none(), let_in, "seed {seed}");
    }
    for pass_over in [false, true] {
        let most = [1, 2, 7, 100, 4000][below(&mut random, 5)];
        let piece = &mut |_| 1 + below(&mut random, most);
        let pieces = play::<W>(count, &login, &bytes, piece, pass_over);
        assert_eq!(pieces, whole, "seed {seed}");
    }
}

/// Plays a login, sends requests 0 to `count` where we are let in, plays the answers, and closes.
/// Returns how the requests ended, and why we were not let in.
fn play<W: Wire>(
    count: u32,
    login: &[u8],
    answers: &[u8],
    piece: &mut dyn FnMut(usize) -> usize,
    pass_over: bool,
) -> (Vec<End>, Option<String>) {
    let store = store();
    let mut driver = Pipeline::new(W::speech(&store), store.operations.clone(), count, false);
    let (mut out, mut events) = (Vec::new(), Vec::new());
    let mut connection = driver.open(&mut out);
    let mut at = 0;
    while at < login.len() {
        assert!(!driver.is_ready(&connection) || at > 0);
        let n = piece(login.len() - at).clamp(1, login.len() - at);
        at += n;
        let part = &login[at - n..at];
        if driver.receive(&mut connection, part, &mut out, &mut events) == Fate::Close {
            assert!(events.is_empty() && driver.room(&connection) == 0);
            return (Vec::new(), driver.refusal(&connection));
        }
        assert!(connection.held() <= MAX_HELD, "{} bytes are held", connection.held());
    }
    if !driver.is_ready(&connection) {
        return (Vec::new(), None);
    }
    for index in 0..count {
        assert_eq!(driver.room(&connection), count - index);
        driver.request(&mut connection, Slot(index), index, &mut Vec::new());
    }
    let mut ends = vec![End::None; count as usize];
    let mut at = 0;
    while at < answers.len() {
        let left = answers.len() - at;
        let n = piece(left).clamp(1, left);
        let disinterest = usize::try_from(driver.disinterest(&connection)).unwrap_or(usize::MAX);
        let unseen = disinterest.min(n);
        let fate = if unseen > 0 && pass_over {
            at += unseen;
            driver.discarded(&mut connection, unseen as u64, &mut events)
        } else {
            at += n;
            driver.receive(&mut connection, &answers[at - n..at], &mut out, &mut events)
        };
        assert!(connection.held() <= MAX_HELD, "{} bytes are held", connection.held());
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
            assert_eq!(driver.room(&connection), 0, "closed, so it takes none");
            assert!(!ends.contains(&End::None), "closed, so nothing is unanswered");
            return (ends, None);
        }
    }
    driver.end(&mut connection, &mut events);
    assert!(events.is_empty() && driver.room(&connection) == 0);
    (ends, None)
}
