//! Replay: the requests of a log, in its order, at its pace.
//!
//! A first pass learns what is asked for and how often in each second; a second one gives request
//! after request with its due time. So the memory is that of the distinct requests, not of the
//! log.
//!
//! # Due times
//!
//! Requests come in the order of the file, and due times never go back. Servers log requests when
//! they end, so that a log's times go back and forth by seconds. The k-th request of the file
//! therefore gets the second of the k-th in order of time: every second has exactly as many
//! requests as were logged in it, and a single line with a wrong time moves no other by more than
//! one place. Within its second a request is due at the fraction logged, if the line bears one and
//! is of that second; else the i-th of n is due at i/n, evenly. In a log that is in order and has
//! fractions, every request is due exactly when it was logged.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::date::Moment;
use super::entry::{Entry, is_method};
use super::error::LogError;
use super::import::{Unreadable, is_usable};
use super::left_out::LeftOut;
use super::log_format::LogFormat;
use super::logs::{self, Logs};
use super::reading::{Log, Step};
use super::rewrite::{Rewrite, UrlTexts};
use super::seconds::SecondCounts;
use super::site;
use super::urls::{Refusal, UrlCounts};
use crate::arrivals::Share;
use crate::request::{Order, Request, Requests};

const SECOND_NS: u64 = 1_000_000_000;

/// How many hosts are told apart, for saying what a log names.
const MOST_HOSTS: usize = 100;

/// How a log is replayed.
#[derive(Debug, Clone)]
pub struct ReplayOptions {
    /// The format; `None` tells it from the first lines.
    pub format: Option<LogFormat>,
    /// How many distinct requests are kept; others are left out.
    pub max_urls: usize,
    /// Whether methods that change something (POST, DELETE, …) are sent too, without a body, as a
    /// log has none. Otherwise only GET, HEAD and OPTIONS are: RFC 9110 section 9.2.1, less TRACE.
    pub unsafe_methods: bool,
    /// Whether whole URLs, as the log of a proxy has them, are asked of the servers they name.
    /// Otherwise their paths are asked of the server under load: nobody else's server gets load
    /// by mistake.
    pub other_servers: bool,
    /// Whether the host that a line names is sent as `Host`. Otherwise it is that of the server
    /// under load.
    pub keep_host: bool,
    /// How paths are rewritten, one rule after the other.
    pub rewrites: Vec<Rewrite>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            format: None,
            max_urls: 200_000,
            unsafe_methods: false,
            other_servers: false,
            keep_host: false,
            rewrites: Vec::new(),
        }
    }
}

/// A log that can be replayed, any number of times.
#[derive(Debug, Clone)]
pub struct Replay {
    paths: Vec<PathBuf>,
    options: ReplayOptions,
    format: LogFormat,
    seconds: SecondCounts,
    table: UrlCounts,
    lines: u64,
    requests: u64,
    left_out: LeftOut,
    unreadable: u64,
    empty: u64,
    damage: Option<String>,
    /// The first line that could not be read.
    example: Option<Unreadable>,
    /// The hosts that lines name, up to [`MOST_HOSTS`].
    hosts: BTreeSet<Vec<u8>>,
    /// Each request in its order, where the log cannot be read a second time.
    kept: Option<Vec<(Moment, u32)>>,
}

/// One request of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayRequest {
    /// When it is due, in nanoseconds since the first second of the log.
    pub offset_ns: u64,
    /// What is asked for: an index into [`Replay::requests`]'s list.
    pub index: u32,
}

impl Replay {
    /// Reads the log once.
    ///
    /// # Errors
    /// A file that cannot be read, or holds nothing to replay.
    pub fn open(path: &Path, options: &ReplayOptions) -> Result<Self, LogError> {
        Self::open_all(&[path.to_owned()], options)
    }

