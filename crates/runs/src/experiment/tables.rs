//! `experiment.sqlite`: its tables, and the one place where their rows are written and read.
//!
//! | table | a row is |
//! | --- | --- |
//! | `meta` | a fact of the experiment: text by key |
//! | `cell` | a cell: what it is, and how far |
//! | `figure` | a figure of a done cell, with its interval where it has one |
//! | `event` | something that happened; `cell` is null where it concerns no one cell |
//!
//! `factors` is a JSON object of level by factor, keys sorted. `seed` is text, as it may be greater
//! than the greatest integer of SQLite. Times, `…_ns`, are nanoseconds since the start of the
//! experiment.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_units::secret::hidden;
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use crate::database::{int, uint};
use crate::experiment::{Cell, CellRow, ExperimentMeta, Progress, State, Stop};
use crate::figures;
use crate::meta::{Ended, Kind, World};
use crate::schema;
use crate::{Event, event};

/// The greatest `user_version` this program reads, and the one it writes.
pub(super) const FORMAT: i64 = 1;

/// The fact that names the process that holds the experiment, or held it last.
pub(super) const HOLDER: &str = "holder_pid";

/// Makes the tables of a new experiment, and states its facts.
pub(super) fn create(database: &Connection, meta: &ExperimentMeta) -> rusqlite::Result<()> {
    let transaction = database.unchecked_transaction()?;
    transaction.execute_batch(&format!(
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
         CREATE TABLE cell (cell INTEGER PRIMARY KEY, hash TEXT NOT NULL, factors TEXT NOT NULL,
           replication INTEGER NOT NULL, block INTEGER NOT NULL, seed TEXT NOT NULL,
           world TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, started_ns INTEGER,
           ended_ns INTEGER);
         {}
         CREATE TABLE event (cell INTEGER, at_ns INTEGER NOT NULL, class TEXT NOT NULL,
           kind TEXT NOT NULL, text TEXT NOT NULL);
         PRAGMA user_version = {FORMAT};",
        figures::TABLE
    ))?;
    for (key, value) in [
        ("id", &meta.id),
        ("name", &meta.name),
        ("kind", &meta.kind.name().to_owned()),
        ("subject", &hidden(&meta.subject).into_owned()),
        ("about", &meta.about),
        ("started_unix_ns", &meta.started_unix_ns.to_string()),
        ("version", &meta.version),
        ("plan_text", &meta.plan_text),
        ("plan_file", &meta.plan_file),
    ] {
        schema::set_meta(&transaction, key, value)?;
    }
    if !meta.tags.is_empty() {
        let tags =
            serde_json::to_string(&meta.tags).unwrap_or_else(|_| unreachable!("texts serialise"));
        schema::set_meta(&transaction, "tags", &tags)?;
    }
    transaction.commit()
}

/// States how an experiment ended.
pub(super) fn set_ended(
    database: &Connection,
    ended: &Ended,
    ended_ns: u64,
) -> rusqlite::Result<()> {
    schema::set_meta(database, "ended", &ended.name())?;
    schema::set_meta(database, "ended_because", &hidden(ended.reason()))?;
    schema::set_meta(database, "ended_ns", &ended_ns.to_string())
}

/// Forgets how an experiment ended: it goes on.
pub(super) fn clear_ended(database: &Connection) -> rusqlite::Result<()> {
    let sql = "DELETE FROM meta WHERE key IN ('ended', 'ended_because', 'ended_ns')";
    database.execute(sql, []).map(drop)
}

/// The facts of an experiment, and how it ended and when, where it has; else what is wrong.
pub(super) fn read_meta(
    facts: &BTreeMap<String, String>,
) -> Result<(ExperimentMeta, Option<(Ended, u64)>), String> {
    let text = |key: &str| facts.get(key).ok_or_else(|| format!("`{key}` is missing"));
    let number = |key: &str| {
        let text = text(key)?;
        text.parse::<u64>().map_err(|error| format!("`{key}` is `{text}`: {error}"))
    };
    let kind = text("kind")?;
    let meta = ExperimentMeta {
        id: text("id")?.clone(),
        name: text("name")?.clone(),
        kind: Kind::named(kind).ok_or_else(|| format!("`kind` is `{kind}`, which is none"))?,
        subject: text("subject")?.clone(),
        about: facts.get("about").cloned().unwrap_or_default(),
        started_unix_ns: number("started_unix_ns")?,
        version: text("version")?.clone(),
        plan_text: text("plan_text")?.clone(),
        plan_file: facts.get("plan_file").cloned().unwrap_or_default(),
        tags: facts
            .get("tags")
            .map(|text| serde_json::from_str(text).map_err(|error| format!("`tags`: {error}")))
            .transpose()?
            .unwrap_or_default(),
    };
    let Some(name) = facts.get("ended") else { return Ok((meta, None)) };
    let ended = Ended::from_parts(name, text("ended_because")?)
        .ok_or_else(|| format!("`ended` is `{name}`, no way to end is called so"))?;
    Ok((meta, Some((ended, number("ended_ns")?))))
}

