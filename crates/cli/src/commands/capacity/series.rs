//! `plimsoll capacity --repeat`: one search after another, each a run of its own, together a series
//! that can be gone on with.

use super::{ReadySearch, Web, exit, shown};
use crate::args::{AgainstBaseline, Arguments, Capacity, Command};
use crate::commands::compare::{Later, Shown, say_against, with_baseline, with_comparison};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::{environment, run_id, unix_ns};
use crate::terminal::error::{Result, UsageError, show};
use crate::terminal::{print, say};
use clap::Parser;
use plimsoll_capacity::series::{SCHEMA, SeriesFile, SeriesResult, SeriesRun, SeriesSummary};
use plimsoll_experiment::ExperimentError;
use plimsoll_experiment::conduct::run_plan;
use plimsoll_experiment::control::News;
use plimsoll_experiment::plans;
use plimsoll_experiment::ready::Searches;
use plimsoll_experiment::series::{Pace, done, killed, next_number, read, sum_up, take_in, write};
use plimsoll_experiment::world::search::Came;
use plimsoll_plan::{Setting, Written};
use plimsoll_runs::Run;
use plimsoll_runs::experiment::{Journal, place as journal_of};
use plimsoll_units::show_rate;
use std::cell::Cell;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Begins a series.
pub(super) fn run(asked: &ReadySearch<'_>) -> Result<Exit> {
    let (args, plan) = (asked.args, &asked.plan);
    let series = run_id(unix_ns());
    let path = args.out.join(&series);
    let search = plan.search.clone().unwrap_or_default();
    let file = SeriesFile {
        result: SeriesResult {
            schema: SCHEMA,
            warnings: Vec::new(),
            series,
            name: plan.name.clone().unwrap_or_default(),
            target: asked.prepared.subject.clone(),
            method: asked.search.method.name().to_owned(),
            slo: asked.search.slo.clone(),
            every_s: search.every.map(|every| every.as_secs_f64()),
            repeat: plan.repeat,
            restarts: search.restarts.is_some(),
            price_per_hour: asked.search.price_per_hour,
            runs: Vec::new(),
            summary: SeriesSummary::default(),
        },
        plan: plan.to_toml_from(&asked.here),
        search: Vec::new(),
    };
    go_on(asked, file, &path)
}

/// Goes on with a series.
pub(super) fn resume(args: &Capacity, path: &Path) -> Result<Exit> {
    if let Some(flag) = args.search.settings().first() {
        let (path, flag) = (path.display(), flag.origin.clone());
        let text = format!("go on with {path}: it searches as it began; leave out {flag}");
        return Err(UsageError(text).into());
    }
    let mut file = read(path)?;
    super::restart::check_resumed(args, &file.result)?;
    let series = &mut file.result;
    let mut settings = began_with(&file.search, path)?;
    settings.extend(args.request.settings());
    settings.extend(args.series.settings()?);
    let repeat = args.series.repeat.as_ref().and_then(|text| text.parse::<u32>().ok());
    if let Some(restarts) = repeat.filter(|_| series.restarts).and_then(|n| n.checked_sub(1)) {
        settings.push(Setting::new("search.restarts", restarts.to_string(), "--repeat"));
    }
    super::make_search(&mut settings, &file.plan);
    let plan =
        plans::read(&Written::text(&file.plan, &series.series, &settings).within(environment))?;
    let again = Capacity {
        out: path.parent().map(PathBuf::from).unwrap_or_default(),
        json: args.json,
        quiet: args.quiet,
        model_out: args.model_out.clone(),
        web: args.web.clone(),
        ci: args.ci.clone(),
        against: args.against.clone(),
        ..Capacity::default()
    };
    let mut asked = ReadySearch::new(&again, plan)?;
    series.price_per_hour = asked.search.price_per_hour.or(series.price_per_hour);
    asked.search.price_per_hour = series.price_per_hour;
    let every = asked.plan.search.as_ref().and_then(|search| search.every);
    series.every_s = every.map(|every| every.as_secs_f64()).or(series.every_s);
    series.repeat = asked.plan.repeat;
    let path = again.out.join(&series.series);
    take_in(&mut file.result, &path)?;
    if done(&file.result) >= file.result.repeat {
        let all = file.result.repeat;
        let text = format!(
            "go on with {}: it has its {all} searches; ask for more by --repeat",
            path.display()
        );
        return Err(UsageError(text).into());
    }
    go_on(&asked, file, &path)
}

/// How a series of an earlier version of the program searches: as it was typed. Later ones say it
/// in their plan.
fn began_with(flags: &[String], path: &Path) -> Result<Vec<Setting>> {
    let given = ["plimsoll", "capacity", "resumed"].map(str::to_owned);
    let parsed = Arguments::try_parse_from(given.iter().chain(flags));
    let Ok(Arguments { command: Command::Capacity(began) }) = parsed else {
        let text = format!("read {}: its arguments are none of this program", path.display());
        return Err(UsageError(text).into());
    };
    Ok(began.search.settings())
}

