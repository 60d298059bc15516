//! A load and a search put to a simulated server: a pool of one, with the same schedule and the
//! same seed as the live target would get.
//!
//! The server is the queue that searches are tried on ([`plimsoll_capacity::simulated`]): first
//! come, first served, by as many workers as it has cores. What it cannot do is refused by name. A
//! simulated generator is never late, has as many connections as it needs, and costs no time.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use plimsoll_capacity::conduct::conduct;
use plimsoll_capacity::result::{CapacityResult, RESULT, WINDOWS};
use plimsoll_capacity::simulated::Simulated;
use plimsoll_capacity::simulated::admission::Admission;
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
use plimsoll_plan::{Elastic, Plan, WarmUp};
use plimsoll_runs::experiment::{Cell, State};
use plimsoll_runs::{
    End, Ended, ErrorKind, Interval, Kind, Phase, RunError, RunWriter, Sink, Tag, WindowRow,
};
use plimsoll_workload::arrivals::{DueTimes, Share};
use plimsoll_workload::pool::Discipline;
use plimsoll_workload::service_model::ServiceModel;

use crate::control::News;
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::prepare::{Place, Prepared};
use crate::record::Subject;
use crate::world::load::execute::{Setting, meta};
use crate::world::pool::parts::Server;
use crate::world::search::{SearchSettings, limited, write_result, write_windows};

/// One second.
const SECOND_NS: u64 = 1_000_000_000;
/// What is behind the name of a target that is simulated.
const SIMULATED: &str = ", simulated";
/// The status of a request that finds no place, as the built-in target answers.
const REFUSED: u16 = 503;
/// Due times that are drawn at once.
const BLOCK: usize = 4096;

/// A simulated server, as the plan's `[instance]` has it.
#[derive(Debug, Clone)]
pub struct Instance {
    model: ServiceModel,
    admission: Admission,
}

impl Instance {
    /// The server of a plan of a load or a search.
    ///
    /// # Errors
    /// A plan without `[instance]`; what this server cannot be; a model that cannot be read.
    pub fn of(plan: &Plan) -> Result<Self, ExperimentError> {
        let conflict = |text: &str| ExperimentError::Conflict(text.to_owned());
        let elastic = plan.elastic.as_ref().ok_or_else(|| {
            conflict(
                "simulate the target: the plan has no [instance]; say in that section what the \
                 server can do, by `service` or by `model`, as `plimsoll capacity --model-out` \
                 writes it",
            )
        })?;
        if plan.target.has_scenario() {
            return Err(conflict(
                "simulate the users of a scenario: what they ask hangs on what they are answered; \
                 give a rate of requests and leave the scenario out",
            ));
        }
        if plan.load.waits() {
            return Err(conflict(
                "simulate a warm-up that goes on until something holds: it is only waited for \
                 live; say how long it is, by `warm_up` in [load]",
            ));
        }
        if plan.load.warm_up == WarmUp::Fill {
            return Err(conflict(
                "simulate a warm-up by `fill`: the simulated server has nothing to fill; leave it \
                 out by --set load.warm_up=0s",
            ));
        }
        if let Some(of) = plan.measure.slo.as_ref().and_then(|slo| slo.subjects().next()) {
            let text = format!(
                "simulate an SLO about the requests of `{of}`: all requests of a simulated server \
                 are alike; leave `{of}: ` out"
            );
            return Err(ExperimentError::Conflict(text));
        }
        if let Some(key) = beyond(elastic) {
            let text = format!(
                "simulate `{key}` of the server of a load or a search: it is only simulated in \
                 pools; leave it out"
            );
            return Err(ExperimentError::Conflict(text));
        }
        let server = Server::of(elastic)?;
        let cores = NonZeroU32::new(server.cores).unwrap_or(NonZeroU32::MIN);
        let model = ServiceModel { cores, ..ServiceModel::new(server.service) };
        let admission = server.limit.map_or(Admission::All, |most| Admission::UpTo {
            most: usize::try_from(most).unwrap_or(usize::MAX),
        });
        Ok(Self { model, admission })
    }

    fn server(&self, bound_ns: u64, seed: u64) -> Simulated {
        Simulated::new(self.model.clone(), bound_ns, seed).with_admission(self.admission)
    }
}

/// A key of an instance that only pools know.
fn beyond(elastic: &Elastic) -> Option<&'static str> {
    let instance = &elastic.instance;
    let known = [
        ("instance.discipline", instance.discipline == Discipline::Sharing),
        ("instance.slowdown", instance.slowdown.is_some()),
        ("instance.capacity", instance.capacity.is_some()),
        ("instance.speed_variation", instance.speed_variation > 0.0),
        ("instance.mttf", instance.failures.0.is_some()),
    ];
    known.into_iter().find_map(|(key, is_given)| is_given.then_some(key))
}

