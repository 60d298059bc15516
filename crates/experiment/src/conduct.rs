//! A plan, executed: its cells are planned, executed in their world, and the record is ended.

use std::path::PathBuf;

use plimsoll_runs::Ended;
use plimsoll_units::failure::told;

use crate::control::Control;
use crate::error::ExperimentError;
use crate::ready::{Ready, With};

/// What came of a plan.
pub struct Conducted {
    /// How the execution of its cells ended. What a bound of the plan made of that is in `early`.
    pub ended: Ended,
    /// Why it ended before its end, where a bound of the plan was the reason.
    pub early: Option<String>,
    /// The path of the run or experiment; `None` where no cell came to anything.
    pub path: Option<PathBuf>,
    /// What kept it from going on. What was done before is in the record all the same.
    pub executed: Result<(), ExperimentError>,
}

impl Conducted {
    /// Whether all that was planned was done.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.ended == Ended::Complete && self.early.is_none()
    }
}

/// Executes a plan that is ready, and ends its record.
///
/// # Errors
/// Where cells cannot be entered, or the record cannot be ended. What the world came upon is
/// [`Conducted::executed`].
pub fn run_plan(ready: &Ready, with: &With<'_>) -> Result<Conducted, ExperimentError> {
    let cells = with.record.plan(ready.cells.iter().cloned())?;
    let executed = ready.execute(&cells, with);
    with.control.executed();
    let ended = match ending(&executed, with.control) {
        // Who watches somebody's pool ends it when enough is seen.
        Ended::Interrupted if ready.is_shadow() => Ended::Complete,
        ended => ended,
    };
    let early = with.record.ends_early().map(str::to_owned);
    let path = with.record.finish(ended.clone(), &ready.notes)?;
    Ok(Conducted { ended, early, path, executed })
}

/// How an experiment ended whose cells were executed so.
#[must_use]
pub fn ending(executed: &Result<(), ExperimentError>, control: &dyn Control) -> Ended {
    match executed {
        Err(error) => Ended::Failed(told(error)),
        Ok(()) if control.goes_on() => Ended::Complete,
        Ok(()) => Ended::Interrupted,
    }
}
