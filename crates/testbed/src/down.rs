//! Takes down what a ledger has that no experiment uses any more: here, and on other hosts.

use std::fs::OpenOptions;
use std::path::Path;

use crate::error::TestbedError;
use crate::ledger::{FILE, LAST, Ledger, SOCKETS, is_free, read, remove_ledger};
use crate::ssh::Client;
use crate::ssh::undo::Remover;
use crate::thing::Thing;

impl Ledger {
    /// Removes what is left of a bed, the last made first, and its ledger. Returns what was
    /// removed.
    ///
    /// # Errors
    /// Where a process still holds it, unless `force`; what cannot be removed, after the rest was:
    /// on a host that is away, which is named, and stays in the ledger.
    pub fn take_down(
        root: &Path,
        bed: &str,
        force: bool,
        client: &Client,
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
        let (mut removed, mut failed) = (Vec::new(), None);
        let things = read(&file).things;
        let mut remover = Remover::new(bed, client, &folder.join(SOCKETS), things.values());
        for thing in things.values().rev().cloned() {
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
