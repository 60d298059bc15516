//! Takes down what a ledger has that no experiment uses any more: here, on other hosts, and what is
//! rented.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use plimsoll_units::own::OwnFolder;
use rustix::fs::OFlags;

use crate::cloud::Surroundings;
use crate::error::TestbedError;
use crate::ledger::{Contents, FILE, LAST, Ledger, SOCKETS};
use crate::ledger::{falls, is_free, read, remove_ledger};
use crate::rented;
use crate::ssh::Client;
use crate::ssh::undo::Remover;
use crate::thing::{Thing, remove};

/// What it takes to undo what stands elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Means {
    /// Reaches other hosts.
    pub client: Client,
    /// Ends rented instances.
    pub surroundings: Option<Surroundings>,
}

impl Ledger {
    /// Removes what is left of a bed, the last made first, and its ledger. Returns what was
    /// removed. Where somebody else takes it down in the same moment, his end is waited for: what
    /// is gone then is done.
    ///
    /// # Errors
    /// Where a process still holds it, unless `force`; what cannot be removed, after the rest was:
    /// on a host that is away, which is named, and stays in the ledger, and every rented instance
    /// that could not be reached.
    pub fn take_down(
        root: &Path,
        bed: &str,
        force: bool,
        means: &Means,
    ) -> Result<Vec<Thing>, TestbedError> {
        let Some(root) = OwnFolder::open(root)? else { return Ok(Vec::new()) };
        let opened = root.inner(OsStr::new(bed)).and_then(|folder| {
            let file = folder.file(OsStr::new(FILE), OFlags::RDWR | OFlags::APPEND)?;
            Ok((folder, file))
        });
        let (folder, mut file) = match opened {
            Err(error) if error.is_absent() => return Ok(Vec::new()),
            opened => opened?,
        };
        let path = folder.path().join(FILE);
        let is_held = !force && holds((&folder, &file))?;
        if !force && !is_held {
            let text =
                format!("take down {bed}: its experiment goes on; stop that, or say --force");
            return Err(TestbedError::Wrong(text));
        }
        if !is_at(&folder, &file) {
            return Ok(Vec::new());
        }
        let Contents { things, unknown, .. } = contents(&folder)?;
        if is_held {
            // Where the disk is full, others wait for the lock alone.
            let _ = falls(&mut file, true);
        }
        let things: Vec<Thing> = things.into_values().rev().collect();
        let is_rented = |thing: &Thing| matches!(thing, Thing::Rented { .. });
        let (hired, others): (Vec<Thing>, Vec<Thing>) = things.into_iter().partition(is_rented);
        let (mut removed, mut failed) = (Vec::new(), Vec::new());
        if !unknown.is_empty() {
            let lines: Vec<String> = unknown.iter().map(ToString::to_string).collect();
            failed.push(TestbedError::Newer { path: path.clone(), lines: lines.join(", ") });
        }
        if let (Some(surroundings), false) = (means.surroundings, hired.is_empty()) {
            let (ended, left) = rented::take_down(bed, &hired, surroundings);
            removed.extend(ended);
            failed.extend((!left.is_empty()).then_some(TestbedError::Rented(left)));
        } else {
            failed.extend(hired.iter().find_map(|thing| remove(bed, thing).err()));
        }
        let mut remover =
            Remover::new(bed, &means.client, &folder.path().join(SOCKETS), others.iter());
        for thing in others {
            match remover.remove(&thing) {
                Ok(true) => removed.push(thing),
                Ok(false) => {}
                Err(error) => failed.push(error),
            }
        }
        drop(remover);
        match TestbedError::all(failed) {
            Some(error) => Err(error),
            None => remove_ledger(&root, &folder).map(|()| removed),
        }
    }
}

/// What a ledger says now; nothing where it is gone.
fn contents(folder: &OwnFolder) -> Result<Contents, TestbedError> {
    match folder.file(OsStr::new(FILE), OFlags::RDONLY) {
        Err(error) if error.is_absent() => Ok(Contents::default()),
        file => Ok(read(&file?)),
    }
}

/// Takes the lock of a ledger, and waits for that where who holds it takes the bed down. Returns
/// whether it has it: not where an experiment goes on.
fn holds((folder, file): (&OwnFolder, &File)) -> Result<bool, TestbedError> {
    loop {
        if is_free(file, LAST) {
            return Ok(true);
        }
        if is_at(folder, file) && !contents(folder)?.falls {
            return Ok(false);
        }
    }
}

/// Whether a ledger that was opened is still there, and no other in its place. Its folder may be
/// another one by now, of a bed of the same name.
fn is_at(folder: &OwnFolder, file: &File) -> bool {
    let of = |about: std::fs::Metadata| (about.dev(), about.ino());
    let own = file.metadata().map(of).ok();
    own.is_some() && own == std::fs::symlink_metadata(folder.path().join(FILE)).map(of).ok()
}
