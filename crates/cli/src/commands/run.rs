//! `plimsoll run`: any plan, executed, or gone on with.

use super::compare::{Later, Shown, say_against, with_baseline};
use super::runs::show_path;
use super::web::Web;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::{VERSION, environment, place, run_id, unix_ns};
use crate::run_args::{PlanFlags, Run};
use crate::terminal::error::{Error, FlagError, Result, UsageError, read};
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say, verdict};
use plimsoll_experiment::bench::Text;
use plimsoll_experiment::bounds::Budget;
use plimsoll_experiment::conduct::run_plan;
use plimsoll_experiment::control::{Control, News};
use plimsoll_experiment::leased::{CellWorkers, cell_workers};
use plimsoll_experiment::locks::Locks;
use plimsoll_experiment::prepare::Place;
use plimsoll_experiment::ready::{Ask, Ready, Shadow, Takes, With};
use plimsoll_experiment::record::{Opening, Record};
use plimsoll_experiment::resume::{Unfinished, unfinished};
use plimsoll_experiment::series::result_of;
use plimsoll_experiment::world::pool::tuning::tuned_of;
use plimsoll_experiment::{ExperimentError, plans};
use plimsoll_plan::{Setting, Written};
use plimsoll_report::ci::Checks;
use plimsoll_runs::experiment::{
    Experiment, Layout, LeftOut, Standing, combinations, is_experiment,
};
use plimsoll_runs::{Kind, Run as Recorded, World};
use plimsoll_stats::figure;
use plimsoll_units::{ParseError, duration, share, show_count};
use std::path::Path;
use std::time::Duration;

/// More cells than these are executed only where that is said.
pub(super) const MANY_CELLS: u64 = 10_000;

/// Runs the command.
pub(crate) fn run(args: &Run) -> Result<Exit> {
    args.ci.check()?;
    perform(args).map_err(|error| args.ci.no_run(&args.of.plan, error))
}

fn perform(args: &Run) -> Result<Exit> {
    let here = std::env::current_dir()?;
    let mut interrupts = Interrupts::watch()?;
    let ready = ready(&args.of, shadow(args)?, (true, args.install), &here)?;
    if plans::is_for_ever(&ready.subject.plan_text) {
        interrupts = interrupts.bound_to_parent();
    }
    let start = match &ready.workers {
        Some(fleet) => fleet.start.clone(),
        None => plans::start_of(&ready.subject.plan_text),
    };
    crate::files::check_starts(&start, Some(&args.of.plan))?;
    args.against.check(ready.subject.kind, &ready.subject.plan_text)?;
    check_cells(args, &ready)?;
    let budget = budget(args, &ready)?;
    let plan_file = crate::files::plan_file(Some(&args.of.plan));
    let found = found(args, &ready, &plan_file)?;
    let quiet = args.quiet || args.json;
    let (record, id) = record(args, &ready, plan_file, found)?;
    let web = Web::start(&args.web, (&id, &ready.subject.name))?;
    let is_simulated = ready.subject.world == World::Simulated;
    let web = if is_simulated { web.map(|web| web.of_cells(args.out.join(&id))) } else { web };
    let hear = |news: &News<'_>| {
        web.iter().for_each(|web| web.hear(news));
        if let (News::Window(judged), Some(quantile), false) = (news, ready.quantile(), quiet) {
            say(&super::capacity::line(judged, quantile));
        }
    };
    let screen = screen(Screen::new(quiet, &interrupts), &ready).heard_by(&hear);
    let record = record.within(budget);
    let place = place(&here);
    let workers = workers(&ready, &record, &place, &screen)?;
    let with = With {
        record: &record,
        path: &args.out.join(&id),
        control: &screen,
        // tidy: allow(shared-folder, `Locks` opens it)
        locks: &Locks::new(environment("XDG_RUNTIME_DIR")),
        threads: super::simulate::threads(args.threads.as_deref())?,
        place,
        is_fail_fast: args.fail_fast,
        cpu_ns: plimsoll_load::clock::thread_cpu_ns,
        takes: Takes::Nobody,
        workers: workers.as_ref(),
    };
    let conducted = run_plan(&ready, &with)?;
    if let Some(why) = &conducted.early {
        say(&format!("ended: {why}"));
    }
    let is_whole = conducted.is_whole();
    conducted.executed?;
    let Some(path) = conducted.path else {
        say("ended before there was a result");
        args.ci.write(|| Ok(Checks::default()), Exit::Incomplete)?;
        return Ok(Exit::Incomplete);
    };
    let against = match args.shadow {
        true => None,
        false => with_baseline(&args.against, || Later::of(&path))?,
    };
    let exit = show_ended(args, &ready, (&path, is_whole), against.as_ref())?;
    args.ci.write_of(&path, against.as_ref().map(|against| &against.compared), exit)?;
    if let Some(web) = web {
        web.finish(&path, &interrupts)?;
    }
    Ok(exit)
}

