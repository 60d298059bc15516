//! What is done to the folders of runs beside writing them.

use std::fs::{Permissions, rename, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use plimsoll_runs::{Event, own};

use crate::error::ExperimentError;

/// Adds what happened after a run was ended, and what each instance said, to its folder.
///
/// # Errors
/// Where that cannot be written.
pub(crate) fn add(
    run: &Path,
    events: &[Event],
    outputs: &[(String, String)],
) -> Result<(), ExperimentError> {
    plimsoll_runs::add_events(run, events)?;
    for (instance, text) in outputs {
        let path = run.join("artifacts").join(format!("{instance}.log"));
        own::write(&path, text.as_bytes())
            .map_err(|source| ExperimentError::Artifact { path, source })?;
    }
    Ok(())
}

/// Lets nobody but its owner into a folder.
pub(crate) fn close_to_others(path: &Path) -> Result<(), ExperimentError> {
    let closed = set_permissions(path, Permissions::from_mode(0o700));
    closed.map_err(|source| ExperimentError::Artifact { path: path.to_owned(), source })
}

/// Renames the run of an attempt that failed, as `ID.cut-1`.
pub(crate) fn set_aside(path: &Path) -> Result<(), ExperimentError> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".cut-1");
    let moved = rename(path, aside);
    moved.map_err(|source| ExperimentError::Artifact { path: path.to_owned(), source })
}
