//! The fields of a line that are needed, without a copy unless some stand in quotes.

use super::columns::Columns;

/// What is done with a column: its place in [`Fields::spans`].
const IGNORED: usize = 4;

/// The fields of a line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found<'a> {
    pub object: Option<&'a [u8]>,
    pub size: Option<&'a [u8]>,
    pub time: Option<&'a [u8]>,
    pub client: Option<&'a [u8]>,
}

pub(super) struct Fields {
    /// `None`: a line is one field.
    separator: Option<u8>,
    /// For each column up to the last that is needed its place.
    places: Vec<usize>,
    /// The line with its quotes undone.
    plain: Vec<u8>,
}

impl Fields {
    pub(super) fn new(columns: &Columns, separator: Option<u8>) -> Self {
        let mut places = vec![IGNORED; columns.last() + 1];
        let time = columns.time.map(|time| time.column);
        let needed = [Some(columns.object), columns.size, time, columns.client];
        for (place, column) in needed.into_iter().enumerate() {
            if let Some(column) = column {
                places[column] = place;
            }
        }
        Self { separator, places, plain: Vec::new() }
    }

    /// The fields of a line; what is wrong with it.
    pub(super) fn split<'a>(&'a mut self, line: &'a [u8]) -> Result<Found<'a>, &'static str> {
        let mut found: [Option<&[u8]>; IGNORED + 1] = [None; IGNORED + 1];
        let Some(separator) = self.separator else {
            let field = if line.trim_ascii().starts_with(b"\"") {
                self.plain.clear();
                let end = unquote(line.trim_ascii(), &mut self.plain)?;
                if end != line.trim_ascii().len() {
                    return Err("text after a closing quote");
                }
                &self.plain
            } else {
                line.trim_ascii()
            };
            return Ok(Found { object: Some(field), ..Found::default() });
        };
        if memchr::memchr(b'"', line).is_some() {
            return self.split_quoted(line, separator);
        }
        let mut rest = Some(line);
        for &place in &self.places {
            let Some(text) = rest else { return Err("fewer columns than are needed") };
            let (field, after) = match memchr::memchr(separator, text) {
                Some(end) => (&text[..end], Some(&text[end + 1..])),
                None => (text, None),
            };
            found[place] = Some(field.trim_ascii());
            rest = after;
        }
        let [object, size, time, client, _] = found;
        Ok(Found { object, size, time, client })
    }

    fn split_quoted(&mut self, line: &[u8], separator: u8) -> Result<Found<'_>, &'static str> {
        self.plain.clear();
        let mut spans = [const { None }; IGNORED + 1];
        let mut rest = Some(line);
        for &place in &self.places {
            let Some(text) = rest else { return Err("fewer columns than are needed") };
            let text = text.trim_ascii_start();
            let start = self.plain.len();
            let end = if text.starts_with(b"\"") {
                let end = unquote(text, &mut self.plain)?;
                let after = text[end..].trim_ascii_start();
                if !after.is_empty() && after[0] != separator && separator != b'\t' {
                    return Err("text after a closing quote");
                }
                memchr::memchr(separator, &text[end..]).map(|at| end + at)
            } else {
                let end = memchr::memchr(separator, text);
                let field = &text[..end.unwrap_or(text.len())];
                self.plain.extend_from_slice(field.trim_ascii());
                end
            };
            spans[place] = Some(start..self.plain.len());
            rest = end.map(|end| &text[end + 1..]);
        }
        let [object, size, time, client, _] = spans.map(|span| span.map(|span| &self.plain[span]));
        Ok(Found { object, size, time, client })
    }
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
        let mut fields = Fields::new(&columns.parse().unwrap(), separator);
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
    fn a_line_may_be_one_field() {
        let one = |line: &str| split("object", None, line);
        assert_eq!(one("a,b;c").as_deref(), Ok("none|a,b;c|none"));
        assert_eq!(one(" \"a\"\"b\" ").as_deref(), Ok("none|a\"b|none"));
        assert!(one("\"a\"b").is_err() && one("\"a").is_err());
    }
}
