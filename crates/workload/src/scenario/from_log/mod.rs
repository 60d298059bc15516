//! Scenarios of what a server logged: how users walk through a site, as its access log tells.
//!
//! A session is the requests of one client, told by a cookie or by his address, until he asks for
//! nothing for half an hour. A page is a GET or a HEAD of what is no static file and was answered
//! below 400. Of all sessions is counted how many pages they have, and how long their users think
//! between two pages; of all pages how often each was asked for. A user of the scenario draws his
//! number of pages, and for each the page by how often it was asked for: which page follows which
//! is not kept.
//!
//! Logs are read once, as streams, several as one. Memory depends on the clients that are active
//! within half an hour and on the distinct pages, both bounded, never on the number of lines.

mod fit;
mod pages;
mod senders;
mod sessions;
mod write;

use std::collections::BTreeMap;
use std::io::Read;

use crate::access_log::{Answered, LogError, LogFormat, LogLine, LogReader};
use crate::distribution::Distribution;
use crate::scenario::written::is_static;
use pages::Pages;
use senders::Senders;
use sessions::Sessions;

/// How clients are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum By {
    /// By name or address.
    #[default]
    Address,
    /// By the value of this cookie, where the line has it as `name=value`; else by address.
    Cookie(String),
}

/// How a log becomes a scenario.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// How clients are told apart.
    pub by: By,
    /// After how many seconds without a request a session is over.
    pub gap_s: u32,
    /// How many pages the scenario has; those asked for less often are left out.
    pub pages: usize,
    /// The format; `None` tells it from the first lines.
    pub format: Option<LogFormat>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { by: By::Address, gap_s: 1800, pages: 100, format: None }
    }
}

/// Clients that look like servers in between, which ask for everybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Few {
    /// The first of them.
    pub client: String,
    /// How many there are.
    pub clients: u64,
    /// Whether most lines end with another address, in quotes: that of `X-Forwarded-For`.
    pub is_forwarded: bool,
}

/// Requests that are in no step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Of methods whose requests have bodies, which no log has.
    pub methods: BTreeMap<String, u64>,
    /// Answered 400 or above, or not at all.
    pub failed: u64,
    /// Without a URL or a method.
    pub without_url: u64,
    /// Whose client the log does not say.
    pub without_client: u64,
    /// For which there was no room: more clients at once, or more pages, than are kept.
    pub beyond: u64,
    /// Of pages that are asked for too seldom.
    pub seldom: u64,
    /// Of other hosts than the main one.
    pub hosts: u64,
}

/// A scenario, as a log has it.
#[derive(Debug, Clone)]
pub struct LogScenario {
    /// The file.
    pub text: String,
    /// The format it was read in; the different ones of several logs.
    pub format: String,
    /// Lines in all.
    pub lines: u64,
    /// Lines that cannot be read.
    pub unreadable: u64,
    /// Requests.
    pub requests: u64,
    /// Sessions.
    pub sessions: u64,
    /// Pages of all sessions.
    pub pages: u64,
    /// Static files.
    pub static_files: u64,
    /// Distinct pages in the scenario.
    pub distinct: usize,
    /// How long a user thinks between two pages; `None` where no session has two.
    pub think: Option<Distribution>,
    /// The mean of that, seconds.
    pub think_s: f64,
    /// From the first request to the last, seconds.
    pub span_s: i64,
    /// The clients, where they are so few and ask for so much that they are none.
    pub few: Option<Few>,
    /// Requests that were told by address, as their line has not the cookie.
    pub without_cookie: u64,
    /// Requests that are in no step.
    pub left_out: LeftOut,
    /// What of a compressed log could not be read: a sentence.
    pub damage: Option<String>,
}

