//! Starts the router of links, and ends it.

use std::path::Path;
use std::sync::PoisonError;

use super::Worker;
use crate::command::{Deadline, told};
use crate::error::TestbedError;
use crate::launch::Order;
use crate::links::READY;
use crate::output;
use crate::thing::Thing;

/// What the router is called where an instance would have its name: none has this one.
const NAME: &str = "links";

/// The most that it says of what it has measured, bytes.
const MOST_SAID: u64 = 64 << 10;

impl Worker<'_> {
    /// Starts the router, and waits until it has measured all links. Returns what it found.
    pub(super) fn link(
        &self,
        folder: &Path,
        order: &Order,
        deadline: &Deadline,
    ) -> Result<String, TestbedError> {
        let child = self.begin(folder, order, |pid, started| Thing::Links { pid, started })?;
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.insert(NAME.to_owned(), child);
        drop(children);
        let found = deadline.until(|| {
            let said = output::all(folder, MOST_SAID);
            if let Some((found, _)) = said.split_once(&format!("{READY}\n")) {
                return Ok(Some(found.trim_end().to_owned()));
            }
            self.router_ended().map_or(Ok(None), |how| Err(ended(how, folder)))
        });
        let found = found.and_then(|found| {
            found.ok_or_else(|| {
                let (what, limit) = ("make the links".to_owned(), deadline.limit());
                TestbedError::TooLong { what, limit, output: output::all(folder, MOST_SAID) }
            })
        });
        if found.is_err() {
            self.end_router()?;
        }
        found
    }

    /// Ends the router. One that had ended before has left instances without their links.
    pub(super) fn unlink(&self, folder: &Path) -> Result<String, TestbedError> {
        let (Some(_), how) = (self.router(), self.router_ended()) else { return Ok(String::new()) };
        let said = output::all(folder, self.most_output);
        (self.outputs)(NAME, &said);
        self.end_router()?;
        how.map_or(Ok(String::new()), |how| Err(ended(how, folder)))
    }

    /// The router, as the ledger has it.
    fn router(&self) -> Option<Thing> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut things = rows.iter().map(|(thing, _)| thing);
        things.find(|thing| matches!(thing, Thing::Links { .. })).cloned()
    }

    /// How the router ended, where it has.
    fn router_ended(&self) -> Option<String> {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        match children.get_mut(NAME) {
            Some(child) => child.try_wait().ok()?.map(told),
            None => {
                let is_over = self.router().is_none_or(|thing| !thing.lives());
                is_over.then(|| "an unknown exit code".to_owned())
            }
        }
    }

    fn end_router(&self) -> Result<(), TestbedError> {
        let done = self.router().map_or(Ok(String::new()), |thing| self.remove(&thing));
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut child) = children.remove(NAME) {
            let _ = child.wait();
        }
        done.map(drop)
    }
}

fn ended(how: String, folder: &Path) -> TestbedError {
    let instance = "the router of the links".to_owned();
    TestbedError::Ended { instance, how, output: output::end(folder) }
}
