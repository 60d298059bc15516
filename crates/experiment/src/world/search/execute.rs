//! Executes a search for a capacity: the live world and its run folder together.
//!
//! A search is a run like any other: its seconds stand in the run folder. Its windows stand in
//! `artifacts/windows.jsonl`, a line each as soon as it is judged, and in the run's table `window`,
//! a row each with the second after; its result stands in `artifacts/capacity.json`. What was due
//! at the end of a window is answered only after it was judged; so lines and rows are written anew
//! when all is answered, and say the same as the result.

use crate::control::{Control, News, Wish};
use crate::error::ExperimentError;
use crate::prepare::Prepared;
use crate::world::load::execute::{Recording, Setting, cut, is_unbegun};
use crate::world::load::workers::{self, Came};
use crate::world::steer::{Rules, Steering, WatchedRounds};
use crate::world::watch::Watching;
use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::calibrate::Calibrating;
use plimsoll_capacity::conduct::{Judged, Limits, Outcome, conduct};
use plimsoll_capacity::cost::Cost;
use plimsoll_capacity::ladder;
use plimsoll_capacity::live::{Live, session};
use plimsoll_capacity::result::{CapacityResult, RESULT, WINDOWS};
use plimsoll_capacity::search::Search;
use plimsoll_capacity::several::Several;
use plimsoll_capacity::sustain::Sustain;
use plimsoll_fleet::{Fleet, Used};
use plimsoll_load::Config;
use plimsoll_load::run::{Watch, Wish as Wished};
use plimsoll_plan::{self as plan, Plan, SearchMethod};
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::LIMITED;
use plimsoll_runs::{End, Ended, Event, Run, RunError, RunWriter, Sink, WindowRow};
use plimsoll_stats::slo::{Bound, Clause, Comparison, Figure, Metric, Slo, Timing};
use plimsoll_units::failure::told;
use plimsoll_units::show_duration;
use plimsoll_workload::service_model::ServiceModel;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

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

    /// The quantile and the bound, nanoseconds, that it steers by.
    #[must_use]
    pub fn slo(&self) -> (f64, u64) {
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
pub struct SearchSettings {
    /// How.
    pub method: Method,
    /// What it may use up.
    pub limits: Limits,
    /// What must hold.
    pub slo: String,
    /// What the target costs per hour.
    pub price_per_hour: Option<f64>,
}

/// The SLO where none is given: the published one.
const USUAL_SLO: &str = "p90<150ms";

impl SearchSettings {
    /// What a plan asks for.
    ///
    /// # Errors
    /// An SLO that no search can steer by, or that the method or the timeout does not allow.
    pub fn of(plan: &Plan) -> Result<Self, ExperimentError> {
        let usual = Slo::parse(USUAL_SLO).ok();
        let none = || ExperimentError::Conflict("find an SLO: the plan has none".to_owned());
        let slo = plan.measure.slo.clone().or(usual).ok_or_else(none)?;
        if let Some(of) = slo.subjects().next() {
            let text = format!(
                "search under an SLO about the requests of `{of}`: a search judges all requests; \
                 leave `{of}: ` out"
            );
            return Err(ExperimentError::Conflict(text));
        }
        let search = plan.search.clone().unwrap_or_default();
        let goal = Goal::of(&slo)?;
        check_timeout(goal.slo, plan.load.timeout)?;
        let mut method = method(&search, &goal)?;
        if search.calibrate {
            method = Method::Calibrating(Box::new(method));
        }
        let usual = Limits::default();
        let limits = Limits {
            seconds: search.max_time.map_or(usual.seconds, |most| most.as_secs_f64()),
            overload_s: search.max_overload.map_or(usual.overload_s, |most| most.as_secs_f64()),
        };
        let (slo, price_per_hour) = (slo.to_string(), search.price_per_hour);
        Ok(Self { method, limits, slo, price_per_hour })
    }

    /// The result of a search, with the cost of its requests where there is a price.
    pub(crate) fn result(&self, outcome: &Outcome) -> CapacityResult {
        let mut result = CapacityResult::of(outcome, self.method.name(), &self.slo);
        let cost = |rate| self.price_per_hour.and_then(|price| Cost::of(price, rate));
        result.cost = result.estimate_per_s.and_then(cost);
        result
    }
}

/// What a search steers by: one percentile of the response time, and beside it, where it is given,
/// a limit of the share of errors.
struct Goal {
    slo: (f64, u64),
    comparison: Comparison,
    most_errors: Option<f64>,
}

impl Goal {
    fn of(slo: &Slo) -> Result<Self, ExperimentError> {
        let is_time = |clause: &&Clause| {
            clause.lasting.is_none()
                && matches!(clause.metric, Metric::Time(Timing::Response, Figure::Quantile(_)))
        };
        let errors = |clause: &Clause| match (clause.metric, clause.comparison, clause.bound) {
            _ if clause.lasting.is_some() => None,
            (Metric::Errors, Comparison::Below | Comparison::AtMost, Bound::Share(most)) => {
                Some(most)
            }
            _ => None,
        };
        let others: Vec<&Clause> = slo.clauses().iter().filter(|of| !is_time(of)).collect();
        let times: Vec<&Clause> = slo.clauses().iter().filter(is_time).collect();
        let most_errors = match others[..] {
            [] => Some(None),
            [one] => errors(one).map(Some),
            _ => None,
        };
        match (&times[..], slo.response_bound(), most_errors) {
            ([clause], Some(slo), Some(most_errors)) => {
                Ok(Self { slo, comparison: clause.comparison, most_errors })
            }
            _ => {
                let text = format!(
                    "expected one percentile of the response time, with a limit of errors beside \
                     it or without, found `{slo}`; write it as p90<150ms or p90<150ms,errors<1%"
                );
                Err(ExperimentError::Conflict(text))
            }
        }
    }
}

/// Whether the SLO's bound can be told: what takes longer than the timeout fails before.
fn check_timeout((_, bound_ns): (f64, u64), timeout: Duration) -> Result<(), ExperimentError> {
    let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    if bound_ns <= timeout_ns {
        return Ok(());
    }
    let (bound, timeout) = (show_duration(bound_ns), show_duration(timeout_ns));
    // As the option reads it.
    let typed = format!("{}ms", bound_ns.div_ceil(1_000_000));
    Err(ExperimentError::Conflict(format!(
        "search for responses within {bound}: the timeout is {timeout}, so that slower ones fail \
         before their bound; say --timeout {typed} or more, or a shorter bound"
    )))
}

/// Whether a window of the ladder can be judged: what is due within the bound before its end is not
/// counted, as it may still be answered in time.
fn check_window((_, bound_ns): (f64, u64), window: Duration) -> Result<(), ExperimentError> {
    let window_ns = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
    if bound_ns < window_ns {
        return Ok(());
    }
    let (bound, window) = (show_duration(bound_ns), show_duration(window_ns));
    let typed = format!("{}ms", bound_ns.saturating_mul(2).div_ceil(1_000_000));
    Err(ExperimentError::Conflict(format!(
        "search for responses within {bound} by windows of {window}: what is due within the bound \
         before the end of a window tells nothing, which would be all of it; say --window {typed} \
         or more, or a shorter bound"
    )))
}

fn method(search: &plan::Search, goal: &Goal) -> Result<Method, ExperimentError> {
    let Goal { slo, comparison, most_errors } = *goal;
    let plan::Search { start_per_s, max_rate_per_s, precision, .. } = *search;
    match search.method {
        SearchMethod::Adaptive => {
            let settings =
                adaptive::Settings { slo, most_errors, start_per_s, precision, max_rate_per_s };
            let hold_s = search.sustain.map(|hold| hold.as_secs_f64());
            Ok(Method::Adaptive { settings, hold_s })
        }
        SearchMethod::Ladder if most_errors.is_some() => {
            let text = "the published method knows no limit of errors: leave it out of the SLO, or \
                        search by the method adaptive";
            Err(ExperimentError::Conflict(text.to_owned()))
        }
        SearchMethod::Ladder => {
            check_window(slo, search.window)?;
            let near = |near: Duration| u64::try_from(near.as_nanos()).unwrap_or(u64::MAX);
            let settings = ladder::Settings {
                slo,
                comparison,
                start_per_s,
                window_s: search.window.as_secs_f64(),
                tuning: search.tuning,
                near_rtt_ns: search.near_rtt.map(near),
                step_of: search.step_of,
                max_rate_per_s,
            };
            Ok(Method::Ladder { settings, first_per_s: search.first_per_s.clone() })
        }
    }
}

/// A search that is put to its target.
pub(super) struct Put<'a> {
    /// The plan, ready to be executed.
    pub(super) prepared: &'a Prepared,
    /// How to search.
    pub(super) asked: &'a SearchSettings,
    /// What is told of it while it goes on.
    pub(super) rules: &'a Rules,
}

