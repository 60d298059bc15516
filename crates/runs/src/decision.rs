//! Decisions of a policy, as they are stored: in the table `decision`, which a run has from its
//! first decision on.

use rusqlite::{Connection, Row, params};

use crate::database::{int, uint};

/// A decision of a policy about its pool.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionRow {
    /// When, nanoseconds since the first due time.
    pub at_ns: u64,
    /// What the policy had seen last of each metric, as a JSON object by the metrics' names.
    pub observation: String,
    /// The kind of policy.
    pub rule: String,
    /// How many instances there are to be.
    pub desired: u32,
    /// How many there were, those that boot counted.
    pub before: u32,
    /// What the policy's wish was limited by: `min` or `max`; `None` where it was not.
    pub limited_by: Option<String>,
    /// How many instances were launched, or taken away, at once.
    pub done: u32,
    /// Why, in a sentence.
    pub reason: String,
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS decision (cell INTEGER NOT NULL,
    at_ns INTEGER NOT NULL, observation TEXT NOT NULL, rule TEXT NOT NULL,
    desired INTEGER NOT NULL, before INTEGER NOT NULL, limited_by TEXT, done INTEGER NOT NULL,
    reason TEXT NOT NULL);";

/// Writes decisions behind those that are there.
pub(crate) fn write(
    database: &Connection,
    cell: u32,
    rows: &[DecisionRow],
) -> rusqlite::Result<()> {
    database.execute_batch(TABLE)?;
    let sql = "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut statement = database.prepare_cached(sql)?;
    for row in rows {
        statement.execute(params![
            cell,
            int(row.at_ns),
            row.observation,
            row.rule,
            row.desired,
            row.before,
            row.limited_by,
            row.done,
            row.reason,
        ])?;
    }
    Ok(())
}

/// Tells whether a run has the table.
pub(crate) const HAS: &str =
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'decision'";

/// Selects what [`read`] reads.
pub(crate) const SELECT: &str = "SELECT at_ns, observation, rule, desired, before, limited_by,
    done, reason FROM decision ORDER BY rowid";

/// Reads a row of [`SELECT`].
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<DecisionRow> {
    Ok(DecisionRow {
        at_ns: row.get(0).map(uint)?,
        observation: row.get(1)?,
        rule: row.get(2)?,
        desired: row.get(3)?,
        before: row.get(4)?,
        limited_by: row.get(5)?,
        done: row.get(6)?,
        reason: row.get(7)?,
    })
}
