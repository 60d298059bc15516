//! A request of a user as it goes out, but for what frames it.

use std::sync::Arc;

use super::exchange::Upgrade;
use super::outcome::{Failure, FailureKind, Now};
use super::text::{Text, Unfilled, Values};
use super::{Scenario, step::Ask};
use crate::request::Url;
use crate::scenario::cookies::Jar;
use crate::scenario::reference::resolve;
use crate::traceparent::{self, Traceparent};

/// How a path that begins with two slashes stands in a step (the URL Standard, section 4.5).
pub(super) const TWO_SLASHES: &[u8] = b"/.//";

/// A request. Its buffers are used again for the next one of its user.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// The method, as it goes on the request line.
    pub method: String,
    /// Which server is asked, by its number in [`Scenario::origins`].
    pub origin: u16,
    /// Path and query, as they go on the request line.
    pub target: String,
    /// Headers but those that frame it and `host`, each a line with its end.
    pub head: Vec<u8>,
    /// The body; `None` sends none, and no `content-length`.
    pub body: Option<Vec<u8>>,
    /// What makes a WebSocket of its connection, where it is to become one.
    pub upgrade: Option<Arc<Upgrade>>,
    /// The protocols that are offered by that.
    pub protocols: Vec<String>,
    /// Under which id it is traced, where it says so.
    pub traceparent: Option<Traceparent>,
    /// Where the cookies begin in `head`.
    cookies_at: usize,
    /// The headers that go to no other server, as ranges of `head`.
    own: (usize, usize),
}

/// A page from which something was taken.
#[derive(Debug, Clone)]
pub(super) struct Page {
    /// The number of its server.
    pub(super) origin: u16,
    /// Where its links are told from: its URL, or what it says of that by `<base href>`.
    pub(super) url: Url,
}

/// Which connection of a user's: to which server, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lane {
    /// The number of the server.
    pub origin: u16,
    /// 0 for requests over HTTP; the number of a WebSocket of the user's, from 1 on.
    pub channel: u16,
}

impl Message {
    /// The connection on which it goes.
    #[must_use]
    pub fn lane(&self) -> Lane {
        let channel = self.upgrade.as_ref().map_or(0, |upgrade| upgrade.channel);
        Lane { origin: self.origin, channel }
    }

    /// Forgets what was said.
    fn clear(&mut self) {
        self.method.clear();
        self.target.clear();
        self.head.clear();
        if let Some(body) = &mut self.body {
            body.clear();
        }
        self.protocols.clear();
        self.traceparent = None;
        (self.cookies_at, self.own) = (0, (0, 0));
    }

    /// Writes the request of a step; where it begins with what was taken from a page, that page.
    pub(super) fn write(
        &mut self,
        ask: &Ask,
        scenario: &Scenario,
        values: &mut Values<'_>,
        page: Option<&Page>,
    ) -> Result<(), Failure> {
        self.clear();
        self.upgrade.clone_from(&ask.upgrade);
        for protocol in ask.upgrade.iter().flat_map(|upgrade| &upgrade.protocols) {
            self.protocols.push(protocol_of(protocol, values)?);
        }
        self.method.push_str(&ask.method);
        let mut target = Vec::new();
        ask.target.render(values, &mut target).map_err(|error| unfilled(&error))?;
        match page {
            Some(page) => self.follow(page, &target, scenario)?,
            None => self.aim(ask.origin, &target, scenario)?,
        }
        // What may tell who asks comes first, so that it can be left out for another server.
        let is_own = |name: &str| !goes_anywhere(name);
        let (own, others): (Vec<_>, Vec<_>) =
            ask.headers.iter().partition(|(name, _)| is_own(name));
        for (name, value) in &own {
            self.line(name, |out| value.render(values, out))?;
        }
        self.own = (0, self.head.len());
        for (name, value) in &others {
            self.line(name, |out| value.render(values, out))?;
        }
        let is_it = |name: &str| name.eq_ignore_ascii_case(traceparent::NAME);
        let traces_all = scenario.traced.as_ref().is_some_and(|traced| traced.all);
        if traces_all && !ask.headers.iter().any(|(name, _)| is_it(name)) {
            let value = values.traceparent();
            self.line(traceparent::NAME, |out| {
                value.push(out);
                Ok(())
            })?;
        }
        self.cookies_at = self.head.len();
        match &ask.body {
            Some(body) => {
                let out = self.body.get_or_insert_default();
                body.render(values, out).map_err(|error| unfilled(&error))?;
            }
            None => self.body = None,
        }
        self.traceparent = values.traceparent;
        Ok(())
    }

    /// Is traced under another id from now on, where it is traced: it is another request, word for
    /// word as the one before but for that.
    pub(super) fn trace_anew(&mut self, scenario: &Scenario) {
        let (Some(before), Some(traced)) = (self.traceparent, &scenario.traced) else { return };
        let value = traced.by.draw();
        let (old, new) = (before.text(), value.text());
        let (mut from, mut says_so) = (0, self.target.contains(&old));
        self.target = self.target.replace(&old, &new);
        while let Some(found) = memchr::memmem::find(&self.head[from..], old.as_bytes()) {
            let at = from + found;
            self.head[at..at + old.len()].copy_from_slice(new.as_bytes());
            (from, says_so) = (at + old.len(), true);
        }
        self.traceparent = Some(value).filter(|_| says_so);
    }

