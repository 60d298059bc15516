//! What a text is that is no table: named for what it is, with what makes a table of it, rather
//! than read as one column of lines that are all different.

use std::path::Path;

use plimsoll_workload::access_log::Format as LogFormat;

use super::columns::Columns;
use super::fields::{BLANK, width};
use crate::trace::TraceError;
use crate::trace::collect::excerpt_of;

/// The most words that a line has before it is one of a log.
const MOST_HEAD_WORDS: usize = 12;

/// How many lines are looked at for such a head.
const HEAD_LINES: usize = 20;

/// How much of a head is shown, in bytes.
const SHOWN_BYTES: usize = 60;

/// Refuses what is no table of lines with columns.
///
/// *Errors*: lines that end in CR alone, JSON, columns between `|`, a log behind other text.
pub(super) fn check(sample: &[u8], given: Option<&Columns>, path: &Path) -> Result<(), TraceError> {
    let looks = |looks: String, advice: String| {
        Err(TraceError::Looks { path: path.to_owned(), wanted: "a table", looks, advice })
    };
    let file = path.display();
    if memchr::memchr(b'\n', sample).is_none() && memchr::memchr(b'\r', sample).is_some() {
        let advice = format!("give them others, as with `tr '\\r' '\\n' < {file}`");
        return looks("lines that end in CR alone".to_owned(), advice);
    }
    let lines: Vec<&[u8]> = lines(sample);
    let Some(first) = lines.first() else { return Ok(()) };
    if first.starts_with(b"{") || first.starts_with(b"[{") {
        let advice = "make a table of it, as with `jq -r '[.time,.object,.size]|@csv'`, and name \
                      its columns with `--columns time,object,size`";
        return looks("JSON".to_owned(), advice.to_owned());
    }
    let is_one_column = given.is_some_and(|columns| columns.width == 1);
    if !is_one_column && is_between_bars(&lines) {
        let advice = format!("set them apart by commas, as with `tr '|' ',' < {file}`");
        return looks("columns between `|`".to_owned(), advice);
    }
    if given.is_none()
        && let Some((words, format)) = behind_head(&lines)
    {
        let head = excerpt_of(head(first, words), SHOWN_BYTES);
        let text = format!("a {format} access log with a head such as `{head}` before each line");
        let advice =
            format!("cut the heads off, as with `sed -E 's/^([^ ]+ +){{{words}}}//' {file}`");
        return looks(text, advice);
    }
    Ok(())
}

/// What lines are in which blanks separate words, but not into the same number of columns; `None`
/// where they are separated otherwise.
pub(super) fn unknown(rows: &[&[u8]], separator: Option<u8>, path: &Path) -> Option<TraceError> {
    if separator != Some(BLANK) {
        return None;
    }
    let first = width(rows[0], BLANK);
    let other = rows.iter().map(|row| width(row, BLANK)).find(|&words| words != first)?;
    Some(TraceError::Looks {
        path: path.to_owned(),
        wanted: "a table",
        looks: format!(
            "text, with {first} words in the first line and {other} in another: `{}`",
            excerpt_of(rows[0], SHOWN_BYTES)
        ),
        advice: "if a line is an object, say so with `--columns object`; if words are columns, \
                 name them as in `--columns time,object,size`"
            .to_owned(),
    })
}

/// The first lines that are neither empty nor comments.
fn lines(sample: &[u8]) -> Vec<&[u8]> {
    let lines = sample.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && line[0] != b'#').take(HEAD_LINES).collect()
}

/// Whether `|` gives all lines the same number of fields, and nothing else is there more often.
fn is_between_bars(lines: &[&[u8]]) -> bool {
    let wanted = width(lines[0], b'|');
    let more = [b',', b';', b'\t'].into_iter().any(|other| width(lines[0], other) >= wanted);
    wanted > 1 && !more && lines.iter().all(|line| width(line, b'|') == wanted)
}

/// How many words stand before each line of a log, and which one it is; `None` where it is none.
fn behind_head(lines: &[&[u8]]) -> Option<(usize, LogFormat)> {
    (1..=MOST_HEAD_WORDS).find_map(|words| {
        let rest: Vec<&[u8]> =
            lines.iter().map(|line| line[head(line, words).len()..].trim_ascii()).collect();
        Some((words, LogFormat::of_text(&rest.join(&b'\n'))?))
    })
}

/// So many words at the beginning of a line, with the blanks between them.
fn head(line: &[u8], words: usize) -> &[u8] {
    let mut end = 0;
    for _ in 0..words {
        let blanks = line[end..].iter().take_while(|byte| **byte == b' ').count();
        let word = line[end + blanks..].iter().take_while(|byte| **byte != b' ').count();
        end += blanks + word;
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sample: &str, given: Option<&str>) -> String {
        let given = given.map(|text| text.parse().unwrap());
        match check(sample.as_bytes(), given.as_ref(), Path::new("t")) {
            Ok(()) => String::new(),
            Err(error) => plimsoll_units::failure::told(&error),
        }
    }

    #[test]
    fn what_is_no_table_is_named() {
        let squid = "1286536309.586 921 192.0.2.68 TCP_MISS/200 507 GET http://h/a - DIRECT/h t\n";
        let headed = format!("Dec  4 03:31:46 edge1 (squid-1): {squid}").repeat(3);
        for (sample, wanted) in [
            ("a,1\rb,2\r", "lines that end in CR alone"),
            ("a\r", "tr '\\r' '\\n' < t"),
            ("{\"time\":1}\n", "JSON"),
            ("[{\"time\":1},\n", "JSON"),
            ("time|object\n0|a\n", "columns between `|`"),
            (&headed, "squid access log with a head such as `Dec  4 03:31:46 edge1 (squid-1):`"),
            (&headed, "sed -E 's/^([^ ]+ +){5}//' t"),
        ] {
            assert!(told(sample, None).contains(wanted), "{sample}: {}", told(sample, None));
        }
    }

    #[test]
    fn what_may_be_a_table_is_not_refused() {
        for sample in
            ["", "a,1\r\nb,2\r\n", "/a|b\n/c\n", "a,b|c,d\n", "1 a 2\n", "one two\nthree\n"]
        {
            assert_eq!(told(sample, None), "", "{sample}");
        }
        assert_eq!(told("a|b\nc|d\n", Some("object")), "");
        assert!(told("a|b\nc|d\n", Some("object,size")).contains("between `|`"));
    }
}
