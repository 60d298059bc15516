//! Request lists: what to ask for, line by line, in one of four forms that are told apart by the
//! first line that is neither empty nor a comment.
//!
//! | form | its first line |
//! | --- | --- |
//! | URLs ([`UrlListReader`]) | anything else |
//! | CSV with a heading ([`csv`]) | names of columns, one of them `url` or `path`, another of a request |
//! | JSON lines ([`json`]) | begins with `{` |
//! | vegeta's targets ([`vegeta`]) | a method, a blank, a URL |
//!
//! # Bounds
//!
//! A list of requests has at most [`MAX_REQUESTS`] of them and [`MAX_BYTES`] of text, the bodies
//! that it names included. What is wrong with it is one error with its file, line and column.

mod csv;
mod json;
mod vegeta;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use plimsoll_units::ParseError;
use plimsoll_units::failure::FileError;

use super::error::RequestError;
use super::list::{UrlList, UrlListReader};
use super::template::Template;
use super::url::Url;

/// So many requests may stand in a list that is not one of URLs.
pub const MAX_REQUESTS: usize = 1_000_000;
/// So many bytes may such a list have, and the bodies that it names.
pub const MAX_BYTES: u64 = 256 << 20;
/// How far into a file is looked for its form.
const PEEKED: usize = 1 << 16;

/// A request of a list: what the list says of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// What is asked for.
    pub url: Url,
    /// Its method, where the list says it.
    pub method: Option<String>,
    /// Its headers, in their order.
    pub headers: Vec<(String, Template)>,
    /// Its body, where the list says one.
    pub body: Option<Template>,
    /// What it is called, where the list says so.
    pub name: Option<String>,
    /// Its weight, where the list says it.
    pub weight: Option<f64>,
}

impl Listed {
    fn of(url: Url) -> Self {
        Self { url, method: None, headers: Vec::new(), body: None, name: None, weight: None }
    }
}

/// The requests of a list, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestList {
    /// At least one.
    pub requests: Vec<Listed>,
    /// Whether a line gave a weight; at least one is above zero then. Others have a weight of 1.
    pub is_weighted: bool,
    /// What may have been meant otherwise: a sentence.
    pub note: Option<String>,
}

impl RequestList {
    /// One weight a request, where the list has weights.
    #[must_use]
    pub fn weights(&self) -> Option<Vec<f64>> {
        let weights = self.requests.iter().map(|of| of.weight.unwrap_or(1.0));
        self.is_weighted.then(|| weights.collect())
    }
}

impl From<UrlList> for RequestList {
    fn from(list: UrlList) -> Self {
        let is_weighted = list.weights.is_some();
        let mut weights = list.weights.unwrap_or_default().into_iter();
        let listed = |url| Listed { weight: weights.next(), ..Listed::of(url) };
        Self { requests: list.urls.into_iter().map(listed).collect(), is_weighted, note: list.note }
    }
}

/// The form of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Urls,
    Csv(char),
    Json,
    Vegeta,
}

impl Form {
    /// Tells it by the first line that says something.
    fn of(text: &[u8]) -> Self {
        let lines = text.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
        let says = |line: &str| !line.is_empty() && !line.starts_with('#');
        let trimmed =
            |line: std::borrow::Cow<'_, str>| line.trim_start_matches('\u{feff}').trim().to_owned();
        let Some(first) = lines.map(trimmed).find(|line| says(line)) else { return Self::Urls };
        if first.starts_with('{') {
            Self::Json
        } else if vegeta::is_target(&first) {
            Self::Vegeta
        } else {
            csv::separator(&first).map_or(Self::Urls, Self::Csv)
        }
    }
}

/// Reads request lists of every form. Paths belong to `base`.
#[derive(Debug, Clone, Copy)]
pub struct RequestListReader<'a> {
    /// The server of the lines that are paths; `None` where every line must have a whole URL.
    pub base: Option<&'a Url>,
    /// Whether weights are asked for: in a list of URLs the number behind a line's last comma is
    /// then one.
    pub commas: bool,
}

