//! Takes down what a ledger has that no experiment uses any more: here, on other hosts, and what is
//! rented.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::cloud::Surroundings;
use crate::error::TestbedError;
use crate::ledger::{Contents, FILE, LAST, Ledger, SOCKETS, falls, is_free, read, remove_ledger};
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
        let folder = root.join(bed);
        let path = folder.join(FILE);
        let mut file = match OpenOptions::new().read(true).append(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.map_err(TestbedError::file("open", &path))?,
        };
        let is_held = !force && holds(&file, &path)?;
        if !force && !is_held {
            let text =
                format!("take down {bed}: its experiment goes on; stop that, or say --force");
            return Err(TestbedError::Wrong(text));
        }
        if !is_at(&file, &path) {
            return Ok(Vec::new());
        }
        let Contents { things, whole, .. } = contents(&path)?;
        if is_held {
            falls(&mut file, whole, true).map_err(TestbedError::file("write", &path))?;
        }
        let things: Vec<Thing> = things.into_values().rev().collect();
        let is_rented = |thing: &Thing| matches!(thing, Thing::Rented { .. });
        let (hired, others): (Vec<Thing>, Vec<Thing>) = things.into_iter().partition(is_rented);
        let (mut removed, mut failed) = (Vec::new(), None);
        if let (Some(surroundings), false) = (means.surroundings, hired.is_empty()) {
            let (ended, left) = rented::take_down(bed, &hired, surroundings);
            removed.extend(ended);
            failed = (!left.is_empty()).then_some(TestbedError::Rented(left));
        } else if !hired.is_empty() {
            failed = hired.iter().find_map(|thing| remove(bed, thing).err());
        }
        let mut remover = Remover::new(bed, &means.client, &folder.join(SOCKETS), others.iter());
        for thing in others {
            match remover.remove(&thing) {
                Ok(true) => removed.push(thing),
                Ok(false) => {}
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        drop(remover);
        match failed {
            Some(error) => Err(error),
            None => remove_ledger(&folder).map(|()| removed),
        }
    }
}

/// What a ledger says now; nothing where it is gone.
fn contents(path: &Path) -> Result<Contents, TestbedError> {
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Contents::default()),
        file => Ok(read(&file.map_err(TestbedError::file("open", path))?)),
    }
}

/// Takes the lock of a ledger, and waits for that where who holds it takes the bed down. Returns
/// whether it has it: not where an experiment goes on.
fn holds(file: &File, path: &Path) -> Result<bool, TestbedError> {
    loop {
        if is_free(file, LAST) {
            return Ok(true);
        }
        if is_at(file, path) && !contents(path)?.falls {
            return Ok(false);
        }
    }
}

/// Whether a ledger that was opened is still there, and no other in its place.
fn is_at(file: &File, path: &Path) -> bool {
    let of = |about: std::fs::Metadata| (about.dev(), about.ino());
    let own = file.metadata().map(of).ok();
    own.is_some() && own == std::fs::metadata(path).map(of).ok()
}
