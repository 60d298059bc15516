//! The small tables that an operator writes, read again when they change: keys and sites.

use std::path::PathBuf;

use super::Shared;
use super::watched::Watched;
use crate::auth::{Keys, KeysError};
use crate::order::{Sites, SitesError};

/// The longest table that is read.
const MOST_BYTES: u64 = 16 << 20;

/// Why a table is not taken; the one before stays in force.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error("read {0}")]
    Read(PathBuf, #[source] std::io::Error),
    #[error("{0} is longer than {MOST_BYTES} bytes")]
    Long(PathBuf),
    #[error("{0} is no text")]
    Text(PathBuf),
    #[error("{0}")]
    Keys(PathBuf, #[source] KeysError),
    #[error("{0} holds no key: an empty list would lock every agent out")]
    NoKeys(PathBuf),
    #[error("{0}")]
    Sites(PathBuf, #[source] SitesError),
}

/// A table's file, whose present state was read at the start.
pub(super) fn watched(path: PathBuf) -> Watched {
    Watched::read_already(path, MOST_BYTES)
}

/// Reads the keys again, if they changed.
pub(super) fn keys(shared: &Shared, file: &mut Watched) -> Result<bool, TableError> {
    let Some(text) = text(file)? else { return Ok(false) };
    let at = || file.path().to_owned();
    let keys = Keys::read(&text).map_err(|error| TableError::Keys(at(), error))?;
    if keys.iter().next().is_none() {
        return Err(TableError::NoKeys(at()));
    }
    shared.keys.store(keys.into());
    Ok(true)
}

/// The sites, if they changed.
pub(super) fn sites(file: &mut Watched) -> Result<Option<Sites>, TableError> {
    let Some(text) = text(file)? else { return Ok(None) };
    let sites = Sites::parse(&text);
    sites.map(Some).map_err(|error| TableError::Sites(file.path().to_owned(), error))
}

fn text(file: &mut Watched) -> Result<Option<String>, TableError> {
    let read = file.changed();
    let at = || file.path().to_owned();
    match read.map_err(|error| TableError::Read(at(), error))? {
        None => Ok(None),
        Some(bytes) if bytes.len() as u64 > MOST_BYTES => Err(TableError::Long(at())),
        Some(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(TableError::Text(at())),
        },
    }
}
