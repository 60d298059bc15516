//! CSV with a heading (RFC 4180): a request a row.
//!
//! The heading's columns are `url` (or `path`), `method`, `body` (with placeholders), `body_file`,
//! `name`, `weight`, and `header:NAME` for each header; a field that is empty says nothing. Fields
//! are separated by commas, or by tabs where the heading has them; a field in double quotes may
//! have both, line ends too, and a quote that is doubled.

use plimsoll_units::{ParseError, nearest};

use super::{Building, Listed};
use crate::request::error::RequestError;
use crate::request::header::{parse_header, parse_method};
use crate::request::template::Template;

/// What a column says of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    Url,
    Method,
    Body,
    BodyFile,
    Name,
    Weight,
    Header(String),
}

/// Words for columns, and what else they may be called.
const COLUMNS: [(&str, &[&str], Column); 6] = [
    ("url", &["path", "uri", "target"], Column::Url),
    ("method", &[], Column::Method),
    ("body", &[], Column::Body),
    ("body_file", &[], Column::BodyFile),
    ("name", &["label"], Column::Name),
    ("weight", &["weights", "count", "counts", "hits", "requests"], Column::Weight),
];

fn column(word: &str) -> Option<Column> {
    let word = word.trim();
    if let Some((kind, name)) = word.split_once(':')
        && kind.eq_ignore_ascii_case("header")
    {
        return Some(Column::Header(name.trim().to_owned()));
    }
    let word = word.to_ascii_lowercase();
    let found = COLUMNS.iter().find(|(name, others, _)| *name == word || others.contains(&&*word));
    found.map(|(_, _, column)| column.clone())
}

/// What separates the fields of a list whose first line is this, where it is the heading of
/// requests: it names a URL, and something that a list of URLs has not.
pub(super) fn separator(line: &str) -> Option<char> {
    let separator = [',', '\t'].into_iter().find(|c| line.contains(*c))?;
    let words: Vec<&str> =
        line.split(separator).map(|word| word.trim().trim_matches('"')).collect();
    let columns: Vec<_> = words.iter().filter_map(|word| column(word)).collect();
    // A list of URLs begins with a URL, no word of which has a slash.
    let is_heading = columns.contains(&Column::Url) && !words.iter().any(|w| w.contains('/'));
    let is_of_urls = words.len() == 2 && columns == [Column::Url, Column::Weight];
    (is_heading && !is_of_urls).then_some(separator)
}

/// A field, the line it begins in, and where in it.
struct Field {
    text: String,
    line: u64,
    at: usize,
}

/// Reads the rows of a text, field by field.
struct Rows<'a> {
    text: &'a str,
    separator: char,
    at: usize,
    line: u64,
    line_start: usize,
}

impl Rows<'_> {
    /// The next row; `None` at the end. Empty lines and comments are passed over.
    fn next(&mut self) -> Result<Option<Vec<Field>>, (u64, ParseError)> {
        loop {
            let rest = &self.text[self.at..];
            if rest.is_empty() {
                return Ok(None);
            }
            let line = rest.split('\n').next().unwrap_or_default();
            if !line.trim().is_empty() && !line.starts_with('#') {
                return self.row().map(Some);
            }
            self.at += line.len();
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if self.text[self.at..].starts_with('\n') {
            self.at += 1;
            self.line += 1;
            self.line_start = self.at;
        }
    }

    fn row(&mut self) -> Result<Vec<Field>, (u64, ParseError)> {
        let mut fields = Vec::new();
        loop {
            fields.push(self.field()?);
            let rest = &self.text[self.at..];
            if rest.starts_with(self.separator) {
                self.at += 1;
                continue;
            }
            if rest.starts_with('\r') {
                self.at += 1;
            }
            self.end_line();
            return Ok(fields);
        }
    }

    fn field(&mut self) -> Result<Field, (u64, ParseError)> {
        let (line, at) = (self.line, self.at - self.line_start);
        let rest = &self.text[self.at..];
        if !rest.starts_with('"') {
            let end = rest.find([self.separator, '\n']).unwrap_or(rest.len());
            let text = rest[..end].strip_suffix('\r').unwrap_or(&rest[..end]);
            self.at += text.len();
            return Ok(Field { text: text.trim().to_owned(), line, at });
        }
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1).peekable();
        while let Some((offset, c)) = chars.next() {
            if c == '\n' {
                self.line += 1;
                self.line_start = self.at + offset + 1;
            }
            if c != '"' {
                text.push(c);
                continue;
            }
            if chars.next_if(|(_, next)| *next == '"').is_some() {
                text.push('"');
                continue;
            }
            self.at += offset + 1;
            let rest = &self.text[self.at..];
            if rest.is_empty() || rest.starts_with([self.separator, '\n', '\r']) {
                return Ok(Field { text, line, at });
            }
            let at = self.at - self.line_start;
            let found: String = rest.chars().take(10).collect();
            let error = ParseError::new("the end of a field behind its quotes", &found, at, 1);
            return Err((self.line, error));
        }
        let error = ParseError::new("a closing quote", "the end of the file", at, 1);
        Err((line, error.hint("a quote within quotes is doubled")))
    }
}

