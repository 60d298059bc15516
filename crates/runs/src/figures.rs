//! Figures as they are stored: a name, a value, and the ends of its interval where it has one.
//! Both a run and the journal of an experiment keep them in a table `figure`.

use rusqlite::{Connection, params};

use crate::Summary;

/// A named result of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureRow {
    /// The figure's name, as `--json` has it: `response_us.p50`, `rate_mean`.
    pub name: String,
    /// Its value, in the unit that belongs to the name.
    pub value: f64,
    /// The lower end of its interval, where it has one.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl FigureRow {
    /// A figure without an interval.
    #[must_use]
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, low: None, high: None }
    }

    /// A figure with its interval.
    #[must_use]
    pub fn within(name: impl Into<String>, value: f64, (low, high): (f64, f64)) -> Self {
        Self { name: name.into(), value, low: Some(low), high: Some(high) }
    }
}

/// The figures of a load.
pub(crate) fn of_summary(summary: &Summary) -> Vec<FigureRow> {
    summary.figures().map(|(figure, value)| FigureRow::new(figure.name, value)).collect()
}

/// Makes the table.
pub(crate) const TABLE: &str = "CREATE TABLE figure (cell INTEGER NOT NULL, name TEXT NOT NULL,
    value REAL NOT NULL, low REAL, high REAL, PRIMARY KEY (cell, name));";

/// What is wrong with the first of some figures that cannot be stored: a value that is not a
/// number is no result.
pub fn fault(rows: &[FigureRow]) -> Option<String> {
    let is_number = |row: &&FigureRow| {
        let ends = [row.low, row.high];
        !row.value.is_finite() || ends.into_iter().flatten().any(|end| !end.is_finite())
    };
    rows.iter().find(is_number).map(|row| {
        let FigureRow { name, value, .. } = row;
        format!("the figure {name} is {value}, or an end of its interval is no finite number")
    })
}

/// Writes figures of a cell; one that is there already gets its new value.
pub(crate) fn write(database: &Connection, cell: u32, rows: &[FigureRow]) -> rusqlite::Result<()> {
    let sql = "INSERT INTO figure VALUES (?, ?, ?, ?, ?)
               ON CONFLICT (cell, name) DO UPDATE
               SET value = excluded.value, low = excluded.low, high = excluded.high";
    let mut statement = database.prepare_cached(sql)?;
    for row in rows {
        statement.execute(params![cell, row.name, row.value, row.low, row.high])?;
    }
    Ok(())
}

/// Reads the figures of a cell, in the order in which they were written.
pub(crate) fn read(database: &Connection, cell: u32) -> rusqlite::Result<Vec<FigureRow>> {
    let sql = "SELECT name, value, low, high FROM figure WHERE cell = ? ORDER BY rowid";
    let mut statement = database.prepare_cached(sql)?;
    let rows = statement.query_map([cell], |row| {
        Ok(FigureRow { name: row.get(0)?, value: row.get(1)?, low: row.get(2)?, high: row.get(3)? })
    })?;
    rows.collect()
}

/// The names of all figures, in the order in which they were first written, and whether any cell
/// has an interval of it.
pub(crate) fn columns(database: &Connection) -> rusqlite::Result<Vec<(String, bool)>> {
    let sql = "SELECT name, max(low IS NOT NULL OR high IS NOT NULL) FROM figure
               GROUP BY name ORDER BY min(rowid)";
    let mut statement = database.prepare_cached(sql)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The least and the greatest value of a figure over all cells; `None` where none has it.
pub(crate) fn range(database: &Connection, name: &str) -> rusqlite::Result<Option<(f64, f64)>> {
    let sql = "SELECT min(value), max(value) FROM figure WHERE name = ?";
    database.query_row(sql, [name], |row| {
        Ok(row.get::<_, Option<f64>>(0)?.zip(row.get::<_, Option<f64>>(1)?))
    })
}

/// The names of the figures that any cell has, sorted.
pub(crate) fn names(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = database.prepare("SELECT DISTINCT name FROM figure ORDER BY name")?;
    statement.query_map([], |row| row.get(0))?.collect()
}
