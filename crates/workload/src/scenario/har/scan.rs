//! Secrets in a text whose grammar is not known: `name=value`, `name: "value"`, elements and
//! attributes of XML, credentials that are known by their form.

use std::ops::Range;
use std::sync::LazyLock;

use plimsoll_net::url::percent_decode;
use regex::Regex;

use super::secret_names::is_secret;
use super::secrets::base64_runs;

/// A place of a text that is a secret, and what its field is called.
pub(super) type SecretPlace = (Range<usize>, String);

/// How much of a text may be names and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// A body: a value may stand behind blanks.
    Body,
    /// A value of something else, such as what a user wrote: `Token: yes` is a sentence.
    Value,
}

/// The longest value within quotes, characters.
const MOST_VALUE: usize = 64 << 10;

/// A name and what stands between it and its value.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"([A-Za-z_][A-Za-z0-9_.$%\[\]-]{0,63})\\*["']?(\s*)(?:=>|=|:)(\s*)"#).ok()
});
/// An element of XML that has a text.
static ELEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"<([A-Za-z_][\w.:-]*)(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^<\]]+)").ok()
});
/// Credentials by their form: the first group is what is secret.
static FORMS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    [
        ("token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]*[0-9][A-Za-z0-9._~+/-]*=*)"),
        ("authorization", r"(?i)\bbasic\s+([A-Za-z0-9+/]{4,}={0,2})"),
        ("jwt", r"\b(eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*)"),
        ("password", r#"://[^/\s:@"'<>?#]*:([^/\s@"'<>]+)@"#),
        ("access_key", r"\b((?:AKIA|ASIA)[A-Z0-9]{16})\b"),
        ("secret_key", r"\b((?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{8,})"),
        ("token", r"\b(gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"),
        ("token", r"\b(xox[abposr]-[A-Za-z0-9-]{10,})"),
        ("api_key", r"\b(AIza[0-9A-Za-z_-]{30,}|sk-[A-Za-z0-9_-]{20,})"),
        ("private_key", r"(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*KEY-----)"),
    ]
    .into_iter()
    .filter_map(|(name, form)| Some((name, Regex::new(form).ok()?)))
    .collect()
});

/// The secrets of a text, in order and apart from each other.
pub(super) fn find(text: &str, kind: Text, signs_in: bool) -> Vec<SecretPlace> {
    let mut found = plain(text, kind, signs_in);
    for (range, decoded) in base64_runs(text) {
        // A basic authentication is `user:password`, and found by what stands before it.
        if !plain(&decoded, Text::Value, signs_in).is_empty() {
            found.push((range, "encoded".to_owned()));
        }
    }
    in_order(found)
}

/// Ranges in order, without those that stand within one before.
pub(super) fn in_order<T>(mut found: Vec<(Range<usize>, T)>) -> Vec<(Range<usize>, T)> {
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    found.retain(|(range, _)| {
        let is_free = range.start >= end;
        if is_free {
            end = range.end;
        }
        is_free
    });
    found
}

fn plain(text: &str, kind: Text, signs_in: bool) -> Vec<SecretPlace> {
    let mut found = Vec::new();
    for (name, form) in FORMS.iter() {
        for found_here in form.captures_iter(text) {
            let Some(group) = found_here.get(1) else { continue };
            let is_basic = *name != "authorization"
                || base64_runs(group.as_str()).iter().any(|(_, text)| text.contains(':'));
            if is_basic {
                found.push((group.range(), (*name).to_owned()));
            }
        }
    }
    for element in ELEMENT.iter().flat_map(|form| form.captures_iter(text)) {
        let (Some(name), Some(value)) = (element.get(1), element.get(2)) else { continue };
        let secret = value.as_str().trim_end();
        if is_secret(name.as_str(), secret, signs_in) {
            let name = name.as_str().rsplit(':').next().unwrap_or_default();
            found.push((value.start()..value.start() + secret.len(), name.to_owned()));
        }
    }
    pairs(text, kind, signs_in, &mut found);
    found
}

fn pairs(text: &str, kind: Text, signs_in: bool, found: &mut Vec<SecretPlace>) {
    let Some(form) = NAME.as_ref() else { return };
    let mut at = 0;
    while let Some(pair) = form.captures_at(text, at) {
        let (Some(whole), Some(name)) = (pair.get(0), pair.get(1)) else { break };
        at = whole.end();
        let has_blanks =
            [2, 3].iter().any(|group| pair.get(*group).is_some_and(|of| !of.is_empty()));
        let (range, is_quoted) = value(text, at);
        if kind == Text::Value && has_blanks && !is_quoted {
            continue;
        }
        let decoded = percent_decode(name.as_str().as_bytes());
        let name = String::from_utf8_lossy(&decoded).into_owned();
        let range = if is_quoted { range } else { line(text, &name, range) };
        if is_secret(&name, &text[range.clone()], signs_in) {
            at = range.end;
            found.push((range, name));
        }
    }
}

