//! A series of searches on disk: its file beside the folders of its runs, and searches read back
//! for comparing.
//!
//! `runs/<series>.series.json` is written anew, whole or not at all, after each search. It is what
//! the series is known by: a search that sent nothing has no folder, and stands only there. Files
//! come from outside, so they are bounded and checked.

mod course;
mod pace;

use plimsoll_capacity::compared::Search;
use plimsoll_capacity::result::{CapacityResult, RESULT};
use plimsoll_capacity::series::{EXTENSION, SCHEMA, SeriesFile, SeriesRun};
use plimsoll_runs::experiment::CELLS;
use plimsoll_runs::{Run, RunError, iso8601};
use plimsoll_units::failure::{Failure, Kind};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub use course::{done, gap, killed, next_number, show_seconds, sum_up, take_in};
pub use pace::Pace;

/// The most bytes of a file that are read.
const MOST_BYTES: u64 = 16 << 20;
/// The most characters of a reason that are told: it may quote the file.
const MOST_REASON: usize = 200;
/// The most bytes of a text in a file, but for the plan.
const MOST_TEXT: usize = 4096;
/// No rate or time is greater.
const GREATEST: f64 = 1e15;

/// Why searches cannot be read, or a series not be kept. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// There is nothing of that name.
    #[error("find the run or series {path}")]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// A run that was no search.
    #[error("find a search for a capacity in {path}: it has no {RESULT}")]
    NoSearch {
        /// The run folder.
        path: PathBuf,
    },
    /// A file that is not understood.
    #[error("read {path}: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file that cannot be read or written.
    #[error("{deed} {path}")]
    File {
        /// `read` or `write`.
        deed: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A run that cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Searches that were named together, and by what.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The series' id, or the run's where it belongs to none.
    pub id: String,
    /// The searches.
    pub searches: Vec<Search>,
}

/// The file of a series, by the path of the series: its folder for runs and its id.
#[must_use]
pub fn file_of(series: &Path) -> PathBuf {
    let mut name = series.file_name().unwrap_or_default().to_owned();
    name.push(EXTENSION);
    series.with_file_name(name)
}

/// Where what the restart commands of a series say is kept, by the path of the series.
#[must_use]
pub fn restart_log_of(series: &Path) -> PathBuf {
    let mut name = series.file_name().unwrap_or_default().to_owned();
    name.push(".restart.log");
    series.with_file_name(name)
}

/// When the next search is due, by the start of the one before, in microseconds; at once where
/// there is no interval.
#[must_use]
pub fn due_us(started_us: u64, every_s: Option<f64>) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let every_us = (every_s.unwrap_or(0.0).max(0.0) * 1e6).round() as u64;
    started_us.saturating_add(every_us)
}

/// Keeps a series: beside its file, synced, then renamed over it.
///
/// # Errors
/// Where the file cannot be written.
pub fn write(series: &Path, file: &SeriesFile) -> Result<(), SeriesError> {
    let path = file_of(series);
    let beside = path.with_extension("json.tmp");
    let written = serde_json::to_string_pretty(file).map_err(io::Error::other).and_then(|text| {
        let mut made = plimsoll_runs::own::create(&beside)?;
        made.write_all(format!("{text}\n").as_bytes())?;
        made.sync_all()?;
        std::fs::rename(&beside, &path)
    });
    written.map_err(|source| {
        let _ = std::fs::remove_file(&beside);
        SeriesError::File { deed: "write", path, source }
    })
}

/// Reads a series by its path, or by that of its file.
///
/// # Errors
/// Where there is none, or its file cannot be read or believed.
pub fn read(series: &Path) -> Result<SeriesFile, SeriesError> {
    let is_file = series.as_os_str().to_string_lossy().ends_with(EXTENSION);
    let path = if is_file { series.to_owned() } else { file_of(series) };
    let Some(text) = read_text(&path)? else {
        return Err(SeriesError::Missing { path: series.to_owned() });
    };
    let parsed = serde_json::from_str::<SeriesFile>(&text).map_err(reason);
    let checked = parsed.and_then(|file| check(&file).map(|()| file));
    checked.map_err(|why| SeriesError::Damaged { path, why })
}

fn check(file: &SeriesFile) -> Result<(), String> {
    let series = &file.result;
    if series.schema != SCHEMA {
        return Err(format!("its schema is {}, and this program knows {SCHEMA}", series.schema));
    }
    let every = series.every_s.is_none_or(is_possible);
    let price = series.price_per_hour.is_none_or(is_possible);
    if !(every && price && series.runs.iter().all(is_sound)) {
        return Err("a figure of it is impossible".to_owned());
    }
    let texts = [&series.series, &series.name, &series.target, &series.method, &series.slo];
    let of_runs = series.runs.iter().flat_map(|run| [&run.started, &run.ended]);
    let more = series.runs.iter().flat_map(|run| run.run.iter().chain(&run.why));
    if !texts.into_iter().chain(of_runs).chain(more).all(|text| text.len() <= MOST_TEXT) {
        return Err("a text of it is too long".to_owned());
    }
    let ordered = series.runs.windows(2).all(|two| two[0].number < two[1].number);
    if ordered { Ok(()) } else { Err("its searches are not in order".to_owned()) }
}

