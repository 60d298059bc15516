//! How a series of searches goes on: its searches so far, those that a kill has left, and what they
//! say together.

use std::path::Path;

use plimsoll_capacity::series::{SeriesResult, SeriesRun, SeriesSummary};
use plimsoll_runs::{Run, iso8601};
use plimsoll_units::show_duration;

use super::{SeriesError, record, result_of};

/// How a search ended that was killed.
const KILLED: &str = "incomplete";

/// How many searches of a series were killed. Each is there, as a gap, and is none of those that
/// were asked for: another one is made in its place.
#[must_use]
pub fn killed(series: &SeriesResult) -> u32 {
    let killed = series.runs.iter().filter(|run| run.ended == KILLED).count();
    u32::try_from(killed).unwrap_or(u32::MAX)
}

/// How many of its searches a series has.
#[must_use]
pub fn done(series: &SeriesResult) -> u32 {
    u32::try_from(series.runs.len()).unwrap_or(u32::MAX) - killed(series)
}

/// The number of the next search of a series.
#[must_use]
pub fn next_number(series: &SeriesResult) -> u32 {
    series.runs.last().map_or(1, |run| run.number.saturating_add(1))
}

/// Takes in searches that ended after the file was last written: of a series that was killed.
///
/// # Errors
/// Where what a search left cannot be read.
pub fn take_in(series: &mut SeriesResult, path: &Path) -> Result<(), SeriesError> {
    loop {
        let number = next_number(series);
        let id = format!("{}-{number}", series.series);
        let folder = path.with_file_name(&id);
        if !folder.is_dir() {
            return Ok(());
        }
        let started = Run::open(&folder).map_or(0, |run| run.meta().started_unix_ns);
        let run = match result_of(&folder)? {
            Some(result) => record(number, &id, started, 0.0, &result),
            None => gap(number, Some(id), (started, 0.0), KILLED, "the search was killed"),
        };
        series.runs.push(SeriesRun { restarted: series.restarts, ..run });
    }
}

/// What a series keeps of a search that came to no result: when it began, nanoseconds since 1970,
/// and how late that was, seconds; how it ended, and why.
#[must_use]
pub fn gap(
    number: u32,
    run: Option<String>,
    (started, late_s): (u64, f64),
    ended: &str,
    why: &str,
) -> SeriesRun {
    SeriesRun {
        number,
        run,
        started: iso8601(started),
        started_unix_us: started / 1000,
        late_s,
        ended: ended.to_owned(),
        estimate_per_s: None,
        bound: None,
        ci95: None,
        why: Some(why.to_owned()),
        restarted: false,
    }
}

/// Says what the searches so far say together.
pub fn sum_up(series: &mut SeriesResult) {
    series.summary = SeriesSummary::of(&series.runs, series.price_per_hour);
    series.warnings = warnings(series);
}

fn warnings(series: &SeriesResult) -> Vec<String> {
    let late = series.runs.iter().filter(|run| run.late_s >= 1.0).count();
    let mut warnings = Vec::new();
    if let Some(every) = series.every_s.filter(|_| late > 0) {
        let why = format!("as the one before took longer than {}", show_seconds(every));
        warnings.push(format!("Searches that began late, {why}: {late}."));
    }
    warnings.extend(series.summary.warn_of_bounds());
    if series.summary.is_too_long() {
        warnings.push("The series is too long to be searched for changes.".to_owned());
    }
    warnings
}

/// A length of time in seconds, as a person reads it.
#[must_use]
pub fn show_seconds(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ns = (seconds.max(0.0) * 1e9).round() as u64;
    show_duration(ns)
}
