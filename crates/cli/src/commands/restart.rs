//! What comes before a load or a search: the target is restarted where that is asked for, and
//! caches are emptied.

use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::show;
use crate::terminal::say;
use plimsoll_experiment::Progress;
use plimsoll_experiment::cold::{ColdError, chill};
use plimsoll_experiment::prepare::Prepared;
use plimsoll_experiment::restart::{Restart, Restarted, restart, show as show_limit};
use plimsoll_experiment::series::restart_log_of;
use plimsoll_load::run::Wish;
use plimsoll_plan::Plan;
use plimsoll_runs::Interval;
use std::path::Path;

/// Whether a load or a search can begin.
pub(crate) enum Before {
    /// It can.
    Ready,
    /// The target did not answer after its restart, and why there is no result.
    Silent(String),
    /// It ends here: the command failed, or the user ended it.
    Ended(Exit),
}

/// Hands on what the user wishes: nothing is shown of the seconds.
pub(crate) struct Wishes {
    interrupts: Interrupts,
    said: usize,
}

impl Wishes {
    pub(crate) fn of(interrupts: &Interrupts) -> Self {
        Self { interrupts: interrupts.clone(), said: 0 }
    }
}

impl Progress for Wishes {
    fn second(&mut self, _: &Interval, _: bool) {}

    fn wish(&mut self) -> Wish {
        let count = self.interrupts.count();
        if count > self.said {
            self.said = count;
            say("ending; what was measured is kept");
        }
        match count {
            0 => Wish::Continue,
            1 => Wish::Stop,
            _ => Wish::Abort,
        }
    }
}

/// Whether caches are emptied before a load of the plan.
pub(crate) fn is_cold(plan: &Plan) -> bool {
    plan.store.as_ref().is_some_and(|store| store.cold)
}

/// Restarts the target by its plan's command, where there is one, and empties caches where the plan
/// says so. What the command says is kept beside the run, or the series, at `path`.
pub(crate) fn restarted(
    plan: &Plan,
    prepared: &Prepared,
    path: &Path,
    quiet: bool,
    interrupts: &Interrupts,
) -> Before {
    let Some(command) = &plan.target.restart else { return Before::Ready };
    if !quiet {
        let also = if is_cold(plan) { ", and emptying caches" } else { "" };
        say(&format!("restarting the target{also}"));
    }
    let (limit, log) = (plan.target.restart_timeout, restart_log_of(path));
    let mut wishes = Wishes::of(interrupts);
    let how = Restart { command, limit, log: &log };
    let done = if is_cold(plan) {
        chill(prepared, &how, Path::new("/"), &mut wishes)
    } else {
        restart(prepared, &how, &mut wishes).map_err(ColdError::from)
    };
    match done {
        Ok(Restarted::Answers) => Before::Ready,
        Ok(Restarted::Silent) => Before::Silent(format!(
            "it did not answer within {} after its restart",
            show_limit(limit)
        )),
        Ok(Restarted::Interrupted) => Before::Ended(Exit::Incomplete),
        Err(error) => Before::Ended(show(&error.into())),
    }
}

/// Makes a place for what the command says, and restarts the target of a cold load; `Some` with how
/// the program ends where that cannot begin.
pub(crate) fn begin_cold(
    plan: &Plan,
    prepared: &Prepared,
    path: &Path,
    quiet: bool,
    interrupts: &Interrupts,
) -> std::io::Result<Option<Exit>> {
    if !is_cold(plan) {
        return Ok(None);
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    Ok(match restarted(plan, prepared, path, quiet, interrupts) {
        Before::Ready => None,
        Before::Silent(why) => {
            say(&format!("no load was put on {}: {why}", prepared.subject));
            Some(Exit::Incomplete)
        }
        Before::Ended(exit) => Some(exit),
    })
}
