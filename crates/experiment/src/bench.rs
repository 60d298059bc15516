//! A load or a search on servers that are started for it, and one with factors: each cell is a plan
//! of its own, with its levels laid over the text, and has its own servers.
//!
//! A cell whose servers could not be started, or whose load or search broke off, has failed. It is
//! tried once more when all others are through; the experiment goes on without it.

use std::cell::Cell as Local;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use plimsoll_load::clock::monotonic_ns;
use plimsoll_monitor::Source;
use plimsoll_plan::{FactorPlan, Places, Plan, PlanErrors, Provider, Setting, Written};
use plimsoll_runs::event::Class;
use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{Event, Kind as RunKind, World as Takes};
use plimsoll_testbed::bed::{Hears, with_bed};
use plimsoll_testbed::recipe::find;
use plimsoll_testbed::standing::{Borrowed, leave_up};
use plimsoll_testbed::{Bed, Instance as Server};
use plimsoll_units::failure::told;
use plimsoll_units::hash::hex;
use sha2::{Digest, Sha256};

use crate::between;
use crate::control::News;
use crate::engine::{Execution, World};
use crate::error::ExperimentError;
use crate::factors::settings;
use crate::gone;
use crate::hosts::OnHosts;
use crate::kept::{Kept, ended_event};
use crate::locks::Locks;
use crate::money;
use crate::outputs::{Ends, Live};
use crate::plans;
use crate::prepare::scenario::files_of;
use crate::prepare::{Place, Prepared, prepare};
use crate::record::{Own, Subject};
use crate::rounds::Rounds;
use crate::scale::scaled;
use crate::servers::{self, bed, bed_id, install, left_of, owner, places, undo_left};
use crate::steps::fill::fill;
use crate::world::live::{Before, make_ready};
use crate::world::search::{self, SearchSettings};
use crate::world::simulated::{self, Instance};
use crate::world::{is_cold, load, sources};

/// What is left out of the text that a cell goes by.
const OF_ALL: [&str; 2] = ["experiment", "factor"];
/// What does not change what a cell comes to; the last one where it is simulated.
const NO_MATTER: [&str; 7] = ["name", "repeat", "seed", "folder", "experiment", "factor", "fleet"];

/// A plan's text, with what is laid over it.
#[derive(Debug, Clone)]
pub struct Text {
    /// The text.
    pub text: String,
    /// The name of its file.
    pub origin: String,
    /// What is laid over it.
    pub settings: Vec<Setting>,
    /// The text of the file of a test-bed that is laid over it, and the file's name.
    pub testbed: Option<(String, String)>,
    /// The factors whose levels are laid over it.
    pub factors: Vec<FactorPlan>,
    /// By which factor its durations are longer than the text says, where that is asked for.
    pub scale: Option<f64>,
}

impl Text {
    /// What a combination of levels lays over it.
    #[must_use]
    pub fn settings(&self, levels: &[(String, String)]) -> Vec<Setting> {
        settings(&self.factors, levels.iter().map(|(name, level)| (name, level)))
    }

    /// What `take` makes of the text with levels over it, and then its scaled durations.
    pub(crate) fn with<T>(
        &self,
        levels: &[Setting],
        take: impl FnOnce(Written<'_>) -> Result<T, PlanErrors>,
    ) -> Result<T, ExperimentError> {
        let mut settings = [&self.settings, levels].concat();
        let testbed = self.testbed.as_ref().map(|(text, origin)| (text.as_str(), origin.as_str()));
        if let Some(share) = self.scale {
            let written = Written::text(&self.text, &self.origin, &settings).on(testbed);
            // Durations are not of the environment.
            let plan = plans::read(&written.stored())?;
            settings.extend(scaled(&plan, share)?);
        }
        Ok(take(Written::text(&self.text, &self.origin, &settings).on(testbed))?)
    }

    /// The plan of a cell with these levels; with the places of its servers, once they stand.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn plan(
        &self,
        levels: &[Setting],
        places: Option<&Places>,
        environment: fn(&str) -> Option<String>,
    ) -> Result<Plan, ExperimentError> {
        self.with(levels, |of| plans::read(&Written { places, ..of.within(environment) }))
    }

    /// The text without some of its sections, told from anywhere.
    pub(crate) fn merged(
        &self,
        levels: &[Setting],
        here: &Path,
        left_out: &[&str],
    ) -> Result<String, ExperimentError> {
        self.with(levels, |of| of.merged(here, left_out))
    }

