//! Every request of a run that kept them, as rows of CSV or lines of JSON. They are streamed, in
//! the order of the file, which is none.

use std::io::Write;

use serde_json::{Value, json};

use super::{csv, text};
use crate::Sample;
use crate::error::RunError;
use crate::run::Run;

/// A request's columns. Times are nanoseconds since the first due time; what never came is empty.
pub(super) const NAMES: [&str; 12] = [
    "due_ns",
    "sent_ns",
    "first_byte_ns",
    "done_ns",
    "status",
    "kind",
    "received_bytes",
    "name",
    "connection",
    "request",
    "phase",
    "trace_id",
];

/// What a sample is told by, in the order of [`NAMES`].
pub(super) fn values(run: &Run, sample: &Sample) -> [Value; NAMES.len()] {
    let came = |ns: u64| if ns > 0 { json!(ns) } else { Value::Null };
    let is_sent = sample.sent_ns > 0;
    let sent = |value: u32| if is_sent { json!(value) } else { Value::Null };
    [
        json!(sample.due_ns),
        came(sample.sent_ns),
        came(sample.first_byte_ns),
        came(sample.done_ns),
        if sample.status > 0 { json!(sample.status) } else { Value::Null },
        sample.error.map_or(Value::Null, |kind| json!(kind.name())),
        json!(sample.bytes),
        name(run, sample.name),
        sent(sample.connection),
        sent(sample.request),
        json!(sample.phase.name()),
        json!(sample.trace.map(|id| id.to_string())),
    ]
}

fn name(run: &Run, number: u16) -> Value {
    let names = run.meta().load.as_ref().map(|load| &load.names);
    json!(names.and_then(|names| names.called(number)))
}

/// Calls `each` with every sample of a run.
pub(super) fn every(
    run: &Run,
    mut each: impl FnMut(&Sample) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let Some(samples) = run.samples()? else {
        return Err(RunError::NoSamples { path: run.path().to_path_buf() });
    };
    samples.into_iter().try_for_each(|sample| each(&sample?))
}

/// A row a request, with a heading.
pub(super) fn csv(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    let mut heading = Some(NAMES);
    every(run, |sample| {
        heading.take().map_or(Ok(()), |names| csv::row(out, names))?;
        csv::row(out, values(run, sample).iter().map(csv::field))
    })?;
    heading.take().map_or(Ok(()), |names| csv::row(out, names))
}

/// An object a line; what never came is null.
pub(super) fn jsonl(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    every(run, |sample| {
        let pairs = NAMES.map(str::to_owned).into_iter().zip(values(run, sample));
        super::json(out, &Value::Object(pairs.collect()))?;
        text(out, "\n")
    })
}
