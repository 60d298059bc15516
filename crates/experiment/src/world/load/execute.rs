//! Executes one load: engine, host probes and run folder together.

use super::workers::{self, Came, Workers};
use crate::control::{Control, Wish};
use crate::error::ExperimentError;
use crate::prepare::Prepared;
use crate::world::steer::{Rules, Steering, Stopped, WatchedRounds};
use crate::world::watch::Watching;
use plimsoll_capacity::live::LiveError;
use plimsoll_fleet::{Fleet, Used};
use plimsoll_load::run::{RunError as Unbegun, Watch, run, run_by};
use plimsoll_monitor::{Memory, Ticks, TimerProbe, facts, steal_share};
use plimsoll_runs::experiment::State;
use plimsoll_runs::{
    End, Ended, Event, FigureRow, HostSample, Interval, Kind, LoadMeta, Names, Run, RunError,
    RunMeta, RunWriter, Sample, Sink, SinkError, WindowRow, World,
};
use plimsoll_units::failure::told;
use plimsoll_units::hash::hex;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How often the idle timer is watched.
const TIMER_PERIOD: Duration = Duration::from_millis(20);

/// What a run is told about itself and its place.
#[derive(Clone)]
pub(crate) struct Setting<'a> {
    /// The plan's name.
    pub name: String,
    /// When it starts, by the wall clock, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// The version of the program.
    pub version: &'a str,
    /// The complete plan.
    pub plan_text: String,
    /// How long without an answer makes a second count as down.
    pub patience: Duration,
    /// The SLO, as the plan has it.
    pub slo: Option<String>,
    /// The root of the file system, below which `proc` lies.
    pub system: &'a Path,
    /// What workers are told, where they have the load.
    pub workers: Option<Workers<'a>>,
}

/// How a cell went.
pub(crate) struct Outcome {
    /// The run, finished.
    pub run: Run,
    /// How it ended.
    pub ended: Ended,
    /// Whether it was ended early, as it was lost already.
    pub is_lost: bool,
    /// Why it could not be completed, if so.
    pub failed: Option<ExperimentError>,
}

impl Outcome {
    /// The state of its cell, and why it is not done.
    pub(crate) fn state(&self) -> (State, String) {
        match &self.ended {
            Ended::Stopped(reason) if self.is_lost => (State::EndedEarly, reason.clone()),
            Ended::Complete | Ended::Asked | Ended::Stopped(_) => (State::Done, String::new()),
            Ended::Interrupted => (State::Stopped, "the user ended it".to_owned()),
            Ended::Budget(reason) => (State::Stopped, reason.clone()),
            Ended::Failed(reason) => (State::Failed, reason.clone()),
        }
    }
}

/// What goes on beside a load, and belongs to its run.
pub(crate) trait Beside: Send {
    /// Hears when the run starts, by the wall clock; nanoseconds since 1970.
    fn begins(&mut self, _started_unix_ns: u64) {}

    /// Whether it is to see every request.
    fn wants_samples(&self) -> bool {
        false
    }

    /// Takes requests that have ended, before the second in which they did.
    fn samples(&mut self, _samples: &[Sample]) {}

    /// Takes a second, after the run has.
    ///
    /// # Errors
    /// When something could not be stored.
    fn interval(&mut self, interval: &Interval, writer: &mut RunWriter) -> Result<(), SinkError>;

    /// Writes what there is, when the load has ended, after it was offered for so many nanoseconds;
    /// `None` where that is not known. Returns what the run is to warn of.
    ///
    /// # Errors
    /// As for [`Beside::interval`].
    fn finish(
        &mut self,
        offered_ns: Option<u64>,
        writer: &mut RunWriter,
    ) -> Result<Vec<String>, SinkError>;
}

