//! The compiled form of a trace, `.plt`: what [`Trace`] has in memory, as it is there, so that it
//! is read at the speed of copying.
//!
//! All numbers are little endian. The file is
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `89 50 4C 54 0D 0A 1A 0A`: as PNG's, it shows where a transfer changed line ends |
//! | 4, 4 | version, 1; number of sections |
//! | 8, 8 | requests; objects |
//! | 8 | checksum of the 32 bytes before |
//!
//! and then sections, each at most once, in any order, to the end of the file:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4, 4 | kind; 0 |
//! | 8 | bytes of data |
//! | … | data |
//! | 8 | checksum of all of these |
//!
//! | kind | data |
//! | --- | --- |
//! | 1 | `u32` a request: its object |
//! | 2, 3 | `u32` or `u64` an object: its bytes |
//! | 4 | pairs of `u32`, second and number of requests in it: seconds since the first, rising |
//! | 5 | `u32` a request: its client |
//! | 6 | `u64` an object: its name |
//! | 7, 8 | `u64` an object: where its name ends in the text; the text |
//!
//! The checksum is FNV-1a over words of 64 bits in four lanes: each step is one to one, so a
//! change within one word never goes unseen.

mod checksum;
mod section;
mod write;

use std::path::Path;

use self::section::Sections;
use super::input::Input;
use super::read::Limits;
use super::{Format, Names, ReadSummary, SizeTable, Trace, TraceError};

pub use write::{write, write_file};

/// What a file begins with.
pub const MAGIC: [u8; 8] = *b"\x89PLT\r\n\x1a\n";

const VERSION: u32 = 1;

mod kind {
    pub(super) const REQUESTS: u32 = 1;
    pub(super) const SIZES_NARROW: u32 = 2;
    pub(super) const SIZES_WIDE: u32 = 3;
    pub(super) const SECONDS: u32 = 4;
    pub(super) const CLIENTS: u32 = 5;
    pub(super) const NAMES_NUMBERS: u32 = 6;
    pub(super) const NAMES_ENDS: u32 = 7;
    pub(super) const NAMES_TEXT: u32 = 8;
}

/// The sections of a file, as far as they are there.
#[derive(Default)]
struct Parts {
    requests: Option<Vec<u32>>,
    sizes: Option<SizeTable>,
    runs: Option<Vec<u32>>,
    clients: Option<Vec<u32>>,
    numbers: Option<Vec<u64>>,
    ends: Option<Vec<u64>>,
    text: Option<Vec<u8>>,
}

/// Reads a trace.
///
/// *Errors*: a file that is cut off, changed, of another version, or not one of these; more than
/// the limits; a reader that fails.
///
/// *Cost*: the memory of the trace; a plain file's own length bounds what is made for it.
pub fn read(input: Input, limits: &Limits) -> Result<(Trace, ReadSummary), TraceError> {
    let path = input.path().to_owned();
    let mut sections = Sections::begin(input)?;
    let head = sections.head();
    if head.requests > limits.requests as u64 {
        return Err(super::collect::Full::of_requests(limits).error(&path));
    }
    let mut parts = Parts::default();
    for _ in 0..head.sections {
        parts.take(&mut sections, limits)?;
    }
    sections.end()?;
    let mut told = ReadSummary::new(Format::Compiled);
    told.lines = head.requests;
    let trace = parts.trace(&sections)?;
    if trace.is_empty() {
        return Err(TraceError::Empty { path, of: String::new() });
    }
    Ok((trace, told))
}

impl Parts {
    fn take(&mut self, sections: &mut Sections, limits: &Limits) -> Result<(), TraceError> {
        let head = sections.head();
        let (kind, bytes) = sections.next()?;
        let (requests, objects) = (head.requests, head.objects);
        match kind {
            kind::REQUESTS => once(&mut self.requests, sections.values(requests * 4)?, sections),
            kind::SIZES_NARROW => {
                let sizes = SizeTable::Narrow(sections.values(objects * 4)?);
                once(&mut self.sizes, sizes, sections)
            }
            kind::SIZES_WIDE => {
                let sizes = SizeTable::Wide(sections.values(objects * 8)?);
                once(&mut self.sizes, sizes, sections)
            }
            kind::SECONDS => {
                if bytes > requests * 8 {
                    return Err(sections.wrong("at most a second a request", bytes));
                }
                once(&mut self.runs, sections.values(bytes)?, sections)
            }
            kind::CLIENTS => once(&mut self.clients, sections.values(requests * 4)?, sections),
            kind::NAMES_NUMBERS => once(&mut self.numbers, sections.values(objects * 8)?, sections),
            kind::NAMES_ENDS => once(&mut self.ends, sections.values(objects * 8)?, sections),
            kind::NAMES_TEXT => {
                if bytes > limits.name_bytes {
                    let (path, most) = (sections.path().to_owned(), limits.name_bytes);
                    return Err(TraceError::TooMany { path, most, of: "bytes of names" });
                }
                once(&mut self.text, sections.values(bytes)?, sections)
            }
            other => Err(sections.wrong("a section of kind 1 to 8", other)),
        }
    }

    fn trace(self, sections: &Sections) -> Result<Trace, TraceError> {
        let misfit = |source| TraceError::Misfit { path: sections.path().to_owned(), source };
        let requests = self.requests.ok_or_else(|| sections.wrong("requests", "none"))?;
        let names = match (self.numbers, self.ends, self.text) {
            (Some(numbers), None, None) => Names::Numbers(numbers),
            (None, Some(ends), Some(bytes)) => Names::Text { bytes, ends },
            _ => return Err(sections.wrong("names as numbers or as text", "neither or both")),
        };
        let count = requests.len();
        let mut trace = Trace::new(requests, names).map_err(misfit)?;
        if let Some(runs) = self.runs {
            let seconds = seconds(&runs, count)
                .ok_or_else(|| sections.wrong("a second for each request", "more or fewer"))?;
            trace = trace.with_seconds(seconds).map_err(misfit)?;
        }
        if let Some(sizes) = self.sizes {
            trace = trace.with_size_table(sizes).map_err(misfit)?;
        }
        if let Some(clients) = self.clients {
            trace = trace.with_clients(clients).map_err(misfit)?;
        }
        Ok(trace)
    }
}

/// Keeps a part that was not there yet.
fn once<T>(place: &mut Option<T>, part: T, sections: &Sections) -> Result<(), TraceError> {
    if place.replace(part).is_some() {
        return Err(sections.wrong("each section once", "one twice"));
    }
    Ok(())
}

/// The second of each of `count` requests, from pairs of second and number.
fn seconds(runs: &[u32], count: usize) -> Option<Vec<u32>> {
    let (pairs, rest) = runs.as_chunks::<2>();
    let sum: u64 = pairs.iter().map(|pair| u64::from(pair[1])).sum();
    if !rest.is_empty() || sum != count as u64 {
        return None;
    }
    let mut seconds = Vec::with_capacity(count);
    for [second, number] in pairs {
        seconds.resize(seconds.len() + *number as usize, *second);
    }
    Some(seconds)
}

/// Whether a file begins as one of these does.
#[must_use]
pub fn is_compiled(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

/// What the path of such a file ends in.
pub const EXTENSION: &str = "plt";

/// Whether a path is that of a compiled trace.
#[must_use]
pub fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

#[cfg(test)]
mod tests;
