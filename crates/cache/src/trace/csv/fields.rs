//! The fields of a line that are needed, without a copy unless some stand in quotes.

use std::ops::Range;

use super::columns::{Columns, PLACES, VOLUMES};

/// The place of a column that does not matter, behind those of [`Columns::used`].
const IGNORED: usize = PLACES;

/// What separates fields: a byte, of which each ends one; or blanks, however many.
pub(super) const BLANK: u8 = b' ';

/// The fields of a line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineFields<'a> {
    pub object: Option<&'a [u8]>,
    pub size: Option<&'a [u8]>,
    pub time: Option<&'a [u8]>,
    pub client: Option<&'a [u8]>,
    pub host: Option<&'a [u8]>,
    pub query: Option<&'a [u8]>,
    pub operation: Option<&'a [u8]>,
    pub date: Option<&'a [u8]>,
    pub volumes: [Option<&'a [u8]>; VOLUMES],
}

impl<'a> LineFields<'a> {
    /// Of fields in the order of [`Columns::used`].
    fn of(fields: [Option<&'a [u8]>; PLACES + 1]) -> Self {
        let [object, size, time, client, host, query, operation, date, volumes @ .., _] = fields;
        Self { object, size, time, client, host, query, operation, date, volumes }
    }
}

pub(super) struct Fields {
    /// `None`: a line is one field.
    separator: Option<u8>,
    /// Whether a line that is one field may have blanks: the user said that it is one.
    takes_blanks: bool,
    /// For each column up to the last that is needed its place.
    places: Vec<usize>,
    /// The line with its quotes undone.
    plain: Vec<u8>,
}

impl Fields {
    pub(super) fn new(columns: &Columns, separator: Option<u8>, takes_blanks: bool) -> Self {
        let mut places = vec![IGNORED; columns.last() + 1];
        for (place, column) in columns.used().into_iter().enumerate() {
            if let Some(column) = column {
                places[column] = place;
            }
        }
        Self { separator, takes_blanks, places, plain: Vec::new() }
    }

    /// The fields of a line; what is wrong with it.
    pub(super) fn split<'a>(&'a mut self, line: &'a [u8]) -> Result<LineFields<'a>, &'static str> {
        let Some(separator) = self.separator else { return self.one(line.trim_ascii()) };
        let line = if separator == BLANK { line.trim_ascii() } else { line };
        if memchr::memchr(b'"', line).is_some() {
            return self.split_quoted(line, separator);
        }
        let mut found: [Option<&[u8]>; PLACES + 1] = [None; PLACES + 1];
        let mut rest = Some(line);
        for &place in &self.places {
            let Some(text) = rest else { return Err("fewer columns than are needed") };
            let (field, after) = cut(text, separator);
            found[place] = Some(field.trim_ascii());
            rest = after;
        }
        Ok(LineFields::of(found))
    }

    /// A line that is one field.
    fn one<'a>(&'a mut self, line: &'a [u8]) -> Result<LineFields<'a>, &'static str> {
        let field = if line.starts_with(b"\"") {
            self.plain.clear();
            if unquote(line, &mut self.plain)? != line.len() {
                return Err("text after a closing quote");
            }
            &self.plain
        } else if !self.takes_blanks && memchr::memchr2(b' ', b'\t', line).is_some() {
            return Err("blanks where a line should be one object");
        } else {
            line
        };
        Ok(LineFields { object: Some(field), ..LineFields::default() })
    }

    fn split_quoted(&mut self, line: &[u8], separator: u8) -> Result<LineFields<'_>, &'static str> {
        self.plain.clear();
        let mut spans: [Option<Range<usize>>; PLACES + 1] = [const { None }; PLACES + 1];
        let mut rest = Some(line);
        for &place in &self.places {
            let Some(text) = rest else { return Err("fewer columns than are needed") };
            let text = text.trim_ascii_start();
            let start = self.plain.len();
            rest = if text.starts_with(b"\"") {
                let end = unquote(text, &mut self.plain)?;
                let after = text[end..].trim_ascii_start();
                let is_ended = separator == BLANK && text[end..].len() != after.len();
                if !after.is_empty() && after[0] != separator && separator != b'\t' && !is_ended {
                    return Err("text after a closing quote");
                }
                cut(&text[end..], separator).1
            } else {
                let (field, after) = cut(text, separator);
                self.plain.extend_from_slice(field.trim_ascii());
                after
            };
            spans[place] = Some(start..self.plain.len());
        }
        Ok(LineFields::of(spans.map(|span| span.map(|span| &self.plain[span]))))
    }
}

