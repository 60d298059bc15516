//! Errors as a person reads them: what failed, its causes, `hint:`; and the exit code they mean.

use super::paint::Paint;
use super::say;
use crate::exit::Exit;
use plimsoll_experiment::ExperimentError;
use plimsoll_experiment::cold::ColdError;
use plimsoll_experiment::restart::RestartError;
use plimsoll_experiment::series::SeriesError;
use plimsoll_load::run::RunError;
use plimsoll_plan::PlanErrors;
use plimsoll_shoal::client;
use plimsoll_units::ParseError;
use std::fmt::Write;

/// A mistake in how the program was called.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// A result that would rest on a run that is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotValid(pub(crate) String);

/// A value of an option that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{flag}: {source}")]
pub(crate) struct FlagError {
    flag: String,
    text: String,
    source: Box<ParseError>,
}

impl FlagError {
    pub(crate) fn new(flag: &str, text: &str, source: ParseError) -> Self {
        Self { flag: flag.to_owned(), text: text.to_owned(), source: Box::new(source) }
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
pub(crate) fn show(error: &anyhow::Error) -> Exit {
    let paint = Paint::stderr();
    let mut text = String::new();
    if let Some(errors) = error.downcast_ref::<PlanErrors>() {
        let _ = write!(text, "{} {errors}", paint.bad("error:"));
    } else if let Some(flag) = error.downcast_ref::<FlagError>() {
        let _ = write!(text, "{} {flag}", paint.bad("error:"));
        let (before, len) = (flag.text.get(..flag.source.at).unwrap_or(""), flag.source.len.max(1));
        let _ = write!(text, "\n  {}\n  ", flag.text);
        let _ = write!(text, "{}{}", " ".repeat(before.chars().count()), "^".repeat(len));
        if let Some(hint) = &flag.source.hint {
            let _ = write!(text, "\nhint: {hint}");
        }
    } else {
        let (chain, hint) = sentence(error);
        let failed = if names_a_deed(&chain) { "failed to " } else { "" };
        let _ = write!(text, "{} {failed}{chain}", paint.bad("error:"));
        if let Some(hint) = hint {
            let _ = write!(text, "\n{} {hint}", paint.bold("hint:"));
        }
    }
    say(&text);
    code(error)
}

/// Whether a message completes "failed to …": it begins with a verb, rather than with what was
/// wanted or with the name of a file.
fn names_a_deed(message: &str) -> bool {
    let first = message.split(' ').next().unwrap_or("");
    let others = [
        "a", "an", "another", "cannot", "expected", "it", "its", "more", "neither", "no", "none",
        "not", "nothing", "one", "only", "the", "there", "this", "wanted", "what",
    ];
    first.bytes().all(|byte| byte.is_ascii_lowercase()) && !others.contains(&first)
}

/// The chain of causes in one line; what stands behind the last `; ` of the first is the hint.
fn sentence(error: &anyhow::Error) -> (String, Option<String>) {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let part = cause.to_string();
        // An error that is transparent repeats the one beneath it.
        if parts.last().is_none_or(|last| !last.ends_with(&part)) {
            parts.push(part);
        }
    }
    let hint = parts.first_mut().and_then(|first| {
        let at = first.rfind("; ")?;
        let hint = first[at + 2..].to_owned();
        first.truncate(at);
        Some(hint)
    });
    (parts.join(": "), hint.or_else(|| hint_for(error)))
}

fn hint_for(error: &anyhow::Error) -> Option<String> {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>())?;
    // Only what a run writes goes where --out says; what is read, or written by another option,
    // is somewhere else.
    let is_run = error.is::<plimsoll_runs::RunError>()
        || matches!(
            error.downcast_ref(),
            Some(ExperimentError::Runs(_) | ExperimentError::Artifact { .. })
        );
    Some(
        match io.kind() {
            std::io::ErrorKind::ConnectionRefused => "is the server running, and on this port?",
            std::io::ErrorKind::StorageFull if is_run => {
                "free some space, or choose another folder by --out"
            }
            std::io::ErrorKind::StorageFull => "free some space",
            std::io::ErrorKind::PermissionDenied if is_run => "choose another folder by --out",
            _ => return None,
        }
        .to_owned(),
    )
}