/// Reads the heading and all rows of a text.
pub(super) fn read(
    text: &str,
    separator: char,
    list: &mut Building<'_>,
) -> Result<(), RequestError> {
    let mut rows = Rows { text, separator, at: 0, line: 1, line_start: 0 };
    let wrong = |list: &Building<'_>, (line, error)| list.wrong(line, error);
    let Some(heading) = rows.next().map_err(|error| wrong(list, error))? else { return Ok(()) };
    let columns = columns(&heading).map_err(|error| wrong(list, error))?;
    while let Some(row) = rows.next().map_err(|error| wrong(list, error))? {
        let line = row.first().map_or(1, |field| field.line);
        if row.len() > columns.len() {
            let extra = &row[columns.len()];
            let wanted = format!("{} columns, as the heading has", columns.len());
            let error = ParseError::new(wanted, extra.text.as_str(), extra.at, extra.text.len());
            let error = error.hint("a field with a separator in it stands in double quotes");
            return Err(list.wrong(extra.line, error));
        }
        let request = request(&columns, &row, list).map_err(|error| wrong(list, error))?;
        list.push(line, request)?;
    }
    Ok(())
}

fn columns(heading: &[Field]) -> Result<Vec<Column>, (u64, ParseError)> {
    let mut columns = Vec::new();
    for field in heading {
        let wrong =
            |wanted: &str| ParseError::new(wanted, field.text.as_str(), field.at, field.text.len());
        let Some(column) = column(&field.text) else {
            let names = COLUMNS.map(|(name, ..)| name);
            let known = format!("columns are {} and header:NAME", names.join(", "));
            let hint = match nearest(&field.text, names) {
                Some(near) => format!("did you mean `{near}`? {known}"),
                None => known,
            };
            return Err((field.line, wrong("a column of a request").hint(hint)));
        };
        if let Column::Header(name) = &column {
            parse_header(&format!("{name}: x"))
                .map_err(|_| (field.line, wrong("a column header:NAME, such as header:Accept")))?;
        }
        if columns.contains(&column) {
            return Err((field.line, wrong("each column once")));
        }
        columns.push(column);
    }
    Ok(columns)
}

fn request(
    columns: &[Column],
    row: &[Field],
    list: &mut Building<'_>,
) -> Result<Listed, (u64, ParseError)> {
    let line = row.first().map_or(1, |field| field.line);
    let mut made: Option<Listed> = None;
    let url = columns.iter().position(|column| *column == Column::Url);
    if let Some(field) = url.and_then(|at| row.get(at)).filter(|field| !field.text.is_empty()) {
        let parsed =
            list.url(&field.text).map_err(|error| (field.line, error.shifted(field.at)))?;
        made = Some(Listed::of(parsed));
    }
    let none = || (line, ParseError::new("a URL or a path", "nothing", 0, 0));
    let mut made = made.ok_or_else(none)?;
    for (column, field) in columns.iter().zip(row).filter(|(_, field)| !field.text.is_empty()) {
        take(&mut made, column, &field.text, list)
            .map_err(|error| (field.line, error.shifted(field.at)))?;
    }
    Ok(made)
}

fn take(
    made: &mut Listed,
    column: &Column,
    text: &str,
    list: &mut Building<'_>,
) -> Result<(), ParseError> {
    if matches!(column, Column::Body | Column::BodyFile) && made.body.is_some() {
        let wanted = "one of `body` and `body_file`";
        return Err(ParseError::new(wanted, text, 0, text.len()));
    }
    match column {
        Column::Url => {}
        Column::Method => made.method = Some(parse_method(text)?),
        Column::Body => made.body = Some(Template::parse(text)?),
        Column::BodyFile => made.body = Some(list.body_file(text)?),
        Column::Name => made.name = Some(text.to_owned()),
        Column::Weight => made.weight = Some(crate::request::list::weight(text)?),
        Column::Header(name) => {
            let before = name.len() + 2;
            let header = parse_header(&format!("{name}: {text}"))
                .map_err(|error| ParseError { at: error.at.saturating_sub(before), ..error })?;
            made.headers.push(header);
        }
    }
    Ok(())
}