/// Runs a prepared plan into its run.
///
/// # Errors
/// Where nothing was sent, and the run is gone, or it could not be finished. A run that broke off
/// in the middle is an [`Outcome`] with its reason.
pub(crate) fn execute(
    prepared: &Prepared,
    writer: RunWriter,
    (setting, rules): (&Setting<'_>, &Rules),
    watching: Option<(Watching, WatchedRounds)>,
    control: &dyn Control,
    beside: Option<&mut dyn Beside>,
) -> Result<Outcome, ExperimentError> {
    let folder = writer.path().to_path_buf();
    let mut recording = Recording::start(writer, setting)?;
    let (watching, seen) = watching.unzip();
    let mut steering = Steering::by(control, rules, seen, recording.watch(watching));
    let mut recording = Recorded { recording, beside };
    // A thread of its own, as it gives way to the engine's threads.
    let result = std::thread::scope(|scope| {
        let (recording, steering) = (&mut recording, &mut steering);
        let thread = scope.spawn(|| offer(prepared, setting, recording, steering));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    // What webhooks could not be told is an event of the run.
    steering.end();
    let stopped = steering.stopped.take();
    let is_lost = matches!(stopped, Some(Stopped::Early(_)));
    let interrupted = steering.wish > Wish::End;
    let came = result.as_ref().map_or_else(|_| Came::default(), |(_, came)| came.clone());
    let (ended, times, failed) = match result {
        Ok((run, _)) => match stopped {
            _ if let Some(error) = control.broken().map(ExperimentError::from) => {
                (Ended::Failed(told(&error)), Some(run), Some(error))
            }
            Some(Stopped::NotBegun(why)) => {
                let error = ExperimentError::Silent { subject: prepared.subject.clone(), why };
                (Ended::Failed(told(&error)), Some(run), Some(error))
            }
            Some(Stopped::Rule(why) | Stopped::Early(why)) => {
                (Ended::Stopped(why), Some(run), None)
            }
            None if interrupted => (cut(control), Some(run), None),
            None => (by_itself(&run), Some(run), None),
        },
        Err(error) if is_unbegun(&error) => {
            // Nothing was sent: there is no run.
            drop(recording);
            let _ = plimsoll_units::erase::tree(&folder);
            return Err(error);
        }
        Err(error) => (Ended::Failed(told(&error)), None, Some(error)),
    };
    let offered_ns = times.as_ref().map(|times| times.offered_ns);
    let mut end = End::new(ended.clone());
    end.warnings.clone_from(&prepared.notes);
    end.warnings.extend(came.notes);
    end.invalid_because = came.invalid_because;
    if let Some(times) = times {
        end.tls = prepared.config.tls.as_ref().map(|_| times.tls);
        end.warnings.extend(times.warnings);
        let length_ns = times.offered_ns.saturating_add(times.drain_ns);
        let until_ns = setting.started_unix_ns.saturating_add(length_ns);
        end.warnings.extend(prepared.certificate.ended(setting.started_unix_ns..until_ns));
        let warmup_ns = times.measured_from_ns.unwrap_or(prepared.warmup_ns);
        end.measured_ns = Some(times.offered_ns.saturating_sub(warmup_ns));
        end.drain_ns = times.drain_ns;
    }
    let finished = recording.finish(end, offered_ns, (setting, came.used));
    match (finished, failed) {
        (Ok(run), failed) => Ok(Outcome { run, ended, is_lost, failed }),
        // The cause of both is the first: a full disk fails every second and the end as well.
        (Err(error), failed) => Err(failed.unwrap_or(error.into())),
    }
}

/// Whether nothing was sent.
pub(crate) fn is_unbegun(error: &ExperimentError) -> bool {
    match error {
        ExperimentError::Capacity(error) => matches!(error, LiveError::Session(_)),
        ExperimentError::Load(error) => matches!(error, Unbegun::Session(_)),
        ExperimentError::Fleet(_) | ExperimentError::Undivided(_) | ExperimentError::Testbed(_) => {
            true
        }
        _ => false,
    }
}

/// Offers the load, by this process's own threads or by workers. Returns what came of these, too.
fn offer(
    prepared: &Prepared,
    setting: &Setting<'_>,
    sink: &mut dyn Sink,
    watch: &mut dyn Watch,
) -> Result<(plimsoll_load::run::Ended, Came), ExperimentError> {
    let (config, offer) = (&prepared.config, &prepared.offer);
    let Some((division, workers)) = prepared.fleet.zip(setting.workers) else {
        return Ok((run(config, offer, sink, watch)?, Came::default()));
    };
    let mut interrupted = || watch.wish() != Wish::Continue;
    let terms = workers.terms(division, prepared, &mut interrupted)?;
    let mut fleet = Fleet::start(terms, interrupted)?;
    for event in workers::clocks(&fleet) {
        sink.event(&event).map_err(RunError::Unfinished)?;
    }
    let ended = run_by(&mut fleet, (config, offer), sink, watch)?;
    Ok((ended, Came::of(&fleet)))
}

/// How a run has ended that nothing has cut.
fn by_itself(run: &plimsoll_load::run::Ended) -> Ended {
    match run.by_users {
        _ if run.asked => Ended::Asked,
        Some(by) => Ended::Stopped(by.why().to_owned()),
        None => Ended::Complete,
    }
}

/// How a run ends that was cut: by the user, or as what it may cost is spent.
pub(crate) fn cut(control: &dyn Control) -> Ended {
    control.is_spent().map_or(Ended::Interrupted, Ended::Budget)
}

pub(crate) fn meta(prepared: &Prepared, setting: &Setting<'_>, kind: Kind) -> RunMeta {
    let sha256 = hex(&Sha256::digest(setting.plan_text.as_bytes()));
    let config = &prepared.config;
    RunMeta {
        // Its place gives it a name.
        id: String::new(),
        name: setting.name.clone(),
        subject: prepared.subject.clone(),
        about: String::new(),
        factors: std::collections::BTreeMap::new(),
        // As its record has them.
        tags: std::collections::BTreeMap::new(),
        kind,
        cell: 0,
        started_unix_ns: setting.started_unix_ns,
        version: setting.version.to_owned(),
        seed: config.seed,
        plan_text: setting.plan_text.clone(),
        plan_sha256: sha256,
        // Its record knows them.
        inputs_sha256: None,
        warmup_ns: prepared.warmup_ns,
        duration_ns: prepared.duration_ns,
        slo: setting.slo.clone(),
        load: Some(LoadMeta {
            workload: prepared.workload.clone(),
            threads: config.threads,
            pacing: config.pacing.name().to_owned(),
            patience_ns: u64::try_from(setting.patience.as_nanos()).unwrap_or(u64::MAX),
            // A search sees every request, and keeps none.
            samples: config.samples && kind == Kind::Load,
            names: if kind == Kind::Load { prepared.names.clone() } else { Names::default() },
        }),
        world: World::Live,
        host: facts(setting.system),
    }
}

/// The run folder, with the host's own figures beside the engine's.
pub(crate) struct Recording<'a> {
    writer: RunWriter,
    probe: TimerProbe,
    ticks: Option<Ticks>,
    system: &'a Path,
    cpu_ns: u64,
    /// Windows of a search that the next second stores.
    windows: Option<Receiver<WindowRow>>,
    /// What is watched beside.
    watching: Option<Watching>,
    /// Events of who steers the load, which the next second stores.
    events: Option<Receiver<Event>>,
    /// Tells who steers the load that somebody has asked it to end.
    asked: Arc<AtomicBool>,
}

impl<'a> Recording<'a> {
    /// Begins with a folder that was made.
    pub(crate) fn start(writer: RunWriter, setting: &Setting<'a>) -> Result<Self, ExperimentError> {
        let (probe, system) = (TimerProbe::start(TIMER_PERIOD)?, setting.system);
        let ticks = Ticks::read(system);
        let (windows, watching, events) = (None, None, None);
        let asked = Arc::default();
        Ok(Self { writer, probe, ticks, system, cpu_ns: 0, windows, watching, events, asked })
    }

    /// Takes what is watched, with each second, and events of who steers the load, who is told when
    /// somebody asks the run to end.
    pub(crate) fn watch(&mut self, watching: Option<Watching>) -> (Sender<Event>, Arc<AtomicBool>) {
        let (send, events) = channel();
        (self.watching, self.events) = (watching, Some(events));
        (send, self.asked.clone())
    }

    fn store_events(&mut self) -> Result<(), SinkError> {
        let events: Vec<Event> = self.events.iter().flat_map(Receiver::try_iter).collect();
        events.iter().try_for_each(|event| self.writer.event(event))
    }

    /// Takes windows of a search from where they are judged, and stores them each second.
    pub(crate) fn take_windows(&mut self, windows: Receiver<WindowRow>) {
        self.windows = Some(windows);
    }

    /// Stores the windows of a search in the place of those that were stored.
    pub(crate) fn replace_windows(&mut self, windows: &[WindowRow]) -> Result<(), SinkError> {
        self.windows = None;
        self.writer.replace_windows(windows)
    }

    /// Stores figures of the run.
    pub(crate) fn figures(&mut self, rows: &[FigureRow]) -> Result<(), SinkError> {
        self.writer.figures(rows)
    }

    fn store_windows(&mut self) -> Result<(), SinkError> {
        let windows: Vec<WindowRow> = self.windows.iter().flat_map(Receiver::try_iter).collect();
        if windows.is_empty() { Ok(()) } else { self.writer.windows(&windows) }
    }

    /// Ends the run, with what this process has used, and its workers.
    pub(crate) fn finish(
        mut self,
        mut end: End,
        (setting, used): (&Setting<'_>, Used),
    ) -> Result<Run, plimsoll_runs::RunError> {
        let windows = self.store_windows().and(self.store_events());
        end.cpu_ns = plimsoll_load::clock::process_cpu_ns() + used.cpu_ns;
        let own = Memory::read(setting.system).map(|memory| memory.peak_bytes);
        end.max_rss_bytes = own.map(|own| own + used.max_rss_bytes);
        let finished = self.writer.finish(end);
        windows.map_err(plimsoll_runs::RunError::Unfinished).and(finished)
    }
}

impl Sink for Recording<'_> {
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        self.cpu_ns += interval.cpu_ns;
        self.writer.interval(interval)?;
        self.store_windows()?;
        self.store_events()?;
        if self.writer.is_asked_to_end() {
            self.asked.store(true, Ordering::Relaxed);
        }
        if let Some(watching) = &mut self.watching {
            watching.store(&mut self.writer)?;
        }
        let now = Ticks::read(self.system);
        let steal = match (&self.ticks, &now) {
            (Some(before), Some(after)) => Some(steal_share(before, after)),
            _ => None,
        };
        self.ticks = now.or(self.ticks.take());
        let late = self.probe.take();
        let sample = HostSample { steal_share: steal, timer_late: &late };
        self.writer.host(interval.start_ns, &sample)
    }

    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError> {
        self.writer.samples(samples)
    }

    fn series(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        at_ns: u64,
        value: f64,
    ) -> Result<(), SinkError> {
        self.writer.series(name, labels, at_ns, value)
    }

    fn measured_from(&mut self, at_ns: u64) -> Result<(), SinkError> {
        self.writer.measured_from(at_ns)
    }

    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.writer.event(event)
    }
}

