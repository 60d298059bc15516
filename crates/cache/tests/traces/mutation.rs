//! Mutations of valid traces against their readers: whatever the bytes, a reader ends in a trace
//! that is sound or in an error, without a panic and within its limits of memory. Used by the tests
//! and by `examples/mutate_traces.rs`, which runs as long as it is told.
#![expect(clippy::cast_possible_truncation, reason = "small numbers, and random bytes")]

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_cache::trace::input::Input;
use plimsoll_cache::trace::read::{Limits, ReadOptions, read_input};
use plimsoll_cache::trace::reference::Reference;
use plimsoll_cache::trace::{
    Format, Names, ReadSummary, Trace, TraceError, compiled, oracle_general,
};
use plimsoll_workload::random::Stream;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// What is mutated.
pub(crate) const FORMATS: [&str; 7] =
    ["oracleGeneral", "csv", "squid", "combined", "plt", "gz", "zst"];

/// The memory that reading may take beside what was there, in KiB of address space: limits of
/// 2^16 requests and 2^20 bytes of names take a few MiB, a zstd window 128 MiB, and the allocator
/// keeps some for each thread.
pub(crate) const MAX_GROWTH_KIB: u64 = 1 << 20;

const LIMITS: Limits = Limits { requests: 1 << 16, name_bytes: 1 << 20 };

/// What breaks parsers: marks of the formats, ends of lines, limits of numbers.
const TOKENS: [&[u8]; 30] = [
    b",",
    b";",
    b"\t",
    b"\"",
    b"\"\"",
    b"#",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b" ",
    b"-",
    b"-1",
    b"0",
    b"00",
    b"9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"281474976710657",
    b"1e308",
    b"NaN",
    b"4294967296",
    b"object",
    b"time",
    b"[",
    b"TCP_HIT/200",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\0\0\0\x80",
];

/// The address space that this process had at most, KiB; `None` where it cannot be known.
pub(crate) fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Reads what a seed makes of a valid file of a format.
///
/// # Errors
/// The promise that was not kept.
pub(crate) fn check(format: &str, seed: u64) -> Result<(), String> {
    let stream = &mut Stream::named(seed, format);
    let mut bytes = valid(format, stream);
    let other = valid(format, stream);
    mutate(&mut bytes, &other, stream);
    if format == "plt" && stream.below(4) > 0 {
        seal(&mut bytes);
    }
    let given = if stream.below(2) == 0 { None } else { format.parse().ok() };
    match read(&bytes, given, stream.below(2) == 0) {
        Ok((trace, told)) => {
            let sum = trace.len() as u64 + told.unreadable + told.left_out() + told.empty;
            if sum != told.lines {
                return Err(format!("{} requests of {told:?}", trace.len()));
            }
            sound(&trace)
        }
        Err(error) => match error.to_string().len() {
            10..3000 => Ok(()),
            len => Err(format!("an error of {len} bytes: {error:?}")),
        },
    }
}

fn read(
    bytes: &[u8],
    format: Option<Format>,
    long: bool,
) -> Result<(Trace, ReadSummary), TraceError> {
    let length = long.then_some(bytes.len() as u64);
    let input = Input::new(Cursor::new(bytes.to_vec()), Path::new("t"), length)?;
    read_input(input, &ReadOptions { format, columns: None, limits: LIMITS })
}

/// Whether a trace is what [`Trace`] says of itself, and survives being written.
fn sound(trace: &Trace) -> Result<(), String> {
    if trace.is_empty() || trace.len() > LIMITS.requests {
        return Err(format!("{} requests", trace.len()));
    }
    let mut next = 0;
    for &object in trace.requests() {
        if object > next {
            return Err(format!("object {object} before {next}"));
        }
        next += u32::from(object == next);
    }
    if trace.names().len() != next as usize || trace.distinct() != next {
        return Err(format!("{} names of {next} objects", trace.names().len()));
    }
    if let Names::Text { .. } = trace.names()
        && (0..next).any(|object| trace.names().text(object).is_none())
    {
        return Err("a name that is not there".to_owned());
    }
    let mut bytes = Vec::new();
    compiled::write(trace, &mut bytes).map_err(|error| error.to_string())?;
    let (again, _) = read(&bytes, None, true).map_err(|error| error.to_string())?;
    if again != *trace { Err("another trace when read back".to_owned()) } else { Ok(()) }
}

/// A valid file of a format.
fn valid(format: &str, stream: &mut Stream) -> Vec<u8> {
    match format {
        "oracleGeneral" => {
            let mut out = Vec::new();
            oracle_general::write(&small(stream), &mut out, Path::new("t")).expect("small sizes");
            out
        }
        "plt" => {
            let mut out = Vec::new();
            compiled::write(&small(stream), &mut out).expect("memory");
            out
        }
        "csv" | "squid" | "combined" => lines(format, stream).into_bytes(),
        packed => {
            let inner = FORMATS[stream.below(5) as usize];
            let bytes = valid(inner, stream);
            if packed == "zst" {
                return compress_to_vec(&bytes[..], CompressionLevel::Fastest);
            }
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&bytes).expect("memory");
            packer.finish().expect("memory")
        }
    }
}

fn small(stream: &mut Stream) -> Trace {
    let objects = 1 + stream.below(30) as u32;
    let requests = 1 + stream.below(200) as usize;
    let reference = Reference { objects, requests, seed: stream.next_u64() };
    let trace = reference.trace().expect("some requests");
    if stream.below(2) == 0 {
        return trace;
    }
    let texts: Vec<String> = (0..trace.distinct()).map(|n| format!("/o/{n}")).collect();
    let ends = texts.iter().scan(0, |end, text| {
        *end += text.len() as u64;
        Some(*end)
    });
    let names = Names::Text { ends: ends.collect(), bytes: texts.concat().into_bytes() };
    let named = Trace::new(trace.requests().to_vec(), names).expect("as many names");
    let clients = trace.requests().iter().map(|object| object % 3).collect();
    named.with_clients(clients).expect("as many clients")
}