    /// What a test-bed that stands must have in common with that of a plan to become it: all but
    /// the files of its roles and their parameters. Of secrets there are names alone.
    fn frame(
        &self,
        levels: &[Setting],
        plan: &Plan,
        here: &Path,
    ) -> Result<String, ExperimentError> {
        let sections = self.with(levels, |of| of.frame(here))?;
        let mut digest = Sha256::new_with_prefix(sections);
        for (_, role) in &plan.roles {
            digest.update(find(&role.recipe, &plan.folder)?.frame());
        }
        Ok(hex(&digest.finalize()))
    }
}

/// A load or a search whose cells each have a plan of their own.
pub struct Bench<'a> {
    /// The plan's text.
    pub text: &'a Text,
    /// Whether the target is simulated.
    pub is_simulated: bool,
    /// The path of the run or experiment.
    pub path: PathBuf,
    /// Where it is executed.
    pub place: Place<'a>,
    /// How its cells are executed.
    pub rounds: Rounds<'a>,
    /// Keep other searches away.
    pub locks: &'a Locks,
}

/// What such a load or search is, for its record; `own` is what its combinations depend on.
///
/// # Errors
/// An SLO that no search can go by.
pub fn subject(
    text: &Text,
    plan: &Plan,
    is_simulated: bool,
    place: &Place<'_>,
    own: BTreeMap<BTreeMap<String, String>, Own>,
) -> Result<Subject, ExperimentError> {
    let mut what = if plan.roles.is_empty() { url_of(plan) } else { roles_of(plan) };
    if is_simulated {
        what.push_str(", simulated");
    }
    let (kind, slo) = match plan.search {
        None => (RunKind::Load, plan.measure.slo.as_ref().map(ToString::to_string)),
        Some(_) => (RunKind::Search, Some(SearchSettings::of(plan)?.slo)),
    };
    let mut files: Vec<PathBuf> = own.values().flat_map(Own::files).cloned().collect();
    files.sort();
    files.dedup();
    Ok(Subject {
        name: plan.name.clone().unwrap_or_default(),
        kind,
        world: if is_simulated { Takes::Simulated } else { Takes::Live },
        what,
        about: String::new(),
        plan_text: text.merged(&[], place.here, &[])?,
        identity: String::new(),
        own,
        files,
        slo,
        duration_ns: 0,
    })
}

/// What the figures of cells of these levels depend on, beside their seeds: the plan as it is with
/// them, its recipes, and what its files hold.
///
/// # Errors
/// A recipe that there is not.
pub fn own(
    text: &Text,
    (levels, plan): (&[Setting], &Plan),
    is_simulated: bool,
    place: &Place<'_>,
) -> Result<Own, ExperimentError> {
    let no_matter = if is_simulated { &NO_MATTER[..] } else { &NO_MATTER[..NO_MATTER.len() - 1] };
    let mut all = text.merged(levels, place.here, no_matter)?;
    let at_once = plan.experiment.as_ref().map_or(1, |of| of.at_once);
    if is_simulated {
        all.push_str("simulated");
    } else if at_once > 1 {
        all.push_str(&format!("at once {at_once}"));
    }
    if !is_simulated {
        between::of(plan).iter().for_each(|of| all.push_str(&format!("between {of}")));
    }
    let (recipes, of_recipes) = servers::depends(plan)?;
    all.push_str(&recipes);
    Ok(Own::new(&all, [files_of(plan), of_recipes].concat()))
}

/// The servers that a plan starts, with their recipes.
fn roles_of(plan: &Plan) -> String {
    let role = |(name, role): &(String, plimsoll_plan::Role)| format!("{name} ({})", role.recipe);
    plan.roles.iter().map(role).collect::<Vec<_>>().join(", ")
}

/// What the load is put on, as the plan names it.
fn url_of(plan: &Plan) -> String {
    let is_of_url = |of: &&FactorPlan| of.keys().contains(&"target.url") && of.levels.len() > 1;
    if let Some(targets) = plan.factors.iter().find(is_of_url) {
        return format!("{} targets: {}", targets.levels.len(), targets.levels.join(", "));
    }
    plan.target.url.as_ref().map_or_else(|| "a load".to_owned(), ToString::to_string)
}

