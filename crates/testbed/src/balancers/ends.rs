//! The log of nginx, which says how requests ended: it is read as it is written, and the place that
//! it takes is given back when it is read.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Duration;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

use super::tally::{Cause, How, Tally};
use super::upstream::UPSTREAM;
use crate::error::TestbedError;
use crate::reach::Reach;

/// So much of the log is read at once, bytes.
const BLOCK: usize = 256 * 1024;

/// What its log has said so far.
#[derive(Debug, Default)]
pub(super) struct Log {
    file: Option<File>,
    /// So many bytes were read.
    at: u64,
    /// The beginning of a line that has not come whole.
    rest: Vec<u8>,
    /// The names of servers, by their addresses; those too that are gone.
    pub(super) names: BTreeMap<String, String>,
    pub(super) tally: Tally,
    /// How often the status was asked for: nginx counts these requests too.
    pub(super) asked: u64,
}

impl Log {
    /// Leaves out what was written so far.
    pub(super) fn skip(&mut self, reach: &Reach<'_>) -> Result<(), TestbedError> {
        let names = std::mem::take(&mut self.names);
        self.read(reach)?;
        // A line that has not come whole ends from now on.
        (self.names, self.tally) = (names, Tally::default());
        Ok(())
    }

    /// Reads what was written since the last time, and gives its place back.
    pub(super) fn read(&mut self, reach: &Reach<'_>) -> Result<(), TestbedError> {
        let path = reach.folder().join("ends.log");
        let failed = TestbedError::file("read", &path);
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
            match options.open(&path) {
                Ok(file) => self.file = Some(file),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
        let Some(file) = self.file.take() else { return Ok(()) };
        let result = self.read_from(&file);
        self.file = Some(file);
        result.map_err(failed)
    }

    fn read_from(&mut self, file: &File) -> std::io::Result<()> {
        let (began, mut block) = (self.at, vec![0; BLOCK]);
        loop {
            let read = file.read_at(&mut block, self.at)?;
            if read == 0 {
                break;
            }
            self.at += read as u64;
            let mut lines = std::mem::take(&mut self.rest);
            lines.extend_from_slice(&block[..read]);
            let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.rest = lines.split_off(whole);
            for line in String::from_utf8_lossy(&lines).lines() {
                self.ended(line);
            }
        }
        if self.at > began {
            // Where the file system cannot, the file is as long as it was written.
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(file, flags, 0, self.at);
        }
        Ok(())
    }

    /// A request ended, as a line of the log has it.
    fn ended(&mut self, line: &str) {
        let Some(end) = End::of(line) else { return self.tally.ended(None, How::Unknown) };
        let name = |address: &&str| self.names.get(*address).cloned();
        for failed in end.tried.iter().filter_map(name) {
            self.tally.failed(&failed);
        }
        let instance = name(&end.last);
        if let (Some(instance), true) = (&instance, end.is_its_failure) {
            self.tally.failed(instance);
        }
        self.tally.ended(instance.as_deref(), end.how);
    }
}

/// The end of a request.
#[derive(Debug, PartialEq, Eq)]
struct End<'a> {
    /// The servers that were tried and failed before the last.
    tried: Vec<&'a str>,
    /// The last.
    last: &'a str,
    how: How,
    /// Whether the last has failed it.
    is_its_failure: bool,
}

impl<'a> End<'a> {
    /// Reads a line of the log; `None` where it is none.
    fn of(line: &'a str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [status, completion, method, addresses, heads, times, lengths, wanted] = fields[..]
        else {
            return None;
        };
        let status: u16 = status.parse().ok()?;
        let mut tried: Vec<&str> = addresses.split(", ").collect();
        let last = tried.pop()?;
        let of_last = |list: &'a str| list.rsplit(", ").next().unwrap_or_default();
        let has_head = of_last(heads).parse::<f64>().is_ok();
        let length: Option<u64> = of_last(lengths).parse().ok();
        let is_short = method != "HEAD"
            && !matches!(status, 204 | 304)
            && wanted.parse::<u64>().is_ok_and(|wanted| length.is_some_and(|of| of < wanted));
        let (how, is_its_failure) = if has_head && !(is_short || status == 499) {
            let took: f64 = of_last(times).parse().ok()?;
            (How::Answered(Duration::try_from_secs_f64(took).ok()?), false)
        } else if last == UPSTREAM || last == "-" && matches!(status, 502 | 503) {
            (How::Lost(Cause::NoSlot), false)
        } else if status == 499 || completion.is_empty() {
            (How::Lost(Cause::ClientGone), false)
        } else if status == 504 {
            (How::Lost(Cause::Timeout), true)
        } else if last == "-" {
            // What a client has sent that is no request.
            (How::Lost(Cause::ClientGone), false)
        } else {
            (How::Lost(Cause::InstanceFailed), true)
        };
        Some(Self { tried, last, how, is_its_failure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_request_ended_is_read() {
        let answered = |line| match End::of(line) {
            Some(End { how: How::Answered(took), .. }) => Some(took.as_millis()),
            _ => None,
        };
        assert_eq!(answered("200\tOK\tGET\t127.0.0.1:1\t0.020\t0.021\t5\t5"), Some(21));
        // Whatever the status: an instance has said it.
        assert_eq!(answered("502\tOK\tGET\t127.0.0.1:1\t0.020\t0.021\t5\t-"), Some(21));
        assert_eq!(answered("200\tOK\tHEAD\t127.0.0.1:1\t0.001\t0.001\t0\t5"), Some(1));
        let two = "200\tOK\tGET\t127.0.0.1:1, 127.0.0.1:2\t-, 0.020\t0.000, 0.021\t0, 5\t5";
        assert_eq!(answered(two), Some(21));
        let end = End::of(two).unwrap();
        assert_eq!((end.tried, end.last), (vec!["127.0.0.1:1"], "127.0.0.1:2"));
        let cases = [
            ("502\tOK\tGET\tpool\t-\t-\t0\t-", Cause::NoSlot),
            ("502\tOK\tGET\t127.0.0.1:1\t-\t0.000\t0\t-", Cause::InstanceFailed),
            ("200\tOK\tGET\t127.0.0.1:1\t0.001\t0.002\t3\t5", Cause::InstanceFailed),
            ("200\t\tGET\t127.0.0.1:1\t0.001\t0.002\t3\t5", Cause::ClientGone),
            ("499\t\tGET\t127.0.0.1:1\t-\t0.500\t0\t-", Cause::ClientGone),
            ("504\tOK\tGET\t127.0.0.1:1\t-\t60.000\t0\t-", Cause::Timeout),
            ("400\tOK\t\t-\t-\t-\t-\t-", Cause::ClientGone),
        ];
        for (line, expected) in cases {
            assert_eq!(End::of(line).unwrap().how, How::Lost(expected), "{line}");
        }
        assert_eq!(End::of("200 OK"), None);
    }
}