/// What of a plan is for the live world alone, in a sentence for a reader of what was simulated;
/// `None` where there is nothing.
#[must_use]
pub fn live_only(plan: &Plan) -> Option<String> {
    let given = [
        ("[testbed]", plan.testbed.is_some()),
        ("[collect]", !plan.collect.from.is_empty()),
        ("[watch]", !plan.watches.is_empty()),
        ("`target.restart`", plan.target.restart.is_some()),
        ("checks of answers", !plan.target.checks().is_empty()),
        ("`load.stop_when`", plan.load.stop_when.is_some()),
        ("`load.ends_when`", plan.load.ends_when.is_some()),
    ];
    let given: Vec<&str> = given.iter().filter_map(|(name, is)| is.then_some(*name)).collect();
    let are = if given.len() == 1 { "it is" } else { "they are" };
    let text = || format!("simulated without {}: {are} for the live world", given.join(", "));
    (!given.is_empty()).then(text)
}

/// A plan's load on a simulated server.
pub struct Load<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The plan, ready to be executed.
    pub prepared: &'a Prepared,
    /// The server.
    pub instance: &'a Instance,
    /// Where it is executed.
    pub place: Place<'a>,
}

/// What a simulated load or search is, for its record, beside what the live one is.
#[must_use]
pub fn subject(live: Subject) -> Subject {
    let what = live.what + SIMULATED;
    Subject { world: plimsoll_runs::World::Simulated, what, ..live }
}

impl Load<'_> {
    /// Executes a cell; says whether to go on.
    ///
    /// # Errors
    /// A load that cannot be simulated; what cannot be kept.
    pub(crate) fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<bool, ExperimentError> {
        let Offer::Open { parts, limit } = &self.prepared.offer else {
            return Err(ExperimentError::Conflict(
                "simulate users that wait for their answers: simulated load goes by the clock; \
                 give `schedule`, `rate`, `trace` or `profile` in [load]"
                    .to_owned(),
            ));
        };
        let setting = setting(self.plan, cell, &self.place);
        let writer = begin(to, cell, self.prepared, &setting, Kind::Load)?;
        let config = &self.prepared.config;
        let offered_ns = self.prepared.offer.duration_ns();
        let mut seconds = Seconds::new(writer, self.prepared.warmup_ns, offered_ns);
        let mut server = self.instance.server(config.timeout_ns, cell.seed);
        let mut left = limit.unwrap_or(u64::MAX);
        let mut last_ns = 0;
        let (mut from_ns, mut block) = (0, vec![0; BLOCK]);
        for times in parts {
            let mut due = Due::of(times, cell.seed);
            loop {
                let count = due.fill(&mut block);
                for due_ns in block[..count].iter().map(|due| from_ns + due) {
                    if left == 0 {
                        break;
                    }
                    left -= 1;
                    last_ns = due_ns;
                    let answer = server.ask(due_ns as f64 / 1e9).map(nanoseconds);
                    seconds.request(due_ns, answer, config.timeout_ns, config.drain_ns)?;
                }
                if count == 0 || left == 0 {
                    break;
                }
                if !to.control.goes_on() {
                    // A part of a simulated load is no result.
                    return Ok(false);
                }
            }
            from_ns += times.duration_ns();
        }
        // So many requests may be asked for before the time is over.
        let has_ended = left == 0 && self.plan.load.requests.is_some();
        let offered_ns = if has_ended { last_ns + 1 } else { offered_ns };
        let mut end = End::new(Ended::Complete);
        end.warnings.clone_from(&self.prepared.notes);
        end.measured_ns = Some(offered_ns.saturating_sub(self.prepared.warmup_ns));
        let (writer, end_ns) = seconds.finish()?;
        end.drain_ns = end_ns.saturating_sub(offered_ns);
        let run = to.record.end(cell, writer.finish(end)?, State::Done, "")?;
        to.control.tell(News::Done(cell, Some(&run)));
        Ok(to.begins_another())
    }
}

impl World for Load<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        to.each(batch, &|cell| self.one(cell, to))
    }
}

/// A plan's search of a simulated server.
pub struct Search<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The plan, ready to be executed.
    pub prepared: &'a Prepared,
    /// How to search.
    pub asked: &'a SearchSettings,
    /// The server.
    pub instance: &'a Instance,
    /// Where it is executed.
    pub place: Place<'a>,
}

