//! What can go wrong with a run folder: one enum for making, reading and exporting it.

use plimsoll_units::failure::{Failure, Kind};
use std::path::{Path, PathBuf};

/// Why a run could not be made, read or exported. Reads as "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folder to be made is there already.
    #[error("make the run folder {}: it is there already", .path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The path holds no run.
    #[error(
        "find a run in {}: it has no {missing}",
        .path.display()
    )]
    NotARun {
        /// The path that was given.
        path: PathBuf,
        /// What a run's folder would hold.
        missing: &'static str,
    },
    /// The path holds no experiment.
    #[error(
        "find an experiment in {}: it has no {missing}",
        .path.display()
    )]
    NotAnExperiment {
        /// The path that was given.
        path: PathBuf,
        /// What an experiment's folder would hold.
        missing: &'static str,
    },
    /// Another program writes the experiment.
    #[error("go on with {}: another program is at it{}", .path.display(), named(*.holder))]
    InUse {
        /// The experiment's folder.
        path: PathBuf,
        /// Its process, as it named itself; `None` where it did not.
        holder: Option<u32>,
    },
    /// The cells of an experiment are another plan's.
    #[error(
        "go on with {}: the plan has changed, so that cell {cell} is a cell of another plan",
        .path.display()
    )]
    OtherPlan {
        /// The experiment's folder.
        path: PathBuf,
        /// The first cell that differs.
        cell: u32,
    },
    /// A cell is not in the state for what is to be done with it, or what it is given is no
    /// result. The caller's fault.
    #[error("{what} cell {cell} of {}: {problem}", .path.display())]
    Cell {
        /// The experiment's folder.
        path: PathBuf,
        /// The cell.
        cell: u32,
        /// What was to be done, as a verb.
        what: &'static str,
        /// Why it could not be.
        problem: String,
    },
    /// The run has no load of which there could be a summary.
    #[error(
        "sum up {}: it is a run of kind {kind}, and only a load has a summary",
        .path.display()
    )]
    NoLoad {
        /// The run's folder.
        path: PathBuf,
        /// Its kind.
        kind: &'static str,
    },
    /// The folder was written by a later version.
    #[error(
        "read {}: its format is {found}, this program knows up to {known}",
        .path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The version it states.
        found: i64,
        /// The greatest version this program reads.
        known: i64,
    },
    /// A file could not be read or written.
    #[error("{what} {}", .path.display())]
    File {
        /// What was being done, as a verb: `read`, `make`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("{what} {}", .path.display())]
    Database {
        /// What was being done, as a verb.
        what: &'static str,
        /// The database.
        path: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
    /// A file's content is not what this program writes.
    #[error("read {} at {at}: {problem}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it: a line, a byte, a table and column.
        at: String,
        /// What was wanted and what was found.
        problem: String,
    },
    /// What was still to be written at the end could not be.
    #[error("finish the run")]
    Unfinished(#[source] SinkError),
    /// What was asked for is the distribution of a single run.
    #[error(
        "export {} as hgrm: an experiment has no one distribution",
        .path.display()
    )]
    OfOneRun {
        /// The experiment's folder.
        path: PathBuf,
    },
    /// A run whose requests were not kept one by one.
    #[error("export the samples of {}: the run kept none", .path.display())]
    NoSamples {
        /// The run's folder.
        path: PathBuf,
    },
    /// The form of the export was left out of the program.
    #[error("export as {format}: it was left out of this program")]
    LeftOut {
        /// The form.
        format: &'static str,
        /// The feature of the build that brings it.
        feature: &'static str,
    },
    /// The export's destination refused.
    #[error("write the export")]
    Export(#[source] std::io::Error),
}

impl RunError {
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { what, path, source }
    }

    pub(crate) fn database(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Database { what, path, source }
    }
}

/// The process that holds something, in brackets.
fn named(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

impl Failure for RunError {
    fn kind(&self) -> Kind {
        match self {
            Self::NotARun { .. }
            | Self::OtherPlan { .. }
            | Self::NoSamples { .. }
            | Self::LeftOut { .. }
            | Self::InUse { .. } => Kind::Usage,
            _ => Kind::Incomplete,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Exists { .. } => "choose another id",
            Self::NotARun { .. } => "name a folder that `plimsoll load` has written",
            Self::NotAnExperiment { .. } => {
                "name a folder that `plimsoll` has written for a plan of several cells"
            }
            Self::OtherPlan { .. } => "begin another experiment by --new",
            Self::InUse { .. } => "wait until it has ended, or end it by `plimsoll stop`",
            Self::Format { .. } => "use the version that wrote it",
            Self::Damaged { .. } => "the file has been changed or damaged",
            Self::Unfinished(_) => "make room on the disk, what is there stays readable",
            Self::OfOneRun { path } => {
                let cell = path.join("cells/0001");
                return Some(format!("name one of its cells, such as {}", cell.display()));
            }
            Self::LeftOut { feature, .. } => {
                return Some(format!(
                    "build it with the feature `{feature}`: cargo build --release --features \
                     {feature}"
                ));
            }
            Self::NoSamples { .. } => "keep them with --samples, or `samples = true` in [measure]",
            Self::File { source, .. } => return hint_for_write(source),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// What could not be stored, where, and why.
#[derive(Debug, thiserror::Error)]
#[error("write {what} to {path}")]
pub struct SinkError {
    /// What was being written.
    pub what: String,
    /// The file.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl Failure for SinkError {
    fn kind(&self) -> Kind {
        Kind::Incomplete
    }

    fn hint(&self) -> Option<String> {
        self.source.downcast_ref().and_then(hint_for_write)
    }
}

/// What can be done where a run cannot be written. What is read is somewhere else.
#[must_use]
pub fn hint_for_write(error: &std::io::Error) -> Option<String> {
    let hint = match error.kind() {
        std::io::ErrorKind::StorageFull => "free some space, or choose another folder by --out",
        std::io::ErrorKind::PermissionDenied => "choose another folder by --out",
        _ => return error.hint(),
    };
    Some(hint.to_owned())
}
