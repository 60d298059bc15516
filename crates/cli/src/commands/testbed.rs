//! `plimsoll testbed`: what test-beds have started, and its end.

mod images;

use super::run::plan_text;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::place::place;
use crate::terminal::error::{Result, Unexpected, UsageError};
use crate::terminal::{pretty, print, say};
use crate::testbed_args::{SelfTest, Testbed, TestbedCommand, TestbedDown, TestbedUp};
use plimsoll_experiment::bench;
use plimsoll_experiment::servers::means;
use plimsoll_testbed::bed::Hears;
use plimsoll_testbed::cloud::Where;
use plimsoll_testbed::down::Means;
use plimsoll_testbed::far::serve;
use plimsoll_testbed::launch::{Launcher, wait_and_become};
use plimsoll_testbed::ledger::{FoundLedger, Ledger, without_ledger};
use plimsoll_testbed::links::carry;
use plimsoll_testbed::rented::{Stray, lasting, strays};
use plimsoll_testbed::self_test::Score;
use plimsoll_testbed::thing::Thing;
use plimsoll_testbed::{Action, Instance};
use plimsoll_units::failure::chain;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(args: &Testbed) -> Result<Exit> {
    let here = std::env::current_dir()?;
    let place = place(&here);
    let lasting = lasting(place.environment);
    let ledgers = [place.runtime, &lasting];
    match &args.command {
        TestbedCommand::Up(of) => up(of, &here),
        TestbedCommand::Status(of) => status(&ledgers, of.json),
        TestbedCommand::Bake(of) => images::bake(of, &here),
        TestbedCommand::Images(of) => images::images(of, &here),
        TestbedCommand::Down(of) => down(&ledgers, of, &means(&place)),
        TestbedCommand::SelfTest(of) => self_test(of),
        TestbedCommand::Wait => match wait_and_become() {
            None => Ok(Exit::Held),
            Some(error) => Err(Unexpected::new(error).into()),
        },
        TestbedCommand::Links { file } => match carry(file)? {},
        TestbedCommand::Host => {
            let arguments = ["testbed", "wait"].map(str::to_owned).to_vec();
            let program = place.program.to_owned();
            serve(&Launcher { program, arguments })?;
            Ok(Exit::Held)
        }
    }
}

fn self_test(args: &SelfTest) -> Result<Exit> {
    let score = Score::measure(&args.folder)?;
    if args.json {
        print(&pretty(&score)?)?;
        return Ok(Exit::Held);
    }
    let Score { cpu, disk_write, disk_read } = score;
    print(&format!("processors  {cpu:.1} million steps a second\n"))?;
    print(&format!(
        "disk        {:.1} MB/s written, {:.1} MB/s read\n",
        disk_write / 1e6,
        disk_read / 1e6
    ))?;
    Ok(Exit::Held)
}

fn up(args: &TestbedUp, here: &Path) -> Result<Exit> {
    let interrupts = Interrupts::watch()?;
    let text = plan_text(&args.plan, &args.set, args.testbed.as_deref())?;
    let told = |action: &Action| {
        let of = if action.instance.is_empty() { "all" } else { &action.instance };
        let failed = if action.is_failed { ": failed" } else { "" };
        say(&format!("{of}: {}{failed}", action.name));
    };
    let is_ended = || interrupts.count() > 0;
    let hears = Hears { told: &told, is_ended: &is_ended, ..Hears::NOTHING };
    let left = bench::up(&text, &place(here), hears, args.install)?;
    if args.json {
        let instance = |of: &Instance| {
            json!({
                "name": of.name, "role": of.role, "address": of.address, "port": of.port,
                "folder": of.folder,
            })
        };
        let instances: Vec<_> = left.instances.iter().map(instance).collect();
        let document = json!({
            "schema": 1, "warnings": [], "id": left.id, "stood_before": left.stood,
            "changes": left.changes, "instances": instances,
        });
        print(&pretty(&document)?)?;
        return Ok(Exit::Held);
    }
    let before = if left.stood { "stands already" } else { "stands" };
    print(&format!("{}  {before}\n", left.id))?;
    left.changes.iter().try_for_each(|change| print(&format!("  {change}\n")))?;
    for of in &left.instances {
        print(&format!("  {:<12}{}:{}\n", of.name, of.address, of.port))?;
    }
    print(&format!("end it with: plimsoll testbed down {}\n", left.id))?;
    Ok(Exit::Held)
}

/// How a bed is: by a word for programs, and a clause for people.
fn state(of: &FoundLedger) -> (&'static str, &'static str) {
    match (of.is_held, &of.stood) {
        (true, _) if of.falls => ("falls", "being taken down"),
        (true, _) => ("used", "its experiment goes on"),
        (false, Some(_)) => ("up", "left standing by `testbed up`"),
        (false, None) => ("left", "left behind"),
    }
}

/// The ledgers below some folders, each with its folder.
fn all_of<'a>(ledgers: &[&'a Path]) -> Result<Vec<(&'a Path, FoundLedger)>> {
    let mut all = Vec::new();
    for folder in ledgers {
        all.extend(Ledger::all(folder)?.into_iter().map(|of| (*folder, of)));
    }
    Ok(all)
}

/// Says which lines of a ledger were cut.
fn tell_cut(of: &FoundLedger) {
    if of.cut.is_empty() {
        return;
    }
    let lines: Vec<String> = of.cut.iter().map(ToString::to_string).collect();
    say(&format!(
        "{}: line {} of its ledger was cut, as by a disk that was full: what it would have told of \
         was not made",
        of.bed,
        lines.join(", ")
    ));
}

