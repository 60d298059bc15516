//! The import: one pass over a log.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::entry::{Entry, Why};
use super::error::LogError;
use super::input::{self, Input};
use super::left_out::LeftOut;
use super::log_format::LogFormat;
use super::reading::{EXCERPT_BYTES, Log, Step, excerpt};
use super::rewrite::{Rewrite, UrlTexts};
use super::seconds::SecondCounts;
use super::urls::{Refused, UrlCounts};
use crate::request::Url;
use plimsoll_net::url::MAX_TARGET_BYTES;
use plimsoll_units::show_count;

/// How many unreadable lines are kept for showing.
const EXAMPLES: usize = 10;
/// Fewer requests are the same in two logs by chance.
const LEAST_SAME: u64 = 10;

/// How a log is imported.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The format; `None` tells it from the first lines.
    pub format: Option<LogFormat>,
    /// How many distinct URLs are kept; requests of the rest are left out.
    pub max_urls: usize,
    /// How paths are rewritten, one rule after the other.
    pub rewrites: Vec<Rewrite>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { format: None, max_urls: 200_000, rewrites: Vec::new() }
    }
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The log that it stands in.
    pub origin: String,
    /// Its number, from 1.
    pub line: u64,
    /// Its text, control characters escaped, cut to 200 bytes.
    pub text: String,
    /// What is missing.
    pub why: &'static str,
}

impl Unreadable {
    /// A line by its text.
    pub(super) fn of(origin: &str, line: u64, text: &[u8], why: Why) -> Self {
        Self { origin: origin.to_owned(), line, text: excerpt(text, EXCERPT_BYTES), why }
    }
}

/// What a log says.
///
/// `lines` = `requests` + `unreadable` + `empty`; `requests` = the sum of `seconds` = the sum of
/// `urls` + [`LeftOut::total`]. The list of URLs is one to GET, so requests of other methods are
/// counted in their seconds and left out of the list.
#[derive(Debug, Clone)]
pub struct ImportedLog {
    /// The format it was read in; of several logs, that of the first.
    pub format: LogFormat,
    /// Requests of every second.
    pub seconds: SecondCounts,
    /// By how many seconds the clock of the first line is ahead of UTC; `None` where its time has
    /// no zone.
    pub zone_s: Option<i32>,
    /// Distinct URLs that were asked for by GET, with their counts.
    pub urls: UrlCounts,
    /// Requests.
    pub requests: u64,
    /// Requests that are in no URL's count.
    pub left_out: LeftOut,
    /// Lines in all.
    pub lines: u64,
    /// Lines that are empty, or that say how others are to be read.
    pub empty: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The first ten of them.
    pub examples: Vec<Unreadable>,
    /// What of compressed logs could not be read: a sentence.
    pub damage: Option<String>,
    /// Logs that seem to be the same one twice: a sentence each.
    pub twice: Vec<String>,
}

/// What is the same of two logs that are one: how many requests, from when until when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Extent {
    requests: u64,
    first: i64,
    last: i64,
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
    import_all(&[path.to_owned()], options)
}

/// Imports files, of which there is at least one, as one log: in whatever order they are given.
/// Each has a format of its own, unless one is given.
///
/// # Errors
/// As for [`import`], of any of them.
pub fn import_all(paths: &[PathBuf], options: &ImportOptions) -> Result<ImportedLog, LogError> {
    let mut importing = Importing::new(options);
    for path in paths {
        importing.log(input::open(path)?, &path.display().to_string())?;
    }
    importing.finish()
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
    let mut importing = Importing::new(options);
    importing.log(input::unpacked(reader, origin)?, origin)?;
    importing.finish()
}

/// An import on its way.
struct Importing<'a> {
    options: &'a ImportOptions,
    texts: UrlTexts,
    refused: Refused,
    imported: Option<ImportedLog>,
    /// The logs before, with their names.
    read: Vec<(String, Extent)>,
}

impl<'a> Importing<'a> {
    fn new(options: &'a ImportOptions) -> Self {
        let texts = UrlTexts::new(&options.rewrites);
        Self { options, texts, refused: Refused::default(), imported: None, read: Vec::new() }
    }

