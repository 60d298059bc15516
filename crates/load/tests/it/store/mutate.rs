//! Answers of a store, right ones and mutated ones, played through its driver: whatever comes,
//! every request ends at most once, in any pieces the same way, and what is kept stays bounded.
//!
//! Shared with `examples/store_mutate.rs`, which looks for trouble as long as one likes.

use crate::mutation::{End, Piece, Ways, below, mutate, play};
use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::memcached::Memcached;
use plimsoll_load::redis::Redis;
use plimsoll_load::store::frames::MAX_LINE;
use plimsoll_load::store::{Connection, Dialect, Login, Pipeline};
use plimsoll_workload::random::Stream;
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{Kind, Named, Operations, Wanted, Workload};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// As many reads as updates, of small values.
fn operations() -> Arc<Operations> {
    static MADE: OnceLock<Arc<Operations>> = OnceLock::new();
    let make = || {
        let (mix, keys) = (Named::Balanced.mix(), Named::Balanced.keys());
        let workload = Workload { mix, keys, records: 10, value_size: Sizes::Fixed(8) };
        Arc::new(Operations::new(&workload, 5, Wanted::Mixed))
    };
    MADE.get_or_init(make).clone()
}

fn is_read(index: u32) -> bool {
    operations().at(u64::from(index)).kind == Kind::Read
}

/// A right answer to a read or a write, with its code where it is one.
fn answer(random: &mut Stream, redis: bool, read: bool) -> (Vec<u8>, u16) {
    let value = vec![b'\n'; [0, 1, 2, 13, 300, 5000][below(random, 6)]];
    let len = value.len();
    let error = below(random, 8) == 0;
    match (redis, error, read) {
        (true, true, _) => (b"-ERR some reason\r\n".to_vec(), 500),
        (false, true, _) => (b"SERVER_ERROR some reason\r\n".to_vec(), 500),
        (true, false, false) => (b"+OK\r\n".to_vec(), 200),
        (false, false, false) => (b"STORED\r\n".to_vec(), 200),
        (true, false, true) if below(random, 4) == 0 => (b"$-1\r\n".to_vec(), 204),
        (false, false, true) if below(random, 4) == 0 => (b"END\r\n".to_vec(), 204),
        (true, false, true) => ([format!("${len}\r\n").as_bytes(), &value, b"\r\n"].concat(), 200),
        (false, false, true) => {
            let head = format!("VALUE plimsoll:000000000007 0 {len}\r\n");
            ([head.as_bytes(), &value, b"\r\nEND\r\n"].concat(), 200)
        }
    }
}

/// What answers are changed with.
const WAYS: Ways = Ways {
    marks: b"\r\n $+-:*019\0\xffE",
    word: |random| {
        const WORDS: [&[u8]; 10] = [
            b"$-1\r\n",
            b"+OK\r\n",
            b"$536870912\r\n",
            b"$99999999999999999999\r\n",
            b"*1\r\n",
            b"END\r\n",
            b"STORED\r\n",
            b"VALUE k 0 18446744073709551615\r\n",
            b"VALUE k 0 3\r\n",
            b"\r\n",
        ];
        WORDS[below(random, WORDS.len())].to_vec()
    },
    long_bits: 15,
};

/// Some requests at once, and what a server sends to all of them: whole and in pieces, passed over
/// or not, they end the same.
///
/// # Panics
/// Where they do not.
pub(crate) fn case(seed: u64) {
    let mut random = Stream::named(seed, "store-case");
    let redis = below(&mut random, 2) == 0;
    let count = u32::try_from(below(&mut random, 8) + 1).expect("a few");
    let (mut bytes, mut wanted) = (Vec::new(), Vec::new());
    for index in 0..count {
        let (part, code) = answer(&mut random, redis, is_read(index));
        wanted.push(End::Done(code, part.len() as u64));
        bytes.extend_from_slice(&part);
    }
    let mutated = below(&mut random, 4) > 0;
    if mutated {
        mutate(&mut random, &mut bytes, &WAYS);
    }
    let ends = |piece: Piece<'_>, pass_over| {
        if redis {
            play_all(Redis::new(Login::default()), count, &bytes, piece, pass_over)
        } else {
            play_all(Memcached, count, &bytes, piece, pass_over)
        }
    };
    let whole = ends(&mut |left| left, false);
    if !mutated {
        assert_eq!(whole, wanted, "seed {seed}");
    }
    for pass_over in [false, true] {
        let most = [1, 2, 7, 100, 4000][below(&mut random, 5)];
        let most = if bytes.len() > 20_000 { most.max(100) } else { most };
        let pieces = ends(&mut |_| 1 + below(&mut random, most), pass_over);
        assert_eq!(pieces, whole, "seed {seed}: {:?}", bytes.escape_ascii().to_string());
    }
}

