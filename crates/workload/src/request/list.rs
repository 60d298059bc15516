//! URL lists: one URL or path a line, each with a weight if wanted.
//!
//! # Format
//!
//! Empty lines and lines that start with `#` are passed over. A line is a URL, or a path that
//! starts with `/` and belongs to the server named on the command line. What sets a weight (zero or
//! more) apart from it:
//!
//! - a tab, the last one of the line;
//! - a comma in a list with a heading, which is a first line such as `url,weight`, `url,count` or
//!   `url`: fields and quotes are then those of CSV;
//! - a comma behind a URL in double quotes, which no URL begins with: `"/a,5",3`;
//! - the last comma of a line, where weights are asked for
//!   ([`commas`](UrlListReader::commas)) and a number follows it.
//!
//! A path and its query may hold placeholders, as bodies may ([`Template`](super::Template)).
//!
//! Else the whole line is the URL: `/items?ids=11,12,13` is one path. Within quotes a doubled `""`
//! stands for one. A URL without weight in a list with weights has weight 1. What the import of an
//! access log writes is read back without loss.

use plimsoll_units::failure::FileError;
use std::io::BufRead;
use std::path::Path;

use plimsoll_units::ParseError;

use super::error::RequestError;
use super::url::Url;
use plimsoll_net::url::MAX_URL_BYTES;

/// The URLs of a list, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlList {
    /// At least one.
    pub urls: Vec<Url>,
    /// The line that each stands on, counted from 1; ascending.
    pub lines: Vec<u64>,
    /// One a URL, where at least one line gave a weight; at least one is above zero.
    pub weights: Option<Vec<f64>>,
    /// What may have been meant otherwise: a sentence.
    pub note: Option<String>,
}

/// Reads URL lists. Paths belong to `base`.
#[derive(Debug, Clone, Copy)]
pub struct UrlListReader<'a> {
    /// The server of the lines that are paths; `None` where every line must be a whole URL.
    pub base: Option<&'a Url>,
    /// Whether weights are asked for: the number behind a line's last comma is then one.
    pub commas: bool,
}

impl UrlListReader<'_> {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, a line that is no URL (with its number), a list of nothing.
    pub fn file(&self, path: &Path) -> Result<UrlList, RequestError> {
        let failed = FileError::of("read the URL list", path);
        let file = std::fs::File::open(path).map_err(&failed)?;
        self.lines(std::io::BufReader::new(file), path)
    }

    /// Reads what is left of a file that was opened.
    pub(super) fn lines(
        &self,
        mut lines: impl BufRead,
        path: &Path,
    ) -> Result<UrlList, RequestError> {
        let failed = FileError::of("read the URL list", path);
        let mut list = Building::new(&path.display().to_string(), *self);
        let mut line = Vec::new();
        loop {
            line.clear();
            // One byte more than a line may have, so that a longer one is noticed, not cut.
            let limit = MAX_URL_BYTES as u64 * 2 + 64;
            let mut bounded = std::io::Read::take(&mut lines, limit);
            if bounded.read_until(b'\n', &mut line).map_err(&failed)? == 0 {
                return list.finish();
            }
            list.line(&line)?;
        }
    }

    /// Reads a text; `origin` is what errors call it.
    ///
    /// # Errors
    /// A line that is no URL (with its number), a list of nothing.
    pub fn text(&self, text: &str, origin: &str) -> Result<UrlList, RequestError> {
        let mut list = Building::new(origin, *self);
        for line in text.split('\n') {
            list.line(line.as_bytes())?;
        }
        list.finish()
    }
}

/// How the fields of a line are set apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    /// By tabs and quotes only.
    Lines,
    /// By the last comma as well, where a number follows it.
    Commas,
    /// As the heading says: by this, or the URL stands alone.
    Heading(Option<char>),
}

struct Building<'a> {
    origin: String,
    base: Option<&'a Url>,
    line: u64,
    fields: Fields,
    started: bool,
    urls: Vec<Url>,
    lines: Vec<u64>,
    weights: Vec<f64>,
    weighted: bool,
    /// Whether every line so far ends in a comma and a number that belong to its URL.
    all_end_in_numbers: bool,
}