/// The workers that execute the cells of a plan, where it has some, and several cells.
fn workers(
    ready: &Ready,
    record: &Record<'_>,
    place: &Place<'_>,
    control: &dyn Control,
) -> Result<Option<CellWorkers>> {
    let Some(fleet) = &ready.workers else { return Ok(None) };
    if ready.most_cells() < 2 {
        record.note("a single cell is executed by this process: [fleet] was left out");
        return Ok(None);
    }
    Ok(Some(cell_workers(fleet, record, place, control)?))
}

/// Shows what came of it. Returns the exit code that it means.
fn show_ended(
    args: &Run,
    ready: &Ready,
    (path, is_whole): (&Path, bool),
    against: Option<&Shown>,
) -> Result<Exit> {
    if args.shadow {
        return shadowed(path, args.json);
    }
    if ready.has_effects() && is_experiment(path) {
        let exit = super::analyse::show(path, args.json, against)?;
        if !args.json {
            print(&format!("\n  {:<14}{}\n", "run", path.display()))?;
        }
        return Ok(if is_whole { exit } else { Exit::Incomplete });
    }
    if args.json {
        // One document of every kind of plan, with effects or without.
        super::analyse::show(path, true, against)?;
    } else {
        show(path)?;
        say_against(against)?;
        print(&format!("\n  {:<14}{}\n", "run", path.display()))?;
    }
    if !is_whole && is_experiment(path) && ready.goes_on() {
        say(&format!("ended; go on with: plimsoll run {}", args.of.plan));
    }
    let exit = if is_whole { Exit::Held } else { Exit::Incomplete };
    Ok(exit.and(exit_of(path)?).and(against.map_or(Exit::Held, Shown::exit)))
}

/// An experiment of this plan that could be gone on with.
fn found(args: &Run, ready: &Ready, plan_file: &str) -> Result<Option<Unfinished>> {
    if args.new || args.shadow || !ready.goes_on() {
        return Ok(None);
    }
    let found = unfinished(&args.out, plan_file, &ready.subject.name);
    Ok(found.map_err(ExperimentError::from)?)
}

/// Shows what policies would have done: how often each would have changed the pool.
fn shadowed(path: &Path, as_json: bool) -> Result<Exit> {
    let experiment = Experiment::open(path)?;
    let (mut cells, mut text) = (Vec::new(), String::new());
    for row in experiment.cells()? {
        let Some(run) = experiment.run(row.cell.number)? else { continue };
        let decisions = run.decisions()?;
        let changes = decisions.iter().filter(|of| of.desired != of.before).count();
        let of = row.cell.factors.get("policy").cloned().unwrap_or_default();
        text.push_str(&format!(
            "{of}: {} decisions, {changes} would have changed the pool\n",
            show_count(decisions.len() as u64)
        ));
        cells.push(serde_json::json!({
            "id": row.cell.number, "factors": row.cell.factors, "world": "shadow",
            "run": run.path(), "decisions": decisions.len(), "changes": changes,
        }));
    }
    if as_json {
        let document = serde_json::json!({
            "schema": 1, "warnings": [], "experiment": path, "cells": cells,
        });
        print(&pretty(&document)?)?;
    } else {
        print(&format!("{text}\n  {:<14}{}\n", "run", path.display()))?;
    }
    Ok(Exit::Held)
}

