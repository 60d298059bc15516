//! `plimsoll capacity --restarts`: a series whose server is restarted before each search.
//!
//! Before the first one too: it would otherwise be of a server that has been up for who knows how
//! long, and no sample of what a restart brings.

use super::{Asked, Wishes};
use crate::args::Capacity;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::terminal::error::{UsageError, show};
use crate::terminal::say;
use plimsoll_capacity::series::SeriesResult;
use plimsoll_experiment::restart::{Restart, Restarted, restart, show as show_limit};
use plimsoll_experiment::series::restart_log_of;
use plimsoll_plan::Plan;
use std::path::Path;

/// Whether a search can begin.
pub(super) enum Before {
    /// It can.
    Ready,
    /// The target did not answer after its restart, and why that is a gap.
    Silent(String),
    /// The series ends here: the command failed, or the user ended it.
    Ended(Exit),
}

/// Whether what the command line says of restarts goes together, and with the plan.
pub(super) fn check(args: &Capacity, plan: &Plan) -> Result<(), UsageError> {
    let flags = &args.series;
    if flags.restarts.is_none() {
        let alone = [
            ("--restart-command", &flags.restart_command),
            ("--restart-timeout", &flags.restart_timeout),
        ];
        let alone = alone.into_iter().find(|(_, value)| value.is_some());
        return alone.map_or(Ok(()), |(flag, _)| {
            let text = format!("restart the target: `{flag}` goes with --restarts 5");
            Err(UsageError(text))
        });
    }
    if plan.target.restart.is_none() {
        let text = "restart the target between searches: no command is given; say it by \
                    --restart-command 'systemctl restart nginx', or in a plan by `restart` of \
                    [target]";
        return Err(UsageError(text.to_owned()));
    }
    Ok(())
}

/// Whether what is said of restarts goes with a series that is gone on with.
pub(super) fn check_resumed(args: &Capacity, series: &SeriesResult) -> Result<(), UsageError> {
    let flags = &args.series;
    let given = [
        ("--restarts", &flags.restarts),
        ("--restart-command", &flags.restart_command),
        ("--restart-timeout", &flags.restart_timeout),
    ];
    match given.into_iter().find(|(_, value)| value.is_some()) {
        Some((flag, _)) if !series.restarts => Err(UsageError(format!(
            "go on with {}: it began without restarts; leave out {flag}",
            series.series
        ))),
        _ => Ok(()),
    }
}

/// Restarts the target before the next search, where the series says so.
pub(super) fn restarted(
    asked: &Asked<'_>,
    series: &SeriesResult,
    path: &Path,
    interrupts: &Interrupts,
) -> Before {
    let target = &asked.plan.target;
    let Some(command) = target.restart.as_ref().filter(|_| series.restarts) else {
        return Before::Ready;
    };
    if !(asked.args.quiet || asked.args.json) {
        say("restarting the target");
    }
    let (limit, log) = (target.restart_timeout, restart_log_of(path));
    let mut wishes = Wishes { interrupts: interrupts.clone(), said: 0 };
    let how = Restart { command, limit, log: &log };
    match restart(&asked.prepared, &how, &mut wishes) {
        Ok(Restarted::Answers) => Before::Ready,
        Ok(Restarted::Silent) => Before::Silent(format!(
            "it did not answer within {} after its restart",
            show_limit(limit)
        )),
        Ok(Restarted::Interrupted) => Before::Ended(Exit::Incomplete),
        Err(error) => Before::Ended(show(&error.into())),
    }
}
