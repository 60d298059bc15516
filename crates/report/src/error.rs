//! Why a report could not be made.

use plimsoll_runs::{Run, RunError};
use plimsoll_units::failure::{Failure, Kind};

/// Why a report could not be made. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No run was given.
    #[error("make a report of no runs")]
    NoRuns,
    /// Runs that have no page together.
    #[error("make one report of run {one}, of kind {kind}, and others of another kind")]
    Kinds {
        /// The id of one of them.
        one: String,
        /// Its kind.
        kind: &'static str,
    },
    /// A live and a simulated experiment that have nothing in common.
    #[error("make one report of {live} and {simulated}: no combination of levels is done in both")]
    Worlds {
        /// The id of the live one.
        live: String,
        /// The id of the simulated one.
        simulated: String,
    },
    /// The folder of runs could not be read.
    #[error("list the runs")]
    Folder(#[source] Box<RunError>),
    /// A run could not be read.
    #[error("make the report of run {id}")]
    Run {
        /// The run's id.
        id: String,
        /// The cause.
        #[source]
        source: Box<RunError>,
    },
}

impl ReportError {
    /// That a run could not be read.
    pub(crate) fn of(run: &Run) -> impl Fn(RunError) -> Self + use<> {
        Self::within(&run.meta().id)
    }

    /// That something of a run, or of an experiment, could not be read, by its id.
    pub(crate) fn within(id: &str) -> impl Fn(RunError) -> Self + use<> {
        let id = id.to_owned();
        move |source| Self::Run { id: id.clone(), source: Box::new(source) }
    }
}

impl Failure for ReportError {
    fn kind(&self) -> Kind {
        match self {
            Self::NoRuns | Self::Kinds { .. } | Self::Worlds { .. } => Kind::Usage,
            Self::Run { source, .. } | Self::Folder(source) => source.kind(),
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoRuns => "name at least one run folder",
            Self::Kinds { .. } => "name runs of one kind",
            Self::Worlds { .. } => "name two experiments of one plan",
            Self::Run { source, .. } | Self::Folder(source) => return source.hint(),
        };
        Some(hint.to_owned())
    }
}
