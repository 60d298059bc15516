//! `plimsoll capacity --repeat`: one search after another, each a run of its own, together a series
//! that can be gone on with.

use super::restart::restarted;
use super::{Asked, exit, shown};
use crate::args::{Arguments, Capacity, Command};
use crate::commands::restart::Before;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::lock::pause;
use crate::place::{run_id, unix_ns};
use crate::terminal::error::{UsageError, show};
use crate::terminal::{print, say};
use anyhow::Result;
use clap::parser::ValueSource;
use clap::{CommandFactory, Parser};
use plimsoll_capacity::series::{SCHEMA, SeriesFile, SeriesResult, SeriesRun, SeriesSummary};
use plimsoll_experiment::series::{due_us, read, record, result_of, write};
use plimsoll_plan::Plan;
use plimsoll_runs::{Run, iso8601};
use plimsoll_units::{duration, show_rate};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The heading of the flags that say how to search.
const SEARCH: &str = "How to search";
/// How a search ended that was killed.
const KILLED: &str = "incomplete";
/// How often an interrupt is looked for between two searches.
const STEP_US: u64 = 100_000;

/// Begins a series.
pub(super) fn run(asked: &Asked<'_>) -> Result<Exit> {
    let args = asked.args;
    let every_s = every(args)?;
    let here = std::env::current_dir()?;
    let series = run_id(unix_ns());
    let path = args.out.join(&series);
    let file = SeriesFile {
        result: SeriesResult {
            schema: SCHEMA,
            warnings: Vec::new(),
            series,
            name: asked.plan.name.clone().unwrap_or_default(),
            target: asked.prepared.subject.clone(),
            method: asked.method.name().to_owned(),
            slo: asked.slo.to_string(),
            every_s,
            repeat: asked.plan.repeat,
            restarts: args.series.restarts.is_some(),
            price_per_hour: asked.price_per_hour,
            runs: Vec::new(),
            summary: SeriesSummary::default(),
        },
        plan: asked.plan.to_toml_from(&here),
        search: search_flags(false),
    };
    go_on(asked, file, &path)
}

/// Goes on with a series.
pub(super) fn resume(args: &Capacity, path: &Path) -> Result<Exit> {
    if let Some(flag) = search_flags(true).first() {
        let text =
            format!("go on with {}: it searches as it began; leave out {flag}", path.display());
        return Err(UsageError(text).into());
    }
    let mut file = read(path)?;
    let given = ["plimsoll", "capacity", "resumed"].map(str::to_owned);
    let parsed = Arguments::try_parse_from(given.iter().chain(&file.search));
    let Ok(Arguments { command: Command::Capacity(mut again) }) = parsed else {
        let text = format!("read {}: its arguments are none of this program", path.display());
        return Err(UsageError(text).into());
    };
    again.out = path.parent().map(PathBuf::from).unwrap_or_default();
    (again.json, again.quiet) = (args.json, args.quiet);
    again.model_out.clone_from(&args.model_out);
    again.series.price.clone_from(&args.series.price);
    super::restart::check_resumed(args, &file.result)?;
    let mut settings = args.request.settings();
    settings.extend(args.series.settings()?);
    let series = &mut file.result;
    let plan = Plan::parse_with(&file.plan, &series.series, &settings)?;
    let mut asked = Asked::new(&again, plan)?;
    series.price_per_hour = asked.price_per_hour.or(series.price_per_hour);
    asked.price_per_hour = series.price_per_hour;
    series.every_s = every(args)?.or(series.every_s);
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

fn every(args: &Capacity) -> Result<Option<f64>> {
    let every = args.series.every.as_ref().map(|text| super::read("--every", text, duration));
    Ok(every.transpose()?.map(|every| every.as_secs_f64()))
}

/// How many of its searches a series has. One that was killed is there, as a gap, and is none of
/// them: another one is made in its place.
fn done(series: &SeriesResult) -> u32 {
    let killed = series.runs.iter().filter(|run| run.ended == KILLED).count();
    u32::try_from(series.runs.len() - killed).unwrap_or(u32::MAX)
}

fn next_number(series: &SeriesResult) -> u32 {
    series.runs.last().map_or(1, |run| run.number.saturating_add(1))
}

/// The flags that say how to search, as they stand on the command line; without `given`, the ones
/// left at their defaults as well.
fn search_flags(given: bool) -> Vec<String> {
    let command = Arguments::command();
    let Ok(matches) = command.clone().try_get_matches_from(std::env::args_os()) else {
        return Vec::new();
    };
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let known = command.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
    let mut flags = Vec::new();
    for flag in known.filter(|flag| flag.get_help_heading() == Some(SEARCH)) {
        let id = flag.get_id().as_str();
        let typed = matches.value_source(id) == Some(ValueSource::CommandLine);
        let (Some(long), true) = (flag.get_long(), typed || !given) else { continue };
        if !flag.get_action().takes_values() {
            flags.extend(typed.then(|| format!("--{long}")));
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        flags.extend(values.map(|value| format!("--{long}={}", value.to_string_lossy())));
    }
    flags
}

/// Takes in searches that ended after the file was last written: of a series that was killed.
fn take_in(series: &mut SeriesResult, path: &Path) -> Result<()> {
    loop {
        let number = next_number(series);
        let id = format!("{}-{number}", series.series);
        let folder = path.with_file_name(&id);
        if !folder.is_dir() {
            return Ok(());
        }
        let started = Run::open(&folder).map_or(0, |run| run.meta().started_unix_ns);
        let run = match result_of(&folder)? {
            Some(result) => record(number, &id, started, 0.0, &result),
            None => gap(number, Some(id), started, 0.0, KILLED, "the search was killed"),
        };
        series.runs.push(SeriesRun { restarted: series.restarts, ..run });
    }
}

fn gap(
    number: u32,
    run: Option<String>,
    started: u64,
    late_s: f64,
    ended: &str,
    why: &str,
) -> SeriesRun {
    SeriesRun {
        number,
        run,
        started: iso8601(started),
        started_unix_us: started / 1000,
        late_s,
        ended: ended.to_owned(),
        estimate_per_s: None,
        bound: None,
        ci95: None,
        why: Some(why.to_owned()),
        restarted: false,
    }
}

/// Searches until the series has all its searches, or the user ends it.
fn go_on(asked: &Asked<'_>, mut file: SeriesFile, path: &Path) -> Result<Exit> {
    let interrupts = Interrupts::watch()?;
    let _held = asked.lock()?;
    let quiet = asked.is_quiet();
    std::fs::create_dir_all(&asked.args.out)?;
    write(path, &file)?;
    let mut worst = Exit::Held;
    let mut due = None;
    while done(&file.result) < file.result.repeat {
        let (number, all) = (next_number(&file.result), file.result.repeat);
        if let Some(due) = due {
            wait_until(due, file.result.every_s, &interrupts, quiet);
        }
        let _turn = asked.turn(&interrupts);
        if interrupts.count() > 0 {
            break;
        }
        // A restart is part of the search that comes after it.
        let began_us = unix_ns() / 1000;
        let late_s = due.map_or(0.0, |due| began_us.saturating_sub(due) as f64 / 1e6);
        let (run, ended) = match restarted(asked, &file.result, path, &interrupts) {
            Before::Ended(exit) => {
                worst = worst.and(exit);
                break;
            }
            Before::Silent(why) => {
                (gap(number, None, unix_ns(), late_s, "target_lost", &why), Exit::Incomplete)
            }
            Before::Ready => once(asked, number, late_s, &file.result, &interrupts)?,
        };
        let run = SeriesRun { restarted: file.result.restarts, ..run };
        worst = worst.and(ended);
        if !asked.args.json {
            print(&row(&run, all))?;
        }
        due = file.result.every_s.map(|every| due_us(began_us, Some(every)));
        file.result.runs.push(run);
        sum_up(&mut file.result);
        write(path, &file)?;
    }
    sum_up(&mut file.result);
    write(path, &file)?;
    let series = &file.result;
    if done(series) < series.repeat {
        worst = worst.and(Exit::Incomplete);
        let path = path.display();
        say(&format!("ended; go on with: plimsoll capacity --resume {path}"));
    }
    if asked.args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(series)?))?;
    } else {
        print(&render(series, path))?;
    }
    Ok(worst)
}