/// The exit code that an error means.
pub(crate) fn code(error: &anyhow::Error) -> Exit {
    if error.is::<PlanErrors>() || error.is::<UsageError>() || error.is::<FlagError>() {
        return Exit::Usage;
    }
    if let Some(experiment) = error.downcast_ref::<ExperimentError>() {
        return match experiment {
            error if error.is_of_plan() => Exit::Usage,
            ExperimentError::Load(RunError::Engine(_)) => Exit::Fault,
            _ => Exit::Incomplete,
        };
    }
    let usage = error.is::<plimsoll_workload::trace::TraceError>()
        || error.is::<plimsoll_workload::access_log::LogError>()
        || error.is::<plimsoll_experiment::infer::CalibrationRunError>()
        || error.is::<plimsoll_stats::interval::IntervalError>()
        || error.is::<ParseError>()
        || error.is::<plimsoll_workload::service_model::ServiceModelError>()
        || matches!(error.downcast_ref(), Some(plimsoll_target::TargetError::Options(_)));
    if usage {
        return Exit::Usage;
    }
    if error.is::<plimsoll_shoal::server::StartError>()
        || error.is::<plimsoll_shoal::server::FolderError>()
    {
        return Exit::Incomplete;
    }
    match error.downcast_ref() {
        Some(client::Error::Refused { .. } | client::Error::Value(_)) => return Exit::Usage,
        Some(client::Error::Nothing(_)) => return Exit::Incomplete,
        _ => {}
    }
    if error.is::<NotValid>() {
        return Exit::Invalid;
    }
    if let Some(plimsoll_runs::RunError::NotARun { .. }) = error.downcast_ref() {
        return Exit::Usage;
    }
    if error.is::<RestartError>() || error.is::<ColdError>() {
        return Exit::Incomplete;
    }
    if let Some(series) = error.downcast_ref::<SeriesError>() {
        return match series {
            SeriesError::Missing { .. }
            | SeriesError::NoSearch { .. }
            | SeriesError::Run(plimsoll_runs::RunError::NotARun { .. }) => Exit::Usage,
            _ => Exit::Incomplete,
        };
    }
    if error.is::<plimsoll_runs::RunError>()
        || error.is::<plimsoll_target::TargetError>()
        || error.chain().any(<dyn std::error::Error>::is::<std::io::Error>)
    {
        return Exit::Incomplete;
    }
    Exit::Fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_fit_what_failed() {
        let denied = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let path = || std::path::PathBuf::from("day.csv");
        let read = plimsoll_workload::trace::TraceError::Open { path: path(), source: denied() };
        assert_eq!(hint_for(&read.into()), None);
        let file = ExperimentError::File { path: path(), source: denied() };
        assert_eq!(hint_for(&file.into()), None);
        let artifact = ExperimentError::Artifact { path: path(), source: denied() };
        assert!(hint_for(&artifact.into()).is_some_and(|hint| hint.contains("--out")));
    }

    #[test]
    fn only_deeds_fail() {
        assert!(names_a_deed("connect to 127.0.0.1:1: Connection refused"));
        assert!(names_a_deed("find a run in nope: it has no run.sqlite"));
        assert!(!names_a_deed("cannot open the trace day.csv: check the path"));
        assert!(!names_a_deed("wanted an access log, found no lines in a"));
        assert!(!names_a_deed("expected at least 2 replications of A, found 1"));
        assert!(!names_a_deed("day.csv, line 3: expected a number, found `x`"));
        assert!(!names_a_deed("/logs/day has no rows: a trace needs a header"));
    }
}