/// Answers what a connection begins with, in whichever protocol.
fn greet<D: Dialect>(driver: &mut Pipeline<D>, connection: &mut Connection<D>) {
    let mut asked = Vec::new();
    driver.open(&mut asked);
    let answer: &[u8] =
        if asked.starts_with(b"version") { b"VERSION 1.6.18\r\n" } else { b"+PONG\r\n" };
    let fate = driver.receive(connection, answer, &mut Vec::new(), &mut Vec::new());
    assert!(fate == Fate::Keep && driver.is_ready(connection));
}

/// Plays what a server sends to requests 0 to `count` and then closes.
fn play_all<D: Dialect>(
    dialect: D,
    count: u32,
    bytes: &[u8],
    piece: Piece<'_>,
    pass_over: bool,
) -> Vec<End> {
    let mut driver = Pipeline::new(dialect, operations(), count, false);
    let mut connection = driver.open(&mut Vec::new());
    greet(&mut driver, &mut connection);
    play(&mut driver, &mut connection, (count, bytes), piece, pass_over, MAX_LINE)
}

/// One connection from its beginning to its end: requests, answers and giving up in any order.
///
/// # Panics
/// Where the driver breaks its own rules.
pub(crate) fn round(seed: u64) {
    let mut random = Stream::named(seed, "store-round");
    let credentials = (below(&mut random, 3) == 0).then(|| (b"ann".to_vec(), b"pw".to_vec()));
    let database = below(&mut random, 2).to_string();
    let login = Login { credentials, database };
    if below(&mut random, 2) == 0 {
        round_of(&mut random, Redis::new(login), true);
    } else {
        round_of(&mut random, Memcached, false);
    }
}

fn round_of<D: Dialect>(random: &mut Stream, dialect: D, redis: bool) {
    let depth = u32::try_from(below(random, 6) + 1).expect("a few");
    let once = below(random, 20) == 0;
    let greetings = dialect.greet(&mut Vec::new());
    let last: &[u8] = if redis { b"+PONG\r\n" } else { b"VERSION 1.6.18\r\n" };
    let mut driver = Pipeline::new(dialect, operations(), depth, once);
    let mut connection = driver.open(&mut Vec::new());
    let mut unsent = [&b"+OK\r\n".repeat(greetings as usize - 1)[..], last].concat();
    let (mut live, mut events, mut next) = (BTreeSet::new(), Vec::new(), 0);
    for _ in 0..below(random, 60) {
        while driver.room(&connection) > 0 && below(random, 3) > 0 {
            let mut out = Vec::new();
            assert!(!driver.request(&mut connection, Slot(next), next, &mut out).is_empty());
            live.insert(next);
            let (mut bytes, _) = answer(random, redis, is_read(next));
            if below(random, 40) == 0 {
                mutate(random, &mut bytes, &WAYS);
            }
            unsent.extend_from_slice(&bytes);
            next += 1;
        }
        if below(random, 8) == 0
            && let Some(slot) = live.pop_first()
            && driver.abandon(&mut connection, Slot(slot), &mut Vec::new()) == Fate::Close
        {
            assert!(live.is_empty(), "nobody else is harmed");
            break;
        }
        let n = below(random, 3000).min(unsent.len());
        let part: Vec<u8> = unsent.drain(..n).collect();
        let fate = driver.receive(&mut connection, &part, &mut Vec::new(), &mut events);
        for event in events.drain(..) {
            match event {
                Event::FirstByte(slot) => assert!(live.contains(&slot.0)),
                Event::Done { slot, .. } | Event::Failed { slot, .. } | Event::Refused(slot) => {
                    assert!(live.remove(&slot.0), "{slot:?} ends once");
                }
            }
        }
        let busy = u32::try_from(live.len()).expect("a few");
        assert!(driver.room(&connection) <= depth.saturating_sub(busy));
        assert!(connection.held() <= MAX_LINE);
        if fate == Fate::Close {
            assert!(live.is_empty(), "unanswered: {live:?}");
            break;
        }
    }
}