impl RequestListReader<'_> {
    /// Reads a file. Bodies that it names lie beside it.
    ///
    /// # Errors
    /// A file that cannot be read, what is no request (with its place), a list of nothing, or one
    /// that is too long.
    pub fn file(&self, path: &Path) -> Result<RequestList, RequestError> {
        let failed = FileError::of("read the request list", path);
        let file = File::open(path).map_err(&failed)?;
        let mut reader = BufReader::with_capacity(PEEKED, file);
        let form = Form::of(reader.fill_buf().map_err(&failed)?);
        let origin = path.display().to_string();
        if form == Form::Urls {
            let urls = UrlListReader { base: self.base, commas: self.commas };
            return urls.lines(reader, path).map(RequestList::from);
        }
        let mut bytes = Vec::new();
        reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(&failed)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(RequestError::TooLong { origin });
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        self.of_form(form, &bytes, &origin, folder)
    }

    /// Reads a text; `origin` is what errors call it, and `folder` has the bodies that it names.
    ///
    /// # Errors
    /// As for [`Self::file`].
    pub fn text(
        &self,
        text: &str,
        origin: &str,
        folder: &Path,
    ) -> Result<RequestList, RequestError> {
        match Form::of(text.as_bytes()) {
            Form::Urls => {
                let urls = UrlListReader { base: self.base, commas: self.commas };
                urls.text(text, origin).map(RequestList::from)
            }
            form => self.of_form(form, text.as_bytes(), origin, folder),
        }
    }

    fn of_form(
        &self,
        form: Form,
        bytes: &[u8],
        origin: &str,
        folder: &Path,
    ) -> Result<RequestList, RequestError> {
        let mut list = Building {
            origin,
            base: self.base,
            folder,
            requests: Vec::new(),
            note: None,
            bytes: bytes.len() as u64,
        };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
            let at = before.iter().rev().take_while(|byte| **byte != b'\n').count();
            list.wrong(line, ParseError::new("text in UTF-8", "other bytes", at, 1))
        })?;
        let text = text.trim_start_matches('\u{feff}');
        match form {
            Form::Csv(separator) => csv::read(text, separator, &mut list)?,
            Form::Json => json::read(text, &mut list)?,
            Form::Vegeta | Form::Urls => vegeta::read(text, &mut list)?,
        }
        list.finish()
    }
}

/// A list that is being read.
struct Building<'a> {
    origin: &'a str,
    base: Option<&'a Url>,
    folder: &'a Path,
    requests: Vec<Listed>,
    /// What a reader should know of it.
    note: Option<String>,
    /// Bytes so far, bodies that were named included.
    bytes: u64,
}

impl Building<'_> {
    /// What is wrong with a line; the position counts within it.
    fn wrong(&self, line: u64, error: ParseError) -> RequestError {
        RequestError::Line { origin: self.origin.to_owned(), line, error }
    }

    /// A URL, or a path of the base.
    fn url(&self, text: &str) -> Result<Url, ParseError> {
        super::list::url_of(text, self.base)
    }

    /// The body in a file beside the list.
    fn body_file(&mut self, name: &str) -> Result<Template, ParseError> {
        let path = self.folder.join(name);
        let wrong = |wanted: String| ParseError::new(wanted, name, 0, name.len());
        let left = MAX_BYTES.saturating_sub(self.bytes);
        let read = || {
            let mut bytes = Vec::new();
            File::open(&path)?.take(left + 1).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        let bytes = read().map_err(|error| {
            wrong(format!("a file that can be read ({}: {error})", path.display()))
        })?;
        if bytes.len() as u64 > left {
            return Err(wrong("256 MiB of list and bodies at most".to_owned()));
        }
        self.bytes += bytes.len() as u64;
        Ok(Template::literal(bytes))
    }

    fn push(&mut self, line: u64, request: Listed) -> Result<(), RequestError> {
        if self.requests.len() == MAX_REQUESTS {
            let wanted = format!("at most {MAX_REQUESTS} requests");
            return Err(self.wrong(line, ParseError::new(wanted, "one more", 0, 0)));
        }
        self.requests.push(request);
        Ok(())
    }

    fn finish(self) -> Result<RequestList, RequestError> {
        let origin = self.origin.to_owned();
        if self.requests.is_empty() {
            return Err(RequestError::NoUrls { origin });
        }
        let is_weighted = self.requests.iter().any(|of| of.weight.is_some());
        let list = RequestList { requests: self.requests, is_weighted, note: self.note };
        let is_nothing = |weights: Vec<f64>| weights.iter().all(|weight| *weight <= 0.0);
        if list.weights().is_some_and(is_nothing) {
            return Err(RequestError::NoWeight { origin });
        }
        Ok(list)
    }
}

/// Numbers lines from 1, without the CR at their ends.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)))
}