    fn line(
        &mut self,
        name: &str,
        value: impl FnOnce(&mut Vec<u8>) -> Result<(), Unfilled>,
    ) -> Result<(), Failure> {
        self.head.extend_from_slice(name.as_bytes());
        self.head.extend_from_slice(b": ");
        value(&mut self.head).map_err(|error| unfilled(&error))?;
        self.head.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Where it goes: a path of the step's own server, or what a link means there. A path that
    /// begins with `//` would be a link to another server: it stands as `/.//`, as in URLs without
    /// a host.
    fn aim(&mut self, origin: u16, target: &[u8], scenario: &Scenario) -> Result<(), Failure> {
        if target.starts_with(TWO_SLASHES) {
            self.origin = origin;
            self.target.push_str(&String::from_utf8_lossy(before_fragment(&target[2..])));
            return Ok(());
        }
        if target.first() == Some(&b'/') && target.get(1) != Some(&b'/') {
            self.origin = origin;
            self.target.push_str(&String::from_utf8_lossy(before_fragment(target)));
            return Ok(());
        }
        let wrong = |what| Failure { kind: FailureKind::Variable, what };
        let Some(base) = scenario.origins().get(usize::from(origin)) else {
            return Err(wrong("expected a server to ask, found none".to_owned()));
        };
        self.follow(&Page { origin, url: base.clone() }, target, scenario)
    }

    /// Where it goes: what a link means on the page that has it.
    fn follow(&mut self, page: &Page, link: &[u8], scenario: &Scenario) -> Result<(), Failure> {
        let wrong = |what| Failure { kind: FailureKind::Variable, what };
        let url = resolve(&page.url, link).map_err(|error| wrong(error.to_string()))?;
        let is_here = url.unix.is_some() && url.unix == page.url.unix;
        let origin = if is_here { Some(page.origin) } else { scenario.origin_of(&url) };
        self.origin = origin.ok_or_else(|| {
            wrong(format!("expected a link to the target or one of `hosts`, found {}", url.host))
        })?;
        self.target = url.target;
        Ok(())
    }

    /// Appends the cookies that go where it goes.
    pub(super) fn add_cookies(&mut self, jar: &Jar, to: &Url, now: Now) {
        self.head.truncate(self.cookies_at);
        if jar.is_empty() {
            return;
        }
        let begin = self.head.len();
        self.head.extend_from_slice(b"cookie: ");
        match jar.write_header(
            &mut self.head,
            &to.host,
            &self.target,
            to.scheme.is_secure,
            now.unix_s(),
        ) {
            0 => self.head.truncate(begin),
            _ => self.head.extend_from_slice(b"\r\n"),
        }
    }

    /// Turns it into the request that a redirect asks for.
    pub(super) fn redirect(&mut self, status: u16, origin: u16, url: Url) {
        let is_other = origin != self.origin;
        if is_other {
            let (from, to) = std::mem::take(&mut self.own);
            self.head.drain(from..to);
            self.cookies_at -= to - from;
        }
        self.origin = origin;
        self.target = url.target;
        let keeps = matches!(status, 307 | 308);
        if !keeps {
            if self.method != "HEAD" {
                self.method.clear();
                self.method.push_str("GET");
            }
            if self.body.take().is_some() {
                self.drop_line("content-type");
            }
        }
    }

    /// Leaves a header out.
    fn drop_line(&mut self, name: &str) {
        let mut at = 0;
        while let Some(len) = memchr::memmem::find(&self.head[at..], b"\r\n") {
            let line = &self.head[at..at + len];
            let is_it = line.len() > name.len()
                && line[..name.len()].eq_ignore_ascii_case(name.as_bytes())
                && line[name.len()] == b':';
            if is_it {
                self.head.drain(at..at + len + 2);
                if at < self.cookies_at {
                    self.cookies_at -= len + 2;
                }
                return;
            }
            at += len + 2;
        }
    }
}

/// The name of a protocol, which is a token (RFC 6455, section 4.1).
fn protocol_of(protocol: &Text, values: &mut Values<'_>) -> Result<String, Failure> {
    let mut name = Vec::new();
    protocol.render(values, &mut name).map_err(|error| unfilled(&error))?;
    match String::from_utf8(name) {
        Ok(name) if is_token(&name) => Ok(name),
        _ => {
            let what = "expected a protocol without blanks, commas and the like: it is a token";
            Err(Failure { kind: FailureKind::Variable, what: what.to_owned() })
        }
    }
}

/// Whether a text is a token (RFC 9110, section 5.6.2).
#[must_use]
pub fn is_token(text: &str) -> bool {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_it)
}

/// Whether a header goes to another server, too: none that the user gave does which may tell who
/// asks, by whatever name.
fn goes_anywhere(name: &str) -> bool {
    const NAMES: [&str; 4] = ["accept", "user-agent", "range", "traceparent"];
    let name = name.to_ascii_lowercase();
    NAMES.contains(&name.as_str()) || name.starts_with("accept-") || name.starts_with("content-")
}

/// What no server is told stands behind a `#`.
fn before_fragment(target: &[u8]) -> &[u8] {
    target.split(|byte| *byte == b'#').next().unwrap_or_default()
}

/// What is said of a hole that nothing was there for.
pub(super) fn unfilled(error: &Unfilled) -> Failure {
    let name = &error.name;
    let what = match error.is_unfit {
        true => format!("expected a value of `{name}` without control characters in a header"),
        false => format!("expected a value of `{name}`, found none"),
    };
    Failure { kind: FailureKind::Variable, what }
}
