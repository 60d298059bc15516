//! What an error means to whoever started the program: whose fault it is, and what to do about it.
//!
//! Each library says so beside its errors, by [`Failure`]; a program then asks one thing of all of
//! them. Here too is the one form in which a file that cannot be read or written is told.

use crate::ParseError;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What an error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The program was called wrongly, or a plan or a file that it was given is wrong.
    Usage,
    /// What was asked for could not be done, or not to its end.
    Incomplete,
    /// It would rest on a run that is not valid.
    Invalid,
    /// A fault of the program's own.
    Fault,
}

/// An error that says what it means.
///
/// Its message, and those of its causes, say what failed; they read as "failed to …", or as what
/// was expected and what was found. What to do about it is no part of them.
pub trait Failure: Error + Send + Sync + 'static {
    /// What it means.
    fn kind(&self) -> Kind;

    /// What can be done about it, as a clause: `check the path`. By default, what can be done about
    /// the system's error that caused it.
    fn hint(&self) -> Option<String> {
        causes(self).find_map(<dyn Error>::downcast_ref).and_then(io_hint).map(str::to_owned)
    }

    /// The lines that are shown below it: the text with its place marked, where there is one.
    fn excerpt(&self) -> Option<String> {
        None
    }
}

/// The causes of an error, from what caused it directly.
fn causes(error: &(impl Error + ?Sized)) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source())
}

/// An error and its causes, on one line.
#[must_use]
pub fn chain(error: &(impl Error + ?Sized)) -> String {
    let mut text = error.to_string();
    let mut last = text.len();
    for cause in causes(error) {
        let cause = cause.to_string();
        // An error that is transparent repeats the one beneath it.
        if !text[text.len() - last..].ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
            last = cause.len();
        }
    }
    text
}

/// An error, its causes and what to do, on one line.
#[must_use]
pub fn told(error: &(impl Failure + ?Sized)) -> String {
    error.hint().map_or_else(|| chain(error), |hint| format!("{}; {hint}", chain(error)))
}

/// A text that says itself what to do, behind its last `; `: what failed, and that.
#[must_use]
pub fn split(text: &str) -> (&str, Option<&str>) {
    text.rsplit_once("; ").map_or((text, None), |(what, hint)| (what, Some(hint)))
}

/// What can be done about an error of the system's.
fn io_hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some("is the server running, and on this port?"),
        io::ErrorKind::StorageFull => Some("free some space"),
        _ => None,
    }
}

impl Failure for io::Error {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        io_hint(self).map(str::to_owned)
    }
}

impl Failure for ParseError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// A file that could not be read or written: `read the trace day.csv`, and the system's error as
/// its cause. Everybody who opens a file that a user named tells of it so.
#[derive(Debug)]
pub struct FileError {
    /// What was to be done with it, and what it is, as in `read the trace`.
    pub deed: &'static str,
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// For `map_err`: `read(path).map_err(FileError::of("read the trace", path))`.
    pub fn of(deed: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + Clone + use<> {
        let path = path.to_owned();
        move |source| Self { deed, path: path.clone(), source }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.deed, self.path.display())
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

impl Failure for FileError {
    /// A file that was to be read is one that was named.
    fn kind(&self) -> Kind {
        if self.deed.starts_with("read") { Kind::Usage } else { Kind::Incomplete }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self.source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::IsADirectory => Some("check the path"),
            _ => io_hint(&self.source),
        };
        hint.map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_in_one_form() {
        let failed = |deed, kind: io::ErrorKind| {
            FileError::of(deed, Path::new("day.csv"))(io::Error::new(kind, "no"))
        };
        let missing = failed("read the trace", io::ErrorKind::NotFound);
        assert_eq!(told(&missing), "read the trace day.csv: no; check the path");
        assert_eq!(missing.kind(), Kind::Usage);
        let full = failed("write the trace", io::ErrorKind::StorageFull);
        assert_eq!(
            (full.kind(), full.hint().as_deref()),
            (Kind::Incomplete, Some("free some space"))
        );
        let denied = failed("read the trace", io::ErrorKind::PermissionDenied);
        assert_eq!(denied.hint(), None);
    }

    #[test]
    fn an_error_that_repeats_its_cause_is_told_once() {
        #[derive(Debug)]
        struct Same(FileError);
        impl fmt::Display for Same {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
        impl Error for Same {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let read = FileError::of("read", Path::new("a"))(io::Error::other("no"));
        assert_eq!(chain(&Same(read)), "read a: no");
    }
}
