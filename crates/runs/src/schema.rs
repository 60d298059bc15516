//! `run.sqlite`: its tables, and the one place where rows are written.
//!
//! | table | a row is | notes |
//! | --- | --- | --- |
//! | `meta` | a fact of the run | text by key; `hlog_bytes` is how much of `latency.hlog` was written when the last second was committed |
//! | `interval` | one second | counters by event; percentiles over the answers completed in it |
//! | `total` | one phase | counters by the phase in which requests were due, cumulative, renewed each second, so that a killed run can be summed up |
//! | `reason` | a cause of failures | the first three a kind, `of` requests (by the phase in which they were due) or of attempts to connect; cumulative, renewed in each second in which something failed |
//! | `event` | something that happened | `class` says what it is about ([`crate::event::Class`]) |
//! | `series` | a sample of a series | see [`crate::series`], also for the view `host` |
//! | `window` | a window of a search | see [`crate::window`] |
//! | `figure` | a figure of the run | see [`crate::figures`] |
//! | `decision` | a decision of a policy | there only where there was one; see [`crate::decision`] |
//! | `name` | what the requests of a name have come to | renewed every ten seconds; see [`crate::by_name`] |
//! | `slow_trace` | one of the slowest requests that servers were asked to record | there only where there is one; renewed in each second that has a slower one; see [`crate::slowest`] |
//! | `label` | what came of the users of a label | there only where they have some; renewed every ten seconds; see [`crate::by_label`] |
//! | `label_name` | what the requests of a name by the users of a label have come to | as `label` |
//!
//! Times are integers in nanoseconds, `…_ns`, offsets since the run's first due time. `status` is a
//! JSON object of counts by code, `local` one of failures of our own by cause. Each row carries
//! `cell` (0 where the run is none of an experiment), those of what has phases also `phase` and
//! `world`; a column that only one world can fill is nullable.

use crate::by_name::TAGS;
use crate::database::int;
use std::collections::{BTreeMap, BTreeSet};

use plimsoll_stats::Histogram;
use plimsoll_stats::histogram::rank;
use plimsoll_stats::percentiles::MIN_BEYOND;
use plimsoll_units::secret::hidden;
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::{
    Counters, ErrorKind, Event, Interval, LocalCause, Phase, Reasons, Tag, World, figures, series,
    window,
};

/// The file's name in a run folder.
pub(crate) const FILE: &str = "run.sqlite";
/// The greatest `user_version` this program reads, and the one it writes.
pub(crate) const FORMAT: i64 = 2;

/// Columns of an interval after those of its counters.
pub(crate) const STATES: [&str; 27] = [
    "in_flight",
    "waiting",
    "oldest_outstanding_ns",
    "connections",
    "opened",
    "stale",
    "connect_failed",
    "rtt_ns",
    "busy_ns",
    "thread_ns",
    "cpu_ns",
    "denied_ns",
    "behind",
    "response_mean_ns",
    "response_p50_ns",
    "response_p90_ns",
    "response_p99_ns",
    "response_p999_ns",
    "response_max_ns",
    "service_p50_ns",
    "service_p99_ns",
    "lateness_p50_ns",
    "lateness_p99_ns",
    "lateness_max_ns",
    "connection_wait_p99_ns",
    "turn_p99_ns",
    ANSWERED,
];
/// The column that says when answers came within an interval.
pub(crate) const ANSWERED: &str = "answered";

/// Columns of a [`Counters`], in the order of [`push_counters`].
pub(crate) fn counter_columns() -> Vec<String> {
    let mut columns: Vec<String> =
        ["offered", "sent", "completed", "succeeded"].map(str::to_owned).to_vec();
    columns.extend(ErrorKind::ALL.map(|kind| format!("failed_{}", kind.name())));
    columns.extend(["redirects", "bytes_in", "bytes_out", "status", "local"].map(str::to_owned));
    columns
}

