//! Errors as a person reads them: what failed, its causes, `hint:`; and the exit code they mean.

use super::paint::Paint;
use super::say;
use crate::exit::Exit;
use plimsoll_units::ParseError;
use plimsoll_units::failure::{Failure, Kind, chain, split};
use std::fmt;

/// What a command ends with that does not succeed: an error that says what it means, and what was
/// being done.
#[derive(Debug)]
pub(crate) struct Error {
    cause: Box<dyn Failure>,
    /// From what was done first to what failed.
    doing: Vec<String>,
}

/// The result of whatever a command does.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl<E: Failure> From<E> for Error {
    fn from(cause: E) -> Self {
        Self { cause: Box::new(cause), doing: Vec::new() }
    }
}

/// What was being done when something failed. A text may end in `; ` and what to do about it.
pub(crate) trait Context<T> {
    /// Adds it to the error.
    fn with_context(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn with_context(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| {
            let mut error = error.into();
            error.doing.insert(0, doing());
            error
        })
    }
}

/// The error and its causes, and what to do, on one line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl Error {
    /// The error and its causes, on one line.
    fn message(&self) -> String {
        let doing = self.doing.iter().map(|text| split(text).0.to_owned());
        doing.chain([chain(&*self.cause)]).collect::<Vec<_>>().join(": ")
    }

    fn hint(&self) -> Option<String> {
        let doing = self.doing.iter().find_map(|text| split(text).1.map(str::to_owned));
        doing.or_else(|| self.cause.hint())
    }

    /// The exit code that it means.
    pub(crate) fn exit(&self) -> Exit {
        match self.cause.kind() {
            Kind::Usage => Exit::Usage,
            Kind::Incomplete => Exit::Incomplete,
            Kind::Invalid => Exit::Invalid,
            Kind::Fault => Exit::Fault,
        }
    }
}

/// A mistake in how the program was called. The text may end in `; ` and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{}", split(.0).0)]
pub(crate) struct UsageError(pub(crate) String);

impl Failure for UsageError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        split(&self.0).1.map(str::to_owned)
    }
}

/// A result that would rest on a run that is not valid. The text is as that of [`UsageError`].
#[derive(Debug, thiserror::Error)]
#[error("{}", split(.0).0)]
pub(crate) struct NotValid(pub(crate) String);

impl Failure for NotValid {
    fn kind(&self) -> Kind {
        Kind::Invalid
    }

    fn hint(&self) -> Option<String> {
        split(&self.0).1.map(str::to_owned)
    }
}

/// An error that no command expects: a fault of ours, or of the system's where that is its cause.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Unexpected(Box<dyn std::error::Error + Send + Sync>);

impl Unexpected {
    pub(crate) fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl Failure for Unexpected {
    fn kind(&self) -> Kind {
        Kind::Fault
    }
}

/// A value of an option that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{flag}: {source}")]
pub(crate) struct FlagError {
    flag: String,
    text: String,
    #[source]
    source: Box<ParseError>,
}

impl FlagError {
    pub(crate) fn new(flag: &str, text: &str, source: ParseError) -> Self {
        Self { flag: flag.to_owned(), text: text.to_owned(), source: Box::new(source) }
    }
}

impl Failure for FlagError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }

    fn hint(&self) -> Option<String> {
        self.source.hint.clone()
    }

    fn excerpt(&self) -> Option<String> {
        let (before, len) = (self.text.get(..self.source.at).unwrap_or(""), self.source.len.max(1));
        let mark = " ".repeat(before.chars().count()) + &"^".repeat(len);
        Some(format!("  {}\n  {mark}", self.text))
    }
}

/// Reads the value of an option.
pub(crate) fn read<T>(
    flag: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, ParseError>,
) -> Result<T, FlagError> {
    parse(text).map_err(|error| FlagError::new(flag, text, error))
}

/// Shows an error; returns the exit code it means.
pub(crate) fn show(error: &Error) -> Exit {
    let paint = Paint::stderr();
    let message = error.message();
    let failed = if names_a_deed(&message) { "failed to " } else { "" };
    let mut text = format!("{} {failed}{message}", paint.bad("error:"));
    if let Some(excerpt) = error.cause.excerpt() {
        text.push_str(&format!("\n{excerpt}"));
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\n{} {hint}", paint.bold("hint:")));
    }
    say(&text);
    error.exit()
}

/// Whether a message completes "failed to …": it begins with a verb, rather than with what was
/// wanted or with the name of a file.
fn names_a_deed(message: &str) -> bool {
    let first = message.split(' ').next().unwrap_or("");
    let others = [
        "a", "an", "another", "cannot", "expected", "it", "its", "more", "neither", "no", "none",
        "not", "nothing", "one", "only", "the", "there", "this", "what",
    ];
    first.bytes().all(|byte| byte.is_ascii_lowercase()) && !others.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_experiment::ExperimentError;
    use plimsoll_units::failure::FileError;
    use std::io::ErrorKind;
    use std::path::{Path, PathBuf};

    #[test]
    fn hints_fit_what_failed() {
        let read = FileError::of("read the trace", Path::new("day.csv"));
        let denied = || ErrorKind::PermissionDenied.into();
        assert_eq!(Error::from(read(denied())).hint(), None);
        let missing = ExperimentError::File(read(ErrorKind::NotFound.into()));
        assert_eq!(Error::from(missing).hint().as_deref(), Some("check the path"));
        let artifact = ExperimentError::Artifact { path: PathBuf::from("a"), source: denied() };
        assert!(Error::from(artifact).hint().is_some_and(|hint| hint.contains("--out")));
    }

    #[test]
    fn what_was_done_stands_before_what_failed_and_its_hint_first() {
        let failed = std::io::Error::from(ErrorKind::StorageFull);
        let result: Result<()> = Err(failed).with_context(|| "write the page; choose --out".into());
        let error = result.unwrap_err();
        assert!(error.message().starts_with("write the page: "), "{error}");
        assert_eq!(
            (error.hint().as_deref(), error.exit()),
            (Some("choose --out"), Exit::Incomplete)
        );
        let usage = Error::from(UsageError("compare A with itself; leave it out of one".into()));
        assert_eq!(usage.message(), "compare A with itself");
        assert_eq!(usage.to_string(), "compare A with itself; leave it out of one");
    }

    #[test]
    fn only_deeds_fail() {
        assert!(names_a_deed("connect to 127.0.0.1:1: Connection refused"));
        assert!(names_a_deed("find a run in nope: it has no run.sqlite"));
        assert!(!names_a_deed("cannot scale day.csv to two rates: its rate is always 5/s"));
        assert!(!names_a_deed("expected an access log, found no lines in a"));
        assert!(!names_a_deed("expected at least 2 replications of A, found 1"));
        assert!(!names_a_deed("day.csv, line 3: expected a number, found `x`"));
        assert!(!names_a_deed("/logs/day has no rows: a trace needs a header"));
    }
}
