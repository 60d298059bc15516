//! Seeded mutations of valid inputs: whatever the bytes, decoders and parsers answer, and do so
//! within bounds. A failure names the seed and the round that replay it.

use plimsoll_stats::design::Design;
use plimsoll_stats::histogram::Histogram;
use plimsoll_stats::histogram::codec::{decode, encode_v2, encode_v2_compressed};
use plimsoll_stats::slo::{Rule, Slo};
use plimsoll_stats::stopping::Precision;

use crate::random::Xorshift;

const ROUNDS: u64 = 20_000;

impl Xorshift {
    /// One to four edits: a bit flipped, a byte replaced, removed, doubled, cut, or spliced in.
    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1).min(bytes.len().saturating_sub(1));
            match self.below(6) {
                _ if bytes.is_empty() => bytes.extend_from_slice(other),
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = [0, 0xff, 0x80, 0x7f, b'9', b'.'][self.below(6)],
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, bytes[at]),
                4 => bytes.truncate(at),
                _ => {
                    let from = self.below(other.len());
                    let to = from + self.below(other.len() - from + 1);
                    bytes.splice(at..at, other[from..to].iter().copied());
                }
            }
        }
    }
}

#[test]
fn the_decoder_survives_any_bytes() {
    let mut histogram = Histogram::new();
    let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
    for _ in 0..500 {
        let shift = random.below(60);
        histogram.record(random.next() >> shift);
    }
    let valid = [
        encode_v2(&histogram),
        encode_v2_compressed(&histogram),
        encode_v2(&Histogram::new()),
        encode_v2_compressed(&Histogram::new()),
    ];
    let mut read = 0;
    for round in 0..ROUNDS {
        let mut bytes = valid[random.below(4)].clone();
        random.mutate(&mut bytes, &valid[usize::from(round % 2 == 0)]);
        // Behind a repaired length, so that damage reaches the counts.
        if round % 3 == 0 && bytes.len() >= 40 {
            let whole = if bytes[3] == 0x14 { 8 } else { 40 };
            let length = u32::try_from(bytes.len() - whole).unwrap();
            bytes[4..8].copy_from_slice(&length.to_be_bytes());
        }
        if let Ok(histogram) = decode(&bytes) {
            read += 1;
            let sum: u64 = histogram.buckets().map(|bucket| bucket.count).sum();
            assert_eq!(sum, histogram.count(), "round {round}");
            assert!(histogram.value_at_quantile(0.99) <= histogram.max(), "round {round}");
            assert!(histogram.min() <= histogram.max(), "round {round}");
        }
    }
    assert!(read > 100, "mutations reach the counts: {read} of {ROUNDS} were read");
}

const SLOS: [&str; 12] = [
    "p99.9<200ms",
    "p90<=150ms,errors<0.1%",
    "service.p99<5ms , mean<1.5s",
    "max<1h30m",
    "lost<10,lost<0.5%",
    "availability>=99.999%",
    "rate>=500/s",
    "p50<250µs,rate>1.5k/s",
    "memcached.hit_ratio >= 97% for 60s",
    "p99<50ms, instance.web*.cpu < 20%, host.steal<=1% for 1.5s",
    "instance.db-1.redis.memory<100MiB, host.disk.sda.written<10MB/s",
    "series.queue_depth<2.5 for 10s",
];

const STOPS: [&str; 5] = [
    "errors>50% for 5s",
    "p99>1s for 1m",
    "rate<10/s for 3s",
    " mean > 250µs  for 1m30s ",
    "nginx.requests>1k/s for 2.5s,errors>1% for 2s",
];

const DESIGNS: [&str; 5] = [
    "full",
    "one-at-a-time",
    "fractional 2^(5-1)",
    "fractional 2^(7-3) E=ABC, F=-BCD, G=ACD",
    " fractional 2^(15−11)",
];

const PRECISIONS: [&str; 3] = ["p99 within 5%", " rate within 0.5%", "hit_ratio within 0.01"];

fn check<T: std::fmt::Display + PartialEq + std::fmt::Debug>(
    texts: &[&str],
    seed: u64,
    parse: impl Fn(&str) -> Result<T, plimsoll_units::ParseError>,
) {
    let mut random = Xorshift(seed);
    let mut read = 0;
    for round in 0..ROUNDS {
        let mut bytes = texts[random.below(texts.len())].as_bytes().to_vec();
        let other = texts[random.below(texts.len())].as_bytes();
        random.mutate(&mut bytes, other);
        let text = String::from_utf8_lossy(&bytes);
        match parse(&text) {
            Ok(value) => {
                read += 1;
                let again = value.to_string();
                assert_eq!(parse(&again).as_ref(), Ok(&value), "round {round}: {text:?}");
            }
            Err(error) => {
                let part = text.get(error.at..error.at + error.len);
                assert!(part.is_some(), "round {round}: {text:?}: {error:?}");
                assert!(error.to_string().len() < 1000 && error.found.len() < 500);
            }
        }
    }
    assert!(read > 100, "some mutations stay valid: {read} of {ROUNDS}");
}

#[test]
fn the_slo_parser_survives_any_text_and_points_into_it() {
    check(&SLOS, 0x2545_f491_4f6c_dd1d, Slo::parse);
}

#[test]
fn the_stop_rule_parser_survives_any_text_and_points_into_it() {
    check(&STOPS, 0x1234_5678_9abc_def1, Rule::stopping);
}

#[test]
fn parsers_of_designs_survive_any_text_and_point_into_it() {
    check(&DESIGNS, 0x7f4a_7c15_9e37_79b9, Design::parse);
    check(&PRECISIONS, 0x1ce4_e5b9_bf58_476d, Precision::parse);
}

#[test]
fn long_texts_are_answered_shortly() {
    for text in ["p99<1s,".repeat(100_000), "9".repeat(1_000_000), "p".repeat(1_000_000)] {
        let error = Slo::parse(&text).unwrap_err();
        assert!(error.to_string().len() < 1000);
        assert!(Rule::stopping(&text).is_err());
        let size = format!("fractional 2^({}5-1) {text}", " ".repeat(100_000));
        let designs =
            [text.clone(), format!("fractional {text}"), format!("fractional 2^({text})")];
        for text in designs.iter().chain([&size]) {
            assert!(Design::parse(text).unwrap_err().to_string().len() < 1000);
        }
        assert!(Precision::parse(&text).unwrap_err().to_string().len() < 1000);
    }
}
