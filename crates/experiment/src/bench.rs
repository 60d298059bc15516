//! A load on servers that are started for it, and a load with factors: each cell is a plan of its
//! own, with its levels laid over the text, and has its own servers.
//!
//! A cell whose servers could not be started, or whose load broke off, has failed. It is tried once
//! more when all others are through; the experiment goes on without it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plimsoll_monitor::Source;
use plimsoll_plan::{Place as Stands, Places, Plan, Provider as Kind, Setting, Written};
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{Event, Kind as RunKind, World as Takes};
use plimsoll_testbed::bed::{Outline, with_bed};
use plimsoll_testbed::launch::Launcher;
use plimsoll_testbed::provider::{Namespace, Process, Provider};
use plimsoll_testbed::recipe::{Scalar, find, own_of};
use plimsoll_testbed::role::Limits;
use plimsoll_testbed::{Action, Bed, Instance as Server, Role};
use plimsoll_units::failure::{Failure, Kind as Fault, told};
use plimsoll_units::hash::fnv_1a;

use crate::control::News;
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::factors::settings;
use crate::plans;
use crate::prepare::{Place, prepare};
use crate::record::Subject;
use crate::world::simulated::{self, Instance};
use crate::world::{load, sources};

/// What is left out of the text that a cell goes by.
const OF_ALL: [&str; 2] = ["experiment", "factor"];
/// What does not change what a cell comes to.
const NO_MATTER: [&str; 5] = ["name", "repeat", "seed", "experiment", "factor"];
/// The letters of a bed's id.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// A plan's text, with what is laid over it.
#[derive(Debug, Clone)]
pub struct Text {
    /// The text.
    pub text: String,
    /// The name of its file.
    pub origin: String,
    /// What is laid over it.
    pub settings: Vec<Setting>,
}

impl Text {
    /// The plan of a cell with these levels; with the places of its servers, once they stand.
    fn plan(&self, levels: &[Setting], places: Option<&Places>) -> Result<Plan, ExperimentError> {
        let settings = [&self.settings, levels].concat();
        let written = Written::text(&self.text, &self.origin, &settings);
        Ok(plans::read(&Written { places, ..written })?)
    }

    /// The text without some of its sections, told from anywhere.
    fn merged(
        &self,
        levels: &[Setting],
        here: &Path,
        left_out: &[&str],
    ) -> Result<String, ExperimentError> {
        let settings = [&self.settings, levels].concat();
        Ok(Written::text(&self.text, &self.origin, &settings).merged(here, left_out)?)
    }
}

/// A load whose cells each have a plan of their own.
pub struct Bench<'a> {
    /// The plan's text.
    pub text: &'a Text,
    /// Whether the target is simulated.
    pub is_simulated: bool,
    /// The path of the run or experiment.
    pub path: PathBuf,
    /// Where it is executed.
    pub place: Place<'a>,
}

/// What such a load is, for its record.
///
/// # Errors
/// A recipe that there is not.
pub fn subject(
    text: &Text,
    plan: &Plan,
    is_simulated: bool,
    place: &Place<'_>,
) -> Result<Subject, ExperimentError> {
    let mut identity = text.merged(&[], place.here, &NO_MATTER)?;
    let folder = folder_of(&text.origin);
    let mut files = plan.files();
    for (_, role) in &plan.roles {
        let found = find(&role.recipe, folder)?;
        identity.push_str(&found.text);
        if found.is_own {
            files.push(own_of(&role.recipe, folder));
        }
    }
    let roles: Vec<String> =
        plan.roles.iter().map(|(name, role)| format!("{name} ({})", role.recipe)).collect();
    let mut what = if roles.is_empty() { url_of(plan) } else { roles.join(", ") };
    if is_simulated {
        what.push_str(", simulated");
        identity.push_str("simulated");
    }
    Ok(Subject {
        name: plan.name.clone().unwrap_or_default(),
        kind: RunKind::Load,
        world: if is_simulated { Takes::Simulated } else { Takes::Live },
        what,
        about: String::new(),
        plan_text: text.merged(&[], place.here, &[])?,
        identity,
        files,
        slo: plan.measure.slo.as_ref().map(ToString::to_string),
        duration_ns: 0,
    })
}

