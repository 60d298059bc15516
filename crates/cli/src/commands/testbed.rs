//! `plimsoll testbed`: what test-beds have started, and its end.

use crate::exit::Exit;
use crate::place::place;
use crate::terminal::error::{Result, Unexpected, UsageError};
use crate::terminal::{pretty, print, say};
use crate::testbed_args::{Testbed, TestbedCommand, TestbedDown};
use plimsoll_testbed::launch::wait_and_become;
use plimsoll_testbed::ledger::{Found, Ledger, Thing};
use serde_json::json;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Testbed) -> Result<Exit> {
    let here = std::env::current_dir()?;
    let ledgers = place(&here).runtime;
    match &args.command {
        TestbedCommand::Status(of) => status(ledgers, of.json),
        TestbedCommand::Down(of) => down(ledgers, of),
        TestbedCommand::Wait => match wait_and_become() {
            None => Ok(Exit::Held),
            Some(error) => Err(Unexpected::new(error).into()),
        },
    }
}

fn status(ledgers: &Path, as_json: bool) -> Result<Exit> {
    let all = Ledger::all(ledgers)?;
    if as_json {
        let bed = |of: &Found| json!({"id": of.bed, "is_running": of.is_held, "things": of.things});
        let beds: Vec<_> = all.iter().map(bed).collect();
        print(&pretty(&json!({"schema": 1, "warnings": [], "testbeds": beds}))?)?;
        return Ok(Exit::Held);
    }
    if all.is_empty() {
        print("no test-bed stands\n")?;
    }
    for of in &all {
        let state = if of.is_held { "its experiment goes on" } else { "left behind" };
        print(&format!("{}  {state}\n", of.bed))?;
        of.things.iter().try_for_each(|thing| print(&format!("  {}\n", told(thing))))?;
    }
    Ok(Exit::Held)
}

fn down(ledgers: &Path, args: &TestbedDown) -> Result<Exit> {
    let mut exit = Exit::Held;
    for of in Ledger::all(ledgers)? {
        match &args.id {
            None if of.is_held => {
                say(&format!("{}: its experiment goes on; left alone", of.bed));
                continue;
            }
            Some(id) if *id != of.bed => continue,
            _ => {}
        }
        match Ledger::take_down(ledgers, &of.bed, args.force) {
            Ok(removed) => {
                say(&format!("{}: undone", of.bed));
                removed.iter().try_for_each(|thing| print(&format!("{}\n", told(thing))))?;
            }
            Err(error) => exit = exit.and(crate::terminal::error::show(&error.into())),
        }
        if args.id.is_some() {
            return Ok(exit);
        }
    }
    match &args.id {
        Some(id) => Err(UsageError(format!(
            "find the test-bed `{id}`: no ledger has it; `plimsoll testbed status` lists those \
             that there are"
        ))
        .into()),
        None => Ok(exit),
    }
}

/// A thing, in a line.
fn told(thing: &Thing) -> String {
    match thing {
        Thing::Folder { path } => format!("folder {}", path.display()),
        Thing::Namespace { name } => format!("network namespace {name}"),
        Thing::Link { name, .. } => format!("network interface {name}"),
        Thing::Cgroup { path } => format!("cgroup {}", path.display()),
        Thing::Process { instance, pid, .. } => format!("process {pid} of {instance}"),
    }
}