impl<'a> Building<'a> {
    fn new(origin: &str, reader: UrlListReader<'a>) -> Self {
        Self {
            origin: origin.to_owned(),
            base: reader.base,
            line: 0,
            fields: if reader.commas { Fields::Commas } else { Fields::Lines },
            started: false,
            urls: Vec::new(),
            lines: Vec::new(),
            weights: Vec::new(),
            weighted: false,
            all_end_in_numbers: true,
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), RequestError> {
        self.line += 1;
        let wrong =
            |error| RequestError::Line { origin: self.origin.clone(), line: self.line, error };
        let Ok(text) = std::str::from_utf8(line) else {
            let wanted = "a URL in UTF-8";
            return Err(wrong(ParseError::new(wanted, "other bytes", 0, line.len())));
        };
        let bare = text.trim_start_matches(['\u{feff}', ' ', '\t']);
        let shift = text.len() - bare.len();
        let bare = bare.trim_end();
        if bare.is_empty() || bare.starts_with('#') {
            return Ok(());
        }
        if !std::mem::replace(&mut self.started, true)
            && let Some(separator) = heading(bare)
        {
            self.fields = Fields::Heading(separator);
            return Ok(());
        }
        let entry = self.fields.split(bare).and_then(|(at, url, weight)| {
            Ok((url_of(&url, self.base).map_err(|error| error.shifted(at))?, weight))
        });
        let entry = entry.map_err(|error| match heading(&bare.replace(';', ",")) {
            Some(Some(',')) if bare.contains(';') => {
                error.hint("write url,weight: a comma or a tab sets the weight apart")
            }
            _ => error,
        });
        let (url, weight) = entry.map_err(|error| wrong(error.shifted(shift)))?;
        self.urls.push(url);
        self.lines.push(self.line);
        self.weighted |= weight.is_some();
        self.weights.push(weight.unwrap_or(1.0));
        self.all_end_in_numbers &= self.fields == Fields::Lines && number_behind_comma(bare);
        Ok(())
    }

    fn finish(self) -> Result<UrlList, RequestError> {
        let origin = self.origin;
        if self.urls.is_empty() {
            return Err(RequestError::NoUrls { origin });
        }
        if self.weighted && self.weights.iter().all(|weight| *weight <= 0.0) {
            return Err(RequestError::NoWeight { origin });
        }
        let note = (self.all_end_in_numbers && !self.weighted).then(|| {
            format!(
                "{origin}: every line ends in a comma and a number, which belong to its URL; if \
                 they are weights, put the heading `url,weight` in the first line, or give \
                 `--order weighted`"
            )
        });
        let weights = self.weighted.then_some(self.weights);
        Ok(UrlList { urls: self.urls, lines: self.lines, weights, note })
    }
}

/// A URL of a list, or a path of its base.
pub(super) fn url_of(text: &str, base: Option<&Url>) -> Result<Url, ParseError> {
    match base {
        Some(base) => base.join_template(text),
        None if text.starts_with('/') => Err(ParseError::new("a whole URL", text, 0, text.len())
            .hint("give the server too, or a base URL for the paths of the list")),
        None => Url::parse(text),
    }
}

/// What sets the fields of a list with this first line apart; `None` where it is no heading.
fn heading(line: &str) -> Option<Option<char>> {
    let separator = [',', '\t'].into_iter().find(|c| line.contains(*c));
    let name = |field: &str| field.trim().trim_matches('"').trim().to_ascii_lowercase();
    let mut names = line.split(|c| Some(c) == separator).map(name);
    let (first, second, third) = (names.next()?, names.next(), names.next());
    let is_url = matches!(first.as_str(), "url" | "path" | "uri" | "target");
    let is_weight = second.as_deref().is_none_or(|second| {
        matches!(second, "weight" | "weights" | "count" | "counts" | "hits" | "requests")
    });
    (is_url && is_weight && third.is_none()).then_some(separator)
}

fn number_behind_comma(line: &str) -> bool {
    line.rsplit_once(',').is_some_and(|(_, after)| weight(after.trim()).is_ok())
}

type Entry<'a> = (usize, std::borrow::Cow<'a, str>, Option<f64>);

impl Fields {
    /// Where the URL of a line begins, the URL, and its weight.
    fn split(self, line: &str) -> Result<Entry<'_>, ParseError> {
        if let Some(inner) = line.strip_prefix('"') {
            return split_quoted(line, inner);
        }
        let separator = match self {
            Self::Heading(Some(',')) => return split_by_heading(line),
            Self::Commas if !line.contains('\t') => ',',
            _ => '\t',
        };
        let Some((url, after)) = line.rsplit_once(separator) else {
            return Ok((0, line.into(), None));
        };
        let at = url.len() + 1;
        // A comma may belong to the URL, a tab may not.
        if separator == ',' && after.trim().parse::<f64>().is_err() {
            return Ok((0, line.into(), None));
        }
        let weight = field(after).map_err(|error| error.shifted(at))?;
        Ok((0, url.trim_end().into(), weight))
    }
}

/// A line without quotes below a heading of two columns.
fn split_by_heading(line: &str) -> Result<Entry<'_>, ParseError> {
    let mut fields = line.splitn(3, ',');
    let (url, after) = (fields.next().unwrap_or_default(), fields.next());
    let Some(after) = after else { return Ok((0, line.into(), None)) };
    let at = url.len() + 1;
    if fields.next().is_some() {
        let error = ParseError::new("two columns, as the heading has", line, 0, line.len());
        return Err(error.hint(format!("a URL with commas stands in quotes: \"{url},…\",1")));
    }
    let weight = field(after).map_err(|error| error.shifted(at))?;
    Ok((0, url.trim_end().into(), weight))
}

fn split_quoted<'a>(line: &'a str, inner: &'a str) -> Result<Entry<'a>, ParseError> {
    let mut end = 0;
    let close = loop {
        let Some(found) = inner[end..].find('"').map(|at| end + at) else {
            let error = ParseError::new("a closing quote", line, 0, line.len());
            return Err(error.hint("a quote within quotes is doubled"));
        };
        if !inner[found + 1..].starts_with('"') {
            break found;
        }
        end = found + 2;
    };
    let url = inner[..close].replace("\"\"", "\"");
    let rest = inner[close + 1..].trim_start_matches(' ');
    let at = line.len() - rest.len();
    if rest.is_empty() {
        return Ok((1, url.into(), None));
    }
    let Some(after) = rest.strip_prefix([',', '\t']) else {
        return Err(ParseError::new("a comma after the quoted URL", rest, at, rest.len()));
    };
    let weight = field(after).map_err(|error| error.shifted(at + 1))?;
    Ok((1, url.into(), weight))
}

/// The weight of a field; one that is empty says nothing.
fn field(text: &str) -> Result<Option<f64>, ParseError> {
    match text.trim() {
        "" => Ok(None),
        text => weight(text).map(Some),
    }
}

fn no_weight(text: &str) -> ParseError {
    ParseError::new("a weight of zero or more", text, 0, text.len())
}

pub(super) fn weight(text: &str) -> Result<f64, ParseError> {
    match text.parse::<f64>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(no_weight(text)),
    }
}
