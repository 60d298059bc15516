//! An answer as a user sees it: what can be taken from it, and checked.

use std::cell::OnceCell;

use plimsoll_net::url::Url;
use serde_json::Value;

use super::{Take, Which};
use crate::scenario::cookies::{self, Jar};

/// The headers of an answer, in their order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'a>(pub &'a [(&'a [u8], &'a [u8])]);

impl<'a> Headers<'a> {
    /// The values of all headers of that name, whatever its case.
    pub fn all<'n>(self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let is_named = |header: &&(&[u8], &[u8])| header.0.eq_ignore_ascii_case(name.as_bytes());
        self.0.iter().filter(is_named).map(|&(_, value)| value)
    }
}

/// An answer that has been read whole.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The status, such as 200.
    pub status: u16,
    /// The headers.
    pub headers: Headers<'a>,
    /// The body, unpacked; empty where it was not kept.
    pub body: &'a [u8],
    /// The whole URL that was asked, with its query; of several redirects the last.
    pub url: &'a str,
    /// The user's cookies and the time of day, seconds since 1970-01-01T00:00:00Z.
    pub jar: Option<(&'a Jar, i64)>,
    json: OnceCell<Result<Value, serde_json::Error>>,
}

impl<'a> Answer<'a> {
    /// An answer without a jar.
    #[must_use]
    pub fn new(status: u16, headers: Headers<'a>, body: &'a [u8], url: &'a str) -> Self {
        Self { status, headers, body, url, jar: None, json: OnceCell::new() }
    }

    /// The same, for a user with these cookies at that time of day.
    #[must_use]
    pub fn with_jar(self, jar: &'a Jar, now_s: i64) -> Self {
        Self { jar: Some((jar, now_s)), ..self }
    }

    /// The text of the body, where it is JSON.
    pub(in crate::scenario) fn json_text(&self) -> Option<&'a str> {
        self.json()?;
        std::str::from_utf8(self.body).ok()
    }

    /// The body as JSON, read when it is first asked for; `None` where it is none.
    pub fn json(&self) -> Option<&Value> {
        self.read_json().as_ref().ok()
    }

    /// Why the body is no JSON; `None` where it is.
    pub(in crate::scenario) fn json_fault(&self) -> Option<String> {
        self.read_json().as_ref().err().map(ToString::to_string)
    }

    fn read_json(&self) -> &Result<Value, serde_json::Error> {
        self.json.get_or_init(|| serde_json::from_slice(self.body))
    }

    /// What the page says of where its links are told from.
    pub(in crate::scenario) fn base(&self) -> Option<String> {
        let has_base = memchr::memmem::find_iter(self.body, b"<").any(|at| {
            self.body.get(at + 1..at + 5).is_some_and(|name| name.eq_ignore_ascii_case(b"base"))
        });
        let take = has_base.then(|| Take::css("base[href]", Some("href")).ok()).flatten()?;
        take.find(self, |_| 0)?.text().map(str::to_owned)
    }

    /// The value of a cookie that the answer sets, else of the one that the user has for its URL:
    /// an answer to which redirects led sets none of those that were set on the way.
    pub(super) fn cookie(
        &self,
        name: &[u8],
        which: Which,
        draw: impl FnOnce(usize) -> usize,
    ) -> Option<&'a [u8]> {
        let set = || {
            let pairs = self.headers.all("set-cookie").filter_map(cookies::pair);
            pairs.filter(|(set, _)| *set == name).map(|(_, value)| value)
        };
        if let Some(index) = which.index(set().count(), draw) {
            return set().nth(index);
        }
        let (jar, now_s) = self.jar?;
        let url = Url::parse(self.url).ok()?;
        jar.get(name, &url.host, &url.path, url.secure, now_s)
    }
}
