//! `plimsoll simulate`: policies compared on the same simulated requests.

pub(crate) mod cells;
mod kinds;
mod plans;
pub(crate) mod progress;
mod table;

pub(crate) use plans::read_plan;

use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::{cores, unix_ns};
use crate::simulate_args::Simulate;
use crate::terminal::error::{UsageError, read};
use crate::terminal::{print, say};
use anyhow::{Context, Result};
use cells::{Cells, keeps_runs};
use plans::Case;
use plimsoll_elastic::course::{FILE, Simulation};
use plimsoll_elastic::result::PolicyResult;
use plimsoll_elastic::simulated::Outcome;
use plimsoll_experiment::record::Record;
use plimsoll_experiment::simulate::{Model, Scale, contents, model, simulate};
use plimsoll_runs::{Ended, Kind, RunWriter};
use plimsoll_units::{ParseError, count};
use progress::Progress;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most bytes of a simulation that are read.
const MOST_BYTES: u64 = 256 << 20;

/// Runs the command.
pub(crate) fn run(args: &Simulate) -> Result<Exit> {
    if args.list_policies {
        print(&kinds::render(args.json)?)?;
        return Ok(Exit::Held);
    }
    let path = args.plan.as_deref().unwrap_or_default();
    let cases = plans::cases(path, args)?;
    if args.print_plan {
        for case in &cases {
            print(&case.plan.to_toml())?;
        }
        return Ok(Exit::Held);
    }
    crate::files::check_report(args.report.as_deref())?;
    let threads = threads(args.threads.as_deref())?;
    let interrupts = Interrupts::watch()?;
    let models = models(&cases)?;
    let record = record(args, &cases, &models)?;
    let (began_ns, began_cpu_ns) = (unix_ns(), plimsoll_load::clock::process_cpu_ns());
    let simulation = simulate_all(&cases, &models, threads, args, &record, &interrupts)?;
    let cpu_ns = plimsoll_load::clock::process_cpu_ns() - began_cpu_ns;
    let wall_ns = unix_ns().saturating_sub(began_ns);
    let is_interrupted = interrupts.count() > 0;
    let ended = if is_interrupted { Ended::Interrupted } else { Ended::Complete };
    let warnings = simulation.as_ref().map(|of| of.result.warnings.clone()).unwrap_or_default();
    let folder = record.finish(ended, &warnings)?;
    let Some(mut simulation) = simulation else {
        say("interrupted before every policy was simulated once");
        folder.iter().for_each(|folder| say(&format!("what was done is in {}", folder.display())));
        return Ok(Exit::Incomplete);
    };
    time(&mut simulation, wall_ns, cpu_ns);
    let folder = folder.context("a simulation that was recorded has a folder")?;
    keep(&folder, &simulation)?;
    show(args, &simulation, &folder)?;
    // Of several policies one that holds the SLO is enough: it is the one to take.
    let holds = simulation.result.policies.iter().any(PolicyResult::holds);
    Ok(match (is_interrupted, holds) {
        (true, _) => Exit::Incomplete,
        (false, true) => Exit::Held,
        (false, false) => Exit::Broken,
    })
}

/// Says what it took.
fn time(simulation: &mut Simulation, wall_ns: u64, cpu_ns: u64) {
    let of = |policy: &PolicyResult| policy.offered * policy.replications as f64;
    let requests: f64 = simulation.result.policies.iter().map(of).sum();
    let timing = &mut simulation.result.timing;
    timing.wall_s = wall_ns as f64 / 1e9;
    timing.cpu_s = cpu_ns as f64 / 1e9;
    timing.requests_per_cpu_s = requests / timing.cpu_s.max(1e-9);
}

/// Prints the result, and writes the report where one is wanted.
fn show(args: &Simulate, simulation: &Simulation, folder: &Path) -> Result<()> {
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&simulation.result)?))?;
    } else {
        print(&table::render(simulation))?;
        if args.decisions {
            print(&table::decisions(simulation))?;
        }
        say(&format!("kept in {}", folder.display()));
    }
    if let Some(path) = &args.report {
        write_report(simulation, path)?;
        say(&format!("report: {}", path.display()));
    }
    Ok(())
}

/// How many threads: all that the process may use, unless it is said otherwise.
pub(crate) fn threads(text: Option<&str>) -> Result<usize> {
    let Some(text) = text else { return Ok(cores().allowed as usize) };
    let threads = read("--threads", text, |text| match count(text)? {
        threads @ 1..=1024 => Ok(threads),
        _ => Err(ParseError::new("from 1 to 1024 threads", text, 0, text.len())),
    })?;
    Ok(usize::try_from(threads)?)
}

