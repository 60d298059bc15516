//! `plimsoll capacity --restarts`: a series whose server is restarted before each search.
//!
//! Before the first one too: it would otherwise be of a server that has been up for who knows how
//! long, and no sample of what a restart brings.

use crate::args::Capacity;
use crate::terminal::error::UsageError;
use plimsoll_capacity::series::SeriesResult;
use plimsoll_experiment::world::is_cold;
use plimsoll_plan::Plan;

/// Whether what the command line says of restarts goes together, and with the plan.
pub(super) fn check(args: &Capacity, plan: &Plan) -> Result<(), UsageError> {
    let flags = &args.series;
    if flags.restarts.is_none() && is_cold(plan) {
        return Ok(());
    }
    if flags.restarts.is_none() {
        let alone = [
            ("--restart-command", &flags.restart_command),
            ("--restart-timeout", &flags.restart_timeout),
        ];
        let alone = alone.into_iter().find(|(_, value)| value.is_some());
        return alone.map_or(Ok(()), |(flag, _)| {
            let text = format!("restart the target: `{flag}` goes with --restarts 5 or --cold");
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
