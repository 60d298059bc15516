//! Exports of a run or of an experiment, for other tools: CSV, JSON, and HdrHistogram's percentile
//! output.

mod cells;
mod csv;
mod intervals;
mod names;
#[cfg(feature = "parquet")]
mod parquet;
mod periods;
mod sampled;
mod samples;

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::error::RunError;
use crate::experiment::Experiment;
use crate::hgrm;
use crate::run::Run;
use crate::{Phase, Tag};

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table with units in its header, and an empty field where there is no value: of a run one
    /// row a second, or, where it has no seconds, its windows or the samples of its series; of an
    /// experiment one row a cell.
    Csv,
    /// An object with the same: `{ summary, intervals: [...] }` of a run that has seconds,
    /// `{ run, figures, events, windows, series }` of another, `{ experiment, cells: [...] }`.
    Json,
    /// The distribution of the measured phase's response time, in milliseconds.
    Hgrm,
    /// A row of CSV for each name that requests of a run have.
    NamesCsv,
    /// A row of CSV for each label that users of a run have.
    LabelsCsv,
    /// A row of CSV for each request of a run that kept its samples.
    SamplesCsv,
    /// The same as an object of JSON a line.
    SamplesJsonl,
    /// The same as a table of Parquet; the feature `parquet` of the build brings it.
    SamplesParquet,
}

impl Format {
    /// Every form.
    pub const ALL: [Self; 8] = [
        Self::Csv,
        Self::Json,
        Self::Hgrm,
        Self::NamesCsv,
        Self::LabelsCsv,
        Self::SamplesCsv,
        Self::SamplesJsonl,
        Self::SamplesParquet,
    ];

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Hgrm => "hgrm",
            Self::NamesCsv => "names-csv",
            Self::LabelsCsv => "labels-csv",
            Self::SamplesCsv => "samples-csv",
            Self::SamplesJsonl => "samples-jsonl",
            Self::SamplesParquet => "samples-parquet",
        }
    }

    /// Whether it has every request of a run that kept its samples.
    #[must_use]
    pub fn is_of_samples(self) -> bool {
        matches!(self, Self::SamplesCsv | Self::SamplesJsonl | Self::SamplesParquet)
    }

    /// The feature of the build that would bring it, where it was left out.
    #[must_use]
    pub fn left_out(self) -> Option<&'static str> {
        (self == Self::SamplesParquet && !cfg!(feature = "parquet")).then_some("parquet")
    }
}

impl std::str::FromStr for Format {
    type Err = plimsoll_units::ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let wanted = "a format: csv, json, hgrm, names-csv, labels-csv, samples-csv, \
                          samples-jsonl or samples-parquet";
            let error = plimsoll_units::ParseError::new(wanted, text, 0, text.len());
            match plimsoll_units::nearest(text, Self::ALL.map(Self::name)) {
                Some(name) => error.hint(format!("did you mean `{name}`?")),
                None => error,
            }
        })
    }
}

/// Writes an export of a run. Rows are streamed: memory does not grow with the run.
///
/// # Errors
/// Where the run cannot be read, or `out` refuses.
pub fn export(run: &Run, format: Format, out: &mut dyn Write) -> Result<(), RunError> {
    // Of a load without a second the table is empty, and still the one of a load.
    let has_seconds = run.meta().load.is_some();
    match format {
        Format::NamesCsv => names::csv(run, out),
        Format::LabelsCsv => names::labels_csv(run, out),
        Format::SamplesCsv => samples::csv(run, out),
        Format::SamplesJsonl => samples::jsonl(run, out),
        Format::SamplesParquet => samples_parquet(run, out),
        Format::Csv if has_seconds => intervals::csv(run, out),
        Format::Json if has_seconds => intervals::json(run, out),
        Format::Csv => sampled::csv(run, out),
        Format::Json => sampled::json(run, out),
        Format::Hgrm => {
            let histogram = run.histogram(Phase::Measured, Tag::Response)?;
            hgrm::write(&histogram, out).map_err(RunError::Export)
        }
    }?;
    out.flush().map_err(RunError::Export)
}

/// Writes an export of an experiment: its cells, each with its factors and figures.
///
/// # Errors
/// Where the experiment cannot be read, `out` refuses, or the format is the distribution of a
/// single run.
pub fn export_cells(
    experiment: &Experiment,
    format: Format,
    out: &mut dyn Write,
) -> Result<(), RunError> {
    match format {
        Format::Csv => cells::csv(experiment, out),
        Format::Json => cells::json(experiment, out),
        Format::Hgrm
        | Format::NamesCsv
        | Format::LabelsCsv
        | Format::SamplesCsv
        | Format::SamplesJsonl
        | Format::SamplesParquet => {
            Err(RunError::OfOneRun { path: experiment.folder().to_path_buf() })
        }
    }?;
    out.flush().map_err(RunError::Export)
}

/// Writes the series of a run in periods, as CSV: a row a period, instance and series, with the
/// least, mean and greatest value, their sum and their number.
///
/// # Errors
/// Where the run cannot be read, or `out` refuses.
pub fn export_periods(run: &Run, every: Duration, out: &mut dyn Write) -> Result<(), RunError> {
    periods::run(run, every, out)?;
    out.flush().map_err(RunError::Export)
}

/// Writes the series of all cells of an experiment that kept their runs, as [`export_periods`].
///
/// # Errors
/// Where the experiment or a run cannot be read, or `out` refuses.
pub fn export_cell_periods(
    experiment: &Experiment,
    every: Duration,
    out: &mut dyn Write,
) -> Result<(), RunError> {
    periods::cells(experiment, every, out)?;
    out.flush().map_err(RunError::Export)
}

#[cfg(feature = "parquet")]
fn samples_parquet(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    parquet::write(run, out)
}

#[cfg(not(feature = "parquet"))]
fn samples_parquet(_: &Run, _: &mut dyn Write) -> Result<(), RunError> {
    let format = Format::SamplesParquet;
    let feature = format.left_out().unwrap_or_default();
    Err(RunError::LeftOut { format: format.name(), feature })
}

fn text(out: &mut dyn Write, text: &str) -> Result<(), RunError> {
    out.write_all(text.as_bytes()).map_err(RunError::Export)
}

fn json(out: &mut dyn Write, value: &impl Serialize) -> Result<(), RunError> {
    serde_json::to_writer(out, value).map_err(|error| RunError::Export(io::Error::from(error)))
}
