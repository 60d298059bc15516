//! The secrets of a recording, and the environment variables that stand in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use plimsoll_net::url::percent_decode;

use super::pieces::{Hole, Pieces};
use crate::scenario::encoding::forms;

/// The shortest secret that is looked for beside its field, bytes: a shorter one stands in any text
/// by chance.
const LEAST_SOUGHT: usize = 4;
/// The longest run of base64 that is looked into, bytes.
const MOST_BASE64: usize = 64 << 10;

/// The secrets that were found, each with the name of its variable.
#[derive(Debug, Default, Clone)]
pub(super) struct Secrets {
    names: BTreeMap<String, String>,
    taken: BTreeSet<String>,
    /// Those of a first reading, sought wherever else they stand.
    known: Finder,
}

impl Secrets {
    /// The same secrets, each of which is sought in all that is written from now on.
    pub(super) fn sought(self) -> Self {
        let known = self.names.keys().filter(|value| stands_out(value));
        let known = Finder::of(known.flat_map(|value| {
            forms(value).into_iter().map(|form| (form, value.clone())).collect::<Vec<_>>()
        }));
        Self { known, ..self }
    }

    /// What stands in the place of a secret: `{{env.PASSWORD}}`. The same value has one name.
    pub(super) fn hide(&mut self, field: &str, value: &str) -> Pieces {
        if value.is_empty() {
            return Pieces::default();
        }
        if let Some(name) = self.names.get(value) {
            return hole(name, value);
        }
        let letters =
            |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let mut name: String = field.chars().take(64).map(letters).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert_str(0, "SECRET_");
        }
        let free = (2..).map(|n| format!("{name}_{n}"));
        let mut names = std::iter::once(name.clone()).chain(free);
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        self.names.insert(value.to_owned(), name.clone());
        hole(&name, value)
    }

    /// Where secrets that were found elsewhere stand in a text, and what to write there.
    pub(super) fn within(&self, text: &str) -> Vec<(Range<usize>, Pieces)> {
        let found = self.known.find(text).into_iter();
        found
            .filter_map(|(range, value)| {
                let name = self.names.get(value)?;
                Some((range.clone(), hole(name, value).as_written(&text[range])?))
            })
            .collect()
    }

    /// The names of the variables that a scenario uses, in order.
    pub(super) fn used(&self, text: &str) -> Vec<String> {
        let is_used = |name: &&String| {
            [" |", "}}"].iter().any(|end| text.contains(&format!("{{{{env.{name}{end}")))
        };
        self.taken.iter().filter(is_used).cloned().collect()
    }

    /// The variables whose values stand in a text all the same, in any form.
    pub(super) fn still_in(&self, text: &str) -> Vec<String> {
        let sought = self.names.keys().filter(|value| value.len() >= LEAST_SOUGHT);
        let finder = Finder::of(sought.map(|value| (value.clone(), value.clone())));
        let mut found = BTreeSet::new();
        for view in views(text) {
            let values = finder.find(&view).into_iter().map(|(_, value)| value);
            found.extend(values.filter_map(|value| self.names.get(value)).cloned());
        }
        found.into_iter().collect()
    }
}

fn hole(name: &str, value: &str) -> Pieces {
    Pieces::of_hole(Hole::new(format!("env.{name}"), value))
}

/// Whether a value stands in no text by chance: it is long, or of several kinds of characters.
fn stands_out(value: &str) -> bool {
    let kinds: [fn(&u8) -> bool; 4] =
        [u8::is_ascii_lowercase, u8::is_ascii_uppercase, u8::is_ascii_digit, |byte| {
            !byte.is_ascii_alphanumeric()
        }];
    let count = kinds.iter().filter(|kind| value.bytes().any(|byte| kind(&byte))).count();
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    value.len() >= 6 && count >= 2 && !is_number || value.len() >= 12 && !is_number
}

/// A text as it is, and what it says once it is decoded: percent-encoding, escapes of JSON and
/// TOML, base64, and one within the other.
fn views(text: &str) -> Vec<String> {
    let decoded = |text: &str| {
        let url = String::from_utf8_lossy(&percent_decode(text.as_bytes())).into_owned();
        [url.replace('+', " "), url, unescaped(text)]
    };
    let mut views: Vec<String> = vec![text.to_owned()];
    let mut from = 0;
    for _ in 0..2 {
        let until = views.len();
        for at in from..until {
            let more = decoded(&views[at]);
            for view in more {
                if !views.contains(&view) {
                    views.push(view);
                }
            }
        }
        from = until;
    }
    let packed: Vec<String> =
        views.iter().flat_map(|view| base64_runs(view)).map(|(_, text)| text).collect();
    views.push(packed.join("\n"));
    views
}

/// A text without the escapes of strings.
fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut letters = rest[at + 1..].chars();
        let escaped = letters.next();
        rest = letters.as_str();
        match escaped {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('u') => {
                let code = rest.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                if let Some(c) = code.and_then(char::from_u32) {
                    out.push(c);
                    rest = &rest[4..];
                }
            }
            other => out.extend(other),
        }
    }
    out.push_str(rest);
    out
}

