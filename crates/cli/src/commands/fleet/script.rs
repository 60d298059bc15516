//! `plimsoll fleet script`: what starts workers on a cluster, printed.

use crate::commands::worker::check;
use crate::exit::Exit;
use crate::place::place;
use crate::script_args::{Allotted, Cluster, Kubernetes, Script, Slurm};
use crate::terminal::error::{Context, Result, UsageError, read};
use crate::terminal::print;
use crate::worker_args::Duties;
use plimsoll_fleet::script::{self, Allotment, Work, is_name, is_value};
use plimsoll_units::{ParseError, duration, size};
use std::path::Path;

/// A worker ends when it has served nobody for so long, unless said otherwise.
const IDLE: &str = "10m";
/// The commands that have workers.
const WITH_WORKERS: [&str; 3] = ["run", "load", "capacity"];
/// Their flags that say other workers.
const OTHERS: [&str; 3] = ["--workers", "--on", "--bus"];
const MIB: u64 = 1 << 20;

/// Runs the command.
pub(super) fn run(args: &Script) -> Result<Exit> {
    print(&match &args.of {
        Cluster::Slurm(args) => slurm(args)?,
        Cluster::Kubernetes(args) => kubernetes(args)?,
    })?;
    Ok(Exit::Held)
}

fn slurm(args: &Slurm) -> Result<String> {
    let of = allotment(&args.of)?;
    for (flag, value) in [("--partition", &args.partition), ("--account", &args.account)] {
        if let Some(text) = value {
            read(flag, text, |text| value_of(text, is_value, "letters, digits and `._,-`"))?;
        }
    }
    let here = std::env::current_dir()?;
    let program = place(&here).program.display().to_string();
    let with = |work| {
        let (partition, account) = (args.partition.as_deref(), args.account.as_deref());
        script::Slurm { of, partition, account, program: &program, work }.script()
    };
    let (Some(bus), Some(keys), Some(trust)) = (&args.bus, &args.keys, &args.trust) else {
        check_command(&args.command)?;
        return Ok(with(Work::Command(&args.command)));
    };
    let mut words = words(&of, &args.duties, bus, args.plain)?;
    let mut flag = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
    flag("--trust", trust);
    args.bus_ca.iter().for_each(|file| flag("--bus-ca", file));
    args.duties.env.iter().for_each(|name| flag("--env", name));
    Ok(with(Work::Wait { words: &words, keys }))
}

fn kubernetes(args: &Kubernetes) -> Result<String> {
    let of = allotment(&args.of)?;
    if let Some(text) = &args.namespace {
        read("--namespace", text, name)?;
    }
    let authorities = args.bus_ca.as_ref().map(|file| {
        let text = std::fs::read_to_string(file);
        text.with_context(|| format!("--bus-ca: read {}", file.display()))
    });
    Ok(script::Kubernetes {
        of,
        namespace: args.namespace.as_deref(),
        image: &args.image,
        words: &words(&of, &args.duties, &args.bus, args.plain)?,
        variables: &args.duties.env,
        controllers: &controllers(&args.trust)?,
        authorities: authorities.transpose()?.as_deref(),
    }
    .manifests())
}

/// A command that has workers, and says none yet.
fn check_command(words: &[String]) -> Result<()> {
    let wrong = |text: String| Err(UsageError(text).into());
    match words.first() {
        Some(first) if WITH_WORKERS.contains(&first.as_str()) => {}
        first => {
            let first = first.map(String::as_str).unwrap_or_default();
            return wrong(format!(
                "`{first}` has no workers; what has: {}, as in `-- run plan.toml`",
                WITH_WORKERS.join(", ")
            ));
        }
    }
    let flag = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    match words.iter().map(flag).find(|flag| OTHERS.contains(&flag.as_str())) {
        Some(flag) => wrong(format!("{flag} is said by the script itself")),
        None => Ok(()),
    }
}

fn allotment(args: &Allotted) -> Result<Allotment<'_>> {
    for (flag, count) in [("--workers", args.workers), ("--cpus", args.cpus)] {
        if !(1..=256).contains(&count) {
            return Err(UsageError(format!("{flag}: expected 1 to 256, found {count}")).into());
        }
    }
    read("--name", &args.name, name)?;
    let memory_bytes = read("--memory", &args.memory, size)?;
    if memory_bytes < 64 * MIB {
        let text = format!("--memory: {} are too little for a worker", args.memory);
        return Err(UsageError(text).into());
    }
    Ok(Allotment {
        name: &args.name,
        workers: args.workers,
        processors: args.cpus,
        memory_bytes,
        time: read("--time", &args.time, duration)?,
    })
}

fn name(text: &str) -> Result<(), ParseError> {
    value_of(text, is_name, "lower-case letters, digits and `-`, 50 at most")
}

fn value_of(text: &str, is: impl Fn(&str) -> bool, wanted: &str) -> Result<(), ParseError> {
    is(text).then_some(()).ok_or_else(|| ParseError::new(wanted, text, 0, text.len()))
}

/// The words of a worker that waits at a broker.
fn words(of: &Allotment<'_>, duties: &Duties, bus: &str, is_plain: bool) -> Result<Vec<String>> {
    check(duties, bus, is_plain)?;
    let mut words = ["worker", "--bus", bus].map(str::to_owned).to_vec();
    words.extend(duties.words());
    let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if duties.most_memory.is_none() {
        // Who serves is not ended by the cluster for want of memory.
        flag("--most-memory", format!("{}MiB", of.memory_bytes / MIB / 4 * 3));
    }
    if duties.idle.is_none() {
        flag("--idle", IDLE.to_owned());
    }
    if is_plain {
        words.push("--plain".to_owned());
    }
    Ok(words)
}

/// A list of controllers, as it is read.
#[cfg(feature = "amqp")]
fn controllers(file: &Path) -> Result<String> {
    let list = plimsoll_fleet::bus::Keyring::read(file)?;
    if list.is_empty() {
        return Err(UsageError(format!("--trust: {} has no key", file.display())).into());
    }
    Ok(list.lines())
}

#[cfg(not(feature = "amqp"))]
fn controllers(_: &Path) -> Result<String> {
    Err(crate::commands::worker::no_brokers())
}