/// Columns of a table as a `SELECT` names them. A database that an earlier version wrote lacks
/// those that came later: they read as nothing counted.
pub(crate) fn select<'a>(
    database: &Connection,
    table: &str,
    columns: impl IntoIterator<Item = &'a str>,
) -> rusqlite::Result<String> {
    let mut statement = database.prepare_cached("SELECT name FROM pragma_table_info(?)")?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0))?;
    let there: BTreeSet<String> = names.collect::<rusqlite::Result<_>>()?;
    let terms: Vec<String> = columns
        .into_iter()
        .map(|column| match column {
            column if there.contains(column) => column.to_owned(),
            "status" | "local" => format!("'{{}}' AS {column}"),
            column => format!("0 AS {column}"),
        })
        .collect();
    Ok(terms.join(","))
}

type Value = rusqlite::types::Value;

fn optional(value: Option<u64>) -> Value {
    value.map_or(Value::Null, |value| Value::Integer(int(value)))
}

/// A count by code as a JSON object, codes ascending.
pub(crate) fn status_text(status: &[(u16, u64)]) -> String {
    let mut sorted = status.to_vec();
    sorted.sort_unstable();
    let parts: Vec<String> = sorted.iter().map(|(code, n)| format!("\"{code}\":{n}")).collect();
    format!("{{{}}}", parts.join(","))
}

/// The columns of a [`Counters`] as a table that is made names them, a comma behind each.
pub(crate) fn counter_definitions() -> String {
    let kind =
        |column: &str| if ["status", "local"].contains(&column) { "TEXT" } else { "INTEGER" };
    let columns = counter_columns().into_iter();
    columns.map(|column| format!("{column} {} NOT NULL, ", kind(&column))).collect()
}

/// The values of a [`Counters`], in the order of [`counter_columns`].
pub(crate) fn counter_values(counters: &Counters) -> Vec<Value> {
    let mut values = Vec::new();
    push_counters(&mut values, counters);
    values
}

fn push_counters(values: &mut Vec<Value>, counters: &Counters) {
    for count in [counters.offered, counters.sent, counters.completed, counters.succeeded] {
        values.push(Value::Integer(int(count)));
    }
    values.extend(counters.errors.map(|count| Value::Integer(int(count))));
    values.push(Value::Integer(int(counters.redirects)));
    values.push(Value::Integer(int(counters.bytes_in)));
    values.push(Value::Integer(int(counters.bytes_out)));
    values.push(Value::Text(status_text(&counters.status)));
    let causes =
        LocalCause::ALL.into_iter().map(|cause| (cause.name(), counters.local[cause as usize]));
    let causes: BTreeMap<_, _> = causes.filter(|(_, n)| *n > 0).collect();
    let parts: Vec<String> = causes.iter().map(|(name, n)| format!("\"{name}\":{n}")).collect();
    values.push(Value::Text(format!("{{{}}}", parts.join(","))));
}

/// Makes the tables of a new run.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    let counters = counter_definitions();
    let states: Vec<String> = STATES
        .iter()
        .map(|column| match *column {
            "response_mean_ns" => format!("{column} REAL"),
            ANSWERED => format!("{column} TEXT"),
            _ => format!("{column} INTEGER"),
        })
        .collect();
    let place = "cell INTEGER NOT NULL, phase TEXT NOT NULL, world TEXT NOT NULL";
    connection.execute_batch(&format!(
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
         CREATE TABLE interval ({place}, start_ns INTEGER NOT NULL, len_ns INTEGER NOT NULL,
           {counters}{states});
         CREATE TABLE total ({place}, {counters}PRIMARY KEY (cell, phase)) WITHOUT ROWID;
         CREATE TABLE reason ({place}, of TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,
           count INTEGER NOT NULL, first_ns INTEGER NOT NULL);
         CREATE TABLE event ({place}, at_ns INTEGER NOT NULL, class TEXT NOT NULL,
           kind TEXT NOT NULL, text TEXT NOT NULL);
         {series}
         {window}
         {figure}
         {name}
         PRAGMA user_version = {FORMAT};",
        states = states.join(", "),
        series = series::tables(),
        window = window::TABLE,
        figure = figures::TABLE,
        name = name_table(),
    ))
}