/// Searches for a capacity, into its run. What the plan says of load is not used but for how it is
/// sent.
///
/// # Errors
/// Where nothing was sent, and the run is gone, or it could not be finished.
pub(super) fn search(
    put: &Put<'_>,
    writer: RunWriter,
    setting: &Setting<'_>,
    watching: Option<(Watching, WatchedRounds)>,
    control: &dyn Control,
) -> Result<Searched, ExperimentError> {
    let Put { prepared, asked, rules } = *put;
    let folder = writer.path().to_path_buf();
    let mut recording = Recording::start(writer, setting)?;
    let (sender, windows) = mpsc::channel();
    recording.take_windows(windows);
    let (watching, seen) = watching.unzip();
    let mut steering = Steering::by(control, rules, seen, recording.watch(watching));
    let conducted = std::thread::scope(|scope| {
        let (recording, steering) = (&mut recording, &mut steering);
        let windows = folder.join(WINDOWS);
        // A thread of its own, as it gives way to the engine's threads.
        let thread = scope.spawn(move || {
            let mut lines = Lines::create(&windows)?;
            let mut on_window = |judged: &Judged| {
                let window = WindowRow::from(judged);
                lines.write(&window);
                // It is stored as long as the run is.
                let _ = sender.send(window);
                control.tell(News::Window(judged));
            };
            let outcome = run(put, setting, (recording, steering), &mut on_window);
            outcome.and_then(|outcome| lines.fault.map_or(Ok(outcome), Err))
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let interrupted = steering.wish != Wish::Continue;
    let (outcome, came) = match conducted {
        Ok(conducted) => conducted,
        Err(error) if is_unbegun(&error) => {
            // Nothing was sent: there is no run.
            drop(recording);
            let _ = plimsoll_units::erase::tree(&folder);
            return Err(error);
        }
        Err(error) => {
            let _ = recording
                .finish(End::new(Ended::Failed(error.to_string())), (setting, Used::default()));
            return Err(error);
        }
    };
    if let Some(error) = control.broken().map(ExperimentError::from) {
        let _ = recording.finish(End::new(Ended::Failed(told(&error))), (setting, Used::default()));
        return Err(error);
    }
    let mut result = asked.result(&outcome);
    result.caches = prepared.workload.as_ref().map(|workload| workload.caches.clone());
    write_result(&folder.join(RESULT), &result)?;
    write_windows(&folder.join(WINDOWS), &result.windows)?;
    recording.replace_windows(&result.windows).map_err(RunError::Unfinished)?;
    recording.figures(&result.figures()).map_err(RunError::Unfinished)?;
    let ended = if interrupted { cut(control) } else { Ended::Complete };
    let used = came.used;
    let end = end_of(&result, (ended, prepared.notes.clone()), came);
    if let Some(event) = limited(&result, end.measured_ns.unwrap_or_default()) {
        recording.event(&event).map_err(RunError::Unfinished)?;
    }
    let run = recording.finish(end, (setting, used))?;
    Ok(Searched { run, result, model: outcome.found.model })
}

/// How a search ended, by its result and what came of workers.
fn end_of(result: &CapacityResult, (ended, mut warnings): (Ended, Vec<String>), came: Came) -> End {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds")]
    let measured_ns = Some((result.seconds * 1e9) as u64);
    warnings.extend(came.notes);
    let invalid_because = came.invalid_because;
    End { measured_ns, warnings, invalid_because, ..End::new(ended) }
}

/// What is kept with a search that did not find the capacity that was asked for: a cell of an
/// experiment is told by it from those that did.
pub(crate) fn limited(of: &CapacityResult, at_ns: u64) -> Option<Event> {
    let why = match of.ended.as_str() {
        "budget" => "a limit of the search was reached before its interval was narrow enough",
        "bracketed" => "there is a rate that held and one that broke, and no estimate",
        "generator_limited" => "the generator was the limit",
        "unstable_network" => "the network was not steady",
        "target_lost" => "the target went away",
        _ => return None,
    };
    let text = format!("{}: {why}", of.ended);
    Some(Event { at_ns, class: Class::Action, kind: LIMITED.to_owned(), text })
}

/// The settings of an engine by which a capacity is searched for.
pub(crate) fn of_search(config: &Config) -> Config {
    Config { samples: true, names: None, renew_ns: Some(RENEW_NS), ..config.clone() }
}

/// Searches by this process's own threads, or by workers. Returns what came of these, too.
fn run(
    Put { prepared, asked, .. }: &Put<'_>,
    setting: &Setting<'_>,
    (recording, steering): (&mut Recording<'_>, &mut Steering<'_>),
    on_window: &mut dyn FnMut(&Judged),
) -> Result<(Outcome, Came), ExperimentError> {
    let SearchSettings { method, limits, .. } = asked;
    let mut search = method.start();
    let mut conducted = |world: &mut Live<'_>| {
        let mut outcome = conduct(search.as_mut(), world, *limits, on_window)?;
        outcome.found.notes.extend(world.refused());
        Ok::<_, ExperimentError>(outcome)
    };
    let Some((division, workers)) = prepared.fleet.zip(setting.workers) else {
        let mut session = session(&of_search(&prepared.config), steering)?;
        let mut world = Live::on(&mut session, method.slo(), recording, steering);
        return Ok((conducted(&mut world)?, Came::default()));
    };
    let mut interrupted = || Watch::wish(steering) != Wished::Continue;
    let terms = workers.terms(division, prepared, &mut interrupted)?;
    let mut fleet = Fleet::start(terms, interrupted)?;
    for event in workers::clocks(&fleet) {
        recording.event(&event).map_err(RunError::Unfinished)?;
    }
    let mut world = Live::on(&mut fleet, method.slo(), recording, steering);
    let outcome = conducted(&mut world);
    drop(world);
    Ok((outcome?, Came::of(&fleet)))
}

/// A line for each window, as soon as it is judged.
struct Lines {
    file: File,
    path: PathBuf,
    fault: Option<ExperimentError>,
}

impl Lines {
    fn create(path: &Path) -> Result<Self, ExperimentError> {
        let made = plimsoll_runs::own::create(path);
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
        plimsoll_runs::own::write(&beside, text.as_bytes())?;
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
    text.and_then(|text| plimsoll_runs::own::write(path, text.as_bytes())).map_err(failed)
}