impl Search<'_> {
    /// Executes a cell; says whether to go on.
    ///
    /// # Errors
    /// What cannot be kept.
    pub(crate) fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<bool, ExperimentError> {
        let SearchSettings { method, limits, .. } = self.asked;
        let setting =
            Setting { slo: Some(self.asked.slo.clone()), ..setting(self.plan, cell, &self.place) };
        let mut writer = begin(to, cell, self.prepared, &setting, Kind::Search)?;
        let mut server = self.instance.server(method.slo().1, cell.seed);
        let mut search = method.start();
        let mut show = |judged: &_| to.control.tell(News::Window(judged));
        let outcome = conduct(search.as_mut(), &mut server, *limits, &mut show)
            .unwrap_or_else(|never| match never {});
        let result = self.asked.result(&outcome);
        let folder = writer.path().to_owned();
        write_result(&folder.join(RESULT), &result)?;
        write_windows(&folder.join(WINDOWS), &result.windows)?;
        self.keep(&mut writer, &result).map_err(RunError::Unfinished)?;
        let run =
            to.record.end(cell, writer.finish(End::new(Ended::Complete))?, State::Done, "")?;
        to.control.tell(News::Done(cell, Some(&run)));
        Ok(to.begins_another())
    }

    fn keep(
        &self,
        writer: &mut RunWriter,
        result: &CapacityResult,
    ) -> Result<(), plimsoll_runs::SinkError> {
        let windows: &[WindowRow] = &result.windows;
        writer.windows(windows)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds")]
        let at_ns = (result.seconds * 1e9) as u64;
        limited(result, at_ns).iter().try_for_each(|event| writer.event(event))?;
        writer.figures(&result.figures())
    }
}

impl World for Search<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        to.each(batch, &|cell| self.one(cell, to))
    }
}

/// What the run of a cell is told about itself.
fn setting<'a>(plan: &Plan, cell: &Cell, place: &Place<'a>) -> Setting<'a> {
    // The cell is one of its levels: what else is varied is not its own.
    let (seed, factors) = (cell.seed, Vec::new());
    let seeded = Plan { seed, experiment: None, factors, ..plan.clone() };
    Setting {
        name: plan.name.clone().unwrap_or_default(),
        started_unix_ns: (place.now_ns)(),
        version: place.version,
        plan_text: seeded.to_toml_from(place.here),
        patience: plan.load.patience,
        slo: plan.measure.slo.as_ref().map(ToString::to_string),
        system: place.system,
        workers: None,
    }
}

/// Begins the run of a simulated cell.
fn begin(
    to: &Execution<'_>,
    cell: &Cell,
    prepared: &Prepared,
    setting: &Setting<'_>,
    kind: Kind,
) -> Result<RunWriter, ExperimentError> {
    let mut meta = meta(prepared, setting, kind);
    (meta.seed, meta.world) = (cell.seed, plimsoll_runs::World::Simulated);
    meta.subject.push_str(SIMULATED);
    if let Some(load) = &mut meta.load {
        load.pacing = "simulated".to_owned();
        // All requests of a simulated server are alike.
        load.names = plimsoll_runs::Names::default();
    }
    to.record.begin(cell, meta)
}

/// Due times, drawn or listed.
enum Due<'a> {
    Drawn(Box<DueTimes>),
    Listed(&'a [u64]),
}

impl<'a> Due<'a> {
    fn of(times: &'a Times, seed: u64) -> Self {
        match times {
            Times::Schedule(schedule, arrivals) => Self::Drawn(Box::new(DueTimes::new(
                schedule.clone(),
                *arrivals,
                seed,
                Share::WHOLE,
            ))),
            Times::Listed(times) => Self::Listed(times),
        }
    }

    fn fill(&mut self, block: &mut [u64]) -> usize {
        match self {
            Self::Drawn(due) => due.fill(block),
            Self::Listed(times) => {
                let count = times.len().min(block.len());
                let (now, later) = times.split_at(count);
                block[..count].copy_from_slice(now);
                *times = later;
                count
            }
        }
    }
}

/// Fills the seconds of a run, and stores each when nothing more can happen in it.
struct Seconds {
    writer: RunWriter,
    warmup_ns: u64,
    offered_ns: u64,
    /// The seconds that are not stored, in their order.
    open: VecDeque<Box<Interval>>,
    /// The number of the first of them.
    first: u64,
    /// Requests that have not ended in a stored second: when each was due, and ends; in the order
    /// in which they were due.
    outstanding: VecDeque<(u64, u64)>,
    in_flight: u64,
    last_ns: u64,
}

impl Seconds {
    fn new(writer: RunWriter, warmup_ns: u64, offered_ns: u64) -> Self {
        let (open, outstanding) = (VecDeque::new(), VecDeque::new());
        Self {
            writer,
            warmup_ns,
            offered_ns,
            open,
            first: 0,
            outstanding,
            in_flight: 0,
            last_ns: 0,
        }
    }

    /// The second of a moment.
    fn at(&mut self, at_ns: u64) -> &mut Interval {
        let place = usize::try_from(at_ns / SECOND_NS - self.first).unwrap_or(0);
        while self.open.len() <= place {
            let start_ns = (self.first + self.open.len() as u64) * SECOND_NS;
            let second = Interval { start_ns, len_ns: SECOND_NS, ..Interval::default() };
            self.open.push_back(Box::new(second));
        }
        &mut self.open[place]
    }

