//! Paths that are rewritten before they are asked for: `REGEX=REPLACEMENT`.
//!
//! `^/v1/=/v2/`, `([?&])token=[^&]*=${1}token=x`: what of a path with its query matches is
//! replaced, wherever it does; `$1` and `${name}` are groups of the match. The first `=` without a
//! backslash in front ends the expression, so that one within it is written `\=`.

use std::borrow::Cow;
use std::fmt;

use plimsoll_units::ParseError;
use regex::bytes::{Regex, RegexBuilder};

use super::entry::{Entry, authority, is_target, url_text};

/// The most memory that a compiled expression may take, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// One rule.
#[derive(Debug, Clone)]
pub struct Rewrite {
    text: String,
    regex: Regex,
    replacement: Vec<u8>,
}

impl PartialEq for Rewrite {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Rewrite {
    /// Reads `REGEX=REPLACEMENT`.
    ///
    /// # Errors
    /// No `=`, what is no regular expression, and a replacement that no URL may have.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let Some(end) = separator(text.as_bytes()) else {
            let wanted = "REGEX=REPLACEMENT such as ^/v1/=/v2/";
            return Err(ParseError::new(wanted, text, 0, text.len()));
        };
        let (expression, replacement) = (&text[..end], &text[end + 1..]);
        let regex = RegexBuilder::new(expression).size_limit(MAX_COMPILED_BYTES).build();
        let regex = regex.map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            ParseError::new("a regular expression", expression, 0, end).hint(why)
        })?;
        let is_allowed = |c: char| c.is_ascii_graphic() && !matches!(c, '#' | '\\');
        if let Some(at) = replacement.find(|c| !is_allowed(c)) {
            let c = replacement[at..].chars().next().unwrap_or_default();
            let wanted = "a replacement of what a URL may have";
            let error = ParseError::new(wanted, &replacement[at..], end + 1 + at, c.len_utf8());
            return Err(error.hint("write other characters as %20"));
        }
        let replacement = replacement.as_bytes().to_vec();
        Ok(Self { text: text.to_owned(), regex, replacement })
    }
}

impl fmt::Display for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Where the first `=` is that no backslash precedes.
fn separator(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'=', text).find(|&at| {
        let slashes = text[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
        slashes % 2 == 0
    })
}

/// The texts of URLs, as they are counted and asked for.
#[derive(Debug, Default)]
pub(super) struct UrlTexts {
    rewrites: Vec<Rewrite>,
    scratch: Vec<u8>,
    rewritten: Vec<u8>,
}

impl UrlTexts {
    pub(super) fn new(rewrites: &[Rewrite]) -> Self {
        Self { rewrites: rewrites.to_vec(), ..Self::default() }
    }

    /// The text of a line's URL, rewritten; `None` for what cannot be asked for.
    pub(super) fn text<'a>(&'a mut self, entry: &Entry<'a>) -> Option<&'a [u8]> {
        let url = url_text(entry, &mut self.scratch)?;
        if self.rewrites.is_empty() {
            return Some(url);
        }
        let before = match authority(url) {
            b"" => 0,
            of => of.as_ptr() as usize + of.len() - url.as_ptr() as usize,
        };
        self.rewritten.clear();
        self.rewritten.extend_from_slice(&url[before..]);
        for rewrite in &self.rewrites {
            let found = rewrite.regex.replace_all(&self.rewritten, &rewrite.replacement[..]);
            if let Cow::Owned(changed) = found {
                self.rewritten = changed;
            }
        }
        if !is_target(&self.rewritten) {
            return None;
        }
        self.rewritten.splice(..0, url[..before].iter().copied());
        Some(&self.rewritten)
    }
}

#[cfg(test)]
mod tests {
    use super::super::date::Moment;
    use super::super::entry::Rest;
    use super::*;

    fn rewritten(rules: &[&str], target: &str) -> Option<String> {
        let rules: Vec<Rewrite> =
            rules.iter().map(|text| Rewrite::parse(text).expect(text)).collect();
        let moment = Moment { second: 0, nanos: None, zone_s: None };
        let (method, target, rest) = (&b"GET"[..], target.as_bytes(), Rest::Unread(b""));
        let entry = Entry { moment, method, target, escaped: false, rest };
        let mut texts = UrlTexts::new(&rules);
        texts.text(&entry).map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn paths_are_rewritten_one_rule_after_the_other() {
        let rules = ["^/v1/=/v2/", r"([?&])token\=[^&]*=${1}token=x", "^/v2/old=/new"];
        for (target, expected) in [
            ("/v1/a", Some("/v2/a")),
            ("/a/v1/", Some("/a/v1/")),
            ("/a?token=1&b=2&token=3", Some("/a?token=x&b=2&token=x")),
            ("/v1/old", Some("/new")),
            ("http://h:8/v1/a b", Some("http://h:8/v2/a%20b")),
            ("-", None),
        ] {
            assert_eq!(rewritten(&rules, target).as_deref(), expected, "{target}");
        }
        assert_eq!(rewritten(&["^/.*=gone"], "/a"), None);
        assert_eq!(rewritten(&[], "/a").as_deref(), Some("/a"));
    }

    #[test]
    fn wrong_rules_say_where() {
        for (text, at, part) in [
            ("^/v1/", 0, "REGEX=REPLACEMENT"),
            (r"a\=b", 0, "REGEX=REPLACEMENT"),
            ("^/(=/x", 0, "unclosed group"),
            ("a=b c", 3, "%20"),
        ] {
            let error = Rewrite::parse(text).expect_err(text);
            let shown = format!("{error} {:?}", error.hint);
            assert!(error.at == at && shown.contains(part), "{text}: {shown}");
        }
    }
}