/// Whether the figures of a search can be.
fn is_sound(run: &SeriesRun) -> bool {
    let ends = run.ci95.map(|(low, high)| [low, high]);
    let figures = [Some(run.late_s), run.estimate_per_s].into_iter().flatten();
    let above_zero = run.estimate_per_s.is_none_or(|estimate| estimate > 0.0);
    let ordered = run.ci95.is_none_or(|(low, high)| low <= high);
    figures.chain(ends.into_iter().flatten()).all(is_possible) && above_zero && ordered
}

fn is_possible(value: f64) -> bool {
    (0.0..=GREATEST).contains(&value)
}

/// The searches behind a path: those of a series, or that of a run folder.
///
/// # Errors
/// Where there is nothing, no search, or it cannot be read.
pub fn searches(path: &Path) -> Result<Named, SeriesError> {
    if path.is_dir() {
        return of_folder(path);
    }
    let SeriesFile { result: series, .. } = read(path)?;
    let of = |run: SeriesRun| Search {
        target: series.target.clone(),
        name: series.name.clone(),
        slo: series.slo.clone(),
        run,
    };
    let searches = series.runs.iter().cloned().map(of).collect();
    Ok(Named { id: series.series.clone(), searches })
}

/// The search of a run folder, under its series where there is one beside it.
fn of_folder(folder: &Path) -> Result<Named, SeriesError> {
    let run = Run::open(folder)?;
    let result = result_of(folder)?;
    let result = result.ok_or_else(|| SeriesError::NoSearch { path: folder.to_owned() })?;
    let meta = run.meta();
    let id = called(folder);
    let member = id.rsplit_once('-').and_then(|(series, number)| {
        let number = number.parse().ok()?;
        file_of(&folder.with_file_name(series)).is_file().then(|| (series.to_owned(), number))
    });
    let (series, number) = member.unwrap_or_else(|| (id.clone(), 1));
    let search = Search {
        target: meta.subject.clone(),
        name: meta.name.clone(),
        slo: result.slo.clone(),
        run: record(number, &id, meta.started_unix_ns, 0.0, &result),
    };
    Ok(Named { id: series, searches: vec![search] })
}

/// What a run folder is called: a cell by its experiment, too, as each experiment has a first one.
fn called(folder: &Path) -> String {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let own = name(folder).unwrap_or_default();
    let cells = folder.parent().filter(|parent| parent.ends_with(CELLS));
    match cells.and_then(Path::parent).and_then(name) {
        Some(experiment) => format!("{experiment}/{CELLS}/{own}"),
        None => own,
    }
}

/// The result of the search that a run folder holds; `None` where it was none, or has not ended.
///
/// # Errors
/// Where the file cannot be read or believed.
pub fn result_of(folder: &Path) -> Result<Option<CapacityResult>, SeriesError> {
    let path = folder.join(RESULT);
    let Some(text) = read_text(&path)? else { return Ok(None) };
    let parsed = serde_json::from_str::<CapacityResult>(&text).map_err(reason);
    let checked = parsed.and_then(|result| {
        let run = record(1, "", 0, 0.0, &result);
        let texts = [&result.slo, &result.ended];
        let is_sound = is_sound(&run) && texts.iter().all(|text| text.len() <= MOST_TEXT);
        if is_sound { Ok(result) } else { Err("a figure or text of it is impossible".to_owned()) }
    });
    checked.map(Some).map_err(|why| SeriesError::Damaged { path, why })
}

/// What a series keeps of a search that has a result, of a server that was not restarted before it.
/// What is no estimate of a search that came to its end is a gap.
#[must_use]
pub fn record(
    number: u32,
    run: &str,
    started_unix_ns: u64,
    late_s: f64,
    result: &CapacityResult,
) -> SeriesRun {
    let found = result.ended == "found";
    SeriesRun {
        number,
        run: Some(run.to_owned()),
        started: iso8601(started_unix_ns),
        started_unix_us: started_unix_ns / 1000,
        late_s,
        ended: result.ended.clone(),
        estimate_per_s: result.estimate_per_s.filter(|_| found),
        bound: result.bound.filter(|_| found),
        ci95: result.ci95.filter(|_| found),
        why: (!found).then(|| result.warnings.first().cloned()).flatten(),
        restarted: false,
    }
}