/// Shows what came of it to a person: of a single search, and of one for parameters, its result.
fn show(path: &Path) -> Result<()> {
    if let Some(tuned) = tuned_of(path)? {
        let experiment = Experiment::open(path)?;
        let written = Written::text(&experiment.meta().plan_text, "plan.toml", &[]);
        let plan = plans::read(&written.stored())?;
        let currency = plan.elastic.map(|elastic| elastic.billing.currency);
        return super::tune::show(&tuned, currency.as_deref().unwrap_or("$"), false);
    }
    let result = if is_experiment(path) { None } else { result_of(path)? };
    match result {
        None => show_path(path, &[], false).map(drop),
        Some(result) => Ok(print(&super::capacity::render(&result))?),
    }
}

/// The plan of a command line, ready to be executed.
pub(super) fn ready(
    flags: &PlanFlags,
    shadow: Option<Shadow>,
    (asks, installs): (bool, bool),
    here: &Path,
) -> Result<Ready> {
    asked(flags, shadow, (asks, installs), here, Ready::of)
}

/// What `of` makes of the plan of a command line.
pub(super) fn asked<T>(
    flags: &PlanFlags,
    shadow: Option<Shadow>,
    (asks, installs): (bool, bool),
    here: &Path,
    of: impl FnOnce(&Ask<'_>) -> Result<T, ExperimentError>,
) -> Result<T> {
    let Text { text, origin, mut settings, testbed, .. } =
        plan_text(&flags.plan, &flags.set, flags.testbed.as_deref())?;
    settings.extend(flags.workers());
    let ask = Ask {
        text: &text,
        origin: &origin,
        settings: &settings,
        testbed: testbed.as_ref().map(|(text, origin)| (text.as_str(), origin.as_str())),
        installs,
        is_simulated: flags.simulated,
        shadow,
        asks,
        scale: flags.scale.as_deref().map(scale).transpose()?,
        place: place(here),
    };
    Ok(of(&ask)?)
}

/// The text of a plan with what a command line lays over it.
pub(super) fn plan_text(plan: &str, set: &[String], testbed: Option<&str>) -> Result<Text> {
    let mut settings = Vec::new();
    for pair in set {
        let setting = Setting::from_pair(pair);
        settings.push(setting.map_err(|error| FlagError::new("--set", pair, error))?);
    }
    let over = |file: &str| Ok::<_, Error>((crate::files::plan(file)?, file.to_owned()));
    let text = crate::files::plan(plan)?;
    for setting in &mut settings {
        varied(&text, plan, setting);
    }
    Ok(Text {
        text,
        origin: plan.to_owned(),
        settings,
        testbed: testbed.map(over).transpose()?,
        factors: Vec::new(),
        scale: None,
    })
}

/// Takes several values of a key, with commas between them, as the levels of a factor, as
/// `simulate` does: where they cannot be read as one value.
fn varied(text: &str, origin: &str, setting: &mut Setting) {
    if !setting.value.contains(',') || setting.key.starts_with("factor.") {
        return;
    }
    let reads = |of: &Setting| {
        plans::read(&Written::text(text, origin, std::slice::from_ref(of)).within(environment))
            .is_ok()
    };
    let factor = Setting { key: format!("factor.{}", setting.key), ..setting.clone() };
    if !reads(setting) && reads(&factor) {
        *setting = factor;
    }
}

/// By which factor loads are longer.
fn scale(text: &str) -> Result<f64> {
    Ok(read("--scale", text, |text| match share(text)? {
        share if share > 0.0 => Ok(share),
        _ => Err(ParseError::new("a share above 0%", text, 0, text.len())),
    })?)
}

/// Whether somebody's pool is watched, and how long.
fn shadow(args: &Run) -> Result<Option<Shadow>> {
    let limit = args.shadow_for.as_ref().map(|text| read("--for", text, duration)).transpose()?;
    Ok(args.shadow.then_some(Shadow { limit }))
}

/// The time that the experiment may take: by the flag, else by the plan.
fn budget(args: &Run, ready: &Ready) -> Result<Option<Budget>> {
    let text = args.budget.as_deref();
    let said = text.map(|text| read("--budget", text, duration)).transpose()?;
    let cell = Duration::try_from_secs_f64(ready.cell_s).unwrap_or_default();
    Ok(said.or(ready.budget).map(|total| Budget { total, cell }))
}

/// Refuses very many cells, unless they are wanted.
fn check_cells(args: &Run, ready: &Ready) -> Result<()> {
    let cells = ready.most_cells();
    if cells <= MANY_CELLS || args.yes {
        return Ok(());
    }
    let text = format!("run {} cells; say --yes if that is what you want", show_count(cells));
    Err(UsageError(text).into())
}

fn screen<'a>(screen: Screen<'a>, ready: &Ready) -> Screen<'a> {
    match (ready.load_ns(), ready.subject.kind) {
        (Some(length), _) => screen.of_load(length, None),
        (None, Kind::Search) => screen.answering("ending; what was measured is kept"),
        (None, _) => screen.of_steps("cells"),
    }
}

