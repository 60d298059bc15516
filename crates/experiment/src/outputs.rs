//! What servers under test say while they run, for whoever follows from another process.
//!
//! A thread reads what each instance of a cell has added to its output, and appends it, line by
//! line and without secrets, to a file beside the run or the journal. Only what executes the cells
//! knows the secrets, so nobody else reads the outputs themselves. The file is gone with the
//! execution; what is kept of the outputs is in the runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_testbed::{Instance, OUTPUT};
use plimsoll_units::secret::{hidden, longest};

/// The file in the folder of an experiment or a run.
const FILE: &str = "outputs.live";
/// How often outputs are looked at.
const STEP: Duration = Duration::from_millis(200);
/// The most bytes that are read of an output in a step: a server that says more is cut.
const MOST_STEP: u64 = 64 * 1024;
/// The longest line that is shown, bytes.
const MOST_LINE: usize = 2_000;
/// The size at which the file begins anew.
const MOST_FILE: u64 = 8 << 20;

/// A line that an instance said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// When it was seen, nanoseconds since 1970.
    pub(crate) at_unix_ns: u64,
    pub(crate) cell: u32,
    /// The instance, with its number: `web-1`.
    pub(crate) instance: String,
    pub(crate) text: String,
}

/// Takes the file away when the execution ends.
pub(crate) struct Ends(PathBuf);

