//! The import: one pass over a log.

use std::io::Read;
use std::path::Path;

use super::entry::{Entry, Why, url_text};
use super::error::LogError;
use super::format::Format;
use super::input::{self, Input};
use super::left_out::LeftOut;
use super::reading::{EXCERPT_BYTES, Log, Step, excerpt};
use super::seconds::SecondCounts;
use super::urls::{Refused, UrlCounts};
use crate::request::Url;
use plimsoll_net::url::MAX_TARGET_BYTES;

/// How many unreadable lines are kept for showing.
const EXAMPLES: usize = 10;

/// How a log is imported.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The format; `None` tells it from the first lines.
    pub format: Option<Format>,
    /// How many distinct URLs are kept; requests of the rest are left out.
    pub max_urls: usize,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { format: None, max_urls: 200_000 }
    }
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its number, from 1.
    pub line: u64,
    /// Its text, control characters escaped, cut to 200 bytes.
    pub text: String,
    /// What is missing.
    pub why: &'static str,
}

/// What a log says.
///
/// `lines` = `requests` + `unreadable` + `empty`; `requests` = the sum of `seconds` = the sum of
/// `urls` + [`LeftOut::total`]. The list of URLs is one to GET, so requests of other methods are
/// counted in their seconds and left out of the list.
#[derive(Debug, Clone)]
pub struct ImportedLog {
    /// The format it was read in.
    pub format: Format,
    /// Requests of every second.
    pub seconds: SecondCounts,
    /// Distinct URLs that were asked for by GET, with their counts.
    pub urls: UrlCounts,
    /// Requests.
    pub requests: u64,
    /// Requests that are in no URL's count.
    pub left_out: LeftOut,
    /// Lines in all.
    pub lines: u64,
    /// Lines that are empty.
    pub empty: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The first ten of them.
    pub examples: Vec<Unreadable>,
    /// What of a compressed log could not be read: a sentence.
    pub damage: Option<String>,
}

/// Imports a file.
///
/// # Errors
/// A file that cannot be opened or read to its end, that is empty, or of no known format.
///
/// # Cost
/// One pass; memory for at most [`ImportOptions::max_urls`] URLs (64 MiB of text) and the seconds
/// covered.
pub fn import(path: &Path, options: &ImportOptions) -> Result<ImportedLog, LogError> {
    run(input::open(path)?, &path.display().to_string(), options)
}

/// Imports a stream, such as standard input; `origin` is what errors call it.
///
/// # Errors
/// As for [`import`].
pub fn import_from(
    reader: impl Read + Send,
    origin: &str,
    options: &ImportOptions,
) -> Result<ImportedLog, LogError> {
    run(input::unpacked(reader, origin)?, origin, options)
}

fn run(input: Input<'_>, origin: &str, options: &ImportOptions) -> Result<ImportedLog, LogError> {
    let mut log = Log::start(input, origin, options.format)?;
    let mut imported = ImportedLog::empty(log.format(), options.max_urls);
    let mut scratch = Vec::new();
    let mut refused = Refused::default();
    let mut line = 0;
    while let Some(step) = log.next()? {
        line += 1;
        match step {
            Step::Request(entry, text) => {
                refused.join(imported.request(&entry, &mut scratch, line, text));
            }
            Step::Empty => imported.empty += 1,
            Step::Unreadable(why, text) => imported.not_readable(why, line, text),
        }
    }
    imported.lines = line;
    refused.join(imported.urls.flush(is_usable));
    imported.urls.sort();
    imported.left_out.beyond += refused.full;
    imported.left_out.without_url += refused.unusable;
    imported.damage = log.damage();
    Ok(imported)
}

impl ImportedLog {
    fn empty(format: Format, max_urls: usize) -> Self {
        Self {
            format,
            seconds: SecondCounts::new(),
            urls: UrlCounts::new(max_urls),
            requests: 0,
            left_out: LeftOut::default(),
            lines: 0,
            empty: 0,
            unreadable: 0,
            examples: Vec::new(),
            damage: None,
        }
    }

    /// The second of the first request, since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn first_second(&self) -> i64 {
        self.seconds.first()
    }

    /// Counts one request; what its URL's batch refused.
    fn request(
        &mut self,
        entry: &Entry<'_>,
        scratch: &mut Vec<u8>,
        line: u64,
        text: &[u8],
    ) -> Refused {
        if !self.seconds.add(entry.moment.second) {
            self.not_readable("a second for which there is no room left", line, text);
            return Refused::default();
        }
        self.requests += 1;
        if entry.method != b"GET" {
            self.left_out.method(entry);
            return Refused::default();
        }
        match url_text(entry, scratch) {
            Some(url) => self.urls.add_later(url, is_usable),
            None => Refused { full: 0, unusable: 1 },
        }
    }

    fn not_readable(&mut self, why: Why, line: u64, text: &[u8]) {
        self.unreadable += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(Unreadable { line, text: excerpt(text, EXCERPT_BYTES), why });
        }
    }
}

/// Whether a URL seen for the first time can be asked for: a path always, a whole URL where it is
/// one. (Once the list is full, whole URLs are not looked at and count as other.)
pub(super) fn is_usable(url: &[u8]) -> bool {
    if url.starts_with(b"/") {
        return url.len() <= MAX_TARGET_BYTES;
    }
    std::str::from_utf8(url).is_ok_and(|url| Url::parse(url).is_ok())
}