/// Writes a cell in a state, in the place of what was known of it.
pub(super) fn write_cell(
    database: &Connection,
    cell: &Cell,
    state: State,
    started_ns: Option<u64>,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, NULL)";
    let factors = factors_text(cell);
    database.prepare_cached(sql)?.execute(params![
        cell.number,
        cell.hash,
        factors,
        cell.replication,
        cell.block,
        cell.seed.to_string(),
        cell.world.name(),
        state.name(),
        started_ns.map(int),
    ])?;
    Ok(())
}

/// Says how a cell's attempt ended.
pub(super) fn end_cell(
    database: &Connection,
    number: u32,
    state: State,
    reason: &str,
    ended_ns: Option<u64>,
) -> rusqlite::Result<()> {
    let sql = "UPDATE cell SET state = ?, reason = ?, ended_ns = ? WHERE cell = ?";
    let row = params![state.name(), hidden(reason), ended_ns.map(int), number];
    database.prepare_cached(sql)?.execute(row).map(drop)
}

/// The state of a cell; `None` where it is not in the plan.
pub(super) fn state_of(database: &Connection, number: u32) -> rusqlite::Result<Option<State>> {
    use rusqlite::OptionalExtension as _;
    let sql = "SELECT state FROM cell WHERE cell = ?";
    let read = |row: &Row<'_>| state(row, 0);
    database.prepare_cached(sql)?.query_row([number], read).optional()
}

/// Makes a cell one that is to be executed, without figures.
pub(super) fn take_back(database: &Connection, number: u32) -> rusqlite::Result<()> {
    database.prepare_cached("DELETE FROM figure WHERE cell = ?")?.execute([number])?;
    end_cell(database, number, State::Planned, "", None)
}

/// Takes a cell and its figures out.
pub(super) fn remove_cell(database: &Connection, number: u32) -> rusqlite::Result<()> {
    for sql in ["DELETE FROM figure WHERE cell = ?", "DELETE FROM cell WHERE cell = ?"] {
        database.prepare_cached(sql)?.execute([number])?;
    }
    Ok(())
}

/// Writes how a cell's level of each factor is called, and its block: what of a cell is not in its
/// hash.
pub(super) fn rename_cell(database: &Connection, cell: &Cell) -> rusqlite::Result<()> {
    let sql = "UPDATE cell SET factors = ?, replication = ?, block = ? WHERE cell = ?";
    let row = params![factors_text(cell), cell.replication, cell.block, cell.number];
    database.prepare_cached(sql)?.execute(row).map(drop)
}

fn factors_text(cell: &Cell) -> String {
    serde_json::to_string(&cell.factors).unwrap_or_else(|_| unreachable!("texts serialise"))
}

/// The numbers of the cells in a state.
pub(super) fn in_state(database: &Connection, state: State) -> rusqlite::Result<BTreeSet<u32>> {
    let mut statement = database.prepare_cached("SELECT cell FROM cell WHERE state = ?")?;
    statement.query_map([state.name()], |row| row.get(0))?.collect()
}

/// The numbers of the cells whose runs are kept.
pub(super) fn kept(database: &Connection) -> rusqlite::Result<BTreeSet<u32>> {
    let mut kept = BTreeSet::new();
    for state in State::ALL.into_iter().filter(|state| state.is_kept()) {
        kept.append(&mut in_state(database, state)?);
    }
    Ok(kept)
}