/// What the load is put on, as the plan names it.
fn url_of(plan: &Plan) -> String {
    plan.target.url.as_ref().map_or_else(|| "a load".to_owned(), ToString::to_string)
}

fn folder_of(origin: &str) -> &Path {
    Path::new(origin).parent().unwrap_or(Path::new(""))
}

/// The plan of every combination of levels, so that what is wrong with one is told before anything
/// is started.
///
/// # Errors
/// A level that a key does not take, and levels that do not go together.
pub fn plans_of(
    text: &Text,
    combinations: &[Vec<(String, String)>],
) -> Result<Vec<Plan>, ExperimentError> {
    let plan = |levels: &Vec<(String, String)>| {
        let set =
            |(key, level): &(String, String)| Setting::new(key, level, format!("factor {key}"));
        text.plan(&levels.iter().map(set).collect::<Vec<_>>(), None)
    };
    combinations.iter().map(plan).collect()
}

/// The servers of a plan, under an id of their own; `None` where it starts none.
///
/// # Errors
/// A recipe that there is not; a provider that this host does not allow.
pub fn bed(
    plan: &Plan,
    origin: &str,
    id: String,
    place: &Place<'_>,
) -> Result<Option<Bed>, ExperimentError> {
    let Some(testbed) = &plan.testbed else { return Ok(None) };
    let provider: Box<dyn Provider> = match testbed.provider {
        Kind::Process => Box::new(Process),
        Kind::Namespace => Box::new(Namespace::probe(place.system, place.runtime)?),
    };
    let folder = folder_of(origin);
    let role = |(name, role): &(String, plimsoll_plan::Role)| -> Result<Role, ExperimentError> {
        let period_us = u64::try_from(role.cpu_period.as_micros()).unwrap_or(u64::MAX);
        Ok(Role {
            name: name.clone(),
            recipe: find(&role.recipe, folder)?,
            count: role.count,
            limits: Limits {
                cpu: role.cpu,
                cpu_period_us: period_us,
                cpuset: role.cpuset.clone(),
                memory: role.memory,
                processes: role.processes.map(u64::from),
            },
            sysctl: role.sysctl.clone(),
            vars: role.vars.iter().map(|(name, text)| (name.clone(), scalar(text))).collect(),
            environment: role.environment.clone(),
            user: role.user.clone(),
        })
    };
    let arguments = ["testbed", "wait"].map(str::to_owned).to_vec();
    Ok(Some(Bed {
        id,
        provider,
        roles: plan.roles.iter().map(role).collect::<Result<_, _>>()?,
        folders: std::env::temp_dir(),
        launcher: Launcher { program: place.program.to_owned(), arguments },
    }))
}

/// A parameter of a recipe, as its template has it.
fn scalar(text: &str) -> Scalar {
    match (text.parse::<i64>(), text) {
        (Ok(number), _) if number.to_string() == text => Scalar::Number(number),
        (_, "true") => Scalar::Switch(true),
        (_, "false") => Scalar::Switch(false),
        _ => Scalar::Text(text.to_owned()),
    }
}

/// An id for the bed of an attempt at a cell: seven letters and digits.
#[must_use]
pub fn bed_id(experiment: &Path, cell: u32, now_ns: u64) -> String {
    let text = format!("{} {cell} {now_ns} {}", experiment.display(), std::process::id());
    let mut left = fnv_1a(text.as_bytes());
    let letter = |_| {
        let letter = LETTERS[usize::try_from(left % 36).unwrap_or(0)];
        left /= 36;
        char::from(letter)
    };
    (0..7).map(letter).collect()
}

/// Where the first instances of roles stand, for the texts of a plan.
fn places(servers: &[Server]) -> Places {
    let first = servers.iter().filter(|server| server.number == 1);
    let place =
        |of: &Server| (of.role.clone(), Stands { address: of.address.clone(), port: of.port });
    first.map(place).collect::<BTreeMap<_, _>>()
}

/// The steps of a bed, as `check` prints them.
///
/// # Errors
/// As for [`Bed::outline`], and programs that are not there.
pub fn outline(bed: &Bed) -> Result<Outline, ExperimentError> {
    let outline = bed.outline()?;
    bed.check_programs(&outline)?;
    Ok(outline)
}