    /// Reads one log to its end.
    fn log(&mut self, input: Input<'_>, origin: &str) -> Result<(), LogError> {
        let mut log = Log::start(input, origin, self.options.format.as_ref())?;
        let imported = self
            .imported
            .get_or_insert_with(|| ImportedLog::empty(log.format(), self.options.max_urls));
        let mut line = 0;
        let mut extent = Extent { requests: 0, first: i64::MAX, last: i64::MIN };
        while let Some(step) = log.next()? {
            line += 1;
            let unreadable = match step {
                Step::Request(entry, text) => match imported.request(&entry, &mut self.texts) {
                    Ok(refused) => {
                        self.refused.join(refused);
                        extent.add(entry.moment.second);
                        continue;
                    }
                    Err(why) => (why, text),
                },
                Step::Empty => {
                    imported.empty += 1;
                    continue;
                }
                Step::Unreadable(why, text) => (why, text),
            };
            imported.unreadable += 1;
            if imported.examples.len() < EXAMPLES {
                let (why, text) = unreadable;
                imported.examples.push(Unreadable::of(origin, line, text, why));
            }
        }
        imported.lines += line;
        if let Some(damage) = log.damage() {
            imported.damage = Some(match imported.damage.take() {
                None => damage,
                Some(before) => format!("{before}; {origin}: {damage}"),
            });
        }
        if let Some((other, _)) = self.read.iter().find(|(_, of)| *of == extent) {
            imported.twice.extend(extent.same(other, origin));
        }
        self.read.push((origin.to_owned(), extent));
        Ok(())
    }

    fn finish(mut self) -> Result<ImportedLog, LogError> {
        let Some(mut imported) = self.imported else {
            return Err(LogError::Empty { origin: "no file".to_owned() });
        };
        self.refused.join(imported.urls.flush(is_usable));
        imported.urls.sort();
        imported.left_out.beyond += self.refused.full;
        imported.left_out.without_url += self.refused.unusable;
        Ok(imported)
    }
}

impl Extent {
    fn add(&mut self, second: i64) {
        self.requests += 1;
        self.first = self.first.min(second);
        self.last = self.last.max(second);
    }

    /// Says that two logs are one; `None` where too little is the same to tell.
    fn same(&self, one: &str, other: &str) -> Option<String> {
        let is_much = self.requests >= LEAST_SAME && self.last > self.first;
        let what = if one == other {
            format!("{one} was named twice, and counts twice")
        } else {
            let requests = show_count(self.requests);
            format!(
                "{one} and {other} both have {requests} requests between the same two seconds: \
                 they seem to be the same log, and count twice"
            )
        };
        (one == other || is_much).then_some(what)
    }
}

impl ImportedLog {
    fn empty(format: &LogFormat, max_urls: usize) -> Self {
        Self {
            format: format.clone(),
            seconds: SecondCounts::new(),
            zone_s: None,
            urls: UrlCounts::new(max_urls),
            requests: 0,
            left_out: LeftOut::default(),
            lines: 0,
            empty: 0,
            unreadable: 0,
            examples: Vec::new(),
            damage: None,
            twice: Vec::new(),
        }
    }

    /// The second of the first request, since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn first_second(&self) -> i64 {
        self.seconds.first()
    }

    /// Counts one request; what its URL's batch refused.
    fn request(&mut self, entry: &Entry<'_>, texts: &mut UrlTexts) -> Result<Refused, Why> {
        if !self.seconds.add(entry.moment.second) {
            return Err("a second for which there is no room left");
        }
        if self.requests == 0 {
            self.zone_s = entry.moment.zone_s;
        }
        self.requests += 1;
        if entry.method != b"GET" {
            self.left_out.method(entry);
            return Ok(Refused::default());
        }
        Ok(match texts.text(entry) {
            Some(url) => self.urls.add_later(url, is_usable),
            None => Refused { full: 0, unusable: 1 },
        })
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