/// Runs of base64 in a text, of either alphabet, that are texts once they are decoded.
pub(super) fn base64_runs(text: &str) -> Vec<(Range<usize>, String)> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let engines = [GeneralPurpose::new(&STANDARD, config), GeneralPurpose::new(&URL_SAFE, config)];
    let is_of_run = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let (mut runs, mut at) = (Vec::new(), 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let len = bytes[at..].iter().take_while(|byte| is_of_run(byte)).count();
        let pads = bytes[at + len..].iter().take(2).take_while(|byte| **byte == b'=').count();
        if (8..=MOST_BASE64).contains(&len) {
            let run = &text[at..at + len];
            let decoded = engines.iter().find_map(|engine| engine.decode(run).ok());
            let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            runs.extend(decoded.map(|decoded| (at..at + len + pads, decoded)));
        }
        at += (len + pads).max(1);
    }
    runs
}

/// Finds many texts in one.
#[derive(Debug, Default, Clone)]
struct Finder {
    /// What is found, with what it stands for, by its first bytes; the longest first.
    by_start: BTreeMap<[u8; LEAST_SOUGHT], Vec<(String, String)>>,
}

impl Finder {
    fn of(sought: impl Iterator<Item = (String, String)>) -> Self {
        let mut finder = Self::default();
        for (text, stands_for) in sought {
            if let Some(start) = text.as_bytes().first_chunk() {
                finder.by_start.entry(*start).or_default().push((text, stands_for));
            }
        }
        let longest_first = |of: &mut Vec<(String, String)>| {
            of.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        };
        finder.by_start.values_mut().for_each(longest_first);
        finder
    }

    /// All that is found, one behind the other.
    fn find<'a>(&'a self, text: &str) -> Vec<(Range<usize>, &'a String)> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(start) = text.as_bytes()[at..].first_chunk().filter(|_| !self.is_empty()) {
            let here = &text.as_bytes()[at..];
            let hit = self.by_start.get(start).into_iter().flatten();
            let hit = hit.into_iter().find(|(of, _)| here.starts_with(of.as_bytes()));
            match hit {
                Some((of, stands_for)) => {
                    found.push((at..at + of.len(), stands_for));
                    at += of.len();
                }
                None => at += 1,
            }
        }
        found
    }

    fn is_empty(&self) -> bool {
        self.by_start.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &Pieces) -> String {
        pieces.template()
    }

    #[test]
    fn one_name_a_value() {
        let mut secrets = Secrets::default();
        let mut hide = |field: &str, value: &str| said(&secrets.hide(field, value));
        assert_eq!(hide("wpPassword", "pear tree"), "{{env.WPPASSWORD}}");
        assert_eq!(hide("retype", "pear tree"), "{{env.WPPASSWORD}}");
        assert_eq!(hide("wp-password", "x"), "{{env.WP_PASSWORD}}");
        assert_eq!(hide("wpPassword", "other1"), "{{env.WPPASSWORD_2}}");
        assert_eq!(hide("7", "seven"), "{{env.SECRET_7}}");
        assert_eq!(hide("pin", ""), "");
        let text = "{{env.SECRET_7}} {{env.WPPASSWORD_2 | json}}";
        assert_eq!(secrets.used(text), ["SECRET_7", "WPPASSWORD_2"]);
    }

    #[test]
    fn what_stands_out_is_replaced_elsewhere() {
        let mut secrets = Secrets::default();
        secrets.hide("pin", "1");
        secrets.hide("password", "user");
        secrets.hide("token", "pear \"tree\"");
        let secrets = secrets.sought();
        let of = |text: &str| said(&Pieces::spliced(text, secrets.within(text)));
        assert_eq!(of("buy 1 {user}"), "buy 1 {user}");
        assert_eq!(of("a pear \"tree\"."), "a {{env.TOKEN}}.");
        assert_eq!(of("x=pear+%22tree%22"), "x={{env.TOKEN | urlencode}}");
        assert_eq!(of("x=pear%20%22tree%22"), "x={{env.TOKEN | urlencode}}");
        assert_eq!(of("pear \\\"tree\\\""), "{{env.TOKEN | json}}");
        assert_eq!(of("cGVhciAidHJlZSI="), "{{env.TOKEN | base64}}");
    }

    #[test]
    fn what_still_stands_somewhere_is_found_in_any_form() {
        let mut secrets = Secrets::default();
        secrets.hide("pin", "1");
        secrets.hide("password", "pear \"tree\"/é");
        for text in [
            "a pear \"tree\"/é",
            "pear%20%22tree%22%2F%c3%a9",
            "pear+%22tree%22%2f%C3%A9",
            "pear \\\"tree\\\"\\/\\u00e9",
            "pear \\\\\\\"tree\\\\\\\"/é",
            "xcGVhciAidHJlZSIvw6k",
            "YW5uYTpwZWFyICJ0cmVlIi/DqQ==",
        ] {
            let is_shifted = text.starts_with('x');
            assert_eq!(secrets.still_in(text).len(), usize::from(!is_shifted), "{text}");
        }
        assert!(secrets.still_in("1 pear tree").is_empty());
    }
}