/// What is recorded of a load, and what goes on beside it.
struct Recorded<'a, 'b> {
    recording: Recording<'a>,
    beside: Option<&'b mut dyn Beside>,
}

impl Recorded<'_, '_> {
    fn finish(
        self,
        mut end: End,
        offered_ns: Option<u64>,
        of: (&Setting<'_>, Used),
    ) -> Result<Run, RunError> {
        let Self { mut recording, beside } = self;
        let kept = beside.map(|beside| beside.finish(offered_ns, &mut recording.writer));
        let kept = kept.transpose().map(|warns| end.warnings.extend(warns.into_iter().flatten()));
        let finished = recording.finish(end, of);
        kept.map_err(RunError::Unfinished).and(finished)
    }
}

impl Sink for Recorded<'_, '_> {
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        self.recording.interval(interval)?;
        let writer = &mut self.recording.writer;
        self.beside.as_mut().map_or(Ok(()), |beside| beside.interval(interval, writer))
    }

    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError> {
        self.beside.iter_mut().for_each(|beside| beside.samples(samples));
        self.recording.samples(samples)
    }

    fn series(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        at_ns: u64,
        value: f64,
    ) -> Result<(), SinkError> {
        self.recording.series(name, labels, at_ns, value)
    }

    fn measured_from(&mut self, at_ns: u64) -> Result<(), SinkError> {
        self.recording.measured_from(at_ns)
    }

    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.recording.event(event)
    }
}