/// The record of the plan's cells: that of an experiment that goes on, or a new one.
fn record<'a>(
    args: &'a Run,
    ready: &Ready,
    plan_file: String,
    found: Option<Unfinished>,
) -> Result<(Record<'a>, String)> {
    let opening = Opening {
        root: &args.out,
        id: run_id(unix_ns()),
        layout: Layout::Within,
        of: ready.subject.clone(),
        plan_file,
        cells: ready.most_cells(),
        keeps: super::simulate::cells::keeps(args.keep_cells),
        adopts: args.adopt,
        tags: args.tags.read()?,
        version: VERSION,
        now_ns: unix_ns,
    };
    match found {
        None => {
            let id = opening.id.clone();
            Ok((Record::new(opening), id))
        }
        Some(Unfinished { journal, left, of, moved_from }) => {
            let path = journal.folder().display();
            say(&format!("going on with {path}: {left} of {of} cells are left"));
            if let Some(before) = moved_from {
                say(&format!("its plan was {before} before; --new begins another experiment"));
            }
            let id = journal.meta().id.clone();
            Ok((Record::resume(opening, journal)?, id))
        }
    }
}

/// The exit code that a run, or the cells of an experiment, mean.
fn exit_of(path: &Path) -> Result<Exit> {
    if !is_experiment(path) {
        return exit_of_run(&Recorded::open(path)?);
    }
    let experiment = Experiment::open(path)?;
    let cells = experiment.cells()?;
    let is_done = cells.iter().all(|row| row.state.is_kept());
    let mut exit = if is_done { Exit::Held } else { Exit::Incomplete };
    if experiment.meta().kind == Kind::Pool {
        let held = combinations(&experiment)?;
        let shares: Vec<f64> =
            held.iter().filter_map(|of| Some(of.mean(figure::SLO_HELD)?.value)).collect();
        return Ok(exit.and(one_held(&shares)));
    }
    if experiment.meta().kind == Kind::Tune {
        let tuned = tuned_of(path)?;
        return Ok(exit.and(tuned.map_or(Exit::Incomplete, |tuned| super::tune::exit(&tuned))));
    }
    for row in cells {
        if let Some(run) = experiment.run(row.cell.number)? {
            exit = exit.and(exit_of_run(&run)?);
        }
    }
    Ok(exit)
}

/// Of several policies one that holds the SLO in most replications is enough: it is the one to
/// take. Without an SLO there is nothing to hold.
fn one_held(shares: &[f64]) -> Exit {
    let is_held = shares.is_empty() || shares.iter().any(|share| *share > 0.5);
    if is_held { Exit::Held } else { Exit::Broken }
}

fn exit_of_run(run: &Recorded) -> Result<Exit> {
    let away = match Standing::of_run(run)?.0.left_out() {
        Some(LeftOut::ServerEnded) => Exit::Broken,
        _ => Exit::Held,
    };
    Ok(away.and(match run.meta().kind {
        Kind::Load => verdict::exit(&run.summary()?),
        Kind::Search => {
            result_of(run.path())?.map_or(Exit::Incomplete, |result| super::capacity::exit(&result))
        }
        Kind::Pool => {
            let figures = run.figures()?;
            let held = figures.iter().filter(|row| row.name == figure::SLO_HELD.name);
            one_held(&held.map(|row| row.value).collect::<Vec<_>>())
        }
        Kind::Caches | Kind::Tune => Exit::Held,
    }))
}
