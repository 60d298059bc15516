//! Series in periods: what each series of each instance came to in every minute, say.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::csv;
use crate::error::RunError;
use crate::experiment::{Experiment, State};
use crate::run::Run;
use crate::summary::seconds;

/// The label that names an instance.
const INSTANCE: &str = "instance";

/// The columns.
const COLUMNS: [&str; 10] =
    ["cell", "instance", "series", "labels", "start_s", "min", "mean", "max", "sum", "count"];

/// A series in a period: of an instance, with its other labels as text, from its start.
type Key = (u64, String, String, String);

/// The values of a series in a period.
#[derive(Debug, Clone, Copy)]
struct Values {
    min: f64,
    max: f64,
    sum: f64,
    count: u64,
}

impl Values {
    const NONE: Self = Self { min: f64::INFINITY, max: f64::NEG_INFINITY, sum: 0.0, count: 0 };

    fn add(&mut self, value: f64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += value;
        self.count += 1;
    }
}

/// Writes a row a period, instance and series of a run, in the order of time. A sample without a
/// value counts for none; a series without a value in a period has no row there.
pub(super) fn run(run: &Run, every: Duration, out: &mut dyn Write) -> Result<(), RunError> {
    csv::row(out, COLUMNS)?;
    rows(run, every, out)
}

/// The same of every done cell of an experiment that kept its run.
pub(super) fn cells(
    experiment: &Experiment,
    every: Duration,
    out: &mut dyn Write,
) -> Result<(), RunError> {
    csv::row(out, COLUMNS)?;
    for row in experiment.cells()?.into_iter().filter(|row| row.state == State::Done) {
        if let Some(run) = experiment.run(row.cell.number)? {
            rows(&run, every, out)?;
        }
    }
    Ok(())
}

fn rows(run: &Run, every: Duration, out: &mut dyn Write) -> Result<(), RunError> {
    let every_ns = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX).max(1);
    let mut all: BTreeMap<Key, Values> = BTreeMap::new();
    run.for_each_sample(|name, sample| {
        let Some(value) = sample.value else { return Ok(()) };
        let mut labels = sample.labels;
        let instance = labels.remove(INSTANCE).unwrap_or_default();
        let labels = if labels.is_empty() { String::new() } else { json!(labels).to_string() };
        let start_ns = sample.at_ns / every_ns * every_ns;
        let key = (start_ns, instance, name.to_owned(), labels);
        all.entry(key).or_insert(Values::NONE).add(value);
        Ok(())
    })?;
    let cell = run.meta().cell;
    for ((start_ns, instance, series, labels), of) in all {
        #[expect(clippy::cast_precision_loss, reason = "samples of a period")]
        let mean = of.sum / of.count as f64;
        let figures = [of.min, mean, of.max, of.sum].map(Value::from);
        let texts = [instance, series, labels].map(Value::from);
        let fields = [json!(cell)]
            .into_iter()
            .chain(texts)
            .chain([json!(seconds(start_ns))])
            .chain(figures)
            .chain([json!(of.count)]);
        csv::row(out, fields.map(|field| csv::field(&field)))?;
    }
    Ok(())
}