/// How many cells there are and are done.
pub(super) fn progress(database: &Connection) -> rusqlite::Result<Progress> {
    let sql = "SELECT count(*), count(*) FILTER (WHERE state IN ('done', 'ended_early')) FROM cell";
    database.query_row(sql, [], |row| {
        Ok(Progress { of: row.get(0).map(uint)?, done: row.get(1).map(uint)? })
    })
}

/// All cells, by number.
pub(super) fn cells(database: &Connection) -> rusqlite::Result<Vec<CellRow>> {
    let sql = "SELECT cell, hash, factors, replication, block, seed, world, state, reason,
                 started_ns, ended_ns FROM cell ORDER BY cell";
    let mut statement = database.prepare_cached(sql)?;
    statement.query_map([], cell_row)?.collect()
}

fn cell_row(row: &Row<'_>) -> rusqlite::Result<CellRow> {
    let time = |at: usize| row.get(at).map(|ns: Option<i64>| ns.map(uint));
    let (factors, seed, world): (String, String, String) = (row.get(2)?, row.get(5)?, row.get(6)?);
    let cell = Cell {
        number: row.get(0)?,
        place: row.get(0)?,
        factors: serde_json::from_str(&factors).map_err(|error| not_ours(2, error))?,
        replication: row.get(3)?,
        block: row.get(4)?,
        seed: seed.parse().map_err(|error| not_ours(5, error))?,
        world: World::named(&world).ok_or_else(|| not_ours(6, format!("no world is `{world}`")))?,
        hash: row.get(1)?,
    };
    let (state, reason) = (state(row, 7)?, row.get(8)?);
    Ok(CellRow { cell, state, reason, started_ns: time(9)?, ended_ns: time(10)? })
}

fn state(row: &Row<'_>, at: usize) -> rusqlite::Result<State> {
    let name: String = row.get(at)?;
    State::named(&name).ok_or_else(|| not_ours(at, format!("no state is `{name}`")))
}

/// A column that this program would not have written.
fn not_ours(
    at: usize,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, cause.into())
}

/// Writes something that happened.
pub(super) fn write_event(
    database: &Connection,
    cell: Option<u32>,
    event: &Event,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO event VALUES (?, ?, ?, ?, ?)";
    let row = params![cell, int(event.at_ns), event.class.name(), event.kind, hidden(&event.text)];
    database.prepare_cached(sql)?.execute(row).map(drop)
}

/// All that happened, in the order in which it was told, each with the cell it concerns.
pub(super) fn events(database: &Connection) -> rusqlite::Result<Vec<(Option<u32>, Event)>> {
    let sql = "SELECT cell, at_ns, class, kind, text FROM event ORDER BY rowid";
    let mut statement = database.prepare_cached(sql)?;
    statement.query_map([], |row| Ok((row.get(0)?, event::read(row, 1)?)))?.collect()
}

/// What happened after an event, each with its own place in that order.
pub(super) fn events_after(
    database: &Connection,
    after: i64,
) -> rusqlite::Result<Vec<(i64, Option<u32>, Event)>> {
    let sql = "SELECT rowid, cell, at_ns, class, kind, text FROM event WHERE rowid > ? \
               ORDER BY rowid";
    let mut statement = database.prepare_cached(sql)?;
    statement
        .query_map([after], |row| Ok((row.get(0)?, row.get(1)?, event::read(row, 2)?)))?
        .collect()
}

/// The place of the last event; 0 where there is none.
pub(super) fn last_event(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("SELECT coalesce(max(rowid), 0) FROM event", [], |row| row.get(0))
}

/// What was asked after an event: of several requests the one that is soonest to be met.
pub(super) fn stop_after(database: &Connection, after: i64) -> rusqlite::Result<Option<Stop>> {
    let sql = "SELECT DISTINCT kind FROM event WHERE rowid > ? AND class = ?";
    let mut statement = database.prepare_cached(sql)?;
    let kinds = statement
        .query_map(params![after, event::Class::Action.name()], |row| row.get::<_, String>(0))?;
    let kinds: Vec<String> = kinds.collect::<rusqlite::Result<_>>()?;
    Ok(kinds.iter().filter_map(|kind| Stop::of_kind(kind)).max())
}

/// A fact of the experiment.
pub(super) fn fact(database: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    use rusqlite::OptionalExtension as _;
    let sql = "SELECT value FROM meta WHERE key = ?";
    database.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()
}
