//! Where figures are pushed to: a URL, and headers whose values stand in the environment.

use super::push::Post;
use crate::dial::dial;
use crate::place::{environment, unix_ns};
use crate::terminal::error::{Result, UsageError, read};
use plimsoll_net::http::client::{Answer, Ask, Dial, Error, Limits};
use plimsoll_net::url::Url;
use plimsoll_units::secret;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The path of the metrics service.
const PATH: &str = "/v1/metrics";
/// What a receiver answers is short.
const ANSWER_BYTES: usize = 1 << 20;

/// A receiver of OTLP over HTTP.
pub(crate) struct Receiver {
    url: Url,
    headers: Vec<(String, String)>,
    dial: Arc<dyn Dial>,
}

impl Receiver {
    /// That of a URL, to which [`PATH`] is added where it does not end with it; `headers` are
    /// `NAME=VARIABLE`, and `ca` is a file of roots to trust instead of the host's.
    pub(crate) fn read(url: &str, headers: &[String], ca: Option<&Path>) -> Result<Self> {
        let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
        if authority.split(['/', '?', '#']).next().is_some_and(|of| of.contains('@')) {
            let text = "read --otlp: the URL has a user or a password, which others can see; keep \
                        it in the environment and give it by --otlp-header-env";
            return Err(UsageError(text.to_owned()).into());
        }
        let base = read("--otlp", url, Url::parse)?;
        let (path, query) = match base.path.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (base.path.as_str(), String::new()),
        };
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix(PATH).unwrap_or(path);
        let url = Url { path: format!("{path}{PATH}{query}"), ..base };
        let dial = dial("--otlp-ca", ca, std::slice::from_ref(&url))?;
        let headers = headers.iter().map(|text| header(text)).collect::<Result<_>>()?;
        Ok(Self { url, headers, dial })
    }
}

/// A header of `NAME=VARIABLE`, whose value is hidden from now on.
fn header(text: &str) -> Result<(String, String)> {
    let wrong = |why: String| Err(UsageError(format!("read --otlp-header-env: {why}")).into());
    let Some((name, variable)) = text.split_once('=') else {
        return wrong(format!("expected NAME=VARIABLE, found {text}"));
    };
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) {
        return wrong(format!("{name:?} is no header's name"));
    }
    let own = ["host", "connection", "content-length", "content-type", "transfer-encoding"];
    if own.contains(&name.to_ascii_lowercase().as_str()) {
        return wrong(format!("the header {name} is set by plimsoll"));
    }
    let Some(value) = environment(variable) else {
        return wrong(format!("the environment has no variable {variable}"));
    };
    secret::learn(&value);
    if value.trim().is_empty() || value.bytes().any(|b| b.is_ascii_control()) {
        let why = "is empty, or holds a line break or another control character";
        return wrong(format!("the value of {variable} {why}"));
    }
    Ok((name.to_owned(), value))
}

/// Without its query, which may hold a key.
impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.url.path.split('?').next().unwrap_or_default();
        Url { path: path.to_owned(), ..self.url.clone() }.fmt(f)
    }
}

impl Post for Receiver {
    fn post(&self, body: &[u8], within: Duration) -> std::result::Result<Answer, Error> {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let ask = Ask { method: "POST", url: &self.url, headers: &headers, body, ipv6: None };
        ask.send(&*self.dial, Limits { total: within, answer_bytes: ANSWER_BYTES })
    }

    fn now_ns(&self) -> u64 {
        unix_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_service_is_added_where_it_is_not_there() {
        for (given, url) in [
            ("http://h:4318", "http://h:4318/v1/metrics"),
            ("http://h:4318/", "http://h:4318/v1/metrics"),
            ("http://h/otlp", "http://h/otlp/v1/metrics"),
            ("http://h/api/v1/otlp/v1/metrics", "http://h/api/v1/otlp/v1/metrics"),
            ("h:4318/v1/metrics/", "http://h:4318/v1/metrics"),
        ] {
            assert_eq!(Receiver::read(given, &[], None).unwrap().to_string(), url, "{given}");
        }
        let secret = Receiver::read("http://h/?key=abc", &[], None).unwrap();
        assert_eq!(secret.url.path, "/v1/metrics?key=abc");
        assert_eq!(secret.to_string(), "http://h/v1/metrics", "a key is not shown");
        assert!(Receiver::read("http://u:p@h/", &[], None).is_err());
        assert!(Receiver::read("ftp://h/", &[], None).is_err());
    }

    #[test]
    fn headers_name_a_variable_and_are_refused_where_they_would_bend_the_request() {
        for (text, why) in [
            ("X-Key", "expected NAME=VARIABLE"),
            ("X Key=HOME", "no header's name"),
            ("Host=HOME", "is set by plimsoll"),
            ("X-Key=PLIMSOLL_NO_SUCH_VARIABLE", "has no variable"),
        ] {
            let error = header(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert_eq!(header("X-Key=PATH").unwrap().0, "X-Key");
    }
}
