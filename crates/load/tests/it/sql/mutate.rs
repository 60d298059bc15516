//! Seeded mutations of what databases send. Whatever the bytes and their pieces, a request ends
//! once and in the same way, nothing panics, and little is kept.

use super::wire::{Wire, store};
use crate::mutation::{End, Piece, Ways, below, mutate, play};
use plimsoll_load::driver::{Driver, Fate};
use plimsoll_load::store::Pipeline;
use plimsoll_workload::random::Stream;
use plimsoll_workload::store::Wanted;

/// The most that a connection keeps of what it has received.
const MAX_HELD: usize = 4096;
/// Bytes that mean something to one of them.
const MARKS: &[u8] = &[0, 1, 4, 8, 0x84, 0xfb, 0xfe, 0xff, b'E', b'Z'];

/// A login and some requests at once; what the server sends, as it is or mutated, whole and in
/// pieces, passed over or not, ends the same.
///
/// # Panics
/// Where it does not.
pub(super) fn case<W: Wire>(seed: u64) {
    let mut random = Stream::named(seed, "sql-case");
    let count = u32::try_from(below(&mut random, 6) + 1).expect("a few");
    let (mut login, let_in) = W::login(&mut random);
    let (mut parts, mut wanted) = (Vec::new(), Vec::new());
    for index in 0..count {
        let kind = store(Wanted::Mixed).operations.at(u64::from(index)).kind;
        let number = u16::try_from(index).expect("a few");
        let (part, code) = W::answer(&mut random, kind, number);
        wanted.push(End::Done(code, part.len() as u64));
        parts.push(part);
    }
    if W::IN_ANY_ORDER {
        let first = below(&mut random, parts.len());
        parts.rotate_left(first);
    }
    let mut bytes = parts.concat();
    let ways = Ways { marks: MARKS, word: W::word, long_bits: 14 };
    let mutated = below(&mut random, 4);
    match mutated {
        0 => {}
        1 => mutate(&mut random, &mut login, &ways),
        _ => mutate(&mut random, &mut bytes, &ways),
    }
    let whole = play_all::<W>(count, &login, &bytes, &mut |left| left, false);
    if mutated == 0 {
        assert_eq!(whole.0, if let_in { wanted } else { Vec::new() }, "seed {seed}");
        assert_eq!(whole.1.is_none(), let_in, "seed {seed}");
    }
    for pass_over in [false, true] {
        let most = [1, 2, 7, 100, 4000][below(&mut random, 5)];
        let most = if login.len() + bytes.len() > 20_000 { most.max(100) } else { most };
        let piece = &mut |_| 1 + below(&mut random, most);
        let pieces = play_all::<W>(count, &login, &bytes, piece, pass_over);
        assert_eq!(pieces, whole, "seed {seed}");
    }
}

/// Plays a login, sends requests 0 to `count` where we are let in, plays the answers, and closes.
/// Returns how the requests ended, and why we were not let in.
fn play_all<W: Wire>(
    count: u32,
    login: &[u8],
    answers: &[u8],
    piece: Piece<'_>,
    pass_over: bool,
) -> (Vec<End>, Option<String>) {
    let store = store(Wanted::Mixed);
    let mut driver = Pipeline::new(W::speech(store.opening()), store.operations, count, false);
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
    let ends = play(&mut driver, &mut connection, (count, answers), piece, pass_over, MAX_HELD);
    (ends, None)
}
