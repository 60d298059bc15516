//! Series as they are stored: samples of a source over time, in the table `series`.
//!
//! A series has a name and labels, as node_exporter's have; the labels are a JSON object of texts,
//! its keys sorted, so that the same labels are the same text. A sample that was taken and told
//! nothing has no value.
//!
//! What the generator's host told stands here too, and in the form that version 1 gave it in the
//! view `host`.

use std::collections::BTreeMap;

use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use crate::HostSample;
use crate::database::{FOR_OTHERS, int, uint};

/// The labels of a series, by name.
pub type Labels = BTreeMap<String, String>;

/// One sample of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesRow {
    /// What tells this series from others of its name.
    pub labels: Labels,
    /// Nanoseconds since the run's first due time.
    pub at_ns: u64,
    /// The value, in the unit that belongs to the name; `None` where it was not known.
    pub value: Option<f64>,
}

/// Share of the host's CPU time that the hypervisor gave to others, 0..=1.
pub(crate) const STEAL: &str = "host_steal_share";
/// How late an idle timer of the host woke, nanoseconds, by quantile.
pub(crate) const TIMER_LATE: &str = "host_timer_late_ns";
/// The quantiles of [`TIMER_LATE`] that are kept, as labels; 1 is the greatest.
pub(crate) const QUANTILES: [&str; 3] = ["0.5", "0.99", "1"];

/// The label of a quantile, as text.
pub(crate) fn quantile(quantile: &str) -> String {
    text([("quantile", quantile)])
}

/// Labels as the table has them.
pub(crate) fn text<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let sorted: BTreeMap<&str, &str> = labels.into_iter().collect();
    serde_json::to_string(&sorted).unwrap_or_else(|_| unreachable!("texts serialise"))
}

/// Makes the table, and the view that shows the host's samples as version 1 had them.
pub(crate) fn tables() -> String {
    format!(
        "CREATE TABLE series (cell INTEGER NOT NULL, name TEXT NOT NULL, labels TEXT NOT NULL,
           at_ns INTEGER NOT NULL, value REAL);
         CREATE VIEW {FOR_OTHERS} AS {};",
        host()
    )
}

/// The same view for a connection that only reads, in the place of whatever stands in the file.
pub(crate) fn host_of_connection() -> String {
    format!("CREATE TEMP VIEW {FOR_OTHERS} AS {};", host())
}

fn host() -> String {
    let late = |quantile: &str, column: &str| {
        format!(
            "CAST(max(value) FILTER (WHERE name = '{TIMER_LATE}' AND labels = '{}') AS INTEGER)
             AS timer_late_{column}_ns",
            self::quantile(quantile)
        )
    };
    let [p50, p99, max] = QUANTILES;
    let late = [late(p50, "p50"), late(p99, "p99"), late(max, "max")].join(", ");
    // A second belongs to the phase in which it began: where the sample before it was taken.
    format!(
        "SELECT cell,
             CASE WHEN lag(at_ns, 1, 0) OVER (PARTITION BY cell ORDER BY at_ns) <
               (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'warmup_ns')
               THEN 'warm-up' ELSE 'measured' END AS phase,
             (SELECT value FROM meta WHERE key = 'world') AS world,
             at_ns, steal_share, timer_late_p50_ns, timer_late_p99_ns, timer_late_max_ns
           FROM (SELECT cell, at_ns,
               max(value) FILTER (WHERE name = '{STEAL}') AS steal_share, {late}
             FROM series WHERE name IN ('{STEAL}', '{TIMER_LATE}') GROUP BY cell, at_ns)
           ORDER BY cell, at_ns"
    )
}

/// Shows the table `host` of a database of version 1 as the series that version 2 would have.
pub(crate) fn of_version_1() -> String {
    let mut parts = vec![format!(
        "SELECT cell, '{STEAL}' AS name, '{{}}' AS labels, at_ns, steal_share AS value
         FROM main.host"
    )];
    for (label, column) in QUANTILES.into_iter().zip(["p50", "p99", "max"]) {
        parts.push(format!(
            "SELECT cell, '{TIMER_LATE}', '{}', at_ns, CAST(timer_late_{column}_ns AS REAL)
             FROM main.host",
            quantile(label)
        ));
    }
    format!("CREATE TEMP VIEW series AS {};", parts.join(" UNION ALL "))
}

/// A sample on its way into the table.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) name: String,
    pub(crate) labels: String,
    pub(crate) at_ns: i64,
    pub(crate) value: Option<f64>,
}

impl Pending {
    pub(crate) fn new(name: &str, labels: &[(&str, &str)], at_ns: u64, value: Option<f64>) -> Self {
        let labels = text(labels.iter().copied());
        Self { name: name.to_owned(), labels, at_ns: int(at_ns), value }
    }
}

/// What a second of the host comes to as samples.
#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days")]
pub(crate) fn of_host(at_ns: u64, sample: &HostSample<'_>) -> [Pending; 4] {
    let late = sample.timer_late;
    let values = [late.value_at_quantile(0.5), late.value_at_quantile(0.99), late.max()];
    let [p50, p99, max] = QUANTILES;
    let timer = |quantile: &str, ns: Option<u64>| {
        Pending::new(TIMER_LATE, &[("quantile", quantile)], at_ns, ns.map(|ns| ns as f64))
    };
    let [late_p50, late_p99, late_max] = values;
    [
        Pending::new(STEAL, &[], at_ns, sample.steal_share),
        timer(p50, late_p50),
        timer(p99, late_p99),
        timer(max, late_max),
    ]
}

/// Writes samples.
pub(crate) fn write(database: &Connection, cell: u32, samples: &[Pending]) -> rusqlite::Result<()> {
    let mut statement = database.prepare_cached("INSERT INTO series VALUES (?, ?, ?, ?, ?)")?;
    for sample in samples {
        let Pending { name, labels, at_ns, value } = sample;
        statement.execute(params![cell, name, labels, at_ns, value])?;
    }
    Ok(())
}

/// Selects what [`read`] reads.
pub(crate) const SELECT: &str =
    "SELECT labels, at_ns, value FROM series WHERE name = ? ORDER BY at_ns, labels";

/// Selects what [`read`] reads, and the name, of all series.
pub(crate) const SELECT_ALL: &str = "SELECT labels, at_ns, value, name FROM series";

/// Reads a row of [`SELECT`] or [`SELECT_ALL`].
pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<SeriesRow> {
    let labels: String = row.get(0)?;
    let labels = serde_json::from_str(&labels)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into()))?;
    let at_ns = row.get(1).map(uint)?;
    Ok(SeriesRow { labels, at_ns, value: row.get(2)? })
}
