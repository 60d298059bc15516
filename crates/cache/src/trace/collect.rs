//! Makes a trace of requests that come one by one, as the text formats give them.

use std::path::Path;

use super::largest_size::{self, LargestSize};
use super::names::{NameIndex, NoRoom, TextIndex};
use super::read::Limits;
use super::{MAX_OBJECT_BYTES, ReadSummary, Trace, TraceError, UnreadableLine};

/// One request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub object: &'a [u8],
    /// Where requests have one: bytes, or unknown.
    pub size: Option<u64>,
    /// Where requests have one: seconds since any moment.
    pub second: Option<i64>,
    /// Where requests have one: who asks.
    pub client: Option<&'a [u8]>,
}

/// What the requests of a trace have beside objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Has {
    pub sizes: bool,
    pub seconds: bool,
    pub clients: bool,
}

pub(super) struct Collector {
    has: Has,
    limits: Limits,
    names: NameIndex,
    requests: Vec<u32>,
    seen: Vec<LargestSize>,
    clock: Clock,
    clients: TextIndex,
    client_of: Vec<u32>,
    pub told: ReadSummary,
}

/// What stops a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full {
    most: u64,
    of: &'static str,
}

impl Full {
    pub(super) fn of_requests(limits: &Limits) -> Self {
        Self { most: limits.requests as u64, of: "requests" }
    }

    pub(super) fn error(self, path: &Path) -> TraceError {
        TraceError::TooMany { path: path.to_owned(), most: self.most, of: self.of }
    }
}

impl Collector {
    pub(super) fn new(has: Has, limits: Limits, told: ReadSummary) -> Self {
        Self {
            has,
            limits,
            names: NameIndex::new(),
            requests: Vec::new(),
            seen: Vec::new(),
            clock: Clock::default(),
            clients: TextIndex::default(),
            client_of: Vec::new(),
            told,
        }
    }

    /// Takes one request; what is wrong with it, if it cannot be taken.
    pub(super) fn push(&mut self, row: &Row<'_>) -> Result<Result<(), &'static str>, Full> {
        if row.size.is_some_and(|size| size > MAX_OBJECT_BYTES) {
            return Ok(Err("a size above 2^48 bytes"));
        }
        if self.requests.len() >= self.limits.requests {
            return Err(Full::of_requests(&self.limits));
        }
        let most = self.limits.name_bytes;
        let no_room = |NoRoom| Full { most, of: "bytes of names" };
        if self.has.seconds {
            let Some(second) = row.second else { return Ok(Err("no time")) };
            if !self.clock.push(second) {
                return Ok(Err("a time more than 136 years after the first"));
            }
        }
        let object = self.names.number(row.object, most).map_err(no_room)?;
        self.requests.push(object);
        if self.has.sizes {
            if object as usize >= self.seen.len() {
                self.seen.push(LargestSize::default());
            }
            let size = row.size.unwrap_or(0);
            self.told.requests_without_size += u64::from(size == 0);
            self.seen[object as usize].note(size);
        }
        if self.has.clients {
            let client = row.client.unwrap_or_default();
            self.client_of.push(self.clients.number(client, most).map_err(no_room)?);
        }
        Ok(Ok(()))
    }

    /// Counts a line that cannot be read.
    pub(super) fn unreadable(&mut self, line: u64, text: &[u8], why: &'static str) {
        self.told.unreadable += 1;
        if self.told.first_unreadable.is_none() {
            self.told.first_unreadable = Some(UnreadableLine { line, text: excerpt(text), why });
        }
    }

    /// The trace.
    pub(super) fn finish(mut self, path: &Path) -> Result<(Trace, ReadSummary), TraceError> {
        let told = &mut self.told;
        if let Some(first) = told.first_unreadable.as_ref()
            && told.unreadable > told.lines / super::read::MAX_UNREADABLE_ONE_IN
        {
            return Err(TraceError::Unreadable {
                path: path.to_owned(),
                format: told.format,
                unreadable: told.unreadable,
                lines: told.lines,
                line: first.line,
                text: first.text.clone(),
                why: first.why,
            });
        }
        if self.requests.is_empty() {
            let words = told.left_out_words().join("; ");
            let of = if words.is_empty() { words } else { format!(" ({words})") };
            return Err(TraceError::Empty { path: path.to_owned(), of });
        }
        let misfit = |source| TraceError::Misfit { path: path.to_owned(), source };
        told.out_of_order = self.clock.out_of_order;
        let mut trace = Trace::new(self.requests, self.names.finish()).map_err(misfit)?;
        if self.has.sizes
            && let Some(sizes) = largest_size::table(self.seen.iter().copied(), told)
        {
            trace = trace.with_size_table(sizes).map_err(misfit)?;
        }
        if self.has.seconds {
            trace = trace.with_seconds(self.clock.seconds).map_err(misfit)?;
        }
        if self.has.clients {
            trace = trace.with_clients(self.client_of).map_err(misfit)?;
        }
        Ok((trace, self.told))
    }
}

/// Times as seconds since the first, never falling.
#[derive(Debug, Default)]
pub(super) struct Clock {
    first: Option<i64>,
    latest: u32,
    pub seconds: Vec<u32>,
    pub out_of_order: u64,
}

impl Clock {
    /// Takes a time; whether it is within what can be told. One before the latest counts as the
    /// latest.
    pub(super) fn push(&mut self, second: i64) -> bool {
        let first = *self.first.get_or_insert(second);
        let since = second.saturating_sub(first);
        let Ok(since) = u32::try_from(since.max(0)).map(|_| since) else { return false };
        if since < i64::from(self.latest) {
            self.out_of_order += 1;
        }
        self.latest = u32::try_from(since).unwrap_or(0).max(self.latest);
        self.seconds.push(self.latest);
        true
    }
}

/// How much of a line is shown, in bytes.
const EXCERPT_BYTES: usize = 100;

/// The beginning of a text, what is not printable escaped.
pub(super) fn excerpt(text: &[u8]) -> String {
    excerpt_of(text, EXCERPT_BYTES)
}

/// As [`excerpt`], of so many bytes at most.
pub(super) fn excerpt_of(text: &[u8], bytes: usize) -> String {
    plimsoll_workload::access_log::excerpt(text, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_never_fall() {
        let mut clock = Clock::default();
        for second in [10, 12, 11, 9, i64::MIN, 12, 13] {
            assert!(clock.push(second));
        }
        assert!(!clock.push(i64::MAX) && !clock.push(10 + (1 << 32)));
        assert!(clock.push(9 + (1 << 32)));
        assert_eq!(clock.seconds, [0, 2, 2, 2, 2, 2, 3, u32::MAX]);
        assert_eq!(clock.out_of_order, 3);
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt(b"a\tb\xff"), "a\\tb\\xff");
        assert_eq!(excerpt(&[b'x'; 101]), format!("{}…", "x".repeat(100)));
    }
}
