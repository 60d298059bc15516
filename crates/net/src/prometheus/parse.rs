//! Reading a page of figures: every line that is a sample of one.
//!
//! Comments, `# HELP` and `# TYPE` among them, are passed over, as are time stamps and exemplars:
//! whoever asks for a page knows when. A line that is not understood is counted, and the rest of
//! the page still holds.
//!
//! Source: Prometheus' "Exposition formats", text format 0.0.4: names are
//! `[a-zA-Z_:][a-zA-Z0-9_:]*`, names of labels the same without colons; in a label's value
//! `\\`, `\"` and `\n` are escapes.

use std::borrow::Cow;

/// A sample of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// The name of its series.
    pub name: &'a str,
    /// Its labels, as they stand on the page, each name once.
    pub labels: Vec<(&'a str, Cow<'a, str>)>,
    /// Its value, which may be infinite, or NaN where there is none.
    pub value: f64,
}

/// What a page says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed<'a> {
    /// Its samples, in order.
    pub samples: Vec<Sample<'a>>,
    /// How many lines were not understood.
    pub unread: usize,
    /// The number of the first of them, counted from 1; 0 where there is none.
    pub first_unread: usize,
    /// How many samples there are beyond the most that were asked for.
    pub beyond: usize,
}

/// The longest name and the longest value of a label, in bytes.
const MOST_BYTES: usize = 1024;
/// The most labels of a sample.
const MOST_LABELS: usize = 64;

/// Reads a page: its first samples, at most so many.
#[must_use]
pub fn parse(text: &str, most: usize) -> Parsed<'_> {
    let mut parsed = Parsed::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_matches([' ', '\t', '\r']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match sample(line) {
            Some(_) if parsed.samples.len() >= most => parsed.beyond += 1,
            Some(sample) => parsed.samples.push(sample),
            None => {
                parsed.unread += 1;
                if parsed.first_unread == 0 {
                    parsed.first_unread = index + 1;
                }
            }
        }
    }
    parsed
}

/// Reads `NAME[{LABELS}] VALUE [TIME STAMP]`.
fn sample(line: &str) -> Option<Sample<'_>> {
    let (name, rest) = name(line, true)?;
    let rest = blanks(rest);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    // An exemplar stands behind a number sign (OpenMetrics).
    let rest = rest.split_once(" # ").map_or(rest, |(before, _)| before);
    let mut words = rest.split_ascii_whitespace();
    let value = words.next()?.parse().ok()?;
    let is_stamp = |word: &str| word.parse::<f64>().is_ok_and(f64::is_finite);
    let is_whole = words.next().is_none_or(is_stamp) && words.next().is_none();
    is_whole.then_some(Sample { name, labels, value })
}

/// The name that a text begins with, and what follows it.
fn name(text: &str, colons: bool) -> Option<(&str, &str)> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || (colons && byte == b':');
    let end = text.bytes().position(|byte| !fits(byte)).unwrap_or(text.len());
    let is_name = (1..=MOST_BYTES).contains(&end) && !text.as_bytes()[0].is_ascii_digit();
    is_name.then(|| text.split_at(end))
}

fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// The labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(Labels<'_>, &str)> {
    let mut labels = Labels::new();
    loop {
        rest = blanks(rest);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, after) = name(rest, false)?;
        let after = blanks(blanks(after).strip_prefix('=')?).strip_prefix('"')?;
        let (value, after) = quoted(after)?;
        let is_new = labels.iter().all(|(other, _)| *other != name);
        if !is_new || labels.len() == MOST_LABELS {
            return None;
        }
        labels.push((name, value));
        let after = blanks(after);
        rest = match after.strip_prefix(',') {
            Some(after) => after,
            None if after.starts_with('}') => after,
            None => return None,
        };
    }
}

/// A value up to its closing quotation mark, and what follows that.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut value = Cow::Borrowed("");
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        let c = match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            },
            c => c,
        };
        if at > MOST_BYTES {
            return None;
        }
        match &mut value {
            // As long as nothing was escaped, the value is a piece of the text.
            Cow::Borrowed(piece) if piece.len() == at && text.as_bytes()[at] != b'\\' => {
                *piece = &text[..at + c.len_utf8()];
            }
            value => value.to_mut().push(c),
        }
    }
    None
}
