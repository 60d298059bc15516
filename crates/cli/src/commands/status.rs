//! `plimsoll status`, `follow`, `stop`: an experiment or a run that goes on, seen from another
//! terminal, and steered.

use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::named_record;
use crate::place::unix_ns;
use crate::run_args::{Follow, Status as Args, Stop as StopArgs};
use crate::terminal::error::{Result, UsageError};
use crate::terminal::{pretty, print, say};
use plimsoll_experiment::locks::pause;
use plimsoll_experiment::plans::is_for_ever;
use plimsoll_experiment::status::{Course, Follower, Status, StatusEvent, status};
use plimsoll_runs::experiment::{Experiment, Stop, ask_to_stop, place};
use plimsoll_runs::{Kind, Run, World, ask_to_end};
use plimsoll_units::show_duration;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// How often `follow` looks.
const STEP: Duration = Duration::from_millis(250);

/// Runs `plimsoll status`.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let status = status_of(&named_record::executed(args.experiment.as_deref(), &args.out)?)?;
    print(&if args.json { pretty(&status)? } else { shown(&status) })?;
    Ok(exit(&status))
}

/// Runs `plimsoll follow`.
pub(crate) fn follow(args: &Follow) -> Result<Exit> {
    let folder = named_record::executed(args.experiment.as_deref(), &args.out)?;
    let interrupts = Interrupts::watch()?;
    let mut follower = Follower::default();
    loop {
        // Whether it goes on is asked first, so that what happened before its end is not missed.
        let status = status_of(&folder)?;
        for told in follower.news(&folder)? {
            print(&format!("{}\n", line(&told)))?;
        }
        if !status.state.goes_on() {
            print(&format!("{}\n", outcome(&status)))?;
            return Ok(exit(&status));
        }
        if interrupts.count() > 0 {
            say("it goes on; no longer followed");
            return Ok(Exit::Held);
        }
        pause(STEP);
    }
}

/// Runs `plimsoll stop`.
pub(crate) fn stop(args: &StopArgs) -> Result<Exit> {
    let folder = named_record::executed(args.experiment.as_deref(), &args.out)?;
    let status = status_of(&folder)?;
    if !status.state.goes_on() {
        let (folder, state) = (folder.display(), status.state.name());
        let text = format!("stop {folder}: nobody executes it ({state}, {})", cells(&status));
        return Err(UsageError(text).into());
    }
    if place(&folder).is_none() {
        return stop_run(&folder, args.now, &status);
    }
    let experiment = Experiment::open(&folder)?;
    let meta = experiment.meta();
    let stop = if args.now { Stop::Now } else { Stop::AfterCell };
    ask_to_stop(&folder, stop, unix_ns().saturating_sub(meta.started_unix_ns))?;
    let when = match stop {
        Stop::Now => "at once",
        Stop::AfterCell if is_for_ever(&meta.plan_text) => "with the next second of its load",
        Stop::AfterCell => "when the cell that goes on is done",
    };
    say(&format!("{} was asked to stop {when}", folder.display()));
    Ok(Exit::Held)
}

/// Asks a single run to end with its next second. What ends by itself is refused, and so is the
/// cell of an experiment.
fn stop_run(folder: &Path, now: bool, status: &Status) -> Result<Exit> {
    let shown = folder.display();
    let refuse = |why: String| Err(UsageError(format!("stop {shown}: {why}")).into());
    let run = Run::open(folder)?;
    let meta = run.meta();
    if let Some(experiment) = named_record::experiment_of(folder, meta.cell) {
        let of = experiment.display();
        return refuse(format!("it is a cell of {of}; stop that one: plimsoll stop {of}"));
    }
    let process = status.process.map(|pid| format!(" of process {pid}")).unwrap_or_default();
    let interrupt = format!("interrupt it in the terminal{process}, and what was measured is kept");
    if !matches!(meta.kind, Kind::Load | Kind::Pool) || meta.world != World::Live {
        return refuse(format!("only a load can be asked to end; {interrupt}"));
    }
    if now {
        return refuse(format!("a load ends with its next second; to end it at once, {interrupt}"));
    }
    if !ask_to_end(folder, unix_ns().saturating_sub(meta.started_unix_ns))? {
        return refuse("it has ended meanwhile".to_owned());
    }
    say(&format!("{shown} was asked to end with its next second"));
    Ok(Exit::Held)
}

fn status_of(folder: &Path) -> Result<Status> {
    Ok(status(folder, unix_ns())?)
}

/// 0 of an experiment that goes on or has all its cells, 4 of any other.
fn exit(of: &Status) -> Exit {
    let is_whole = of.state == Course::Complete && of.cells.left == 0;
    if of.state.goes_on() || is_whole { Exit::Held } else { Exit::Incomplete }
}

fn shown(of: &Status) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<12}{text}");
    };
    let name = if of.name.is_empty() { String::new() } else { format!(": {}", of.name) };
    let what = if place(Path::new(&of.folder)).is_some() { "experiment" } else { "run" };
    row(what, &format!("{}{name}", of.folder));
    row("state", &state(of));
    row("cells", &cells(of));
    for cell in &of.running {
        let levels = cell.factors.iter().map(|(key, level)| format!("{key} {level}"));
        let levels: Vec<String> = levels.collect();
        let levels =
            if levels.is_empty() { String::new() } else { format!(": {}", levels.join(", ")) };
        row("", &format!("cell {} for {}{levels}", cell.cell, seconds(cell.since_s)));
    }
    if let Some(elapsed_s) = of.elapsed_s {
        row("elapsed", &seconds(elapsed_s));
    }
    if let Some(remaining_s) = of.remaining_s {
        row("remaining", &format!("about {}", seconds(remaining_s)));
    }
    for (number, told) in of.events.iter().enumerate() {
        row(if number == 0 { "last" } else { "" }, &line(told));
    }
    out
}

/// How it is, and by which process.
fn state(of: &Status) -> String {
    let process = of.process.map(|pid| format!(", process {pid}")).unwrap_or_default();
    let why = if of.reason.is_empty() { String::new() } else { format!(": {}", of.reason) };
    format!("{}{process}{why}", of.state.name())
}

/// `3 of 8 done, 1 failed, 5 left`.
fn cells(of: &Status) -> String {
    let of = &of.cells;
    let mut text = format!("{} of {} done", of.done, of.planned);
    for (count, what) in [(of.failed, "failed"), (of.stopped, "stopped"), (of.left, "left")] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text
}

/// How it ended, with its cells.
fn outcome(of: &Status) -> String {
    format!("{}; {}", state(of), cells(of))
}

/// Something that happened, with its moment and its cell.
fn line(of: &StatusEvent) -> String {
    let cell = of.cell.map(|cell| format!("cell {cell}: ")).unwrap_or_default();
    let kind = if ["warning"].contains(&of.kind.as_str()) { "note: " } else { "" };
    format!("{:>9.1} s  {cell}{kind}{}", of.at_s, of.text)
}

/// A time to the second, shorter ones to a tenth.
fn seconds(of: f64) -> String {
    let step = if of < 10.0 { 0.1 } else { 1.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    show_duration(((of / step).round() * step * 1e9) as u64)
}