/// The place of the value that begins there, and whether it stands within quotes.
fn value(text: &str, at: usize) -> (Range<usize>, bool) {
    let rest = &text[at..];
    let slashes = rest.bytes().take_while(|byte| *byte == b'\\').count();
    let quote = rest[slashes..].chars().next().filter(|c| matches!(c, '"' | '\''));
    let Some(quote) = quote else {
        let ends = |c: char| c.is_whitespace() || "&;\"'<>(){}[],|\\`".contains(c);
        let end = rest.find(ends).unwrap_or(rest.len());
        return (at..at + end, false);
    };
    let begin = at + slashes + 1;
    let (mut escapes, mut end) = (0, begin);
    for (place, c) in text[begin..].char_indices().take(MOST_VALUE) {
        if c == quote && escapes == slashes {
            return (begin..begin + place - slashes, true);
        }
        // Within plain quotes, `\\` is a character that was escaped itself.
        escapes = match c {
            '\\' if slashes == 0 && escapes == 1 => 0,
            '\\' => escapes + 1,
            _ => 0,
        };
        end = begin + place + c.len_utf8();
    }
    // What is torn off is a value all the same.
    (begin..end, true)
}

/// The value of what stands on a line of its own as a header does: `Bearer abc`.
fn line(text: &str, name: &str, range: Range<usize>) -> Range<usize> {
    let is_header = ["authorization", "cookie", "set-cookie"]
        .iter()
        .any(|header| name.to_ascii_lowercase().ends_with(header));
    let scheme = text[range.clone()].to_ascii_lowercase();
    let is_scheme = ["bearer", "basic", "token", "digest", "apikey"].contains(&scheme.as_str());
    if !is_header && !is_scheme {
        return range;
    }
    let rest = &text[range.start..];
    let end = rest.find(['\r', '\n', '"', '\'', '<', '&']).unwrap_or(rest.len());
    range.start..(range.start + rest[..end].trim_end().len()).max(range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, kind: Text) -> Vec<String> {
        let found = find(text, kind, false);
        found.into_iter().map(|(range, name)| format!("{name}={}", &text[range])).collect()
    }

    #[test]
    fn names_with_values_in_any_grammar() {
        for (text, expected) in [
            ("user=anna&password=LEAK&x=1", "password=LEAK"),
            ("a=1&user%5Bpassword%5D=LEAK%26", "user[password]=LEAK%26"),
            ("password: LEAK\nuser: anna", "password=LEAK"),
            ("Authorization: Bearer LEAK x\r\nA: b", "Authorization=Bearer LEAK x"),
            ("mutation { login(user: \"a\", password: \"LE\\\"AK\") }", "password=LE\\\"AK"),
            ("{\\\"pin\\\":\\\"LEAK\\\",\\\"a\\\":1}", "pin=LEAK"),
            ("{'token': 'LEAK', }", "token=LEAK"),
            ("[{\"pin\": 77, }]", "pin=77"),
            ("{\"user\":\"a\",\"pin\":\"LEAK", "pin=LEAK"),
            ("<a><Password Type='x'>LEAK</Password></a>", "Password=LEAK"),
            ("<wsse:Password> <![CDATA[LEAK]]></wsse:Password>", "Password=LEAK"),
            ("<login user=\"a\" password=\"LEAK\"/>", "password=LEAK"),
            ("at https://anna:LEAK@h/x", "password=LEAK"),
            ("see eyJhbGciOiJI.eyJzdWIi.c2ln now", "jwt=eyJhbGciOiJI.eyJzdWIi.c2ln"),
            ("x eyJwYXNzd29yZCI6IkxFQUsifQ== y", "encoded=eyJwYXNzd29yZCI6IkxFQUsifQ=="),
        ] {
            assert_eq!(of(text, Text::Body), [expected], "{text}");
        }
    }

    #[test]
    fn what_a_user_wrote_is_left() {
        for text in ["Token: yes please", "the pin, 7", "a key = b", "Bearer of news", "10:30"] {
            assert!(of(text, Text::Value).is_empty(), "{text}");
        }
        assert_eq!(of("/cb?access_token=LEAK&x=1", Text::Value), ["access_token=LEAK"]);
    }
}