/// The models of all cases, in each of which every policy can be made.
fn models(cases: &[Case]) -> Result<Vec<Model>> {
    let mut models = Vec::with_capacity(cases.len());
    for case in cases {
        let model = model(&case.plan)?;
        if model.policies.is_empty() {
            let text = "find a policy: the plan has none; give --policy 'threshold', or see \
                        --list-policies";
            return Err(UsageError(text.to_owned()).into());
        }
        models.push(model);
    }
    Ok(models)
}

/// The cells of all cases, one case after the other.
fn cells<'a>(cases: &'a [Case], models: &'a [Model]) -> Vec<Cells<'a>> {
    let mut before = 0;
    let of = |(case, model)| {
        let cells = Cells { case, model, before };
        before += cells.count();
        cells
    };
    cases.iter().zip(models).map(of).collect()
}

/// The record of all cells. The plan of several cases is that of the first: how the others differ
/// stands in the factors of their cells.
fn record<'a>(args: &'a Simulate, cases: &[Case], models: &[Model]) -> Result<Record<'a>> {
    let here = std::env::current_dir()?;
    let all = cells(cases, models);
    let count: u64 = all.iter().map(Cells::count).sum();
    let (case, model) = (&cases[0], &models[0]);
    let record = cells::record(
        &args.out,
        cells::Recorded {
            plan: &case.plan,
            kind: Kind::Pool,
            plan_text: case.plan.to_toml_from(&here),
            is_single: count == 1,
            keeps_runs: keeps_runs(count, args.keep_cells),
            subject: cells::subject(model),
            duration_ns: model.schedule.duration_ns(),
        },
    );
    for cells in &all {
        record.plan(cells.all())?;
    }
    Ok(record)
}

/// All cases one after the other, in one result; `None` where it was interrupted too early.
fn simulate_all(
    cases: &[Case],
    models: &[Model],
    threads: usize,
    args: &Simulate,
    record: &Record<'_>,
    interrupts: &Interrupts,
) -> Result<Option<Simulation>> {
    let cells = cells(cases, models);
    let all = cells.iter().map(Cells::count).sum();
    let progress = Progress::new(all, "replications", args.quiet || args.json, interrupts);
    let mut together: Option<Simulation> = None;
    for cells in &cells {
        let Cells { case, model, .. } = cells;
        let scale = Scale { replications: u64::from(case.plan.repeat), threads };
        let watch = |policy: usize, replication: u64, outcome: &Outcome| {
            let write = |run: &mut RunWriter| contents::write(run, model, outcome);
            let cell = cells.one(policy, replication);
            record.done(cell, &outcome.figures(), &write) && progress.step()
        };
        let Some(mut one) = simulate(&case.plan, model, scale, &watch)? else { break };
        for (policy, course) in one.result.policies.iter_mut().zip(&mut one.courses) {
            case.name(&mut policy.label);
            case.name(&mut course.label);
        }
        for paired in &mut one.result.paired {
            case.name(&mut paired.label);
            case.name(&mut paired.with);
        }
        match &mut together {
            None => together = Some(one),
            Some(all) => {
                all.result.policies.append(&mut one.result.policies);
                all.result.paired.append(&mut one.result.paired);
                all.courses.append(&mut one.courses);
            }
        }
    }
    progress.finish();
    Ok(together)
}

/// Keeps a simulation, its result and what is drawn of it, in the folder of its cells.
fn keep(folder: &Path, simulation: &Simulation) -> Result<()> {
    let text = serde_json::to_string(simulation)?;
    std::fs::write(folder.join(FILE), text)
        .with_context(|| format!("keep the simulation in {}; choose --out", folder.display()))
}

/// The simulation in a folder.
pub(crate) fn open(folder: &Path) -> Result<Simulation> {
    let path = folder.join(FILE);
    let mut text = String::new();
    File::open(&path)
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
        .with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("read {}: it is no simulation of this version", path.display()))
}

/// Writes the page of a simulation.
pub(crate) fn write_report(simulation: &Simulation, path: &Path) -> Result<()> {
    let page = plimsoll_report::simulation_page(simulation, None);
    let unfinished = path.with_extension("html.tmp");
    std::fs::write(&unfinished, page)
        .and_then(|()| std::fs::rename(&unfinished, path))
        .with_context(|| format!("write the report to {}", path.display()))
}
