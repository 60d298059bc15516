//! What an instance said: the beginning and the end of it, without what is secret.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use plimsoll_units::secret::{hidden, longest};

use crate::error::TestbedError;
use crate::time::Deadline;

/// The file of what an instance says, in its folder.
pub const FILE: &str = "output.log";
/// How much of its end is told where it fails, bytes.
const TOLD: u64 = 4096;
/// How an agent says where it listens.
const LISTENS: &str = "listening on ";

/// The end of what an instance in this folder said, for a person.
pub(crate) fn end(folder: &Path) -> String {
    read(&folder.join(FILE), 0, TOLD).unwrap_or_default()
}

/// The end of what a command said into a file.
pub(crate) fn end_of(path: &Path) -> String {
    read(path, 0, TOLD).unwrap_or_default()
}

/// What it said, at most so many bytes of it: half of the beginning, half of the end.
pub(crate) fn all(folder: &Path, most: u64) -> String {
    read(&folder.join(FILE), most / 2, most / 2).unwrap_or_default()
}

/// The port at which an agent listens, by what it says in its folder.
///
/// # Errors
/// One that does not say so in time, with what it says.
pub(crate) fn port(folder: &Path, deadline: &Deadline) -> Result<String, TestbedError> {
    let found = deadline.until_there(|| {
        let said = end(folder);
        let address = said.lines().find_map(|line| line.strip_prefix(LISTENS));
        let port = address.and_then(|address| address.trim().rsplit_once(':'));
        port.map(|(_, port)| port.to_owned())
    });
    found.ok_or_else(|| {
        let (what, limit) = ("wait for the agent".to_owned(), deadline.limit());
        TestbedError::TooLong { what, limit, output: end(folder) }
    })
}

/// The beginning and the end of a file, with a line between them that says what is left out. A
/// secret that is cut there is left out too.
fn read(path: &Path, head: u64, tail: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut part = |from: u64, most: u64| -> std::io::Result<String> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        (&mut file).take(most).read_to_end(&mut bytes)?;
        Ok(hidden(&String::from_utf8_lossy(&bytes)).into_owned())
    };
    if len <= head + tail {
        return part(0, len);
    }
    // A part is read by so much further that a secret at its edge is whole, and what may be a part
    // of a secret then is cut off.
    let more = longest();
    let further = more as u64;
    let mut begins = part(0, head + further)?;
    let ends = part(len - (tail + further).min(len), tail + further)?;
    begins.truncate(floor(&begins, begins.len().saturating_sub(more)));
    let ends = &ends[floor(&ends, more.min(ends.len()))..];
    if head == 0 {
        return Ok(ends.to_owned());
    }
    let left_out = len.saturating_sub(head + tail);
    Ok(format!("{begins}\n[{left_out} bytes are left out]\n{ends}"))
}

/// The place at or before a byte where a character begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_units::secret::learn;

    /// At whatever byte the file is cut, no part of a secret longer than what chance explains is
    /// shown.
    #[test]
    fn a_secret_that_is_cut_is_left_out() {
        let secret = "output-test-secret-0123456789";
        learn(secret);
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(FILE);
        for at in 0..200 {
            let text = format!("{}{secret}{}", "a".repeat(at), "é".repeat(100));
            std::fs::write(&file, &text).unwrap();
            for (head, tail) in [(40, 40), (0, 64), (64, 64), (1000, 1000)] {
                let shown = read(&file, head, tail).unwrap();
                let parts = (0..secret.len() - 5).map(|from| &secret[from..from + 5]);
                for part in parts {
                    assert!(!shown.contains(part), "{at} {head} {tail}: {shown}");
                }
            }
        }
        std::fs::write(&file, "short").unwrap();
        assert_eq!(all(place.path(), 100), "short");
        std::fs::write(&file, "x".repeat(10_000)).unwrap();
        let kept = all(place.path(), 1000);
        assert!(kept.len() < 1100 && kept.contains("9000 bytes are left out"), "{}", kept.len());
    }
}
