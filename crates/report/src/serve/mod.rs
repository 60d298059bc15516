//! Runs for a browser, read only: the list, the files of each, and its page.
//!
//! | asked for | answered |
//! | --- | --- |
//! | `/` | the runs and experiments, the newest first |
//! | `/runs.json` | the same as JSON |
//! | `/NAME/` | the files of one |
//! | `/NAME/files.json` | the same as JSON |
//! | `/NAME/files/PATH` | a file |
//! | `/NAME/report`, `/NAME/cells/0007/report` | the page, made anew |
//!
//! # What cannot be reached
//!
//! A file is given by the folder's own list: a path that is not in it, letter by letter, is not
//! looked for. Links are in no list, and a folder with a link has no page. A file is opened below
//! its folder with every link refused, whatever has become of it since it was listed. Nothing that
//! was captured is run by a browser: it is plain text, or it is saved.

mod files;
mod pages;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plimsoll_analysis::analyse;
use plimsoll_net::http::access::{basic_password, bearer, is_equal, is_for_this_host};
use plimsoll_net::http::respond::{Answer, Body, Request};
use plimsoll_runs::Run;
use plimsoll_runs::experiment::{Experiment, is_experiment};
use serde_json::json;

use crate::guarded::{HTML, OF_FILES, OF_PAGES, TEXT, guarded, refused};
use crate::{ReportError, Source, document};
use files::{Files, Listed};

const JSON: &str = "application/json";
const BINARY: &str = "application/octet-stream";

/// Who may ask.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The token that has to be given, as the password of Basic authentication or as one that a
    /// request bears; `None` where anybody may ask who can reach the server.
    pub token: Option<Vec<u8>>,
    /// The name of this host, beside its addresses and `localhost`.
    pub name: Option<String>,
}

/// A folder of runs that is served.
#[derive(Debug)]
pub struct Served {
    root: PathBuf,
    access: Access,
    /// Pages are made one at a time.
    page: Mutex<()>,
}

impl Served {
    /// The runs below a folder.
    #[must_use]
    pub fn new(root: &Path, access: Access) -> Self {
        Self { root: root.to_owned(), access, page: Mutex::default() }
    }

    /// Answers a request.
    pub fn respond(&self, request: &Request<'_>) -> Answer {
        if !is_for_this_host(request, self.access.name.as_deref()) {
            return refused(421, "the header Host names no address of this host, see --name");
        }
        if !self.lets_in(request) {
            return refused(401, "expected the token as the password, of any user")
                .with("www-authenticate", "Basic realm=\"runs\", charset=\"UTF-8\"");
        }
        if !["GET", "HEAD"].contains(&request.method) {
            return refused(405, "only GET and HEAD are answered").with("allow", "GET, HEAD");
        }
        self.answer(request.path)
    }

    fn lets_in(&self, request: &Request<'_>) -> bool {
        let Some(wanted) = &self.access.token else { return true };
        let borne = bearer(request).map(|text| text.as_bytes().to_vec());
        let given = basic_password(request).or(borne);
        given.is_some_and(|given| is_equal(wanted, &given))
    }

    /// The answer to whoever may ask, by the path of a request.
    #[must_use]
    pub fn answer(&self, path: &str) -> Answer {
        let Some(parts) = parts(path) else { return refused(400, "the path is no text") };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let found = match parts[..] {
            [] => pages::list(&self.root).map(page),
            ["runs.json"] => pages::list_json(&self.root).map(|text| data(&text)),
            [name] => self.of(name, |folder, files| Ok(page(pages::files(name, folder, files)))),
            [name, "files.json"] => self.of(name, |_, files| Ok(data(&json_of(files)))),
            [name, "report"] => self.of(name, |folder, files| self.page(folder, files)),
            [name, "cells", cell, "report"] if is_name(cell) => {
                self.of(name, |folder, files| self.page(&folder.join("cells").join(cell), files))
            }
            [name, "files", ref path @ ..] => {
                self.of(name, |folder, files| Ok(file(folder, files, &path.join("/"))))
            }
            _ => Ok(missing()),
        };
        found.unwrap_or_else(|error| refused(500, &plimsoll_units::failure::chain(&error)))
    }

    /// What is said of a run or an experiment by its folder and its files; that it is not there
    /// where it is not.
    fn of(
        &self,
        name: &str,
        say: impl FnOnce(&Path, &Files) -> Result<Answer, ReportError>,
    ) -> Result<Answer, ReportError> {
        if !is_name(name) {
            return Ok(missing());
        }
        let folder = self.root.join(name);
        match Files::of(&folder) {
            Some(files) if files.is_run() => say(&folder, &files),
            _ => Ok(missing()),
        }
    }

    /// The page of a run or an experiment.
    fn page(&self, folder: &Path, files: &Files) -> Result<Answer, ReportError> {
        if files.has_link {
            return Ok(refused(403, "there is a link in the folder: no page is made of it"));
        }
        let is_there = Files::of(folder).is_some_and(|files| files.is_run());
        if !is_there {
            return Ok(missing());
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let unreadable = ReportError::within(&name);
        let _one = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        let document = if is_experiment(folder) {
            let experiment = Experiment::open(folder).map_err(&unreadable)?;
            let analysis = analyse(&experiment).map_err(&unreadable)?;
            document(Source::Experiment(&experiment, &analysis), None)?
        } else {
            document(Source::Runs(&[Run::open(folder).map_err(&unreadable)?]), None)?
        };
        Ok(page(document.html()))
    }
}

/// Whether a part of a path can be the name of a folder.
fn is_name(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\0'])
}

/// The parts of a path between its slashes, decoded; `None` where one is no text.
fn parts(path: &str) -> Option<Vec<String>> {
    let raw = path.strip_prefix('/')?;
    let raw = raw.strip_suffix('/').unwrap_or(raw);
    if raw.is_empty() {
        return Some(Vec::new());
    }
    raw.split('/').map(decoded).collect()
}

/// A text whose bytes may be percent-encoded; `None` where it is none.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(left.next())?, digit(left.next())?);
        bytes.push(u8::try_from(16 * high + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// A text as a part of a path.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn json_of(files: &Files) -> String {
    let one = |of: &Listed| json!({"path": of.path, "bytes": of.bytes});
    let all: Vec<_> = files.all.iter().map(one).collect();
    json!({"schema": 1, "files": all}).to_string()
}

/// A file of a folder's list.
fn file(folder: &Path, files: &Files, path: &str) -> Answer {
    let Some(listed) = files.all.iter().find(|of| of.path == path) else { return missing() };
    let Some((open, bytes)) = files::open(folder, &listed.path) else { return missing() };
    let extension = Path::new(path).extension().and_then(|of| of.to_str()).unwrap_or_default();
    let content_type = match extension {
        "json" => JSON,
        "sqlite" | "hlog" | "bin" | "gz" | "zst" => BINARY,
        // Logs and what was captured, whatever it says it is.
        _ => TEXT,
    };
    let mut answer = guarded(Answer::new(200, content_type, Vec::new()), OF_FILES);
    answer.body = Body::File(open, bytes);
    if content_type == BINARY {
        let name: String = path.rsplit('/').next().unwrap_or_default().to_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let name: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
        return answer.with("content-disposition", format!("attachment; filename=\"{name}\""));
    }
    answer
}

fn page(html: String) -> Answer {
    guarded(Answer::new(200, HTML, html), OF_PAGES)
}

fn data(text: &str) -> Answer {
    guarded(Answer::new(200, JSON, text), OF_FILES)
}

fn missing() -> Answer {
    refused(404, "there is no such run, and no such file in it")
}

#[cfg(test)]
mod tests;
