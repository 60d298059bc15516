//! Seeded mutations of valid texts: every parser answers any text, shortly, and points into it.
//! A failure names the round, which with the seed replays it.

use plimsoll_units::{self as units, ParseError};

const ROUNDS: u64 = 20_000;

const TEXTS: [&str; 16] = [
    "5ms", "250µs", "1.5s", "1h30m", "2 m 05 s", "500/s", "1.5k/s", "36/h", "10MiB", "962B",
    "1 kB", "25%", "99.999%", "0.25", "200_000", "1.5M",
];

/// Marsaglia's xorshift64 (2003), 13-7-17. The seed is not zero.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n.max(1) as u64).unwrap()
    }

    fn mutated(&mut self) -> String {
        let mut bytes = TEXTS[self.below(TEXTS.len())].as_bytes().to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let other = TEXTS[self.below(TEXTS.len())].as_bytes();
            match self.below(6) {
                _ if bytes.is_empty() => bytes.extend_from_slice(other),
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = b"09._/%- \0\xff"[self.below(10)],
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, bytes[at]),
                4 => bytes.truncate(at),
                _ => drop(bytes.splice(at..at, other.iter().copied())),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn check<T>(text: &str, round: u64, parsed: Result<T, ParseError>) -> bool {
    let Err(error) = parsed else { return true };
    let part = text.get(error.at..error.at + error.len);
    assert!(part.is_some(), "round {round}: {text:?}: {error:?}");
    assert!(error.found.len() < 500 && error.to_string().len() < 1000);
    assert!(error.hint.is_none_or(|hint| hint.len() < 1000));
    false
}

#[test]
fn every_parser_survives_any_text_and_points_into_it() {
    let mut random = Xorshift(0x853c_49e6_748f_ea9b);
    let mut read = [0; 5];
    for round in 0..ROUNDS {
        let text = random.mutated();
        read[0] += u32::from(check(&text, round, units::duration(&text)));
        read[1] += u32::from(check(&text, round, units::rate(&text)));
        read[2] += u32::from(check(&text, round, units::size(&text)));
        read[3] += u32::from(check(&text, round, units::share(&text)));
        read[4] += u32::from(check(&text, round, units::count(&text)));
        units::nearest(&text, TEXTS);
    }
    assert!(read.iter().all(|&n| n > 100), "some mutations stay valid: {read:?}");
}

#[test]
fn long_texts_are_answered_shortly() {
    for unit in ["9", "0", "9_", "1.", "µ", "1h", "s", " ", "-", "\0", "%", "0."] {
        let text = unit.repeat(200_000);
        check(&text, 0, units::duration(&text));
        check(&text, 0, units::rate(&text));
        check(&text, 0, units::size(&text));
        check(&text, 0, units::share(&text));
        check(&text, 0, units::count(&text));
        assert_eq!(units::nearest(&text, TEXTS), None);
    }
}
