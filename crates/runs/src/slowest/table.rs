//! The table `slow_trace` of `run.sqlite`: a row one of the slowest requests that servers were
//! asked to record; there only where there is one.

use rusqlite::{Connection, params};

use super::{SlowTrace, Slowest, TraceId};
use crate::ErrorKind;
use crate::database::{has_table, int, uint};
use crate::names::NO_NAME;
use crate::times::damaged;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS slow_trace (cell INTEGER NOT NULL,
    trace_id TEXT NOT NULL, response_ns INTEGER NOT NULL, due_ns INTEGER NOT NULL,
    status INTEGER NOT NULL, error TEXT, name INTEGER)";

/// Stores the slowest so far, in the place of those that were stored before.
pub(crate) fn write(database: &Connection, cell: u32, of: &Slowest) -> rusqlite::Result<()> {
    database.execute_batch(TABLE)?;
    database.prepare_cached("DELETE FROM slow_trace")?.execute([])?;
    let sql = "INSERT INTO slow_trace VALUES (?, ?, ?, ?, ?, ?, ?)";
    let mut statement = database.prepare_cached(sql)?;
    for trace in of.sorted() {
        statement.execute(params![
            cell,
            trace.id.to_string(),
            int(trace.response_ns),
            int(trace.due_ns),
            trace.status,
            trace.error.map(ErrorKind::name),
            (trace.name != NO_NAME).then_some(trace.name),
        ])?;
    }
    Ok(())
}

/// The slowest that a run has stored, the slowest first; none where nothing was to be recorded.
pub(crate) fn read(database: &Connection) -> rusqlite::Result<Vec<SlowTrace>> {
    if !has_table(database, "slow_trace")? {
        return Ok(Vec::new());
    }
    let sql = "SELECT trace_id, response_ns, due_ns, status, error, name FROM slow_trace";
    let mut statement = database.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut slowest = Slowest::default();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let error: Option<String> = row.get(4)?;
        let kind = |name: String| {
            let known = ErrorKind::ALL.into_iter().find(|kind| kind.name() == name);
            known.ok_or_else(|| damaged("no kind of failure"))
        };
        slowest.note(SlowTrace {
            id: TraceId::parse(&id).ok_or_else(|| damaged("no id of a trace"))?,
            response_ns: row.get(1).map(uint)?,
            due_ns: row.get(2).map(uint)?,
            status: row.get(3)?,
            error: error.map(kind).transpose()?,
            name: row.get::<_, Option<u16>>(5)?.unwrap_or(NO_NAME),
        });
    }
    Ok(slowest.sorted())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU128;

    fn slow(response_ns: u64) -> SlowTrace {
        let is_even = response_ns.is_multiple_of(2);
        SlowTrace {
            id: TraceId(NonZeroU128::new(u128::from(response_ns) + 1).unwrap()),
            response_ns,
            due_ns: 7,
            status: if is_even { 200 } else { 0 },
            error: (!is_even).then_some(ErrorKind::Timeout),
            name: if response_ns.is_multiple_of(3) { 5 } else { NO_NAME },
        }
    }

    #[test]
    fn they_come_back_as_they_were_stored() {
        let database = Connection::open_in_memory().unwrap();
        assert!(read(&database).unwrap().is_empty(), "a run of before has no table");
        let mut all = Slowest::default();
        (0..25).map(slow).for_each(|trace| assert!(all.note(trace), "each is slower"));
        write(&database, 1, &all).unwrap();
        all.note(slow(1000));
        write(&database, 1, &all).unwrap();
        assert_eq!(read(&database).unwrap(), all.sorted());
        assert_eq!(all.sorted()[0], slow(1000));
    }
}
