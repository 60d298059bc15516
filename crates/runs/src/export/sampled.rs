//! What a run has that is no load: its figures, its events, the windows of a search, its series.

use std::io::Write;

use serde_json::{Value, json};

use super::{cells, csv, text};
use crate::error::RunError;
use crate::run::Run;
use crate::summary::seconds;
use crate::window::COLUMNS;
use crate::{Event, SeriesRow, WindowRow, iso8601};

/// The columns of a sample.
const SAMPLE: [&str; 4] = ["series", "labels", "at_s", "value"];

/// Writes the windows, where the run has any, else a row for each sample of its series.
pub(super) fn csv(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    let windows = run.windows()?;
    if !windows.is_empty() {
        csv::row(out, COLUMNS)?;
        return windows.iter().try_for_each(|window| {
            let fields = fields(window);
            csv::row(out, COLUMNS.map(|name| csv::field(&fields[name])))
        });
    }
    csv::row(out, SAMPLE)?;
    run.for_each_sample(|name, sample| {
        let SeriesRow { labels, at_ns, value } = sample;
        let labels = if labels.is_empty() { Value::Null } else { json!(labels) };
        let at_s = seconds(at_ns);
        csv::row(out, [json!(name), labels, json!(at_s), json!(value)].map(|of| csv::field(&of)))
    })
}

fn fields(window: &WindowRow) -> Value {
    serde_json::to_value(window).unwrap_or_else(|_| unreachable!("texts and numbers serialise"))
}

/// Writes all of it as an object. Series are streamed.
pub(super) fn json(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    let meta = run.meta();
    let about = json!({
        "id": meta.id, "name": meta.name, "kind": meta.kind.name(), "subject": meta.subject,
        "world": meta.world.name(), "cell": meta.cell, "seed": meta.seed,
        "started": iso8601(meta.started_unix_ns), "version": meta.version,
        "ended": run.end().map_or("incomplete", |end| end.ended.name()),
    });
    text(out, "{\"run\":")?;
    super::json(out, &about)?;
    let rows = run.figures()?;
    text(out, ",\"figures\":")?;
    super::json(out, &cells::figures(&rows))?;
    if let Some(intervals) = cells::intervals(&rows) {
        text(out, ",\"intervals\":")?;
        super::json(out, &intervals)?;
    }
    text(out, ",\"events\":")?;
    super::json(out, &run.events()?.into_iter().map(event).collect::<Vec<_>>())?;
    text(out, ",\"windows\":")?;
    super::json(out, &run.windows()?)?;
    text(out, ",\"series\":[")?;
    let mut before = "\n";
    run.for_each_sample(|name, SeriesRow { labels, at_ns, value }| {
        text(out, before)?;
        before = ",\n";
        let sample = json!({ "series": name, "labels": labels, "at_ns": at_ns, "value": value });
        super::json(out, &sample)
    })?;
    text(out, "\n]}\n")
}

fn event(event: Event) -> Value {
    let Event { at_ns, class, kind, text } = event;
    json!({ "at_ns": at_ns, "class": class.name(), "kind": kind, "text": text })
}
