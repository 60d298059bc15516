//! Scenarios of what a browser recorded: a HAR file becomes the file of a scenario.
//!
//! Each request of the site becomes a step, in the order in which they were sent; the site is the
//! one that was asked first, and its API may be on other hosts. Static files stand in groups called
//! `static files`, one behind each page. Between the end of all that was waited for and the next
//! request a user thinks, as long as in the recording, where that is a tenth of a second or more;
//! what goes on behind a page is no part of it. Redirects are followed by the step that meets them.
//! Cookies are left to the user's jar, and so are headers that a client writes itself.
//!
//! What is secret, by the name of its header, field, member or element, is written as
//! `{{env.NAME}}`, wherever it stands; what a page gave in a hidden field and was sent back becomes
//! a `take` of that page and `{{name}}`. Bodies whose grammar is not known are named. Requests of
//! other hosts, WebSockets, requests without an answer and of other methods are left out and
//! counted.

mod activity;
mod body;
mod hosts;
mod json;
mod names;
mod parts;
mod pieces;
mod recording;
mod scan;
pub(crate) mod secret_names;
mod secrets;
mod steps;
mod tokens;
mod urls;

use std::collections::BTreeMap;
use std::io::Read;

use plimsoll_units::failure::{Failure, Kind};

use secrets::Secrets;
use steps::Steps;

/// Why a recording is no scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarError {
    /// It cannot be read.
    #[error("read the recording {origin}")]
    Read {
        /// The file.
        origin: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is longer than 512 MiB.
    #[error("expected a recording of at most 512 MiB, found a longer one in {origin}")]
    TooLong {
        /// The file.
        origin: String,
    },
    /// It is no HAR file.
    #[error("expected a recording (HAR 1.2) in {origin}")]
    Format {
        /// The file.
        origin: String,
        /// Where it is not.
        #[source]
        source: serde_json::Error,
    },
    /// No request has a time at which it was sent.
    #[error(
        "expected a time such as 2026-11-20T05:00:00.123Z, found `{found}` in request {number} of \
         {origin}"
    )]
    Time {
        /// The file.
        origin: String,
        /// The request's place, from 1.
        number: usize,
        /// What stands there, cut.
        found: String,
    },
    /// A host that was chosen is not in it.
    #[error("expected a host of the recording {origin}, found `{found}`")]
    Host {
        /// The file.
        origin: String,
        /// The name that was given.
        found: String,
        /// The first servers that it has.
        known: Vec<String>,
    },
    /// There is nothing to ask for.
    #[error("expected requests by http or https that were answered, found none in {origin}")]
    Empty {
        /// The file.
        origin: String,
    },
}

impl Failure for HarError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Host { known, .. } => return Some(format!("it has {}", known.join(", "))),
            Self::TooLong { .. } => "record it without the bodies of answers",
            Self::Format { .. } => {
                "save it by the browser's network tools, as \"HAR\", with content where it asks"
            }
            Self::Empty { .. } => "keep the log over pages while recording",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// What of a recording is in no step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Requests of other hosts, by host and port.
    pub hosts: BTreeMap<String, u64>,
    /// Requests that had no answer.
    pub without_answer: u64,
    /// WebSockets.
    pub websockets: u64,
    /// Event streams, which have no end.
    pub event_streams: u64,
    /// Requests that stay open until the server has something to say.
    pub long_polls: u64,
    /// What is by neither http nor https, such as `data:`.
    pub not_http: u64,
    /// Requests of methods that no step has, such as OPTIONS.
    pub methods: BTreeMap<String, u64>,
    /// Bodies that the recording does not have as text, such as files that were sent.
    pub bodies: u64,
    /// Entries without a URL, a method or a time.
    pub incomplete: u64,
    /// Answers that the browser had already.
    pub cached: u64,
    /// Headers that no request may have.
    pub headers: u64,
    /// Files that were sent, of which the recording has nothing: empty ones are sent.
    pub files: u64,
}

impl LeftOut {
    /// What is counted by number alone, as one and as several are called.
    fn counts(&self) -> [(u64, &'static str, &'static str); 10] {
        [
            (self.without_answer, "request that had no answer", "requests that had no answer"),
            (self.websockets, "WebSockets", "WebSockets"),
            (self.event_streams, "event stream", "event streams"),
            (
                self.long_polls,
                "long poll, which was open while users went on",
                "long polls, which were open while users went on",
            ),
            (
                self.not_http,
                "request by neither http nor https",
                "requests by neither http nor https",
            ),
            (
                self.bodies,
                "body that the recording does not have as text",
                "bodies that the recording does not have as text",
            ),
            (
                self.incomplete,
                "entry without a URL, a method or a time",
                "entries without a URL, a method or a time",
            ),
            (
                self.cached,
                "answer that the browser had in its cache",
                "answers that the browser had in its cache",
            ),
            (self.headers, "header that no request may have", "headers that no request may have"),
            (
                self.files,
                "content of a file, which the recording has not: an empty one is sent",
                "contents of files, which the recording has not: empty ones are sent",
            ),
        ]
    }
}