    /// A request that is due and sent at once, and how long its answer takes; refused without one.
    fn request(
        &mut self,
        due_ns: u64,
        answer: Option<u64>,
        timeout_ns: u64,
        drain_ns: u64,
    ) -> Result<(), RunError> {
        self.store_until(due_ns / SECOND_NS)?;
        let phase = if due_ns < self.warmup_ns { Phase::WarmUp } else { Phase::Measured };
        let second = self.at(due_ns);
        let of_phase = &mut second.phases[phase as usize];
        for counters in [&mut second.events, &mut of_phase.counters] {
            counters.offered += 1;
            counters.sent += 1;
        }
        of_phase.histograms[Tag::ConnectionWait as usize].record(0);
        of_phase.histograms[Tag::Lateness as usize].record(0);
        let cut_ns = self.offered_ns.saturating_add(drain_ns);
        let (takes_ns, code, error) = match answer {
            None => (0, Some(REFUSED), Some(ErrorKind::Status)),
            Some(takes_ns) if takes_ns > timeout_ns => (timeout_ns, None, Some(ErrorKind::Timeout)),
            Some(takes_ns) => (takes_ns, Some(200), None),
        };
        let done_ns = due_ns.saturating_add(takes_ns);
        let (done_ns, code, error) = match done_ns > cut_ns {
            true => (cut_ns, None, Some(ErrorKind::InFlightAtEnd)),
            false => (done_ns, code, error),
        };
        self.ended((due_ns, done_ns), phase, code, error);
        Ok(())
    }

    fn ended(
        &mut self,
        (due_ns, done_ns): (u64, u64),
        phase: Phase,
        code: Option<u16>,
        error: Option<ErrorKind>,
    ) {
        self.outstanding.push_back((due_ns, done_ns));
        self.last_ns = self.last_ns.max(done_ns);
        let takes_ns = done_ns - due_ns;
        let second = self.at(done_ns);
        let of_phase = &mut second.phases[phase as usize];
        if code.is_some() {
            of_phase.histograms[Tag::Ttfb as usize].record(takes_ns);
            if phase == Phase::Measured {
                second.answered.note(done_ns.saturating_sub(second.start_ns));
            }
        }
        if code.is_some() || error == Some(ErrorKind::Timeout) {
            of_phase.histograms[Tag::Response as usize].record(takes_ns);
            of_phase.histograms[Tag::Service as usize].record(takes_ns);
            if error.is_some() {
                of_phase.histograms[Tag::FailedResponse as usize].record(takes_ns);
                of_phase.histograms[Tag::FailedService as usize].record(takes_ns);
            }
        }
        for counters in [&mut second.events, &mut of_phase.counters] {
            if let Some(code) = code {
                counters.completed += 1;
                counters.status(code);
            }
            match error {
                None => counters.succeeded += 1,
                Some(kind) => counters.error(kind),
            }
        }
    }

    /// Stores the seconds before one of a number.
    fn store_until(&mut self, number: u64) -> Result<(), RunError> {
        while self.first < number {
            // A second in which nothing happens is one too.
            self.at(self.first * SECOND_NS);
            if let Some(second) = self.open.pop_front() {
                self.store(*second)?;
            }
            self.first += 1;
        }
        Ok(())
    }

    fn store(&mut self, mut second: Interval) -> Result<(), RunError> {
        let end_ns = second.start_ns + second.len_ns;
        let events = &second.events;
        self.in_flight += events.sent;
        self.in_flight -= events.completed + events.errors_of_all(&ErrorKind::UNANSWERED);
        while self.outstanding.front().is_some_and(|(_, done_ns)| *done_ns < end_ns) {
            self.outstanding.pop_front();
        }
        second.in_flight = self.in_flight;
        second.connections = self.in_flight;
        let oldest = self.outstanding.front().filter(|(due_ns, _)| *due_ns < end_ns);
        second.oldest_outstanding_ns = oldest.map_or(0, |(due_ns, _)| end_ns - due_ns);
        self.writer.interval(&second).map_err(RunError::Unfinished)
    }

    /// Stores what is left. Returns the run, and when the last answer came.
    fn finish(mut self) -> Result<(RunWriter, u64), RunError> {
        let end_ns = self.last_ns.max(self.offered_ns);
        self.store_until(end_ns / SECOND_NS)?;
        if !end_ns.is_multiple_of(SECOND_NS) || !self.open.is_empty() {
            let mut second = std::mem::take(self.at(end_ns));
            second.len_ns = (end_ns % SECOND_NS).max(1);
            self.store(second)?;
        }
        Ok((self.writer, end_ns))
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let ns = (seconds * 1e9).round() as u64;
    ns
}