impl Bench<'_> {
    fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        let levels = settings(cell);
        let plan = self.text.plan(&levels, None)?;
        let id = bed_id(&self.path, cell.number, (self.place.now_ns)());
        let Some(bed) = bed(&plan, &self.text.origin, id, &self.place)? else {
            let sources = sources(&plan, &[], self.place.system)?;
            return self.load(&plan, &levels, cell, to, (&[], &sources));
        };
        let actions = Mutex::new(Vec::new());
        let tell = |action: &Action| {
            to.control.tell(News::Says(&said(action)));
            actions.lock().unwrap_or_else(PoisonError::into_inner).push(event(action));
        };
        let is_ended = || !to.control.goes_on();
        with_bed(&bed, self.place.runtime, (&tell, &is_ended), |servers| {
            let plan = self.text.plan(&levels, Some(&places(servers)))?;
            let before = actions.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let sources = sources(&plan, servers, self.place.system)?;
            self.load(&plan, &levels, cell, to, (&before, &sources))
        })
    }

    fn load(
        &self,
        plan: &Plan,
        levels: &[Setting],
        cell: &Cell,
        to: &Execution<'_>,
        (before, sources): (&[Event], &[(String, Source)]),
    ) -> Result<(), ExperimentError> {
        let (place, text) = (self.place, self.text.merged(levels, self.place.here, &OF_ALL)?);
        let prepared = prepare(plan, &place, !self.is_simulated)?;
        if self.is_simulated {
            let instance = Instance::of(plan)?;
            let world = simulated::Load { plan, prepared: &prepared, instance: &instance, place };
            return world.one(cell, to).map(drop);
        }
        let (path, text) = (self.path.clone(), Some(text.as_str()));
        load::Load { plan, prepared: &prepared, path, place, text, before, sources }.one(cell, to)
    }
}

impl World for Bench<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        let mut failed = Vec::new();
        for (cell, is_first) in batch.iter().map(|cell| (cell, true)) {
            self.attempt(cell, is_first, to, &mut failed)?;
        }
        for cell in std::mem::take(&mut failed) {
            self.attempt(cell, false, to, &mut failed)?;
        }
        Ok(())
    }
}

impl Bench<'_> {
    /// Executes a cell; one that fails is told, and is among the failed. What is wrong with the
    /// plan, or cannot be kept, ends all.
    fn attempt<'c>(
        &self,
        cell: &'c Cell,
        is_first: bool,
        to: &Execution<'_>,
        failed: &mut Vec<&'c Cell>,
    ) -> Result<(), ExperimentError> {
        if !to.control.goes_on() {
            return Ok(());
        }
        let Err(error) = self.one(cell, to) else { return Ok(()) };
        let is_of_cell = matches!(
            error,
            ExperimentError::Testbed(_) | ExperimentError::Load(_) | ExperimentError::Silent { .. }
        );
        if !is_of_cell || error.kind() == Fault::Usage || !to.control.goes_on() {
            return if to.control.goes_on() { Err(error) } else { Ok(()) };
        }
        let again = if is_first { "; it is tried once more at the end" } else { "" };
        let text = format!("cell {} failed: {}{again}", cell.number, told(&error));
        to.control.tell(News::Says(&text));
        to.record.failed(cell, &told(&error))?;
        failed.push(cell);
        Ok(())
    }
}

/// An action of a test-bed, for the screen.
fn said(action: &Action) -> String {
    let of =
        if action.instance.is_empty() { String::new() } else { format!("{}: ", action.instance) };
    let failed = if action.is_failed { ": failed" } else { "" };
    format!("{of}{}{failed}", action.name)
}

/// An action of a test-bed, as the run keeps it: before the load all are at its beginning.
fn event(action: &Action) -> Event {
    let class = if action.is_failed { Class::Failure } else { Class::Action };
    let took_ms = action.took.as_millis();
    let output = action.output.trim();
    let output = if output.is_empty() { String::new() } else { format!(": {output}") };
    let text = format!("{} ({}, {took_ms} ms){output}", said(action), action.class.name());
    Event { at_ns: 0, class, kind: "testbed".to_owned(), text }
}