/// A file's text; `None` where there is no such file.
fn read_text(path: &Path) -> Result<Option<String>, SeriesError> {
    let failed = |source| SeriesError::File { deed: "read", path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        let why = format!("it is greater than {} MiB", MOST_BYTES >> 20);
        return Err(SeriesError::Damaged { path: path.to_owned(), why });
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Why a text is not understood, shortened.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
fn reason(error: serde_json::Error) -> String {
    error.to_string().chars().take(MOST_REASON).collect()
}

impl Failure for SeriesError {
    fn kind(&self) -> Kind {
        match self {
            Self::Missing { .. } | Self::NoSearch { .. } => Kind::Usage,
            Self::Run(error) => error.kind(),
            Self::Damaged { .. } | Self::File { .. } => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Missing { .. } => {
                "name a run folder, or a series by its path without the number at its end"
            }
            Self::NoSearch { .. } => "name runs of `capacity`",
            Self::Run(error) => return error.hint(),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_capacity::series::{SeriesResult, SeriesSummary};

    fn file() -> SeriesFile {
        let run = |number: u32| SeriesRun {
            number,
            run: Some(format!("day-{number}")),
            started: "2026-10-01T00:00:00.000Z".to_owned(),
            started_unix_us: 1_790_812_800_000_000 + u64::from(number),
            late_s: 0.5,
            ended: "found".to_owned(),
            estimate_per_s: Some(28.0),
            bound: None,
            ci95: Some((27.0, 29.0)),
            why: None,
            restarted: false,
        };
        let runs: Vec<SeriesRun> = (1..=3).map(run).collect();
        SeriesFile {
            result: SeriesResult {
                schema: SCHEMA,
                warnings: vec![],
                series: "day".to_owned(),
                name: "small".to_owned(),
                target: "http://h/".to_owned(),
                method: "adaptive".to_owned(),
                slo: "p90<150ms".to_owned(),
                every_s: Some(900.0),
                repeat: 96,
                restarts: false,
                price_per_hour: Some(0.17),
                summary: SeriesSummary::of(&runs, Some(0.17)),
                runs,
            },
            plan: "seed = 1\n".to_owned(),
            search: vec!["--search=adaptive".to_owned()],
        }
    }

    #[test]
    fn a_series_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day");
        write(&path, &file()).unwrap();
        assert_eq!(read(&path).unwrap(), file());
        assert_eq!(read(&file_of(&path)).unwrap(), file());
        let named = searches(&path).unwrap();
        assert_eq!((named.id.as_str(), named.searches.len()), ("day", 3));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside");
        let none = folder.path().join("night");
        assert!(matches!(searches(&none), Err(SeriesError::Missing { .. })));
    }

    #[test]
    fn the_next_is_due_an_interval_after_the_start_of_the_last() {
        assert_eq!(due_us(5_000_000, Some(900.0)), 905_000_000);
        assert_eq!(due_us(5_000_000, None), 5_000_000);
        assert_eq!(due_us(u64::MAX, Some(f64::INFINITY)), u64::MAX);
    }

    /// What is not believed, and that no change of the bytes does worse than not to be.
    #[test]
    fn what_cannot_be_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day");
        let good = serde_json::to_string(&file()).unwrap();
        let huge = " ".repeat((16 << 20) + 1);
        let long = good.replace("small", &"x".repeat(5000));
        for (broken, why) in [
            ("", "EOF while parsing"),
            (&good[..good.len() / 2], "EOF while parsing"),
            (&huge, "greater than 16 MiB"),
            (&long, "too long"),
            (&good.replace("\"schema\":1", "\"schema\":2"), "its schema is 2"),
            (&good.replace(":28.0,", ":-28.0,"), "impossible"),
            (&good.replace(":28.0,", ":1e300,"), "impossible"),
            (&good.replace("[27.0,29.0]", "[29.0,27.0]"), "impossible"),
            (&good.replace("\"number\":3", "\"number\":1"), "not in order"),
        ] {
            std::fs::write(file_of(&path), broken).unwrap();
            let Err(SeriesError::Damaged { why: found, .. }) = read(&path) else {
                panic!("it was believed: {why}")
            };
            assert!(found.contains(why), "{found} for {why}");
        }
        let mut state = 1_u32;
        for _ in 0..3000 {
            let mut bytes = good.clone().into_bytes();
            for _ in 0..3 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = state as usize % bytes.len();
                bytes[at] = (state >> 24) as u8;
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let parsed = serde_json::from_str::<SeriesFile>(&text);
            if let Some(file) = parsed.ok().filter(|file| check(file).is_ok()) {
                let runs = &file.result.runs;
                let summary = SeriesSummary::of(runs, file.result.price_per_hour);
                assert!(summary.found <= summary.searches && summary.searches == runs.len());
            }
        }
    }
}
