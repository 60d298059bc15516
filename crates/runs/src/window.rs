//! Windows of a search for a capacity, as they are stored: in the table `window`, whose columns
//! are the fields of a line of `artifacts/windows.jsonl`. Objects and lists are JSON.

use std::collections::BTreeMap;

use plimsoll_stats::Percentiles;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One window of a search: a stretch of constant rate, and what was observed in it. Times are in
/// microseconds but those whose name ends in `_s`, or is `seconds`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowRow {
    /// When it began, since the search's first request.
    pub start_s: f64,
    /// How long it lasted.
    pub seconds: f64,
    /// `ramp`, `tune`, `search`, `recover`, `check`, `hold` or `calibrate`.
    pub phase: String,
    /// The rate that was offered.
    pub offered_per_s: f64,
    /// Succeeded of those due in it, over its seconds.
    pub achieved_per_s: f64,
    /// The network's round trip, median over its seconds.
    pub rtt_us: Option<f64>,
    /// Round trips of single handshakes in it, in their order; of a long window every second,
    /// third, … one, so that they are 120 at most.
    #[serde(default)]
    pub rtt_samples_us: Vec<f64>,
    /// Response times of its counted requests that were answered.
    pub response_us: Percentiles,
    /// Percentiles 1 to 99 over all counted requests; `None` where it falls to one that was not
    /// answered.
    pub percentiles_us: BTreeMap<u32, Option<f64>>,
    /// Requests due in it that failed by the target's fault.
    pub errors: u64,
    /// `accepted`, `refused`, `discarded`, `within`, `beyond` or `cut`.
    pub verdict: String,
}

/// The columns of the table after `cell`: the fields of a [`WindowRow`].
pub(crate) const COLUMNS: [&str; 11] = [
    "start_s",
    "seconds",
    "phase",
    "offered_per_s",
    "achieved_per_s",
    "rtt_us",
    "rtt_samples_us",
    "response_us",
    "percentiles_us",
    "errors",
    "verdict",
];

/// Makes the table.
pub(crate) const TABLE: &str = "CREATE TABLE window (cell INTEGER NOT NULL, start_s REAL NOT NULL,
    seconds REAL NOT NULL, phase TEXT NOT NULL, offered_per_s REAL NOT NULL,
    achieved_per_s REAL NOT NULL, rtt_us REAL, rtt_samples_us TEXT NOT NULL,
    response_us TEXT NOT NULL, percentiles_us TEXT NOT NULL, errors INTEGER NOT NULL,
    verdict TEXT NOT NULL);";

/// Writes windows behind those that are there.
pub(crate) fn write(database: &Connection, cell: u32, rows: &[WindowRow]) -> rusqlite::Result<()> {
    let sql = "INSERT INTO window VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let mut statement = database.prepare_cached(sql)?;
    for row in rows {
        statement.execute(params![
            cell,
            row.start_s,
            row.seconds,
            row.phase,
            row.offered_per_s,
            row.achieved_per_s,
            row.rtt_us,
            json(&row.rtt_samples_us)?,
            json(&row.response_us)?,
            json(&row.percentiles_us)?,
            crate::database::int(row.errors),
            row.verdict,
        ])?;
    }
    Ok(())
}

/// Forgets the windows that are there.
pub(crate) fn clear(database: &Connection) -> rusqlite::Result<()> {
    database.execute("DELETE FROM window", []).map(drop)
}

/// Selects what [`read`] reads.
pub(crate) const SELECT: &str = "SELECT start_s, seconds, phase, offered_per_s, achieved_per_s,
    rtt_us, rtt_samples_us, response_us, percentiles_us, errors, verdict
    FROM window ORDER BY rowid";

/// Reads a row of [`SELECT`].
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<WindowRow> {
    Ok(WindowRow {
        start_s: row.get(0)?,
        seconds: row.get(1)?,
        phase: row.get(2)?,
        offered_per_s: row.get(3)?,
        achieved_per_s: row.get(4)?,
        rtt_us: row.get(5)?,
        rtt_samples_us: parsed(row, 6)?,
        response_us: parsed(row, 7)?,
        percentiles_us: parsed(row, 8)?,
        errors: row.get(9).map(crate::database::uint)?,
        verdict: row.get(10)?,
    })
}

fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn parsed<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(at, Type::Text, error.into()))
}