/// A scenario, as a recording has it.
#[derive(Debug, Clone)]
pub struct HarScenario {
    /// The file.
    pub text: String,
    /// The server that was asked, such as `https://shop.example`.
    pub server: String,
    /// Other servers that steps ask by their URLs.
    pub hosts: Vec<String>,
    /// Requests of the recording.
    pub requests: usize,
    /// Steps that ask for something, those of static files not counted.
    pub steps: usize,
    /// Static files.
    pub static_files: usize,
    /// Redirects that are followed.
    pub redirects: usize,
    /// How often a user thinks, and how long in all, milliseconds.
    pub thinks: usize,
    /// See `thinks`.
    pub think_ms: u64,
    /// The environment variables that it asks for.
    pub secrets: Vec<String>,
    /// The variables that are taken from pages.
    pub tokens: Vec<String>,
    /// Bodies of types in which secrets were sought, but may have been missed.
    pub unjudged: BTreeMap<String, u64>,
    /// Those of `secrets` whose values the file holds all the same, in places that are not fields.
    pub still_there: Vec<String>,
    /// What is in no step.
    pub left_out: LeftOut,
}

impl HarScenario {
    /// What a reader of the file must know, a sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let list = |counts: &BTreeMap<String, u64>| {
            let counts = counts.iter().map(|(name, count)| format!("{count} of {name}"));
            counts.collect::<Vec<_>>().join(", ")
        };
        if !self.secrets.is_empty() {
            let names = self.secrets.join(", ");
            remarks.push(format!("secrets are left out: set {names} in the environment"));
        }
        if !self.still_there.is_empty() {
            let names = self.still_there.join(", ");
            remarks.push(format!(
                "what was recorded for {names} stands in this file in other places too: look \
                 through it"
            ));
        }
        for (kind, count) in &self.unjudged {
            let (bodies, them) = if *count == 1 { ("a body", "it") } else { ("bodies", "them") };
            remarks.push(format!("{bodies} of {kind} may hold secrets: look through {them}"));
        }
        if !self.tokens.is_empty() {
            let names = self.tokens.join(", ");
            remarks.push(format!("taken from the page before, as they differ by user: {names}"));
        }
        if !self.hosts.is_empty() {
            remarks.push(format!(
                "steps of {} name it: they ask it whatever the target is",
                self.hosts.join(", ")
            ));
        }
        let LeftOut { hosts, methods, .. } = &self.left_out;
        if !hosts.is_empty() {
            remarks.push(format!("left out: requests of other hosts: {}", list(hosts)));
        }
        if !methods.is_empty() {
            remarks.push(format!("left out: requests of other methods: {}", list(methods)));
        }
        for (count, one, several) in self.left_out.counts() {
            match count {
                0 => {}
                1 => remarks.push(format!("left out: 1 {one}")),
                _ => remarks.push(format!("left out: {count} {several}")),
            }
        }
        remarks
    }
}

/// Makes a scenario of a recording, plain or gzip; `origin` is what errors and the file call it.
///
/// # Errors
/// What cannot be read, is no HAR file, or has nothing to ask for.
///
/// # Cost
/// Memory for the recording, at most 512 MiB.
pub fn convert(file: impl Read, origin: &str) -> Result<HarScenario, HarError> {
    convert_hosts(file, origin, &[])
}

/// The same of some of its hosts: names, with a port or a scheme or without. The first is that
/// whose paths stand alone.
///
/// # Errors
/// As for [`convert`], and a name of no host.
///
/// # Cost
/// As for [`convert`].
pub fn convert_hosts(
    file: impl Read,
    origin: &str,
    hosts: &[String],
) -> Result<HarScenario, HarError> {
    let entries = steps::timed(recording::read(file, origin)?, origin)?;
    // What is secret is known once all was read: it may have stood in what came before.
    let secrets = Steps::of(&entries, origin, hosts, Secrets::default())?.into_secrets();
    Steps::of(&entries, origin, hosts, secrets.sought())?.written(origin)
}