/// Searches until the series has all its searches, or the user ends it.
fn go_on(asked: &ReadySearch<'_>, file: SeriesFile, path: &Path) -> Result<Exit> {
    let interrupts = Interrupts::watch()?;
    let series = &file.result;
    let (first, left) = (next_number(series), series.repeat - done(series));
    let last_us = series.runs.last().map(|run| run.started_unix_us);
    let pace = Pace::gone_on(series.every_s, last_us, unix_ns() / 1000);
    let (killed, id) = (killed(series), series.series.clone());
    let ready = asked.ready()?.going_on(first..=first + left - 1, killed, pace);
    let going = Mutex::new((file, Exit::Held));
    let has_begun = Cell::new(false);
    let begins = || {
        has_begun.set(true);
        std::fs::create_dir_all(&asked.args.out)
            .map_err(|source| ExperimentError::Artifact { path: asked.args.out.clone(), source })?;
        Ok(write(path, &going.lock().unwrap_or_else(PoisonError::into_inner).0)?)
    };
    let take = |came: Came| took(asked, &going, path, came);
    let web = Web::start(&asked.args.web, (&id, asked.name()))?;
    let hear = |news: &News<'_>| asked.hear(news, web.as_ref());
    let screen = asked.screen(&interrupts, &hear);
    let journal = journal_of(path).map(|_| Journal::open(path)).transpose()?;
    let record = asked.record(id, left.max(2), journal)?;
    let takes = Searches { begins: &begins, take: &take };
    let conducted = run_plan(&ready, &asked.with((&record, path), &screen, takes))?;
    match (conducted.executed, has_begun.get()) {
        (Ok(()), _) => {}
        (Err(error), false) => return Err(error.into()),
        (Err(error), true) => {
            let mut going = going.lock().unwrap_or_else(PoisonError::into_inner);
            going.1 = going.1.and(show(&error.into()));
        }
    }
    let (mut file, mut worst) = going.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum_up(&mut file.result);
    write(path, &file)?;
    let series = &file.result;
    if done(series) < series.repeat {
        worst = worst.and(Exit::Incomplete);
        let path = path.display();
        say(&format!("ended; go on with: plimsoll capacity --resume {path}"));
    }
    let against = against(&asked.args.against, series, path)?;
    if asked.args.json {
        print(&with_comparison(series, against.as_ref())?)?;
    } else {
        print(&render(series, path))?;
        say_against(against.as_ref())?;
    }
    worst = worst.and(against.as_ref().map_or(Exit::Held, Shown::exit));
    let compared = against.as_ref().map(|against| &against.compared);
    asked.args.ci.write_of(path, compared, worst)?;
    // Without a search there is nothing to show.
    if let Some(web) = web.filter(|_| journal_of(path).is_some()) {
        web.finish(path, &interrupts)?;
    }
    Ok(worst)
}

/// What came of comparing the searches that have an estimate with a baseline.
fn against(args: &AgainstBaseline, of: &SeriesResult, path: &Path) -> Result<Option<Shown>> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let found = of.runs.iter().filter(|run| run.estimate_per_s.is_some() && run.bound.is_none());
    let ids: Vec<&String> = found.filter_map(|run| run.run.as_ref()).collect();
    let opened = || ids.iter().map(|id| Ok(Run::open(&folder.join(id))?)).collect::<Result<_>>();
    if args.baseline.is_some() && ids.is_empty() {
        say("note: --baseline: nothing is compared: no search has an estimate");
        return Ok(None);
    }
    with_baseline(args, || Ok(Later::Runs(opened()?)))
}

/// Takes what came of a search into its series.
fn took(
    asked: &ReadySearch<'_>,
    going: &Mutex<(SeriesFile, Exit)>,
    path: &Path,
    came: Came,
) -> Result<(), ExperimentError> {
    let mut going = going.lock().unwrap_or_else(PoisonError::into_inner);
    let (file, worst) = &mut *going;
    let ended = match (&came.result, came.error) {
        (Some(result), _) => exit(result),
        (None, Some(error)) => show(&error.into()),
        (None, None) => Exit::Incomplete,
    };
    *worst = worst.and(ended);
    if came.result.is_some() {
        asked.keep_model(came.model.as_ref())?;
    }
    if !asked.args.json {
        // A reader that has gone away is no reason not to search.
        let _ = print(&row(&came.run, file.result.repeat));
    }
    file.result.runs.push(came.run);
    sum_up(&mut file.result);
    Ok(write(path, file)?)
}

/// One search in a line.
fn row(run: &SeriesRun, all: u32) -> String {
    let what = match (run.estimate_per_s, run.ci95) {
        (Some(rate), Some(_)) => format!("{:>10}  {}", show_rate(rate), shown::interval(run.ci95)),
        (Some(rate), None) => format!("{:>10}", shown::rate(rate, run.bound)),
        (None, _) => format!("{:>10}  {}", "–", run.ended.replace('_', " ")),
    };
    format!("  {:>5}/{all}  {}  {what}\n", run.number, shown::moment(&run.started))
}

/// The series together.
fn render(series: &SeriesResult, path: &Path) -> String {
    let summary = &series.summary;
    let mut out = String::new();
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<14}{text}");
    };
    let gaps = summary.searches - summary.found;
    let gaps = if gaps == 0 { String::new() } else { format!(", {gaps} without an estimate") };
    row("searches", format!("{} of {}{gaps}", done(series), series.repeat));
    if let Some(of) = &summary.estimate_per_s {
        let (median, mean) = (show_rate(of.spread.median), show_rate(of.mean));
        row("median", format!("{median} under {} {}", series.slo, shown::interval(of.median_ci95)));
        row("mean", format!("{mean} {}, CV {}", shown::interval(of.mean_ci95), shown::cv(of)));
        let (low, high) = (show_rate(of.spread.min), show_rate(of.spread.max));
        let (q1, q3) = (show_rate(of.spread.q1), show_rate(of.spread.q3));
        row("spread", format!("{low} to {high}, half of them from {q1} to {q3}"));
    }
    if let Some(cost) = &summary.cost {
        row("price", shown::cost(cost));
    }
    if let Some(of) = &summary.restarts {
        row("restarts", shown::restarts(of));
    }
    for remark in shown::remarks(summary) {
        row("change", remark);
    }
    for warning in &series.warnings {
        row("note", warning.clone());
    }
    row("series", path.display().to_string());
    out
}