fn status(ledgers: &[&Path], as_json: bool) -> Result<Exit> {
    let (folders, all): (Vec<&Path>, Vec<FoundLedger>) = all_of(ledgers)?.into_iter().unzip();
    let ledgers = folders.iter().zip(&all).map(|(folder, of)| folder.join(&of.bed));
    let ledgers: Vec<PathBuf> = ledgers.collect();
    let others = without_ledger(&all);
    if as_json {
        let bed = |(of, ledger): (&FoundLedger, &PathBuf)| {
            let experiment = of.of.as_ref().map(|of| &of.experiment);
            json!({
                "id": of.bed, "experiment": experiment, "is_running": of.is_held,
                "state": state(of).0, "ledger": ledger, "cut_lines": of.cut, "things": of.things,
            })
        };
        let beds: Vec<_> = all.iter().zip(&ledgers).map(bed).collect();
        let document =
            json!({"schema": 1, "warnings": [], "testbeds": beds, "without_ledger": others});
        print(&pretty(&document)?)?;
        return Ok(Exit::Held);
    }
    if all.is_empty() {
        print("no test-bed stands\n")?;
    }
    for (of, ledger) in all.iter().zip(&ledgers) {
        tell_cut(of);
        print(&format!("{}  {}\n  ledger {}\n", of.bed, state(of).1, ledger.display()))?;
        if let Some(of) = &of.of {
            print(&format!("  of cell {} of {}\n", of.cell, of.experiment.display()))?;
        }
        if let Some(stood) = &of.stood {
            for of in &stood.instances {
                print(&format!("  {:<12}{}:{}\n", of.name, of.address, of.port))?;
            }
        }
        let is_shown = |thing: &&Thing| !matches!(thing.itself(), Thing::Place { .. });
        let things = of.things.iter().filter(is_shown);
        things.into_iter().try_for_each(|thing| print(&format!("  {}\n", told(thing))))?;
    }
    if !others.is_empty() {
        print("of our names, in no ledger, and left alone:\n")?;
        others.iter().try_for_each(|other| print(&format!("  {other}\n")))?;
    }
    Ok(Exit::Held)
}

fn down(ledgers: &[&Path], args: &TestbedDown, means: &Means) -> Result<Exit> {
    let (mut exit, mut clouds) = (Exit::Held, Vec::new());
    let mut all = Vec::new();
    for folder in ledgers {
        match Ledger::all(folder) {
            Ok(found) => all.extend(found.into_iter().map(|of| (*folder, of))),
            // What is in the other one is ours all the same.
            Err(error) => exit = exit.and(crate::terminal::error::show(&error.into())),
        }
    }
    for (folder, of) in all {
        match &args.id {
            None if of.is_held && !of.falls => {
                say(&format!("{}: its experiment goes on; left alone", of.bed));
                continue;
            }
            Some(id) if *id != of.bed => continue,
            _ => {}
        }
        tell_cut(&of);
        clouds.extend(clouds_of(&of).filter(|at| !clouds.contains(at)).collect::<Vec<_>>());
        match Ledger::take_down(folder, &of.bed, args.force, means) {
            Ok(removed) => {
                say(&format!("{}: undone", of.bed));
                removed.iter().try_for_each(|thing| print(&format!("{}\n", told(thing))))?;
            }
            Err(error) => exit = exit.and(crate::terminal::error::show(&error.into())),
        }
        if args.id.is_some() {
            tell_strays(&clouds, ledgers, means);
            return Ok(exit);
        }
    }
    tell_strays(&clouds, ledgers, means);
    match &args.id {
        // It may be in the folder that is not ours.
        Some(_) if exit != Exit::Held => Ok(exit),
        Some(id) => Err(UsageError(format!(
            "find the test-bed `{id}`: no ledger has it; `plimsoll testbed status` lists those \
             that there are"
        ))
        .into()),
        None => Ok(exit),
    }
}

/// The clouds that a bed has rented from.
fn clouds_of(of: &FoundLedger) -> impl Iterator<Item = Where> {
    of.things.iter().filter_map(|thing| match thing {
        Thing::Rented { cloud, .. } => Some(cloud.clone()),
        _ => None,
    })
}

/// Tells which instances at some clouds have our tag or token and stand in no ledger here: another
/// machine may have started them.
fn tell_strays(clouds: &[Where], ledgers: &[&Path], means: &Means) {
    let Some(surroundings) = means.surroundings else { return };
    for at in clouds {
        match strays(at, ledgers, surroundings) {
            Ok(strays) => {
                for Stray { rented, bed } in strays {
                    say(&format!(
                        "{} in {at}, of the test-bed {bed}: it stands in no ledger here, and is \
                         left alone; it ends by its own timer",
                        rented.id
                    ));
                }
            }
            Err(error) => say(&format!("cannot look for others in {at}: {}", chain(&error))),
        }
    }
}

/// A thing, in a line.
fn told(thing: &Thing) -> String {
    match thing {
        Thing::Folder { path } | Thing::Place { path, .. } => format!("folder {}", path.display()),
        Thing::Namespace { name } => format!("network namespace {name}"),
        Thing::Link { name, .. } => format!("network interface {name}"),
        Thing::Policy { path } => format!("{}, which forbids services", path.display()),
        Thing::Cgroup { path } => format!("cgroup {}", path.display()),
        Thing::Process { instance, pid, .. } => format!("process {pid} of {instance}"),
        Thing::Links { pid, .. } => format!("process {pid}, the router of the links"),
        Thing::Host { route, folder } => format!("folder {} on {route}", folder.display()),
        Thing::On { host, thing } => format!("{} on {host}", self::told(thing)),
        Thing::Rented { instance, token, cloud, account, .. } => {
            let whose = account.as_ref().map_or(String::new(), |of| format!(", of {of}"));
            format!("rented instance {instance}, by the token {token}, in {cloud}{whose}")
        }
    }
}
