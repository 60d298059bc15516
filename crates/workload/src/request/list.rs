//! URL lists: one URL or path a line, each with a weight if wanted.
//!
//! # Format
//!
//! Empty lines and lines that start with `#` are passed over. A line is a URL, or a path that
//! starts with `/` and belongs to the server named on the command line. A weight (zero or more)
//! may follow the last tab of the line or, where the line has no tab, its last comma. What follows
//! a comma and is no number belongs to the URL: `/a,b` is one path. A URL that ends like a weight
//! is put in double quotes: `"/a,5"` is a path without weight, `"/a,5",3` the same with one; within
//! quotes a doubled `""` stands for one. A first line `url,count`, `url,weight` or `url` is a
//! heading. A URL without weight in a list with weights has weight 1. What the import of an access
//! log writes is read back without loss.

use std::io::BufRead;
use std::path::Path;

use plimsoll_units::ParseError;

use super::error::RequestError;
use super::url::{MAX_URL_BYTES, Url};

/// The URLs of a list, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlList {
    /// At least one.
    pub urls: Vec<Url>,
    /// One a URL, where at least one line gave a weight.
    pub weights: Option<Vec<f64>>,
}

/// Reads URL lists. Paths belong to `base`.
#[derive(Debug, Clone, Copy)]
pub struct UrlListReader<'a> {
    /// The server of the lines that are paths; `None` where every line must be a whole URL.
    pub base: Option<&'a Url>,
}

impl UrlListReader<'_> {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, a line that is no URL (with its number), a list of nothing.
    pub fn file(&self, path: &Path) -> Result<UrlList, RequestError> {
        let read = |source| RequestError::Read { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(read)?;
        let mut lines = std::io::BufReader::new(file);
        let mut list = Building::new(&path.display().to_string(), self.base);
        let mut line = Vec::new();
        loop {
            line.clear();
            // One byte more than a line may have, so that a longer one is noticed, not cut.
            let limit = MAX_URL_BYTES as u64 * 2 + 64;
            let mut bounded = std::io::Read::take(&mut lines, limit);
            if bounded.read_until(b'\n', &mut line).map_err(read)? == 0 {
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
        let mut list = Building::new(origin, self.base);
        for line in text.split('\n') {
            list.line(line.as_bytes())?;
        }
        list.finish()
    }
}

struct Building<'a> {
    origin: String,
    base: Option<&'a Url>,
    line: u64,
    started: bool,
    urls: Vec<Url>,
    weights: Vec<f64>,
    weighted: bool,
}

impl<'a> Building<'a> {
    fn new(origin: &str, base: Option<&'a Url>) -> Self {
        let (urls, weights) = (Vec::new(), Vec::new());
        let origin = origin.to_owned();
        Self { origin, base, line: 0, started: false, urls, weights, weighted: false }
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
        let heading = !self.started && is_heading(bare);
        self.started |= !bare.is_empty();
        if bare.is_empty() || bare.starts_with('#') || heading {
            return Ok(());
        }
        let entry = split(bare).and_then(|(at, url, weight)| {
            let parsed = match self.base {
                Some(base) => base.join(&url),
                None if url.starts_with('/') => {
                    Err(ParseError::new("a whole URL", &url, 0, url.len())
                        .hint("give the server too, or a base URL for the paths of the list"))
                }
                None => Url::parse(&url),
            };
            Ok((parsed.map_err(|error| error.shifted(at))?, weight))
        });
        let (url, weight) = entry.map_err(|error| wrong(error.shifted(shift)))?;
        self.urls.push(url);
        self.weighted |= weight.is_some();
        self.weights.push(weight.unwrap_or(1.0));
        Ok(())
    }

    fn finish(self) -> Result<UrlList, RequestError> {
        if self.urls.is_empty() {
            return Err(RequestError::NoUrls { origin: self.origin });
        }
        Ok(UrlList { urls: self.urls, weights: self.weighted.then_some(self.weights) })
    }
}

fn is_heading(line: &str) -> bool {
    let known = ["url", "url,count", "url,weight", "url\tcount", "url\tweight"];
    known.iter().any(|heading| line.eq_ignore_ascii_case(heading))
}

type Entry<'a> = (usize, std::borrow::Cow<'a, str>, Option<f64>);

/// Where the URL of a line begins, the URL, and its weight.
fn split(line: &str) -> Result<Entry<'_>, ParseError> {
    if let Some(inner) = line.strip_prefix('"') {
        return split_quoted(line, inner);
    }
    let mark = line.rfind('\t').or_else(|| line.rfind(','));
    if let Some(mark) = mark {
        let after = line[mark + 1..].trim();
        match after.parse::<f64>() {
            Ok(_) => {
                let weight = weight(after).map_err(|error| error.shifted(mark + 1))?;
                return Ok((0, line[..mark].trim_end().into(), Some(weight)));
            }
            // A comma may belong to the URL, a tab may not.
            Err(_) if line.as_bytes()[mark] == b'\t' => {
                return Err(no_weight(after).shifted(mark + 1));
            }
            Err(_) => {}
        }
    }
    Ok((0, line.into(), None))
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
    let weight = weight(after.trim()).map_err(|error| error.shifted(at + 1))?;
    Ok((1, url.into(), Some(weight)))
}

fn no_weight(text: &str) -> ParseError {
    ParseError::new("a weight of zero or more", text, 0, text.len())
}

fn weight(text: &str) -> Result<f64, ParseError> {
    match text.parse::<f64>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(no_weight(text)),
    }
}