    /// Reads logs once, of which there is at least one: they are merged by time, in whatever order
    /// they are given.
    ///
    /// # Errors
    /// As for [`Self::open`], of any of them; more than [`MOST_LOGS`](logs::MOST_LOGS).
    pub fn open_all(paths: &[PathBuf], options: &ReplayOptions) -> Result<Self, LogError> {
        let mut logs = Logs::open(paths, options.format.as_ref())?;
        let Some(first) = logs.all().first() else {
            return Err(LogError::Empty { origin: "no file".to_owned() });
        };
        // A pipe has what it has only once.
        let is_file = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|found| found.is_file());
        let mut replay = Self {
            paths: paths.to_owned(),
            options: options.clone(),
            format: first.format().clone(),
            seconds: SecondCounts::new(),
            table: UrlCounts::new(options.max_urls),
            lines: 0,
            requests: 0,
            left_out: LeftOut::default(),
            unreadable: 0,
            empty: 0,
            damage: None,
            example: None,
            hosts: BTreeSet::new(),
            kept: (!paths.iter().all(is_file)).then(Vec::new),
        };
        let mut keys = Keys::new(options);
        while let Some(at) = logs.advance()? {
            let format = logs.all()[at].format().named();
            let Some(step) = logs.next_of(at)? else { break };
            replay.lines += 1;
            let unreadable = match step {
                Step::Request(entry, line) => {
                    keys.host(site::of_line(&entry, line, format));
                    replay.learn(&entry, &mut keys);
                    continue;
                }
                Step::Empty => {
                    replay.empty += 1;
                    continue;
                }
                Step::Unreadable(why, text) if replay.example.is_none() => (why, text.to_owned()),
                Step::Unreadable(why, _) => (why, Vec::new()),
            };
            replay.unreadable += 1;
            if replay.example.is_none() {
                let (log, (why, text)) = (&logs.all()[at], unreadable);
                replay.example = Some(Unreadable::of(log.origin(), log.line(), &text, why));
            }
        }
        let damage = logs.all().iter().filter_map(Log::damage).collect::<Vec<_>>();
        replay.damage = (!damage.is_empty()).then(|| damage.join("; "));
        if replay.requests == 0 {
            let left_out = Box::new(replay.left_out);
            return Err(LogError::NothingToReplay { origin: logs::names(paths), left_out });
        }
        Ok(replay)
    }

    fn learn(&mut self, entry: &Entry<'_>, keys: &mut Keys) {
        if !may_be_asked(entry.method, &self.options) {
            return self.left_out.method(entry);
        }
        let Some(url) = keys.make(entry) else {
            self.left_out.without_url += 1;
            return;
        };
        match self.table.add(&keys.key, |key| is_usable(&key[url])) {
            Err(Refusal::Full) => self.left_out.beyond += 1,
            Err(Refusal::Unusable) => self.left_out.without_url += 1,
            Ok(_) if !self.seconds.add(entry.moment.second) => self.unreadable += 1,
            Ok(index) => {
                self.requests += 1;
                self.kept.iter_mut().for_each(|kept| kept.push((entry.moment, index)));
                let is_new = !keys.host.is_empty() && !self.hosts.contains(&keys.host);
                if is_new && self.hosts.len() < MOST_HOSTS {
                    self.hosts.insert(keys.host.clone());
                }
            }
        }
    }

    /// The distinct requests of the log, made like `like` but for method and URL; paths belong to
    /// its server. The order is that of [`Replay::due`], which gives indices into this list.
    ///
    /// # Errors
    /// A URL that cannot be asked for.
    pub fn requests(&self, like: &Request) -> Result<Requests, LogError> {
        let mut list = Vec::with_capacity(self.table.len());
        for key in self.table.by_index() {
            let text = String::from_utf8_lossy(key);
            let (method, rest) = text.split_once(' ').unwrap_or(("GET", &text));
            let (url, host) = rest.split_once(' ').unwrap_or((rest, ""));
            let whole = like.url.join(url);
            let here = whole.and_then(|whole| {
                if self.options.other_servers { Ok(whole) } else { like.url.join(&whole.target) }
            });
            let request = here.and_then(|here| like.at(here).method(method));
            let request = request.and_then(|request| match host {
                "" => Ok(request),
                host => request.header(&format!("host: {host}")),
            });
            list.push(request.map_err(|error| {
                let origin = logs::names(&self.paths);
                LogError::Url { origin, url: url.to_owned(), error: Box::new(error) }
            })?);
        }
        Ok(Requests { list, order: Order::InOrder })
    }

    /// The requests of one share with their due times, in the order of the file.
    ///
    /// # Errors
    /// A file that cannot be read again.
    pub fn due(&self, share: Share) -> Result<ReplayRequests<'_>, LogError> {
        let source = match &self.kept {
            Some(kept) => Source::Kept(kept.iter()),
            None => Source::Logs(Box::new(Logs::open(&self.paths, self.options.format.as_ref())?)),
        };
        Ok(ReplayRequests {
            replay: self,
            source,
            first: self.seconds.first(),
            seconds: Box::new(self.seconds.busy()),
            second: (0, 0),
            place: 0,
            last_ns: 0,
            number: 0,
            ended: false,
            share: (u64::from(share.index), u64::from(share.of.max(1))),
            keys: Keys::new(&self.options),
        })
    }

    /// The format of the log; of several, that of the first.
    #[must_use]
    pub fn format(&self) -> &LogFormat {
        &self.format
    }

    /// Requests in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.requests
    }

    /// From the first second to the end of the last, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.seconds.span_s() * SECOND_NS
    }

    /// How many are due in each second.
    #[must_use]
    pub fn seconds(&self) -> &SecondCounts {
        &self.seconds
    }

    /// Lines in all: requests, those left out, unreadable and empty ones.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Requests that are left out: unsafe methods, no URL, more distinct ones than wanted.
    #[must_use]
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Lines that could not be read.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// The first line that could not be read.
    #[must_use]
    pub fn example(&self) -> Option<&Unreadable> {
        self.example.as_ref()
    }

    /// The hosts that lines name, in the order of their letters; at most a hundred.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = Cow<'_, str>> {
        self.hosts.iter().map(|host| String::from_utf8_lossy(host))
    }

    /// Lines with nothing in them, or that say how others are to be read.
    #[must_use]
    pub fn empty(&self) -> u64 {
        self.empty
    }

    /// What of a compressed log could not be read: a sentence.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }
}

