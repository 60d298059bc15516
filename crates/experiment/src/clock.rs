//! By which clock the day of a live pool was told: an event of its run.

use plimsoll_runs::{Run, RunError};
use plimsoll_workload::trace::Moment;

/// The kind of the event; its text is the moment at which the load began.
pub(crate) const CLOCK: &str = "clock";

/// When a run began by that clock; `None` where its day was told by something else.
///
/// # Errors
/// Events that cannot be read.
pub(crate) fn clock_of(run: &Run) -> Result<Option<Moment>, RunError> {
    let told = run.events()?.into_iter().find(|event| event.kind == CLOCK);
    Ok(told.and_then(|event| Moment::parse(&event.text).ok()))
}
