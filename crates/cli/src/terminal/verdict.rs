//! From a summary to an exit code.

use crate::exit::Exit;
use plimsoll_runs::Summary;

/// The exit code that a run means: that of its SLO, whose clauses have a verdict wherever it does
/// not hang on the generator; without an SLO, that of its validity.
pub(crate) fn exit(summary: &Summary) -> Exit {
    let mut exit = match summary.slo.is_empty() && !summary.run.valid {
        true => Exit::Invalid,
        false => Exit::Held,
    };
    for clause in &summary.slo {
        exit = exit.and(match clause.pass {
            Some(true) => Exit::Held,
            Some(false) => Exit::Broken,
            None => Exit::Invalid,
        });
    }
    if !summary.is_whole() {
        exit = exit.and(Exit::Incomplete);
    }
    exit
}