fn lines(format: &str, stream: &mut Stream) -> String {
    let mut text = String::new();
    let separator = [',', ';', '\t'][stream.below(3) as usize];
    let named = stream.below(2) == 0;
    if format == "csv" && stream.below(4) > 0 {
        let mark = ["", "# "][stream.below(2) as usize];
        let _ = writeln!(text, "{mark}time_s{separator}key{separator}bytes");
    }
    for n in 0..1 + stream.below(120) {
        let (object, size) = (stream.below(40), stream.below(1 << 20));
        let second = n / 3;
        let written = match format {
            "csv" if named => {
                writeln!(text, "{second}{separator}\"/k \"\"{object}\"{separator}{size}")
            }
            "csv" => writeln!(text, "{second}{separator}{object}{separator}{size}"),
            "squid" => writeln!(
                text,
                "{}.25   9 h{} TCP_HIT/200 {size} GET http://h/{object} - NONE/- text/html",
                1_286_536_309 + second,
                n % 4
            ),
            _ => writeln!(
                text,
                "h{} - - [10/Oct/2000:13:{:02}:{:02} -0700] \"GET /{object} HTTP/1.1\" 200 {size} \
                 \"-\" \"a b\"",
                n % 4,
                second / 60,
                second % 60
            ),
        };
        let _ = written;
    }
    text
}

/// One mutation after the other.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], stream: &mut Stream) {
    for _ in 0..=stream.below(4) {
        let len = bytes.len() as u64;
        let at = stream.below(len + 1) as usize;
        let end = (at + stream.below(40) as usize).min(bytes.len());
        match stream.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << stream.below(8),
            1 if at < bytes.len() => bytes[at] = stream.next_u64() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let again = bytes[at..end].to_vec();
                let times = 1 + stream.below(4) as usize;
                bytes.splice(at..at, again.repeat(times));
            }
            4 if !other.is_empty() => {
                let from = stream.below(other.len() as u64) as usize;
                let to = (from + stream.below(60) as usize).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            5 if stream.below(30) == 0 => {
                let byte = stream.next_u64() as u8;
                bytes.splice(at..at, std::iter::repeat_n(byte, 70_000));
            }
            6 => bytes.truncate(at),
            _ => {
                let token = TOKENS[stream.below(TOKENS.len() as u64) as usize];
                let end = if stream.below(2) == 0 { at } else { at + token.len() };
                bytes.splice(at..end.min(bytes.len()), token.iter().copied());
            }
        }
    }
}

/// Sets the checksums of a compiled trace right, so that a mutation is looked at behind them. Made
/// from the description of the format, as far as the sections go.
fn seal(bytes: &mut [u8]) {
    if bytes.len() < 40 {
        return;
    }
    let head = sum(&[&bytes[..32]]);
    bytes[32..40].copy_from_slice(&head);
    let mut at = 40;
    while let Some(start) = bytes.get(at..at + 16) {
        let mut length = [0; 8];
        length.copy_from_slice(&start[8..]);
        let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
        let Some(end) = length.checked_add(at + 16).filter(|&end| end < bytes.len()) else {
            return;
        };
        let mut padded = [0; 32];
        padded[..16].copy_from_slice(start);
        let checksum = sum(&[&padded, &bytes[at + 16..end]]);
        let Some(place) = bytes.get_mut(end..end + 8) else { return };
        place.copy_from_slice(&checksum);
        at = end + 8;
    }
}

/// FNV-1a over words in four lanes, as `compiled` describes it.
fn sum(parts: &[&[u8]]) -> [u8; 8] {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    let step =
        |state: u64, word: u64| (state ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    let mut lanes = [BASIS, BASIS ^ 1, BASIS ^ 2, BASIS ^ 3];
    for part in parts {
        for stripe in part.chunks(32) {
            let mut padded = [0; 32];
            padded[..stripe.len()].copy_from_slice(stripe);
            for (lane, word) in lanes.iter_mut().zip(padded.as_chunks::<8>().0) {
                *lane = step(*lane, u64::from_le_bytes(*word));
            }
        }
    }
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let all = lanes.iter().fold(BASIS, |state, &lane| step(state, lane));
    step(all, length as u64).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a seed makes that is not mutated must be read.
    #[test]
    fn valid_files_are_read() {
        for format in FORMATS {
            for seed in 0..50 {
                let bytes = valid(format, &mut Stream::named(seed, "valid"));
                let (trace, _) = read(&bytes, None, true)
                    .unwrap_or_else(|error| panic!("{format} {seed}: {error}"));
                assert_eq!(sound(&trace), Ok(()), "{format} {seed}");
                if format == "plt" {
                    let mut sealed = bytes.clone();
                    seal(&mut sealed);
                    assert_eq!(sealed, bytes, "{seed}");
                }
            }
        }
    }

    #[test]
    fn mutated_files_are_read_or_refused() {
        let start = peak_kib();
        for format in FORMATS {
            for seed in 0..1500 {
                if let Err(promise) = check(format, seed) {
                    panic!("{format} {seed}: {promise:.500}");
                }
            }
        }
        if let (Some(start), Some(end)) = (start, peak_kib()) {
            assert!(end < start + MAX_GROWTH_KIB, "from {start} to {end} KiB");
        }
    }
}