/// Whether requests of a method may be asked again. CONNECT, a method in lower case, and what is
/// none ask for nothing that could be.
fn may_be_asked(method: &[u8], options: &ReplayOptions) -> bool {
    let is_safe = matches!(method, b"GET" | b"HEAD" | b"OPTIONS");
    let has_lower_case = method.iter().any(u8::is_ascii_lowercase);
    let is_any = is_method(method) && !has_lower_case && method != b"CONNECT";
    is_safe || options.unsafe_methods && is_any
}

/// By what requests are told apart: `METHOD URL`, or `METHOD URL HOST` where hosts are kept.
struct Keys {
    texts: UrlTexts,
    keep_host: bool,
    key: Vec<u8>,
    /// The host of the present line; empty where it names none.
    host: Vec<u8>,
}

impl Keys {
    fn new(options: &ReplayOptions) -> Self {
        let texts = UrlTexts::new(&options.rewrites);
        Self { texts, keep_host: options.keep_host, key: Vec::new(), host: Vec::new() }
    }

    fn host(&mut self, host: &[u8]) {
        self.host.clear();
        self.host.extend_from_slice(host);
    }

    /// Makes the key of a request; where its URL stands in it.
    fn make(&mut self, entry: &Entry<'_>) -> Option<Range<usize>> {
        let url = self.texts.text(entry)?;
        self.key.clear();
        self.key.extend_from_slice(entry.method);
        self.key.push(b' ');
        let start = self.key.len();
        self.key.extend_from_slice(url);
        let end = self.key.len();
        if self.keep_host && !self.host.is_empty() {
            self.key.push(b' ');
            self.key.extend_from_slice(&self.host);
        }
        Some(start..end)
    }
}

