//! Takes down what a ledger has that no experiment uses any more: here, on other hosts, and what is
//! rented.

use std::fs::OpenOptions;
use std::path::Path;

use crate::cloud::Surroundings;
use crate::error::TestbedError;
use crate::ledger::{FILE, LAST, Ledger, SOCKETS, is_free, read, remove_ledger};
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
    /// removed.
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
        let file = OpenOptions::new().read(true).append(true).open(&path);
        let file = file.map_err(TestbedError::file("open", &path))?;
        if !force && !is_free(&file, LAST) {
            let text =
                format!("take down {bed}: its experiment goes on; stop that, or say --force");
            return Err(TestbedError::Wrong(text));
        }
        let things: Vec<Thing> = read(&file).things.into_values().rev().collect();
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