/// Says what the searches so far say together.
fn sum_up(series: &mut SeriesResult) {
    series.summary = SeriesSummary::of(&series.runs, series.price_per_hour);
    series.warnings = warnings(series);
}

fn warnings(series: &SeriesResult) -> Vec<String> {
    let late = series.runs.iter().filter(|run| run.late_s >= 1.0).count();
    let mut warnings = Vec::new();
    if let Some(every) = series.every_s.filter(|_| late > 0) {
        let every = shown::seconds(every);
        let why = format!("as the one before took longer than {every}");
        warnings.push(format!("Searches that began late, {why}: {late}."));
    }
    warnings.extend(series.summary.warn_of_bounds());
    if series.summary.is_too_long() {
        warnings.push("The series is too long to be searched for changes.".to_owned());
    }
    warnings
}

/// Waits until the next search is due; says so, and where that is past.
fn wait_until(due: u64, every_s: Option<f64>, interrupts: &Interrupts, quiet: bool) {
    let now = || unix_ns() / 1000;
    let (left, every) = (due.saturating_sub(now()), shown::seconds(every_s.unwrap_or(0.0)));
    if left == 0 {
        if !quiet {
            say(&format!("the search took longer than {every}: the next one starts at once"));
        }
        return;
    }
    if !quiet {
        let left = shown::seconds((left as f64 / 1e6).ceil());
        say(&format!("next search in {left}"));
    }
    while interrupts.count() == 0 {
        let left = due.saturating_sub(now());
        if left == 0 {
            return;
        }
        pause(Duration::from_micros(left.min(STEP_US)));
    }
}

/// One search of a series. A failed one is a gap; one that was asked for wrongly ends the series.
fn once(
    asked: &Asked<'_>,
    number: u32,
    late_s: f64,
    series: &SeriesResult,
    interrupts: &Interrupts,
) -> Result<(SeriesRun, Exit)> {
    let (started, id) = (unix_ns(), format!("{}-{number}", series.series));
    if !(asked.args.quiet || asked.args.json) {
        say(&format!("search {} of {}", done(series) + 1, series.repeat));
    }
    let error = match asked.search(id.clone(), started, interrupts) {
        Ok(searched) => {
            let run = record(number, &id, started, late_s, &searched.result);
            return Ok((run, exit(&searched.result)));
        }
        Err(error) => error,
    };
    let code = show(&error);
    let why = format!("{error:#}");
    let run = asked.args.out.join(&id).is_dir().then_some(id);
    Ok((gap(number, run, started, late_s, "failed", &why), code))
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