/// Where the requests of a replay come from.
enum Source<'a> {
    Logs(Box<Logs<'static>>),
    Kept(std::slice::Iter<'a, (Moment, u32)>),
}

/// The requests of one share of a replay.
pub struct ReplayRequests<'a> {
    replay: &'a Replay,
    source: Source<'a>,
    first: i64,
    seconds: Box<dyn Iterator<Item = (i64, u32)> + Send + 'a>,
    /// The present second and how many requests it has.
    second: (i64, u32),
    /// How many of them have been given.
    place: u32,
    last_ns: u64,
    /// The number of the next request in the whole replay.
    number: u64,
    ended: bool,
    share: (u64, u64),
    keys: Keys,
}

impl ReplayRequests<'_> {
    /// The next request of the whole replay.
    fn advance(&mut self) -> Result<Option<ReplayRequest>, LogError> {
        let found = match &mut self.source {
            Source::Kept(kept) => kept.next().copied(),
            Source::Logs(logs) => next_of(logs, self.replay, &mut self.keys)?,
        };
        let Some((moment, index)) = found else {
            let is_whole = self.number == self.replay.requests;
            return if is_whole { Ok(None) } else { Err(self.replay.changed()) };
        };
        let Some(offset_ns) = self.due(moment) else { return Err(self.replay.changed()) };
        self.number += 1;
        Ok(Some(ReplayRequest { offset_ns, index }))
    }

    /// When the next request is due; `None` beyond the last.
    fn due(&mut self, logged: Moment) -> Option<u64> {
        while self.place == self.second.1 {
            self.second = self.seconds.next()?;
            self.place = 0;
        }
        let (second, count) = self.second;
        let fraction_ns = match logged.nanos {
            Some(nanos) if logged.second == second => u64::from(nanos),
            _ => u64::from(self.place) * SECOND_NS / u64::from(count),
        };
        self.place += 1;
        let start = u64::try_from(second - self.first).ok()? * SECOND_NS;
        self.last_ns = self.last_ns.max(start + fraction_ns);
        Some(self.last_ns)
    }
}

/// The next request of logs that are read again.
fn next_of(
    logs: &mut Logs<'_>,
    replay: &Replay,
    keys: &mut Keys,
) -> Result<Option<(Moment, u32)>, LogError> {
    while let Some(at) = logs.advance()? {
        let format = logs.all()[at].format().named();
        let Some(step) = logs.next_of(at)? else { break };
        let Step::Request(entry, line) = step else { continue };
        if keys.keep_host {
            keys.host(site::of_line(&entry, line, format));
        }
        if !may_be_asked(entry.method, &replay.options) || keys.make(&entry).is_none() {
            continue;
        }
        let moment = entry.moment;
        let index = replay.table.find(&keys.key);
        if let Some(index) = index.filter(|_| replay.seconds.has(moment.second)) {
            return Ok(Some((moment, index)));
        }
    }
    Ok(None)
}

impl Replay {
    fn changed(&self) -> LogError {
        LogError::Changed { origin: logs::names(&self.paths) }
    }
}

impl Iterator for ReplayRequests<'_> {
    type Item = Result<ReplayRequest, LogError>;

    /// An error is the last item.
    fn next(&mut self) -> Option<Self::Item> {
        let (index, of) = self.share;
        while !self.ended {
            let number = self.number;
            let request = self.advance();
            self.ended = !matches!(request, Ok(Some(_)));
            if self.ended || number % of == index {
                return request.transpose();
            }
        }
        None
    }
}