/// The plan of every combination of levels, so that what is wrong with one is told before anything
/// is started.
///
/// # Errors
/// A level that a key does not take, and levels that do not go together.
pub fn plans_of(
    text: &Text,
    combinations: &[Vec<(String, String)>],
    environment: fn(&str) -> Option<String>,
) -> Result<Vec<Plan>, ExperimentError> {
    let plan =
        |levels: &Vec<(String, String)>| text.plan(&text.settings(levels), None, environment);
    combinations.iter().map(plan).collect()
}

/// A test-bed that was left standing.
pub struct Left {
    /// Its id.
    pub id: String,
    /// Its instances.
    pub instances: Vec<Server>,
    /// Whether it stood before.
    pub stood: bool,
    /// What was changed of one that stood before, a sentence each.
    pub changes: Vec<String>,
}

/// Makes the test-bed of a plan and leaves it standing; one that stands already stays, and takes
/// what differs in files and parameters.
///
/// # Errors
/// A plan without one; a step that failed, after all is undone.
pub fn up(
    text: &Text,
    place: &Place<'_>,
    hears: Hears<'_>,
    installs: bool,
) -> Result<Left, ExperimentError> {
    let plan = text.plan(&[], None, place.environment)?;
    let id = bed_id(Path::new(&text.origin), 0, (place.now_ns)());
    if plan.testbed.as_ref().is_some_and(|of| of.provider == Provider::Ec2) {
        let text = "leave rented instances standing: they would cost more for every hour that \
                    nobody uses them; `plimsoll run` starts and ends them";
        return Err(ExperimentError::Conflict(text.to_owned()));
    }
    // Agents watch for those who use it, and go with them.
    let mut unwatched = plan.clone();
    unwatched.collect.from.clear();
    let Some(bed) = bed(&unwatched, id, place)? else {
        let text = "leave a test-bed standing: the plan has no [testbed]";
        return Err(ExperimentError::Conflict(text.to_owned()));
    };
    if installs {
        install(&bed, place)?;
    }
    let frame = text.frame(&[], &plan, place.here)?;
    if let Some(mut stands) = bed.borrow(place.runtime, &frame)? {
        let changes = stands.changes();
        stands.renew(&bed, hears)?;
        return Ok(Left { id: stands.id, instances: stands.instances, stood: true, changes });
    }
    let instances = leave_up(&bed, place.runtime, hears, &frame)?;
    Ok(Left { id: bed.id, instances, stood: false, changes: Vec::new() })
}

/// A worker that cannot be heard any more ends its load within so long.
const ENDS_ELSEWHERE_NS: u64 = 6_000_000_000;