/// Makes a scenario of logs, plain or gzip, each with what errors and the file call it. Several are
/// merged by time: those of several servers, or of one whose log was rotated, in any order.
///
/// # Errors
/// What cannot be read, is no log, or where none has a page of a client.
///
/// # Cost
/// One pass; memory for at most 200,000 clients at once and 100,000 pages.
pub fn convert<R: Read + Send>(
    logs: Vec<(R, String)>,
    options: &LogOptions,
) -> Result<LogScenario, LogError> {
    let names: Vec<&str> = logs.iter().map(|(_, name)| name.as_str()).collect();
    let origin = names.join(", ");
    let mut reader = LogReader::merged(logs, options.format.as_ref())?;
    let mut walks = Walks::new(options);
    while let Some(line) = reader.next_line()? {
        walks.lines += 1;
        match line {
            LogLine::Empty => {}
            LogLine::Unreadable { .. } => walks.unreadable += 1,
            LogLine::Answered(answered) => walks.take(&answered),
        }
    }
    walks.sessions.end();
    if walks.sessions.count() == 0 {
        return Err(LogError::NoSessions { origin });
    }
    Ok(walks.scenario(&origin, reader.formats(), reader.damage()))
}

/// What is counted while a log is read.
struct Walks<'a> {
    options: &'a LogOptions,
    sessions: Sessions,
    pages: Pages,
    files: Pages,
    left_out: LeftOut,
    lines: u64,
    unreadable: u64,
    requests: u64,
    without_cookie: u64,
    senders: Senders,
    /// The first and the last second.
    span: Option<(i64, i64)>,
}

impl<'a> Walks<'a> {
    fn new(options: &'a LogOptions) -> Self {
        Self {
            options,
            sessions: Sessions::new(options.gap_s),
            pages: Pages::default(),
            files: Pages::default(),
            left_out: LeftOut::default(),
            lines: 0,
            unreadable: 0,
            requests: 0,
            without_cookie: 0,
            senders: Senders::default(),
            span: None,
        }
    }

    fn take(&mut self, answered: &Answered<'_>) {
        self.requests += 1;
        let second = answered.second;
        let (first, last) = self.span.unwrap_or((second, second));
        self.span = Some((first.min(second), last.max(second)));
        let Some(url) = answered.url.filter(|_| !answered.method.is_empty()) else {
            self.left_out.without_url += 1;
            return;
        };
        let verb = match answered.method {
            b"GET" => "get",
            b"HEAD" => "head",
            other => {
                let method = String::from_utf8_lossy(&other[..other.len().min(32)]).into_owned();
                *self.left_out.methods.entry(method).or_default() += 1;
                return;
            }
        };
        // A log of a format that is read without its statuses says nothing against a request.
        let status = answered.status.unwrap_or(200);
        if status >= 400 {
            self.left_out.failed += 1;
            return;
        }
        let (host, target) = host_and_target(answered.site, url);
        if is_static(target) {
            self.files.add(host, verb, target, status);
            return;
        }
        let Some(client) = self.client(answered) else {
            self.left_out.without_client += 1;
            return;
        };
        self.senders.add(&client, answered.line);
        let has_room = self.sessions.page(&client, second);
        if !has_room || !self.pages.add(host, verb, target, status) {
            self.left_out.beyond += 1;
        }
    }

    /// Who asked; clients told by cookie and by address are never the same.
    fn client(&mut self, answered: &Answered<'_>) -> Option<Vec<u8>> {
        if let By::Cookie(name) = &self.options.by {
            if let Some(value) = sessions::cookie(answered.line, name.as_bytes()) {
                return Some([b"=", value].concat());
            }
            self.without_cookie += 1;
        }
        sessions::address(answered)
    }
}

/// The host that was asked, empty where the log does not say, and path and query.
fn host_and_target<'l>(site: &'l [u8], url: &'l [u8]) -> (&'l str, &'l str) {
    // What is logged as a URL is visible ASCII.
    let url = std::str::from_utf8(url).unwrap_or("/");
    let site = std::str::from_utf8(site).unwrap_or_default();
    match url.split_once("://") {
        Some((_, rest)) if !url.starts_with('/') => {
            let end = rest.find('/').unwrap_or(rest.len());
            (&rest[..end], if end < rest.len() { &rest[end..] } else { "/" })
        }
        _ => (site, url),
    }
}
