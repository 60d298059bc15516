//! The text of a scenario's file, as [`super::har`] and [`super::from_log`] write it.
//!
//! TOML 1.0. A text that was recorded is written so that it is sent as it was: `{{` stands as
//! `\{{`, and what TOML cannot hold as it is in its escapes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use plimsoll_units::show_duration_exact;

/// A text that is sent as it is: not one with names in it.
pub(super) fn literal(text: &str) -> String {
    quoted(&text.replace("{{", "\\{{"))
}

/// A path and query as a step has them: one that begins with `//` would be taken for a link to
/// another server.
pub(super) fn path(target: &str) -> Cow<'_, str> {
    match target.starts_with("//") {
        true => Cow::Owned(format!("/.{target}")),
        false => Cow::Borrowed(target),
    }
}

/// A string of TOML.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| !c.is_control() && c != '\'';
    if text.contains(['"', '\\']) && text.chars().all(is_plain) {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The longest name of a step without its number, characters.
const NAME: usize = 80;

/// The names of steps: one name for one thing that is asked for.
#[derive(Debug, Default)]
pub(super) struct StepNames {
    by_target: BTreeMap<String, String>,
    /// How many have a name that begins so.
    taken: BTreeMap<String, u32>,
}

impl StepNames {
    /// The name of a request: its path, and its method where that is not GET; with a number where
    /// another request has that name.
    pub(super) fn name(&mut self, verb: &str, target: &str) -> String {
        let what = format!("{verb} {target}");
        if let Some(name) = self.by_target.get(&what) {
            return name.clone();
        }
        let path = target.split('?').next().unwrap_or_default();
        let name = match verb {
            "get" => path.to_owned(),
            verb => format!("{} {path}", verb.to_ascii_uppercase()),
        };
        let name: String = name.chars().filter(|c| !c.is_control()).take(NAME).collect();
        let taken = self.taken.entry(name.clone()).or_default();
        *taken += 1;
        let name = if *taken == 1 { name } else { format!("{name} ({taken})") };
        self.by_target.insert(what, name.clone());
        name
    }
}

/// A key: bare where it may be.
pub(super) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

/// A table on one line, of values that are written already.
pub(super) fn table<K: AsRef<str>>(fields: impl IntoIterator<Item = (K, String)>) -> String {
    let fields =
        fields.into_iter().map(|(name, value)| format!("{} = {value}", key(name.as_ref())));
    format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
}

/// Milliseconds as a constant distribution.
pub(super) fn constant_ms(ms: u64) -> String {
    format!("const:{}", show_duration_exact(ms.saturating_mul(1_000_000)))
}

/// Lines of a comment.
pub(super) fn comment(out: &mut String, lines: &[String]) {
    for line in lines {
        // A control character ends no comment, and TOML allows none.
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(out, "# {}", line.trim_end());
    }
}

/// Static files by their path: what a page needs to be shown, and no user asks for by itself.
pub(super) fn is_static(path: &str) -> bool {
    const ENDINGS: [&str; 22] = [
        "css", "js", "mjs", "map", "png", "jpg", "jpeg", "gif", "svg", "ico", "webp", "avif",
        "bmp", "woff", "woff2", "ttf", "otf", "eot", "mp4", "webm", "mp3", "wasm",
    ];
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let file = path.rsplit('/').next().unwrap_or_default();
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_so_that_they_read_back() {
        for (text, written) in [
            ("plain", "\"plain\""),
            ("a\"b", "'a\"b'"),
            ("it's \"x\"", "\"it's \\\"x\\\"\""),
            ("a\nb\u{1}", "\"a\\nb\\u0001\""),
            ("{{x}}", "'\\{{x}}'"),
            ("\u{85}é", "\"\\u0085é\""),
        ] {
            assert_eq!(literal(text), written, "{text}");
        }
        assert_eq!(key("wpName"), "wpName");
        assert_eq!(key("a[b]"), "\"a[b]\"");
        assert_eq!(
            table([("a b", "1".to_owned()), ("c", "2".to_owned())]),
            "{ \"a b\" = 1, c = 2 }"
        );
    }

    #[test]
    fn one_name_for_one_thing() {
        let mut names = StepNames::default();
        assert_eq!(names.name("get", "/a?x=1"), "/a");
        assert_eq!(names.name("get", "/a?x=2"), "/a (2)");
        assert_eq!(names.name("get", "/a?x=1"), "/a");
        assert_eq!(names.name("post", "/a"), "POST /a");
        assert_eq!(names.name("get", &format!("/{}", "b".repeat(100))).len(), NAME);
    }

    #[test]
    fn static_files_are_told_by_their_ending() {
        assert!(is_static("/a/style.CSS?v=1") && is_static("/favicon.ico"));
        assert!(!is_static("/a.php") && !is_static("/js") && !is_static("/a.css/x"));
        assert!(!is_static("/load.php?file=a.css"));
    }
}