/// The first field of a text, and what follows its end; `None` where nothing does.
fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    if separator == BLANK {
        let Some(end) = memchr::memchr2(b' ', b'\t', text) else { return (text, None) };
        let after = text[end..].trim_ascii_start();
        return (&text[..end], (!after.is_empty()).then_some(after));
    }
    match memchr::memchr(separator, text) {
        Some(end) => (&text[..end], Some(&text[end + 1..])),
        None => (text, None),
    }
}

/// How many fields a line has.
pub(super) fn width(line: &[u8], separator: u8) -> usize {
    let (mut rest, mut count) = (Some(line.trim_ascii()), 0);
    while let Some(text) = rest {
        count += 1;
        rest = cut(text, separator).1;
    }
    count
}

/// Appends what stands in the quotes that a text begins with; where the text goes on.
fn unquote(text: &[u8], out: &mut Vec<u8>) -> Result<usize, &'static str> {
    let mut at = 1;
    loop {
        let Some(quote) = memchr::memchr(b'"', &text[at..]) else {
            return Err("a quote that is not closed");
        };
        out.extend_from_slice(&text[at..at + quote]);
        at += quote + 1;
        if text.get(at) != Some(&b'"') {
            return Ok(at);
        }
        out.push(b'"');
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(columns: &str, separator: Option<u8>, line: &str) -> Result<String, &'static str> {
        let mut fields = Fields::new(&columns.parse().unwrap(), separator, false);
        fields.split(line.as_bytes()).map(|found| {
            [found.time, found.object, found.size]
                .map(|field| field.map_or("none".into(), String::from_utf8_lossy).into_owned())
                .join("|")
        })
    }

    #[test]
    fn plain_and_quoted_fields() {
        let all = |line: &str| split("time,object,size", Some(b','), line);
        for (line, fields) in [
            ("1,a,2", "1|a|2"),
            ("1, a ,2,more", "1|a|2"),
            ("1,,", "1||"),
            ("1,\"a,b\",2", "1|a,b|2"),
            ("\"1\" , \"a \"\"b\"\"\" ,2", "1|a \"b\"|2"),
            ("1,a\"b,2", "1|a\"b|2"),
            ("1,\"\",2", "1||2"),
        ] {
            assert_eq!(all(line).as_deref(), Ok(fields), "{line}");
        }
        for line in ["1,a", "", "1,\"a,2", "1,\"a\"b,2"] {
            assert!(all(line).is_err(), "{line}");
        }
        assert_eq!(split("-,object", Some(b'\t'), "x\ta,b\"c").as_deref(), Ok("none|a,b\"c|none"));
    }

    #[test]
    fn blanks_separate_however_many() {
        let all = |line: &str| split("time,object,size", Some(BLANK), line);
        for (line, fields) in
            [("1 a 2", "1|a|2"), ("  1   a \t 2  ", "1|a|2"), ("1 \"a b\" 2 more", "1|a b|2")]
        {
            assert_eq!(all(line).as_deref(), Ok(fields), "{line}");
        }
        assert!(all("1 a ").is_err() && all("1 \"a\"b 2").is_err());
        assert_eq!(
            (width(b" a  b\tc ", BLANK), width(b"a,,b,", b','), width(b"", BLANK)),
            (3, 4, 1)
        );
    }

    #[test]
    fn a_line_may_be_one_field() {
        let one = |line: &str| split("object", None, line);
        assert_eq!(one("a,b;c").as_deref(), Ok("none|a,b;c|none"));
        assert_eq!(one(" \"a\"\"b\" ").as_deref(), Ok("none|a\"b|none"));
        assert!(one("\"a\"b").is_err() && one("\"a").is_err() && one("a b").is_err());
        assert_eq!(one("\"a b\"").as_deref(), Ok("none|a b|none"));
        let mut whole = Fields::new(&"object".parse().unwrap(), None, true);
        assert_eq!(whole.split(b"a b").unwrap().object, Some(&b"a b"[..]));
    }
}
