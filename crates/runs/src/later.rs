//! What happened after a run was ended, added to its folder: its servers are stopped when it has
//! its summary already.

use std::path::Path;

use crate::database::{self, int, uint};
use crate::error::RunError;
use crate::run::Run;
use crate::schema::{self, Place};
use crate::{Event, Phase};

/// Adds events to a run that was ended, none of them before the last one that it has.
///
/// # Errors
/// Where there is no run, or it cannot be written.
pub fn add_events(folder: &Path, events: &[Event]) -> Result<(), RunError> {
    if events.is_empty() {
        return Ok(());
    }
    let (cell, world) = {
        let run = Run::open(folder)?;
        (run.meta().cell, run.meta().world)
    };
    let file = folder.join(schema::FILE);
    let failed = RunError::database("write", &file);
    let add = || {
        let database = database::reopen(&file)?;
        let last = "SELECT coalesce(max(at_ns), 0) FROM event";
        let last_ns = database.query_row(last, [], |row| row.get(0).map(uint))?;
        let transaction = database.unchecked_transaction()?;
        for event in events {
            let at_ns = uint(int(event.at_ns.max(last_ns)));
            let place = Place { cell, phase: Phase::Measured, world };
            schema::insert_event(&transaction, place, &Event { at_ns, ..event.clone() })?;
        }
        transaction.commit()?;
        database::leave_wal(&database)
    };
    add().map_err(failed)
}
