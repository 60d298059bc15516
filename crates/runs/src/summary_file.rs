//! `summary.json`: written whole or not at all, and never trusted further than it parses.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::RunError;
use crate::own;
use crate::summary::{SCHEMA, Summary};

/// The file's name in a run folder.
pub(crate) const FILE: &str = "summary.json";

/// Writes the file: beside it, synced, then renamed over it, so that a reader and a crash see the
/// old one or the new one.
pub(crate) fn write(folder: &Path, summary: &Summary) -> Result<(), RunError> {
    let path = folder.join(FILE);
    let error = |source| RunError::file("write", &path)(source);
    let mut text = serde_json::to_string_pretty(summary).map_err(|cause| error(cause.into()))?;
    text.push('\n');
    // Several may rebuild it at once: each writes a file of its own.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, n) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let beside = folder.join(format!(".{FILE}.{process}-{n}"));
    let written = own::create(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, &path))
        .and_then(|()| File::open(folder)?.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(error)
}

/// The summary that a folder holds; `None` where it is missing, torn, or of another schema.
pub(crate) fn read(folder: &Path) -> Option<Summary> {
    let text = fs::read(folder.join(FILE)).ok()?;
    serde_json::from_slice(&text).ok().filter(|summary: &Summary| summary.schema == SCHEMA)
}
