//! From a summary to an exit code.

use crate::exit::Exit;
use plimsoll_runs::Summary;

/// The exit code that a run means.
pub(crate) fn exit(summary: &Summary) -> Exit {
    let mut exit = Exit::Held;
    if summary.slo.iter().any(|clause| clause.pass == Some(false)) {
        exit = exit.and(Exit::Broken);
    }
    if !summary.run.valid {
        exit = exit.and(Exit::Invalid);
    }
    if summary.run.ended != "complete" || (summary.offered > 0 && summary.completed == 0) {
        exit = exit.and(Exit::Incomplete);
    }
    exit
}