/// Lets a database be read as one of this version: by views for this connection, which leave the
/// file as it is. No view of the file itself is read.
pub(crate) fn adapt(database: &Connection) -> rusqlite::Result<()> {
    let version: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version >= FORMAT {
        return database.execute_batch(&series::host_of_connection());
    }
    let figure = figures::TABLE.replace("CREATE TABLE", "CREATE TEMP TABLE");
    let window = window::TABLE.replace("CREATE TABLE", "CREATE TEMP TABLE");
    database.execute_batch(&format!(
        "{figure} {window} {}
         CREATE TEMP VIEW event AS SELECT rowid AS rowid, cell, phase, world, at_ns,
           CASE WHEN kind IN ('failed', 'not connected') THEN 'failure' ELSE 'run' END AS class,
           kind, text FROM main.event;",
        series::of_version_1()
    ))
}

/// What stands before every row of the time tables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) cell: u32,
    pub(crate) phase: Phase,
    pub(crate) world: World,
}

impl Place {
    fn values(self) -> Vec<Value> {
        let text = |name: &str| Value::Text(name.to_owned());
        vec![Value::Integer(self.cell.into()), text(self.phase.name()), text(self.world.name())]
    }
}

/// The statements that a run repeats, spelled out once.
pub(crate) struct Statements {
    interval: String,
    total: String,
}

impl Statements {
    pub(crate) fn new() -> Self {
        let counters = counter_columns();
        let insert = |verb: &str, table: &str, own: &[&str], rest: &[&str]| {
            let mut columns = vec!["cell", "phase", "world"];
            columns.extend(own);
            columns.extend(counters.iter().map(String::as_str));
            columns.extend(rest);
            let marks = vec!["?"; columns.len()].join(",");
            format!("{verb} INTO {table} ({}) VALUES ({marks})", columns.join(","))
        };
        Self {
            interval: insert("INSERT", "interval", &["start_ns", "len_ns"], &STATES),
            total: insert("INSERT OR REPLACE", "total", &[], &[]),
        }
    }

    /// One second. `scratch` is any histogram; it is left changed.
    pub(crate) fn insert_interval(
        &self,
        connection: &Connection,
        place: Place,
        interval: &Interval,
        scratch: &mut Histogram,
    ) -> rusqlite::Result<()> {
        let mut values = place.values();
        values.push(Value::Integer(int(interval.start_ns)));
        values.push(Value::Integer(int(interval.len_ns)));
        push_counters(&mut values, &interval.events);
        push_states(&mut values, interval);
        push_percentiles(&mut values, interval, scratch);
        values.push(Value::Text(interval.answered.text()));
        execute(connection, &self.interval, values)
    }

    /// What a phase has come to so far.
    pub(crate) fn replace_total(
        &self,
        connection: &Connection,
        place: Place,
        counters: &Counters,
    ) -> rusqlite::Result<()> {
        let mut values = place.values();
        push_counters(&mut values, counters);
        execute(connection, &self.total, values)
    }
}

fn push_states(values: &mut Vec<Value>, interval: &Interval) {
    let counts = [
        interval.in_flight,
        interval.waiting,
        interval.oldest_outstanding_ns,
        interval.connections,
        interval.opened,
        interval.stale,
        interval.connect_failed,
    ];
    values.extend(counts.map(|count| Value::Integer(int(count))));
    values.push(optional((interval.rtt_ns > 0).then_some(interval.rtt_ns)));
    let times = [interval.busy_ns, interval.thread_ns, interval.cpu_ns, interval.denied_ns];
    for time in times {
        values.push(Value::Integer(int(time)));
    }
    values.push(Value::Integer(i64::from(interval.behind)));
}

