//! A load that workers offer: how each is started, and what it is told.

use plimsoll_fleet::message::Job;
use plimsoll_fleet::{Fleet, Terms, Used, WorkerClock};
use plimsoll_load::{Config, Pacing, Part};
use plimsoll_plan::{Collect, Fleet as FleetPlan, Plan};
use plimsoll_runs::{Class, Event};
use plimsoll_units::show_duration;

use crate::broker::Waiting;
use crate::control::{Control, News};
use crate::error::ExperimentError;
use crate::prepare::division::{Division, asked, protocol_of};
use crate::prepare::scenario::files_of;
use crate::prepare::{Place, Prepared};
use crate::starts::{WorkersFor, given, starts};

/// Starts more than this apart are told, nanoseconds.
const APART_NS: u64 = 5_000_000;
/// Loads more than this apart are not one, nanoseconds.
const MOST_APART_NS: u64 = 50_000_000;
/// Who answers, but tells nothing of its load for so long at least, hangs: a worker may be kept
/// from its processor by its own threads for a while.
const HANGS_NS: u64 = 10_000_000_000;

/// What of a plan workers are told.
#[derive(Clone, Copy)]
pub(crate) struct Workers<'a> {
    /// The plan.
    pub(crate) plan: &'a Plan,
    /// What the cell draws by.
    pub(crate) seed: u64,
    /// Where it is executed.
    pub(crate) place: Place<'a>,
    /// Told where it takes long until workers come.
    pub(crate) control: &'a dyn Control,
}

impl<'a> Workers<'a> {
    /// What workers are to do, as they are told it.
    ///
    /// # Errors
    /// A file that cannot be given to them; a host that cannot be reached so.
    pub(crate) fn terms(
        &self,
        division: Division,
        prepared: &Prepared,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Terms<'a>, ExperimentError> {
        let Place { version, system, .. } = self.place;
        let fleet = self.plan.fleet.as_ref();
        let tell = &mut |text: &str| self.control.tell(News::Warns(text));
        let waiting = Waiting { interrupted, tell };
        let starts = fleet.map(|of| starts(of, WorkersFor::Loads, &self.place, waiting));
        let starts = starts.transpose()?.unwrap_or_default();
        let plan = self.text(division);
        let is_search = self.plan.search.is_some();
        let job =
            |process: usize| Job { is_search, ..job(process, (division, &plan), &prepared.config) };
        let workers = starts.into_iter().enumerate().map(|(number, of)| (of, job(number)));
        let inputs = match fleet.is_some_and(FleetPlan::is_here) {
            true => Vec::new(),
            false => given(&files_of(self.plan))?,
        };
        Ok(Terms {
            workers: workers.collect(),
            inputs,
            version,
            system,
            lost_after_ns: division.lost_after_ns,
            hangs_after_ns: division.lost_after_ns.max(HANGS_NS),
            measured_from_ns: prepared.config.measured_from_ns,
            names: u16::try_from(prepared.names.list().len()).unwrap_or(u16::MAX),
        })
    }

    /// The plan as workers are told it: their own part of it, as one process has it.
    fn text(&self, division: Division) -> String {
        let (experiment, factors) = (None, Vec::new());
        let mut plan =
            Plan { seed: self.seed, repeat: 1, experiment, factors, ..self.plan.clone() };
        if plan.fleet.take().is_some_and(|fleet| fleet.bus.is_some()) {
            // What is of the controller alone, it does not tell strangers.
            plan = Plan { collect: Collect::default(), watches: Vec::new(), elastic: None, ..plan };
            plan = Plan { testbed: None, roles: Vec::new(), links: Vec::new(), ..plan };
        }
        plan.load.threads = Some(division.threads);
        plan.to_toml_from(self.place.here)
    }
}

fn job(process: usize, (division, plan): (Division, &str), config: &Config) -> Job {
    let process = u32::try_from(process).unwrap_or(u32::MAX);
    let Division { workers, threads, .. } = division;
    let before = process * threads;
    let after = division.all_threads() - before - threads;
    Job {
        plan: plan.to_owned(),
        part: Part { process, processes: workers, before, after }.into(),
        threads,
        is_search: false,
        is_precise: division.pacing_of(process).map(|pacing| pacing == Pacing::Precise),
        protocol: protocol_of(config).to_owned(),
        may_ask: asked(config).into_iter().collect(),
    }
}

/// What came of workers, beside their load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Came {
    /// What they have used.
    pub(crate) used: Used,
    /// What a reader should know of them.
    pub(crate) notes: Vec<String>,
    /// Why the load is not valid by what single ones did.
    pub(crate) invalid_because: Vec<String>,
}

impl Came {
    /// What came of a fleet.
    pub(crate) fn of(fleet: &Fleet) -> Self {
        let complains = |(name, why): (&str, String)| format!("{name}: {why}");
        let mut invalid_because: Vec<String> = fleet.complaints().map(complains).collect();
        let mut notes = Vec::new();
        let furthest = fleet.clocks().max_by_key(|(_, clock)| clock.apart_ns());
        if let Some((name, clock)) = furthest.filter(|(_, clock)| clock.apart_ns() > APART_NS) {
            let WorkerClock { unknown_ns, late_ns, moved_ns } = clock;
            let [apart, unknown, late, moved] =
                [clock.apart_ns(), unknown_ns, late_ns, moved_ns].map(show_duration);
            let text = format!(
                "the load of {name} may have been {apart} apart from the others': it began {late} \
                 late by its clock, of which up to {unknown} are not known, and which moved by \
                 {moved}"
            );
            let is_much = clock.apart_ns() > MOST_APART_NS;
            if is_much { &mut invalid_because } else { &mut notes }.push(text);
        }
        let shared = fleet.shared().next();
        notes.extend(shared.map(|(one, other)| {
            format!("{one} and {other} use the same processors, so that they are late together")
        }));
        Self { used: fleet.used(), notes, invalid_because }
    }
}

/// What is known of the clocks of workers when a load begins, as events of its run.
pub(crate) fn clocks<'a>(fleet: &'a Fleet) -> impl Iterator<Item = Event> + use<'a> {
    fleet.clocks().map(|(name, clock)| {
        let unknown = show_duration(clock.unknown_ns);
        let text = format!("{name}: its clock is known to within {unknown}");
        Event { at_ns: 0, class: Class::Run, kind: "worker".into(), text }
    })
}
