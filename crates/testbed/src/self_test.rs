//! What an instance can do, as it finds out itself when it starts: a fixed amount of work for its
//! processors, and a file that is written and read.
//!
//! The work is done in the instance's place, within its limits and beside its neighbours, by a
//! hidden command of this program. How much of it a second of the clock sees done is the score: an
//! instance with half the quota has half of it. The disk is told apart, and is no part of it.

use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use plimsoll_units::hash::mix;
use rustix::fs::{Advice, OFlags, fadvise};
use serde::{Deserialize, Serialize};

use crate::command::Deadline;
use crate::error::TestbedError;

/// Steps of the work, each of which hangs on the one before; some 250 ms of a core of today.
const STEPS: u64 = 200_000_000;
/// Steps between two looks at the clock.
const BLOCK: u64 = 100_000;
/// How long the work may take: where it takes longer, less of it is done.
const MOST_WORK: Duration = Duration::from_secs(4);
/// The size of the file, bytes, and of what is written at once.
const FILE: usize = 16 << 20;
const CHUNK: usize = 1 << 20;
/// How long writing and reading may take, each: where it takes longer, less is done.
const MOST_DISK: Duration = Duration::from_secs(2);

/// What a self-test has found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Million steps of the work in a second of the clock, all processors together.
    pub cpu: f64,
    /// Bytes that a second sees written to the disk, with all that is needed to keep them.
    pub disk_write: f64,
    /// Bytes that a second sees read from it, past the memory of the host where that is possible.
    pub disk_read: f64,
}

impl Score {
    /// Does the work, on as many threads as this process has processors, and writes and reads a
    /// file of the folder. Takes at most some 8 s.
    ///
    /// # Errors
    /// A folder that cannot be written in.
    pub fn measure(folder: &Path) -> Result<Self, TestbedError> {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cpu = std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|seed| scope.spawn(move || work(seed))).collect();
            all.into_iter().filter_map(|thread| thread.join().ok()).sum()
        });
        let path = folder.join(".plimsoll-self-test");
        let disk = disk(&path).map_err(TestbedError::file("test the disk by", &path));
        // Nothing is lost where it is gone already.
        let _ = std::fs::remove_file(&path);
        let (disk_write, disk_read) = disk?;
        Ok(Self { cpu, disk_write, disk_read })
    }
}

/// Does the work. Returns million steps a second.
fn work(seed: usize) -> f64 {
    let deadline = Deadline::within(MOST_WORK);
    let (mut done, mut state) = (0, seed as u64 + 1);
    while done < STEPS && !deadline.is_over() {
        for _ in 0..BLOCK {
            state = mix(state);
        }
        done += BLOCK;
    }
    std::hint::black_box(state);
    done as f64 / 1e6 / deadline.passed().as_secs_f64().max(1e-9)
}

/// Writes and reads a file. Returns bytes a second of both.
fn disk(path: &Path) -> std::io::Result<(f64, f64)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let mut file = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)?;
    // No file system finds less to do in it than there is.
    let (mut chunk, mut state) = (vec![0; CHUNK], 1);
    for word in chunk.chunks_exact_mut(8) {
        state = mix(state);
        word.copy_from_slice(&state.to_le_bytes());
    }
    let deadline = Deadline::within(MOST_DISK);
    let mut written = 0;
    while written < FILE && !deadline.is_over() {
        file.write_all(&chunk)?;
        written += CHUNK;
    }
    file.sync_all()?;
    let rate = |bytes: usize, of: &Deadline| bytes as f64 / of.passed().as_secs_f64().max(1e-9);
    let wrote = rate(written, &deadline);
    // Where that is refused, memory is read: the figure says no more than it is.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    file.seek(SeekFrom::Start(0))?;
    let deadline = Deadline::within(MOST_DISK);
    let mut bytes = 0;
    while bytes < written && !deadline.is_over() {
        file.read_exact(&mut chunk)?;
        bytes += CHUNK;
    }
    Ok((wrote, rate(bytes, &deadline)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_leaves_nothing_and_finds_something() {
        let folder = tempfile::tempdir().unwrap();
        let score = Score::measure(folder.path()).unwrap();
        assert!(score.cpu > 0.0 && score.disk_write > 0.0 && score.disk_read > 0.0, "{score:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(Score::measure(&folder.path().join("nowhere")).is_err());
    }
}
