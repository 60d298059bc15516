//! vegeta's targets: a line with method and URL, a line a header, `@` and a file for the body; an
//! empty line, or the next method, ends a request. Lines that begin with `#` are passed over.
//! `# name: TEXT` names the next request, as the format has no place for a name.

use plimsoll_units::ParseError;

use super::{Building, Listed, lines};
use crate::request::error::RequestError;
use crate::request::header::{parse_header, parse_method};

/// Whether a line begins a target: a method, a blank, and what may be a URL.
pub(super) fn is_target(line: &str) -> bool {
    let Some((method, url)) = line.split_once([' ', '\t']) else { return false };
    let url = url.trim();
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    is_method && (url.starts_with('/') || url.contains("://")) && !url.contains([' ', '\t'])
}

/// Reads all targets of a text.
pub(super) fn read(text: &str, list: &mut Building<'_>) -> Result<(), RequestError> {
    let mut open: Option<(u64, Listed)> = None;
    let mut name = None;
    for (number, whole) in lines(text) {
        let line = whole.trim();
        let shift = whole.len() - whole.trim_start().len();
        if let Some(comment) = line.strip_prefix('#') {
            let said = comment.trim().strip_prefix("name:").map(str::trim);
            name = said.filter(|said| !said.is_empty()).map(str::to_owned).or(name);
            continue;
        }
        let begins = is_target(line) || open.is_none();
        if (line.is_empty() || begins)
            && let Some((at, request)) = open.take()
        {
            list.push(at, request)?;
        }
        if line.is_empty() {
            continue;
        }
        let taken = match &mut open {
            None => target(line, list).map(|request| {
                open = Some((number, Listed { name: name.take(), ..request }));
            }),
            Some((_, request)) => part(line, request, list),
        };
        taken.map_err(|error| list.wrong(number, error.shifted(shift)))?;
    }
    open.map_or(Ok(()), |(at, request)| list.push(at, request))
}

/// The line that begins a target.
fn target(line: &str, list: &Building<'_>) -> Result<Listed, ParseError> {
    let Some((method, url)) = line.split_once([' ', '\t']) else {
        return Err(ParseError::new("a method and a URL", line, 0, line.len()));
    };
    let method = parse_method(method)?;
    let rest = url.trim_start();
    let at = line.len() - rest.len();
    let url = list.url(rest).map_err(|error| error.shifted(at))?;
    Ok(Listed { method: Some(method), ..Listed::of(url) })
}

/// A header of a target, or the file of its body.
fn part(line: &str, request: &mut Listed, list: &mut Building<'_>) -> Result<(), ParseError> {
    match line.strip_prefix('@') {
        Some(_) if request.body.is_some() => {
            Err(ParseError::new("one body a request", line, 0, line.len()))
        }
        Some(file) => {
            request.body = Some(list.body_file(file).map_err(|error| error.shifted(1))?);
            Ok(())
        }
        None => {
            request.headers.push(parse_header(line)?);
            Ok(())
        }
    }
}
