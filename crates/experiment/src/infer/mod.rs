//! The load on a server, inferred from a search's run and a few probes: reads the run, and sends
//! the probes of a prepared plan. Nothing is written of a single question; over time the probes are
//! a load with its run.

pub(crate) mod over_time;

use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;
use crate::prepare::Prepared;
use plimsoll_capacity::infer::calibration::{Calibration, CalibrationError};
use plimsoll_capacity::infer::live::{Listener, Probed, Sending, probe};
use plimsoll_capacity::infer::probing::{Probing, Settings};
use plimsoll_capacity::live::LiveError;
use plimsoll_capacity::result::{CapacityResult, RESULT};
use plimsoll_runs::Run;
use plimsoll_units::failure::{Failure, Kind};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use over_time::Inference;

/// A larger result is none of ours.
const MOST_BYTES: u64 = 64 << 20;

/// Why a run does not calibrate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationRunError {
    /// A run of something else, or of a search that did not end.
    #[error(
        "expected the run of a finished search for a capacity, found no {RESULT} in {path}: make \
         one by `plimsoll capacity --calibrate`"
    )]
    NotASearch {
        /// The run's folder.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("read {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is too large.
    #[error("expected at most {MOST_BYTES} bytes in {path}: this is something else")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is no result.
    #[error("expected the result of a search in {path}: the file was changed or is damaged")]
    Shape {
        /// The file.
        path: PathBuf,
        /// What, and where.
        #[source]
        source: serde_json::Error,
    },
    /// It says too little, or what no search says.
    #[error("{path}: {source}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong.
        source: CalibrationError,
    },
}

/// What a run says of its server.
///
/// # Errors
/// [`CalibrationRunError`]: a run of something else, too few windows, a file that no search wrote.
pub fn calibration(run: &Run) -> Result<Calibration, CalibrationRunError> {
    let path = run.path().join(RESULT);
    let text = read(&path, run.path())?;
    calibration_of(&text, &path)
}

/// What the text of a result says; `path` stands for it in messages.
///
/// # Errors
/// As for [`calibration`].
pub fn calibration_of(text: &[u8], path: &Path) -> Result<Calibration, CalibrationRunError> {
    let result: CapacityResult = serde_json::from_slice(text)
        .map_err(|source| CalibrationRunError::Shape { path: path.into(), source })?;
    Calibration::of(&result)
        .map_err(|source| CalibrationRunError::Content { path: path.into(), source })
}

fn read(path: &Path, run: &Path) -> Result<Vec<u8>, CalibrationRunError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::NotFound => CalibrationRunError::NotASearch { path: run.into() },
        _ => CalibrationRunError::File { path: path.into(), source },
    };
    let mut text = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(CalibrationRunError::TooLarge { path: path.into() });
    }
    Ok(text)
}

/// Probes until the load is known, or it is seen that it cannot be; returns how it went, and how
/// many responses are known.
///
/// # Errors
/// Where no curve fits, nothing was sent, or the engine could not go on.
pub fn infer(
    prepared: &Prepared,
    calibration: &Calibration,
    settings: Settings,
    seconds: f64,
    control: &dyn Control,
) -> Result<(Probed, u64), ExperimentError> {
    let mut probing = Probing::new(calibration, settings)
        .map_err(|error| ExperimentError::Conflict(error.to_string()))?;
    let sending = Sending { probes: settings.probes, rate_per_s: settings.rate_per_s, seconds };
    // A thread of its own, as it gives way to the engine's threads.
    let probed = std::thread::scope(|scope| {
        let (probing, mut watched) = (&mut probing, Watched(control));
        let thread = scope.spawn(move || probe(&prepared.config, probing, sending, &mut watched));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let probed: Result<Probed, LiveError> = probed;
    Ok((probed?, probing.probes()))
}

/// Tells how many responses are known as steps.
struct Watched<'a>(&'a dyn Control);

impl Listener for Watched<'_> {
    fn probes(&mut self, known: u64, asked: u64) {
        self.0.tell(News::Steps(known, asked));
    }

    fn wish(&mut self) -> Wish {
        self.0.wish()
    }
}

impl Failure for CalibrationRunError {
    fn kind(&self) -> Kind {
        Kind::Usage
    }
}
