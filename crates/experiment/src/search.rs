//! Executes a search for a capacity: the live world and its run folder together.
//!
//! A search is a run like any other: its seconds stand in the run folder. Its windows stand in
//! `artifacts/windows.jsonl`, a line each as soon as it is judged, and in the run's table `window`,
//! a row each with the second after; its result stands in `artifacts/capacity.json`. What was due
//! at the end of a window is answered only after it was judged; so lines and rows are written anew
//! when all is answered, and say the same as the result.

use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;
use crate::execute::{Recording, Setting, Steering};
use crate::prepare::Prepared;
use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::calibrate::Calibrating;
use plimsoll_capacity::conduct::{Judged, Limits, Outcome, conduct};
use plimsoll_capacity::cost::Cost;
use plimsoll_capacity::ladder;
use plimsoll_capacity::live::{Live, LiveError};
use plimsoll_capacity::result::{CapacityResult, RESULT, WINDOWS};
use plimsoll_capacity::search::Search;
use plimsoll_capacity::several::Several;
use plimsoll_capacity::sustain::Sustain;
use plimsoll_load::Config;
use plimsoll_runs::{End, Ended, Run, RunError, RunWriter, WindowRow};
use plimsoll_workload::service_model::ServiceModel;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// How often a connection is opened anew, for its handshake, nanoseconds.
const RENEW_NS: u64 = 200_000_000;

/// How to search.
#[derive(Debug, Clone)]
pub enum Method {
    /// The published one; from several rates, where some are given.
    Ladder {
        /// How it climbs.
        settings: ladder::Settings,
        /// The first rates, per second.
        first_per_s: Vec<f64>,
    },
    /// Ours.
    Adaptive {
        /// How it goes.
        settings: adaptive::Settings,
        /// How long what was found is held, seconds; `None`: not at all.
        hold_s: Option<f64>,
    },
    /// One of them, and windows at low and middle loads after it.
    Calibrating(Box<Method>),
}

impl Method {
    /// The name in JSON and on the command line.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ladder { .. } => "ladder",
            Self::Adaptive { .. } => "adaptive",
            Self::Calibrating(method) => method.name(),
        }
    }

    pub(crate) fn slo(&self) -> (f64, u64) {
        match self {
            Self::Ladder { settings, .. } => settings.slo,
            Self::Adaptive { settings, .. } => settings.slo,
            Self::Calibrating(method) => method.slo(),
        }
    }

    pub(crate) fn start(&self) -> Box<dyn Search> {
        match self {
            Self::Ladder { settings, first_per_s } => {
                Box::new(Several::new(*settings, first_per_s))
            }
            Self::Adaptive { settings, hold_s: None } => Box::new(Adaptive::new(*settings)),
            Self::Adaptive { settings, hold_s: Some(hold_s) } => {
                Box::new(Sustain::new(*settings, *hold_s))
            }
            Self::Calibrating(method) => Box::new(Calibrating::after(method.start(), self.slo())),
        }
    }
}

/// How a search went.
pub struct Searched {
    /// The run it is kept in.
    pub run: Run,
    /// Its result.
    pub result: CapacityResult,
    /// A server that would give the same, where the search found one.
    pub model: Option<ServiceModel>,
}

/// How to search, within what, and what it is worth.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How.
    pub method: Method,
    /// What it may use up.
    pub limits: Limits,
    /// What the target costs per hour.
    pub price_per_hour: Option<f64>,
}

impl Asked {
    /// The result of a search, with the cost of its requests where there is a price.
    pub(crate) fn result(&self, outcome: &Outcome, slo: &str) -> CapacityResult {
        let mut result = CapacityResult::of(outcome, self.method.name(), slo);
        let cost = |rate| self.price_per_hour.and_then(|price| Cost::of(price, rate));
        result.cost = result.estimate_per_s.and_then(cost);
        result
    }
}

