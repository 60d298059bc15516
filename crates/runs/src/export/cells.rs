//! The cells of an experiment: what each of them is, how far it is, and its figures.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde_json::{Map, Value, json};

use super::{csv, text};
use crate::error::RunError;
use crate::experiment::{CellRow, Experiment};
use crate::{FigureRow, iso8601};

/// The columns before those of the factors, and those between factors and figures.
const BEFORE: [&str; 1] = ["cell"];
const BETWEEN: [&str; 5] = ["replication", "block", "seed", "world", "state"];

/// Writes a row for each cell: its number, a column for each factor, what it is, and a column for
/// each figure that any cell has. A figure that has an interval has two more, `NAME.low` and
/// `NAME.high`. A factor that is called like another column gets `factor.` before its name.
pub(super) fn csv(experiment: &Experiment, out: &mut dyn Write) -> Result<(), RunError> {
    let cells = experiment.cells()?;
    let factors: BTreeSet<&str> =
        cells.iter().flat_map(|row| row.cell.factors.keys().map(String::as_str)).collect();
    let mut columns = Vec::new();
    for (name, has_interval) in experiment.figure_columns()? {
        columns.push(Column { name: name.clone(), end: End::None });
        if has_interval {
            columns.push(Column { name: name.clone(), end: End::Low });
            columns.push(Column { name, end: End::High });
        }
    }
    let figures: Vec<String> = columns.iter().map(Column::header).collect();
    let taken = |name: &str| {
        BEFORE.contains(&name) || BETWEEN.contains(&name) || figures.iter().any(|of| of == name)
    };
    let named = factors.iter().map(|name| match taken(name) {
        true => format!("factor.{name}"),
        false => (*name).to_owned(),
    });
    let before = BEFORE.map(str::to_owned).into_iter();
    let between = BETWEEN.map(str::to_owned).into_iter();
    csv::row(out, before.chain(named).chain(between).chain(figures.iter().cloned()))?;
    for CellRow { cell, state, .. } in &cells {
        let of_cell: BTreeMap<String, FigureRow> = experiment
            .figures_of(cell.number)?
            .into_iter()
            .map(|row| (row.name.clone(), row))
            .collect();
        let level = |name: &&str| cell.factors.get(*name).cloned().unwrap_or_default();
        let between = [
            cell.replication.to_string(),
            cell.block.to_string(),
            cell.seed.to_string(),
            cell.world.name().to_owned(),
            state.name().to_owned(),
        ];
        let figures = columns.iter().map(|column| csv::field(&column.of(&of_cell)));
        let fields = std::iter::once(cell.number.to_string()).chain(factors.iter().map(level));
        csv::row(out, fields.chain(between).chain(figures))?;
    }
    Ok(())
}

/// A column of a figure: its value, or an end of its interval.
struct Column {
    name: String,
    end: End,
}

enum End {
    None,
    Low,
    High,
}

impl Column {
    fn header(&self) -> String {
        match self.end {
            End::None => self.name.clone(),
            End::Low => format!("{}.low", self.name),
            End::High => format!("{}.high", self.name),
        }
    }

    fn of(&self, figures: &BTreeMap<String, FigureRow>) -> Value {
        let row = figures.get(&self.name);
        json!(row.and_then(|row| match self.end {
            End::None => Some(row.value),
            End::Low => row.low,
            End::High => row.high,
        }))
    }
}

/// Writes the experiment and its cells as an object. Cells are streamed.
pub(super) fn json(experiment: &Experiment, out: &mut dyn Write) -> Result<(), RunError> {
    let meta = experiment.meta();
    let ended = experiment.ended().map_or("incomplete", crate::Ended::name);
    let facts: [(&str, Value); 7] = [
        ("experiment", json!(meta.id)),
        ("name", json!(meta.name)),
        ("kind", json!(meta.kind.name())),
        ("subject", json!(meta.subject)),
        ("started", json!(iso8601(meta.started_unix_ns))),
        ("version", json!(meta.version)),
        ("ended", json!(ended)),
    ];
    text(out, "{\"schema\":1")?;
    for (name, value) in facts {
        text(out, &format!(",\"{name}\":{value}"))?;
    }
    text(out, ",\"cells\":[")?;
    let mut before = "\n";
    for CellRow { cell, state, reason, started_ns, ended_ns } in experiment.cells()? {
        text(out, before)?;
        before = ",\n";
        let mut fields = json!({
            "cell": cell.number, "factors": cell.factors, "replication": cell.replication,
            "block": cell.block, "seed": cell.seed, "world": cell.world.name(),
            "state": state.name(), "reason": reason, "started_ns": started_ns,
            "ended_ns": ended_ns,
        });
        let rows = experiment.figures_of(cell.number)?;
        fields["figures"] = figures(&rows);
        if let Some(intervals) = intervals(&rows) {
            fields["intervals"] = intervals;
        }
        super::json(out, &fields)?;
    }
    text(out, "\n]}\n")
}

/// Figures by name, with their values.
pub(super) fn figures(rows: &[FigureRow]) -> Value {
    let fields = rows.iter().map(|row| (row.name.clone(), json!(row.value)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// The ends of the intervals of figures by name; `None` where none has one.
pub(super) fn intervals(rows: &[FigureRow]) -> Option<Value> {
    let fields = rows.iter().filter(|row| row.low.is_some() || row.high.is_some());
    let fields = fields.map(|row| (row.name.clone(), json!([row.low, row.high])));
    let fields = fields.collect::<Map<_, _>>();
    (!fields.is_empty()).then_some(Value::Object(fields))
}