/// What came of a cell that workers elsewhere have executed; of one that broke off when their load
/// has ended, wherever they are: nobody else is to load its target before.
fn has_ended_elsewhere(
    result: Result<(), ExperimentError>,
    plan: &Plan,
    to: &Execution<'_>,
) -> Result<(), ExperimentError> {
    let is_elsewhere = plan.fleet.as_ref().is_some_and(|of| !of.is_here());
    if result.is_err() && is_elsewhere {
        let until_ns = monotonic_ns().saturating_add(ENDS_ELSEWHERE_NS);
        while monotonic_ns() < until_ns && to.control.goes_on() {
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }
    result
}

/// How long a search may last, as far as its instances are concerned.
const DAY: Duration = Duration::from_secs(86_400);

impl Bench<'_> {
    fn plan(&self, levels: &[Setting], places: Option<&Places>) -> Result<Plan, ExperimentError> {
        self.text.plan(levels, places, self.place.environment)
    }

    fn one(&self, cell: &Cell, to: &Execution<'_>) -> Result<(), ExperimentError> {
        let levels = settings(&self.text.factors, &cell.factors);
        let plan = self.plan(&levels, None)?;
        let id = bed_id(&self.path, cell.number, (self.place.now_ns)());
        let Some(mut bed) = bed(&plan, id, &self.place)? else {
            let sources = sources(&plan, &[], self.place.system)?;
            return self.load(&plan, &levels, cell, to, (&[], &sources));
        };
        bed.of = Some(owner(&self.path, cell.number, &self.place));
        // What servers say may be nobody else's business.
        to.record.keep_private();
        let frame = self.text.frame(&levels, &plan, self.place.here)?;
        if let Some(stands) = bed.borrow(self.place.runtime, &frame)? {
            return self.on_borrowed((&bed, stands), (&plan, &levels), cell, to);
        }
        let (kept, in_run) = (Kept::default(), Local::new(None));
        let happens = |event: &Event| {
            // Where the journal cannot be written, the cell's end tells it.
            let _ = to.record.happened(Some(cell), event.class, (&event.kind, &event.text));
        };
        let rents = bed.provider.rents();
        rents.into_iter().for_each(|of| of.lasts(self.lasts(&plan)));
        let ledgers = money::ledgers(&plan, &self.place);
        let result = money::watched(rents, (cell, to), || {
            kept.hearing(to.control, &happens, |hears| {
                with_bed(&bed, &ledgers, hears, |servers| {
                    let plan = self.plan(&levels, Some(&places(servers)))?;
                    let before = kept.actions();
                    let sources = sources(&plan, servers, self.place.system)?;
                    in_run.set(Some(before.len()));
                    let _live = Live::start(&self.path, cell.number, servers, self.place.now_ns);
                    let control = OnHosts::new(to.control, &bed.client, servers).keeping(&kept);
                    let to = &to.under(&control);
                    self.load(&plan, &levels, cell, to, (&before, &sources))
                })
            })
        });
        let (result, has_run) = gone::explained(result, &kept);
        let is_without_run = in_run.get().is_none() || !has_run;
        if let (true, Err(error)) = (is_without_run, &result) {
            self.keep_failed(cell, &plan, &levels, to, &told(error))?;
        }
        let ended = kept.gone_since(0);
        let (actions, outputs) = kept.all();
        let after = &actions[in_run.get().unwrap_or(0)..];
        to.record.afterwards(cell, &[&ended[..], after].concat(), &outputs)?;
        result
    }

    /// How long a cell is planned to last; a day where that is not known.
    fn lasts(&self, plan: &Plan) -> Duration {
        let prepared = prepare(plan, &self.place, false).ok().filter(|_| plan.search.is_none());
        prepared.map_or(DAY, |of| Duration::from_nanos(of.offer.duration_ns()))
    }

    /// Executes a cell on a test-bed that stands already, and is left standing: what differs from
    /// the plan's is changed, and what it holds of the cell before goes, where its recipes say how.
    fn on_borrowed(
        &self,
        (bed, mut stands): (&Bed, Borrowed),
        (plan, levels): (&Plan, &[Setting]),
        cell: &Cell,
        to: &Execution<'_>,
    ) -> Result<(), ExperimentError> {
        let uses = format!("uses the test-bed {}, which stands", stands.id);
        let said = [vec![uses], stands.changes()].concat();
        said.iter().for_each(|text| to.control.tell(News::Says(text)));
        let event =
            |text| Event { at_ns: 0, class: Class::Action, kind: "testbed".to_owned(), text };
        let said: Vec<Event> = said.into_iter().map(event).collect();
        let kept = Kept::default();
        let happens = |event: &Event| {
            // Where the journal cannot be written, the cell's end tells it.
            let _ = to.record.happened(Some(cell), event.class, (&event.kind, &event.text));
        };
        let restarts = between::restarts(plan);
        let ready = kept.hearing(to.control, &happens, |hears| match restarts {
            true => stands.restart(bed, hears),
            false => stands.renew(bed, hears).and_then(|()| stands.chill(bed, hears)),
        });
        let before = [said, kept.actions()].concat();
        if let Err(error) = ready {
            self.keep_failed(cell, plan, levels, to, &told(&error))?;
            to.record.afterwards(cell, &before, &[])?;
            return Err(error.into());
        }
        let plan = self.plan(levels, Some(&places(&stands.instances)))?;
        let sources = sources(&plan, &stands.instances, self.place.system)?;
        let were = stands.gone();
        let result = self.load(&plan, levels, cell, to, (&before, &sources));
        for ended in stands.gone().iter().filter(|of| !were.contains(of)) {
            let event = ended_event(ended, 0);
            to.control.tell(News::Warns(&event.text));
            happens(&event);
            to.record.afterwards(cell, &[event], &[])?;
        }
        result
    }

    /// Keeps a run of a cell whose servers did not come to stand, for what was done and said.
    fn keep_failed(
        &self,
        cell: &Cell,
        plan: &Plan,
        levels: &[Setting],
        to: &Execution<'_>,
        reason: &str,
    ) -> Result<(), ExperimentError> {
        let text = self.text.merged(levels, self.place.here, &OF_ALL)?;
        // Its address is a stand-in, as nothing stands.
        let prepared = Prepared { subject: roles_of(plan), ..prepare(plan, &self.place, false)? };
        let (path, place) = (self.path.clone(), self.place);
        let text = Some(text.as_str());
        load::Load { plan, prepared: &prepared, path, place, text, before: &[], sources: &[] }
            .failed(cell, to, reason)
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
            return self.simulate(plan, &prepared, cell, to);
        }
        let Some(restarted) = self.restart(plan, &prepared, to)? else { return Ok(()) };
        let filled = self.fill(plan, to)?;
        let Some(paused) = between::pause(plan, &prepared, &place, to.control)? else {
            return Ok(());
        };
        let before = &[before, restarted.as_slice(), filled.as_slice(), paused.as_slice()].concat();
        let (path, text) = (self.path.clone(), Some(text.as_str()));
        if plan.search.is_none() {
            let prepared = &prepared;
            let load = load::Load { plan, prepared, path, place, text, before, sources };
            return has_ended_elsewhere(load.one(cell, to), plan, to);
        }
        let world = search::Search {
            plan,
            prepared: &prepared,
            asked: &SearchSettings::of(plan)?,
            path,
            locks: self.locks,
            restarts: false,
            of: 1,
            killed: 0,
            place,
            take: &|came| came.is_whole(&prepared.subject),
            pace: Mutex::default(),
            text,
            before,
            sources,
        };
        let _held = world.hold_target(to.control)?;
        has_ended_elsewhere(world.one(cell, to), plan, to)
    }

    fn simulate(
        &self,
        plan: &Plan,
        prepared: &Prepared,
        cell: &Cell,
        to: &Execution<'_>,
    ) -> Result<(), ExperimentError> {
        let (instance, place) = (&Instance::of(plan)?, self.place);
        if plan.search.is_none() {
            let world = simulated::Load { plan, prepared, instance, place };
            return world.one(cell, to).map(drop);
        }
        let asked = &SearchSettings::of(plan)?;
        simulated::Search { plan, prepared, asked, instance, place }.one(cell, to).map(drop)
    }

    /// Starts a service anew that the plan has not started, where it says so; `None` where the
    /// user has ended it. Servers of the plan's own have been started by now.
    fn restart(
        &self,
        plan: &Plan,
        prepared: &Prepared,
        to: &Execution<'_>,
    ) -> Result<Option<Vec<Event>>, ExperimentError> {
        // A store that is to be cold is started anew by its load.
        if plan.testbed.is_some() || is_cold(plan) || !between::restarts(plan) {
            return Ok(Some(Vec::new()));
        }
        match make_ready(plan, prepared, &self.path, self.place.system, to.control)? {
            Before::Ready => Ok(Some(vec![between::event("the service was restarted".to_owned())])),
            Before::Interrupted => Ok(None),
            Before::Silent(why) => {
                Err(ExperimentError::Silent { subject: prepared.subject.clone(), why })
            }
        }
    }

    /// Writes the records of a store that the plan has started: it is empty.
    fn fill(&self, plan: &Plan, to: &Execution<'_>) -> Result<Option<Event>, ExperimentError> {
        if plan.store.is_none() || plan.testbed.is_none() {
            return Ok(None);
        }
        to.control.tell(News::Says("write the records of the store"));
        let filled = fill(plan, &self.place, to.control)?;
        let (written, records) = (filled.counters.succeeded, filled.records);
        if !filled.is_whole() {
            let lost = filled.read_back.as_ref().filter(|back| !back.is_whole()).map(|back| {
                format!(
                    "; of {} that were read again {} are not there and {} are others: its memory \
                     may be too small",
                    back.read, back.missing, back.different
                )
            });
            let written = format!("{written} of {records} records were written");
            let why = filled.gave_up.unwrap_or(written + &lost.unwrap_or_default());
            return Err(ExperimentError::Silent { subject: filled.subject, why });
        }
        let text = format!("wrote the {records} records of the store in {:.1} s", filled.seconds);
        Ok(Some(Event { at_ns: 0, class: Class::Action, kind: "store".to_owned(), text }))
    }
}

impl World for Bench<'_> {
    fn batches<'c>(&self, cells: &'c [Cell]) -> Vec<&'c [Cell]> {
        vec![cells]
    }

    fn execute(&self, batch: &[Cell], to: &Execution<'_>) -> Result<(), ExperimentError> {
        let _ends = Ends::of(&self.path);
        let one = |cell: &Cell| self.one(cell, to);
        if self.is_simulated {
            return self.rounds.simulated(batch, to, &one);
        }
        let left = left_of(&self.path, &self.place, true)?;
        left.iter().try_for_each(|of| undo_left(of, &self.place, to.control))?;
        self.rounds.live(batch, to, &one)
    }
}
