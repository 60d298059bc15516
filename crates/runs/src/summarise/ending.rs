//! What a run's end says of it.

use crate::meta::Ended;
use crate::run::Run;

/// How a run has ended; `None` where it goes on, or was killed.
pub(super) fn ended_of(run: &Run) -> Option<&Ended> {
    run.end().map(|end| &end.ended)
}

/// Why a run is not valid by what its end says: what its executor told, and that it failed.
pub(super) fn told_at_the_end(run: &Run) -> Vec<String> {
    let Some(end) = run.end() else { return Vec::new() };
    let mut why = end.invalid_because.clone();
    if let Ended::Failed(reason) = &end.ended {
        why.push(format!("it failed: {reason}"));
    }
    why
}
