//! What the libraries are told of the place they run at: time, environment, cores.

use chrono::{DateTime, Local, Offset};
use plimsoll_experiment::prepare::{Cores, Place, Reach};
use plimsoll_units::civil;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The version with the commit that it was built of, where that was told when it was built:
/// `0.2.0 (5ac1358009f1)`.
pub(crate) fn version_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    let commit = option_env!("PLIMSOLL_COMMIT").filter(|commit| !commit.is_empty());
    TEXT.get_or_init(|| match commit {
        Some(commit) => format!("{VERSION} ({commit})"),
        None => VERSION.to_owned(),
    })
}

/// Nanoseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "the command line is where the wall clock is read")]
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// By how many seconds this host's clock is ahead of UTC at a moment: by `TZ`, else by its zone.
fn zone_s(unix_ns: u64) -> i32 {
    let at = i64::try_from(unix_ns).unwrap_or(i64::MAX);
    DateTime::from_timestamp_nanos(at).with_timezone(&Local).offset().fix().local_minus_utc()
}

/// A key that nobody else has: from the system's randomness.
pub(crate) fn key() -> [u64; 4] {
    let mut bytes = [0; 32];
    let mut left = &mut bytes[..];
    while !left.is_empty() {
        match rustix::rand::getrandom(&mut *left, rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => left = &mut left[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("no random bytes from the system: {error}"),
        }
    }
    let mut key = [0; 4];
    for (word, bytes) in key.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    key
}

/// What libraries are told of this place; `here` is the working folder.
pub(crate) fn place(here: &Path) -> Place<'_> {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    static RUNTIME: OnceLock<PathBuf> = OnceLock::new();
    Place {
        environment,
        here,
        now_ns: unix_ns,
        zone_s,
        key,
        system: Path::new("/"),
        cores: cores(),
        version: VERSION,
        program: PROGRAM.get_or_init(|| std::env::current_exe().unwrap_or_default()),
        runtime: RUNTIME.get_or_init(runtime),
        is_alone: false,
        reach: Reach::ANYWHERE,
    }
}

/// The folder for what stands while programs run: the system's for root, the user's own for others.
fn runtime() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        // tidy: allow(shared-folder, `Ledger` opens it)
        return PathBuf::from("/run/plimsoll");
    }
    let user = rustix::process::getuid().as_raw();
    // tidy: allow(shared-folder, `Ledger` opens it)
    let set = environment("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_absolute());
    let own = set.map(|folder| Path::new(&folder).join("plimsoll"));
    // tidy: allow(shared-folder, `Ledger` opens it)
    own.unwrap_or_else(|| PathBuf::from(format!("/tmp/plimsoll-{user}")))
}

/// An environment variable.
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The cores of this host, and those that this process may use. Where its control group gives it
/// less time than they have (a container's limit), it is as on a host of so many.
pub(crate) fn cores() -> Cores {
    let allowed = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let gets = std::thread::available_parallelism().ok();
    let gets = gets.and_then(|gets| u32::try_from(gets.get()).ok()).unwrap_or(allowed);
    if gets < allowed {
        return Cores { online: gets, allowed: gets };
    }
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online")
        .ok()
        .and_then(|text| count_ranges(text.trim()))
        .unwrap_or(allowed);
    Cores { online, allowed }
}

/// Counts `0-3,5`.
fn count_ranges(text: &str) -> Option<u32> {
    text.split(',')
        .map(|range| {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
            Some(to.checked_sub(from)? + 1)
        })
        .sum()
}

/// The letters that an id ends with, in their order.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The id of a run that starts at `unix_ns`: time to the second, and four letters that count its
/// 1,679,616 parts, so that ids stand in the order of their starts.
pub(crate) fn run_id(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil::date(i64::try_from(days).unwrap_or(i64::MAX));
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let part = unix_ns % 1_000_000_000 * 36_u64.pow(4) / 1_000_000_000;
    let letter = |power| char::from(LETTERS[(part / 36_u64.pow(power) % 36) as usize]);
    let short: String = [3, 2, 1, 0].map(letter).iter().collect();
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z-{short}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_runs_by_their_time() {
        assert_eq!(run_id(1_795_170_925_000_000_000), "20261120T103525Z-0000");
        assert_eq!(run_id(1_795_170_925_999_999_999), "20261120T103525Z-zzzz");
        assert_eq!(run_id(951_782_400_500_000_000), "20000229T000000Z-i000");
    }

    #[test]
    fn no_key_comes_again() {
        assert_ne!(key(), key());
    }

    #[test]
    fn counts_cores() {
        assert_eq!(count_ranges("0-3,5"), Some(5));
        assert_eq!(count_ranges("0"), Some(1));
        assert_eq!(count_ranges("x"), None);
    }
}