/// Searches for a capacity, into its run. What the plan says of load is not used but for how it is
/// sent.
///
/// # Errors
/// Where nothing was sent, and the run is gone, or it could not be finished.
pub fn search(
    prepared: &Prepared,
    asked: &Asked,
    writer: RunWriter,
    setting: &Setting<'_>,
    control: &dyn Control,
) -> Result<Searched, ExperimentError> {
    let Asked { method, limits, .. } = asked;
    let config = Config { samples: true, renew_ns: Some(RENEW_NS), ..prepared.config.clone() };
    let folder = writer.path().to_path_buf();
    let mut recording = Recording::start(writer, setting)?;
    let (sender, windows) = mpsc::channel();
    recording.take_windows(windows);
    let mut steering = Steering::new(control, None);
    let conducted = std::thread::scope(|scope| {
        let (recording, steering) = (&mut recording, &mut steering);
        let (windows, config) = (folder.join(WINDOWS), &config);
        // A thread of its own, as it gives way to the engine's threads.
        let thread = scope.spawn(move || {
            let mut lines = Lines::create(&windows)?;
            run(config, method, *limits, recording, steering, &mut |judged| {
                let window = WindowRow::from(judged);
                lines.write(&window);
                // It is stored as long as the run is.
                let _ = sender.send(window);
                control.tell(News::Window(judged));
            })
            .and_then(|outcome| lines.fault.map_or(Ok(outcome), Err))
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let interrupted = steering.wish != Wish::Continue;
    let outcome = match conducted {
        Ok(outcome) => outcome,
        Err(error @ ExperimentError::Capacity(LiveError::Session(_))) => {
            // Nothing was sent: there is no run.
            drop(recording);
            let _ = std::fs::remove_dir_all(folder);
            return Err(error);
        }
        Err(error) => {
            let _ = recording.finish(End::new(Ended::Failed(error.to_string())), setting);
            return Err(error);
        }
    };
    let slo = setting.slo.clone().unwrap_or_default();
    let mut result = asked.result(&outcome, &slo);
    result.caches = prepared.workload.as_ref().map(|workload| workload.caches.clone());
    write_result(&folder.join(RESULT), &result)?;
    write_windows(&folder.join(WINDOWS), &result.windows)?;
    recording.replace_windows(&result.windows).map_err(RunError::Unfinished)?;
    recording.figures(&result.figures()).map_err(RunError::Unfinished)?;
    let mut end = End::new(if interrupted { Ended::Interrupted } else { Ended::Complete });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds")]
    let measured_ns = (result.seconds * 1e9) as u64;
    end.measured_ns = Some(measured_ns);
    end.warnings.clone_from(&prepared.notes);
    let run = recording.finish(end, setting)?;
    Ok(Searched { run, result, model: outcome.found.model })
}

fn run(
    config: &Config,
    method: &Method,
    limits: Limits,
    recording: &mut Recording<'_>,
    steering: &mut Steering<'_>,
    on_window: &mut dyn FnMut(&Judged),
) -> Result<Outcome, ExperimentError> {
    let mut search = method.start();
    let mut world = Live::start(config, method.slo(), recording, steering)?;
    Ok(conduct(search.as_mut(), &mut world, limits, on_window)?)
}

/// A line for each window, as soon as it is judged.
struct Lines {
    file: File,
    path: PathBuf,
    fault: Option<ExperimentError>,
}

impl Lines {
    fn create(path: &Path) -> Result<Self, ExperimentError> {
        let made = File::create(path);
        let file =
            made.map_err(|source| ExperimentError::Artifact { path: path.into(), source })?;
        Ok(Self { file, path: path.into(), fault: None })
    }

    fn write(&mut self, window: &WindowRow) {
        let line = serde_json::to_string(window).map_err(std::io::Error::other);
        let written = line.and_then(|line| self.file.write_all(format!("{line}\n").as_bytes()));
        if let Err(source) = written {
            let path = self.path.clone();
            self.fault.get_or_insert(ExperimentError::Artifact { path, source });
        }
    }
}

/// Writes the windows anew, whole or not at all.
pub(crate) fn write_windows(path: &Path, windows: &[WindowRow]) -> Result<(), ExperimentError> {
    let beside = path.with_extension("jsonl.tmp");
    let lines = windows.iter().map(|window| Ok(serde_json::to_string(window)? + "\n"));
    let written = lines.collect::<Result<String, serde_json::Error>>();
    let written = written.map_err(std::io::Error::other).and_then(|text| {
        std::fs::write(&beside, text)?;
        std::fs::rename(&beside, path)
    });
    written.map_err(|source| {
        let _ = std::fs::remove_file(&beside);
        ExperimentError::Artifact { path: path.into(), source }
    })
}

pub(crate) fn write_result(path: &Path, result: &CapacityResult) -> Result<(), ExperimentError> {
    let failed = |source| ExperimentError::Artifact { path: path.into(), source };
    let text = serde_json::to_string_pretty(result).map_err(std::io::Error::other);
    text.and_then(|text| std::fs::write(path, text)).map_err(failed)
}