fn push_percentiles(values: &mut Vec<Value>, interval: &Interval, scratch: &mut Histogram) {
    let both = |tag: Tag, scratch: &mut Histogram| {
        scratch.clear();
        for phase in &interval.phases {
            scratch.add(phase.histogram(tag));
        }
    };
    let at = |histogram: &Histogram, q: f64| optional(histogram.value_at_quantile(q));
    let resolved = |histogram: &Histogram, q: f64| {
        let count = histogram.count();
        let beyond = count - rank(q, count);
        if beyond >= MIN_BEYOND { at(histogram, q) } else { Value::Null }
    };
    both(Tag::Response, scratch);
    values.push(scratch.mean().map_or(Value::Null, Value::Real));
    values.extend([0.5, 0.9, 0.99, 0.999].map(|q| resolved(scratch, q)));
    values.push(optional(scratch.max()));
    both(Tag::Service, scratch);
    values.extend([0.5, 0.99].map(|q| resolved(scratch, q)));
    both(Tag::Lateness, scratch);
    values.extend([0.5, 0.99].map(|q| at(scratch, q)));
    values.push(optional(scratch.max()));
    both(Tag::ConnectionWait, scratch);
    values.push(resolved(scratch, 0.99));
    values.push(at(&interval.turn, 0.99));
}

fn execute(connection: &Connection, sql: &str, values: Vec<Value>) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute(params_from_iter(values))?;
    Ok(())
}

/// Writes the causes of failures so far, `of` a phase's requests or of attempts to connect, in the
/// place of those that were written before.
pub(crate) fn replace_reasons(
    connection: &Connection,
    place: Place,
    of: &str,
    reasons: &Reasons,
) -> rusqlite::Result<()> {
    let sql = "DELETE FROM reason WHERE phase = ? AND of = ?";
    connection.prepare_cached(sql)?.execute([place.phase.name(), of])?;
    for reason in reasons.first() {
        let mut values = place.values();
        values.push(Value::Text(of.to_owned()));
        values.push(Value::Text(reason.kind.name().to_owned()));
        values.push(Value::Text(hidden(&reason.text).into_owned()));
        values.push(Value::Integer(int(reason.count)));
        values.push(Value::Integer(int(reason.first_ns)));
        execute(connection, "INSERT INTO reason VALUES (?,?,?,?,?,?,?,?)", values)?;
    }
    Ok(())
}

/// Something that happened.
pub(crate) fn insert_event(
    connection: &Connection,
    place: Place,
    event: &Event,
) -> rusqlite::Result<()> {
    let mut values = place.values();
    values.push(Value::Integer(int(event.at_ns)));
    values.push(Value::Text(event.class.name().to_owned()));
    values.push(Value::Text(event.kind.clone()));
    values.push(Value::Text(hidden(&event.text).into_owned()));
    execute(connection, "INSERT INTO event VALUES (?,?,?,?,?,?,?)", values)
}

/// Sets a fact of the run.
pub(crate) fn set_meta(
    connection: &Connection,
    key: &str,
    value: &dyn ToSql,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO meta VALUES (?, ?) \
               ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute([&key as &dyn ToSql, value])?;
    Ok(())
}

/// The text of the table `name` ([`crate::name_table`]). Each histogram is a column: its least and
/// greatest value, 8 bytes each, its sum and its sum of squares, 16 bytes each, little-endian, then
/// HdrHistogram's compressed V2 payload; nothing where it is empty.
const NAME_TABLE: &str = "CREATE TABLE name (cell INTEGER NOT NULL,
    number INTEGER NOT NULL, {counters}{times}, PRIMARY KEY (cell, number)) WITHOUT ROWID;";

/// Makes the table `name`.
pub(crate) fn name_table() -> String {
    let counters: String = counter_definitions();
    let times: Vec<String> = TAGS.iter().map(|tag| format!("{} BLOB", tag.name())).collect();
    NAME_TABLE.replace("{counters}", &counters).replace("{times}", &times.join(", "))
}
