//! `plimsoll simulate`: policies compared on the same simulated requests.

mod kinds;
mod plans;
pub(crate) mod progress;
mod table;

pub(crate) use plans::read_plan;

use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::{cores, run_id, unix_ns};
use crate::simulate_args::Simulate;
use crate::terminal::error::{UsageError, read};
use crate::terminal::{print, say};
use anyhow::{Context, Result};
use plans::Case;
use plimsoll_elastic::course::{FILE, Simulation};
use plimsoll_elastic::result::PolicyResult;
use plimsoll_experiment::simulate::{Scale, model, simulate};
use plimsoll_units::{ParseError, count};
use progress::Progress;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

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
    let threads = threads(args.threads.as_deref())?;
    let interrupts = Interrupts::watch()?;
    let (began_ns, began_cpu_ns) = (unix_ns(), plimsoll_load::clock::process_cpu_ns());
    let Some(mut simulation) = simulate_all(&cases, threads, args, &interrupts)? else {
        say("interrupted before every policy was simulated once");
        return Ok(Exit::Incomplete);
    };
    let timing = &mut simulation.result.timing;
    timing.wall_s = unix_ns().saturating_sub(began_ns) as f64 / 1e9;
    timing.cpu_s = (plimsoll_load::clock::process_cpu_ns() - began_cpu_ns) as f64 / 1e9;
    let of = |policy: &PolicyResult| policy.offered * policy.replications as f64;
    let requests: f64 = simulation.result.policies.iter().map(of).sum();
    simulation.result.timing.requests_per_cpu_s =
        requests / simulation.result.timing.cpu_s.max(1e-9);
    let folder = keep(&args.out, &cases, &simulation)?;
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&simulation.result)?))?;
    } else {
        print(&table::render(&simulation))?;
        if args.decisions {
            print(&table::decisions(&simulation))?;
        }
        say(&format!("kept in {}", folder.display()));
    }
    if let Some(path) = &args.report {
        write_report(&simulation, path)?;
        say(&format!("report: {}", path.display()));
    }
    // Of several policies one that holds the SLO is enough: it is the one to take.
    let holds = simulation.result.policies.iter().any(PolicyResult::holds);
    Ok(match (interrupts.count() > 0, holds) {
        (true, _) => Exit::Incomplete,
        (false, true) => Exit::Held,
        (false, false) => Exit::Broken,
    })
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

/// All cases one after the other, in one result; `None` where it was interrupted too early.
fn simulate_all(
    cases: &[Case],
    threads: usize,
    args: &Simulate,
    interrupts: &Interrupts,
) -> Result<Option<Simulation>> {
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
    let of = |case: &Case| u64::from(case.plan.repeat);
    let all = cases.iter().zip(&models).map(|(case, model)| of(case) * model.policies.len() as u64);
    let progress = Progress::new(all.sum(), "replications", args.quiet || args.json, interrupts);
    let mut together: Option<Simulation> = None;
    for (case, model) in cases.iter().zip(&models) {
        let scale = Scale { replications: of(case), threads };
        let one = simulate(&case.plan, model, scale, &|| progress.step())?;
        let Some(mut one) = one else { break };
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

/// Keeps a simulation in a folder of its own: the plan, and the result with what is drawn of it.
fn keep(root: &Path, cases: &[Case], simulation: &Simulation) -> Result<PathBuf> {
    let folder = root.join(run_id(unix_ns()));
    let plan: String = cases.iter().map(|case| case.plan.to_toml()).next().unwrap_or_default();
    let text = serde_json::to_string(simulation)?;
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join("plan.toml"), plan))
        .and_then(|()| std::fs::write(folder.join(FILE), text))
        .with_context(|| format!("keep the simulation in {}; choose --out", folder.display()))?;
    Ok(folder)
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