impl Ends {
    /// Of the execution of an experiment or a run. What a killed one left behind is taken away.
    pub(crate) fn of(folder: &Path) -> Self {
        let path = folder.join(FILE);
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Outputs that are handed on until this is dropped.
pub(crate) struct Live {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Begins to hand on what the instances of a cell say. Without a thread nothing is handed on,
    /// which is no reason not to execute the cell.
    pub(crate) fn start(
        folder: &Path,
        cell: u32,
        instances: &[Instance],
        now_ns: fn() -> u64,
    ) -> Self {
        let of = |instance: &Instance| Output::of(&instance.name, &instance.folder.join(OUTPUT));
        let mut outputs: Vec<Output> = instances.iter().map(of).collect();
        let (path, (stop, stops)) = (folder.join(FILE), channel::<()>());
        let work = move || {
            loop {
                let ended = stops.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout);
                let lines = outputs.iter_mut().flat_map(|of| of.lines(ended));
                let text: String =
                    lines.map(|(name, text)| written(now_ns(), cell, &name, &text)).collect();
                // Nobody has to follow, and the folder may not be there yet.
                let _ = append(&path, &text);
                if ended {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("outputs".to_owned()).spawn(work).ok();
        Self { stop, thread }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It has ended by itself where nobody hears.
        let _ = self.stop.send(());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    if file.metadata()?.len() > MOST_FILE {
        file.set_len(0)?;
    }
    file.write_all(text.as_bytes())
}

/// The output of an instance, as far as it was read.
struct Output {
    name: String,
    path: PathBuf,
    at: u64,
    /// Bytes that are no whole character yet.
    bytes: Vec<u8>,
    /// What was read, without the secrets that are whole in it.
    pending: String,
}

impl Output {
    fn of(name: &str, path: &Path) -> Self {
        let (name, path) = (name.to_owned(), path.to_owned());
        Self { name, path, at: 0, bytes: Vec::new(), pending: String::new() }
    }

    /// The lines that are new and whole; with `all`, or where nothing came since the last look,
    /// all that there is.
    fn lines(&mut self, all: bool) -> Vec<(String, String)> {
        let read = self.read().unwrap_or(0);
        let text = self.pending.clone() + &self.decoded();
        self.pending = hidden(&text).into_owned();
        // A secret that has not come whole begins in what is held back.
        let held_back = if all || read == 0 { 0 } else { longest() };
        let whole = self.pending.len().saturating_sub(held_back);
        let whole = (0..=whole).rev().find(|at| self.pending.is_char_boundary(*at)).unwrap_or(0);
        let end = match self.pending[..whole].rfind('\n') {
            Some(at) => at + 1,
            None if all || self.pending.len() > MOST_LINE => whole,
            None => 0,
        };
        let text: String = self.pending.drain(..end).collect();
        let shown = text.lines().filter(|line| !line.trim().is_empty());
        shown.map(|line| (self.name.clone(), plain(line))).collect()
    }

    /// The bytes that were read, as far as they are whole characters.
    fn decoded(&mut self) -> String {
        let whole = match std::str::from_utf8(&self.bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.bytes.len(),
        };
        let bytes: Vec<u8> = self.bytes.drain(..whole).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut file = File::open(&self.path)?;
        let len = file.metadata()?.len();
        if len.saturating_sub(self.at) > MOST_STEP {
            let left_out = len - self.at - MOST_STEP;
            self.at += left_out;
            self.bytes.extend(format!("\n[{left_out} bytes are left out]\n").into_bytes());
        }
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.take(MOST_STEP).read_to_end(&mut self.bytes)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A line as it may stand in the file and on a terminal: bounded, and without control characters.
fn plain(line: &str) -> String {
    let cut = plimsoll_units::truncate(line, MOST_LINE);
    cut.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn written(at_unix_ns: u64, cell: u32, instance: &str, text: &str) -> String {
    format!("{at_unix_ns}\t{cell}\t{instance}\t{text}\n")
}

fn read_line(line: &str) -> Option<Line> {
    let mut parts = line.splitn(4, '\t');
    let at_unix_ns = parts.next()?.parse().ok()?;
    let cell = parts.next()?.parse().ok()?;
    let (instance, text) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    Some(Line { at_unix_ns, cell, instance, text })
}

/// Reads what is new, each time it looks.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    at: u64,
    /// The part of a line that has not come whole.
    pending: String,
}

impl Tail {
    /// The lines that came since it looked last; none where nothing is said.
    pub(crate) fn news(&mut self, folder: &Path) -> Vec<Line> {
        let mut text = String::new();
        if self.read(folder, &mut text).is_err() {
            // It is not there, or not any more.
            *self = Self::default();
            return Vec::new();
        }
        let all = std::mem::take(&mut self.pending) + &text;
        let (whole, rest) = all.rsplit_once('\n').unwrap_or(("", &all));
        rest.clone_into(&mut self.pending);
        whole.lines().filter_map(read_line).collect()
    }

    fn read(&mut self, folder: &Path, text: &mut String) -> io::Result<()> {
        let mut file = File::open(folder.join(FILE))?;
        if file.metadata()?.len() < self.at {
            *self = Self::default();
        }
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.take(MOST_FILE).read_to_string(text)?;
        self.at += read as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_units::secret::learn;

    fn said(output: &mut Output, all: bool) -> Vec<String> {
        output.lines(all).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn lines_are_handed_on_when_they_are_whole_and_without_secrets() {
        let secret = "live-output-secret-77";
        learn(secret);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(OUTPUT);
        let mut file = File::create(&path).unwrap();
        let mut output = Output::of("web-1", &path);
        file.write_all(b"one\ntwo\nthr").unwrap();
        let first = said(&mut output, false);
        file.write_all(b"ee\nthe key is live-output").unwrap();
        let second = said(&mut output, false);
        file.write_all(b"-secret-77 now\n\x1b[31mred\n").unwrap();
        let mut all = [first, second].concat();
        all.extend(said(&mut output, false));
        all.extend(said(&mut output, false));
        assert_eq!(all, ["one", "two", "three", "the key is *** now", " [31mred"]);
        file.write_all(b"last").unwrap();
        assert_eq!(said(&mut output, false), [""; 0]);
        assert_eq!(said(&mut output, true), ["last"]);
        file.write_all(&vec![b'x'; 200_000]).unwrap();
        let cut = said(&mut output, true).concat();
        assert!(cut.contains("bytes are left out") && cut.len() < 70_000, "{}", cut.len());
    }

    #[test]
    fn whoever_follows_reads_each_line_once_also_where_the_file_begins_anew() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(FILE);
        let mut tail = Tail::default();
        assert_eq!(tail.news(place.path()), []);
        append(&path, &written(7, 3, "web-1", "a\tb")).unwrap();
        append(&path, "8\t3\tweb-2").unwrap();
        let line = |at_unix_ns, instance: &str, text: &str| Line {
            at_unix_ns,
            cell: 3,
            instance: instance.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(tail.news(place.path()), [line(7, "web-1", "a\tb")]);
        append(&path, "\tc\n").unwrap();
        assert_eq!(tail.news(place.path()), [line(8, "web-2", "c")]);
        let ends = Ends::of(place.path());
        append(&path, &written(9, 3, "web-1", "d")).unwrap();
        assert_eq!(tail.news(place.path()), [line(9, "web-1", "d")]);
        drop(ends);
        assert!(!path.exists());
    }
}
