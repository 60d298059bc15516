//! `plimsoll simulate`: policies compared on the same simulated requests.

pub(crate) mod cells;
mod kinds;
mod plans;
mod starter;
mod table;

pub(crate) use plans::{policy_settings, read_plan};
pub(crate) use table::types;

use crate::commands::report::write_page;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::{cores, unix_ns};
use crate::simulate_args::Simulate;
use crate::terminal::error::{Result, Unexpected, UsageError, read};
use crate::terminal::screen::Screen;
use crate::terminal::{pretty, print, say};
use plans::Case;
use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::outcome::Outcome;
use plimsoll_elastic::result::{PolicyResult, SLO};
use plimsoll_experiment::ExperimentError;
use plimsoll_experiment::ready::{PoolCase, Ready, Takes};
use plimsoll_experiment::record::Record;
use plimsoll_experiment::world::pool::{simulation, together};
use plimsoll_units::{ParseError, count};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Simulate) -> Result<Exit> {
    if args.list_policies {
        print(&kinds::render(args.json)?)?;
        return Ok(Exit::Held);
    }
    let of_log;
    let mut args = args;
    if let Some((text, assumed)) = starter::of(args)? {
        if args.print_plan {
            print(&text)?;
            return Ok(Exit::Held);
        }
        let (plan, was_there) = starter::kept(args, &text)?;
        let told = if was_there { "is the plan as before" } else { "is the plan to start from" };
        say(&format!("{plan} {told}: plimsoll run {plan} --simulated"));
        assumed.iter().for_each(|note| say(&format!("note: {note}")));
        of_log = starter::of_plan(args, plan);
        args = &of_log;
    }
    let path = args.plan();
    let cases = plans::cases(path, args)?;
    if args.print_plan {
        let of_cases = cases.chunk_by(|one, other| one.whole == other.whole);
        for whole in of_cases.filter_map(|of| Some(&of.first()?.whole)) {
            print(&whole.to_toml())?;
        }
        return Ok(Exit::Held);
    }
    crate::files::check_report(args.report.as_deref())?;
    let is_designed = cases.iter().any(|case| case.whole.is_designed());
    crate::files::check_single(is_designed, "simulate", (path, " --simulated"))?;
    let threads = threads(args.threads.as_deref())?;
    check_policies(&cases)?;
    let of = |case: &Case| (case.plan.clone(), Some(case.differs.clone()));
    let pools = cases.iter().map(of).collect();
    let ready = Ready::pools(&cases[0].whole, pools, &std::env::current_dir()?)?;
    // An interrupt while logs and traces are read ends the program.
    let interrupts = Interrupts::watch()?;
    let (out, all, tags) = (&args.out, args.keep_cells, args.tags.read()?);
    let record = cells::Keeping { out, plan: path, all, tags }.record(&ready);
    let (began_ns, began_cpu_ns) = (unix_ns(), plimsoll_load::clock::process_cpu_ns());
    let screen = Screen::new(args.quiet || args.json, &interrupts).of_steps("replications");
    let simulated = RefCell::new(Vec::new());
    let take = |place: usize, outcomes: &[Vec<Outcome>]| {
        let one = one(&cases[place], &ready.pool_cases()[place], outcomes, &record)?;
        let goes_on = one.is_some();
        simulated.borrow_mut().extend(one);
        Ok(goes_on)
    };
    let folder = cells::into(&ready, &record, (&screen, threads), Takes::Pools(&take))?;
    let cpu_ns = plimsoll_load::clock::process_cpu_ns() - began_cpu_ns;
    let wall_ns = unix_ns().saturating_sub(began_ns);
    let is_interrupted = interrupts.count() > 0;
    let pairs: Vec<_> = ready.pool_cases().iter().map(|of| (&of.plan, &of.model)).collect();
    let Some(mut simulation) = together(simulated.into_inner(), &pairs) else {
        return Ok(cut("interrupted before every policy was simulated once", folder.as_deref()));
    };
    time(&mut simulation, wall_ns, cpu_ns);
    let missing = || std::io::Error::other("a simulation that was recorded has a folder");
    let folder = folder.ok_or_else(missing).map_err(Unexpected::new)?;
    show(args, &simulation, &folder)?;
    // Of several policies one that holds the SLO is enough: it is the one to take.
    let holds = simulation.result.policies.iter().any(PolicyResult::holds);
    Ok(match (is_interrupted, holds) {
        (true, _) => Exit::Incomplete,
        (false, true) => Exit::Held,
        (false, false) => Exit::Broken,
    })
}

/// Says why a simulation has no result, and where what was done is.
pub(crate) fn cut(why: &str, folder: Option<&Path>) -> Exit {
    say(why);
    folder.iter().for_each(|folder| say(&format!("what was done is in {}", folder.display())));
    Exit::Incomplete
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
        print(&pretty(&simulation.result)?)?;
    } else {
        print(&table::render(simulation))?;
        if args.decisions {
            print(&table::decisions(simulation))?;
        }
        say(&format!("kept in {}", folder.display()));
    }
    if let Some(path) = &args.report {
        write_page(folder, path)?;
        say(&format!("report: {}", path.display()));
    }
    Ok(())
}

/// How many threads: all that the process may use, unless it is said otherwise.
pub(crate) fn threads(text: Option<&str>) -> Result<NonZeroUsize> {
    let threads = match text {
        None => u64::from(cores().allowed),
        Some(text) => read("--threads", text, |text| match count(text)? {
            threads @ 1..=1024 => Ok(threads),
            _ => Err(ParseError::new("from 1 to 1024 threads", text, 0, text.len())),
        })?,
    };
    Ok(NonZeroUsize::new(usize::try_from(threads).map_err(Unexpected::new)?)
        .unwrap_or(NonZeroUsize::MIN))
}

/// Refuses cases without a policy.
fn check_policies(cases: &[Case]) -> Result<()> {
    let has_none =
        |case: &Case| case.plan.elastic.as_ref().is_some_and(|elastic| elastic.policies.is_empty());
    if cases.iter().any(has_none) {
        let text = "find a policy: the plan has none; give --policy 'threshold', or see \
                    --list-policies";
        return Err(UsageError(text.to_owned()).into());
    }
    Ok(())
}

/// What came of a case, under its labels; whether its policies hold the SLO is kept. `None` where
/// it was interrupted too early.
fn one(
    case: &Case,
    PoolCase { plan, model, grid }: &PoolCase,
    outcomes: &[Vec<Outcome>],
    record: &Record<'_>,
) -> Result<Option<Simulation>, ExperimentError> {
    let Some(mut one) = simulation(plan, model, outcomes) else { return Ok(None) };
    for (number, policy) in one.result.policies.iter().enumerate() {
        let first = grid.number(number, grid.replications.start);
        if !policy.slo.is_empty() {
            record.found(Some(first), SLO, &table::held(policy))?;
        }
    }
    for (policy, course) in one.result.policies.iter_mut().zip(&mut one.courses) {
        case.name(&mut policy.label);
        case.name(&mut course.label);
    }
    for paired in &mut one.result.paired {
        case.name(&mut paired.label);
        case.name(&mut paired.with);
    }
    one.result.warnings.iter().for_each(|warning| record.note(warning));
    Ok(Some(one))
}
