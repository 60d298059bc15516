//! What live cells have in common: the target, which may be restarted before each.

use std::path::Path;

use plimsoll_plan::Plan;

use crate::control::{Control, News};
use crate::error::{ColdError, ExperimentError, show};
use crate::prepare::Prepared;
use crate::series::restart_log_of;
use crate::steps::cold::chill;
use crate::steps::restart::{Restart, Restarted, restart};

/// Whether a cell can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// It can.
    Ready,
    /// The target did not answer after its restart: how long was waited.
    Silent(String),
    /// The user ended it.
    Interrupted,
}

/// Whether caches are emptied before a load of the plan.
#[must_use]
pub fn is_cold(plan: &Plan) -> bool {
    plan.store.as_ref().is_some_and(|store| store.cold)
}

/// Restarts the target by its plan's command, where there is one, and empties caches where the plan
/// says so. What the command says is kept beside the run, or the series, at `path`.
///
/// # Errors
/// Where the command failed, or caches could not be emptied.
pub(crate) fn make_ready(
    plan: &Plan,
    prepared: &Prepared,
    path: &Path,
    system: &Path,
    control: &dyn Control,
) -> Result<Before, ExperimentError> {
    let Some(command) = &plan.target.restart else { return Ok(Before::Ready) };
    let also = if is_cold(plan) { ", and emptying caches" } else { "" };
    control.tell(News::Says(&format!("restarting the target{also}")));
    if let Some(folder) = path.parent() {
        let failed = |source| ExperimentError::Artifact { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let (limit, log) = (plan.target.restart_timeout, restart_log_of(path));
    let how = Restart { command, limit, log: &log };
    let done = if is_cold(plan) {
        chill(prepared, &how, system, control)
    } else {
        restart(prepared, &how, control).map_err(ColdError::from)
    };
    Ok(match done? {
        Restarted::Answers => Before::Ready,
        Restarted::Silent => {
            Before::Silent(format!("it did not answer within {} after its restart", show(limit)))
        }
        Restarted::Interrupted => Before::Interrupted,
    })
}
