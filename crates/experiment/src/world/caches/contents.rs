//! What the run of a simulated cache, or cluster of caches, has beside its figures: the course of
//! its misses over the time of the trace, and the response times.

use super::Cell;
use plimsoll_cache::about::{CLUSTER, ClusterFile};
use plimsoll_cache::cluster::{Counts, Moves};
use plimsoll_cache::simulate::Cell as Replayed;
use plimsoll_cache::trace::Trace;
use plimsoll_runs::{RunWriter, SinkError, Tag};

/// Requests, and what of them came from the origin, in a part of a trace.
struct Part {
    requests: u64,
    misses: u64,
    requested_bytes: u64,
    missed_bytes: u64,
}

/// Writes one policy at one size into its run.
///
/// # Errors
/// When something could not be stored.
pub fn write_replay(
    writer: &mut RunWriter,
    trace: &Trace,
    cell: &Replayed,
) -> Result<(), SinkError> {
    let parts = cell.course.iter().map(|(_, total)| Part {
        requests: total.requests,
        misses: total.misses,
        requested_bytes: total.requested_bytes,
        missed_bytes: total.missed_bytes,
    });
    write_course(writer, trace, parts)
}

/// Writes one replication of a cluster into its run; the first one with all that is drawn of it.
///
/// # Errors
/// When something could not be stored.
pub fn write_cluster(
    writer: &mut RunWriter,
    trace: &Trace,
    (of, counts, replication): (&Cell, &Counts, u32),
) -> Result<(), SinkError> {
    if replication == 0 {
        let levels = of.levels.iter().map(|(key, level)| ((*key).to_owned(), level.clone()));
        let file = ClusterFile {
            label: of.label.clone(),
            name: of.name(),
            levels: levels.collect(),
            counts: counts.clone(),
            moves: Moves::of(trace, &of.cluster),
        };
        let path = writer.path().join(CLUSTER);
        let written = serde_json::to_vec(&file).map_err(std::io::Error::other);
        written.and_then(|text| plimsoll_runs::own::write(&path, &text)).map_err(|source| {
            SinkError {
                what: "what is drawn of the cluster".to_owned(),
                path,
                source: source.into(),
            }
        })?;
    }
    let parts = counts.courses.cluster.iter().map(|part| Part {
        requests: part.requests,
        misses: part.origin,
        requested_bytes: part.requested_bytes,
        missed_bytes: part.origin_bytes,
    });
    write_course(writer, trace, parts)?;
    let long_ns = since_start_ns(trace, trace.len());
    writer.histogram(Tag::Response, (0, long_ns), &counts.response_ns)
}

/// Writes consecutive parts of a trace, each at the time of its last request. Where the trace has
/// no times, a request stands for a second.
fn write_course(
    writer: &mut RunWriter,
    trace: &Trace,
    parts: impl Iterator<Item = Part>,
) -> Result<(), SinkError> {
    let mut seen = 0;
    for Part { requests, misses, requested_bytes, missed_bytes } in parts {
        seen += usize::try_from(requests).unwrap_or(usize::MAX);
        let at_ns = since_start_ns(trace, seen);
        // Of nothing there is no share: a sample without a value.
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        writer.series("cache_requests", &[], at_ns, requests as f64)?;
        writer.series("cache_miss_ratio", &[], at_ns, share(misses, requests))?;
        writer.series("cache_byte_miss_ratio", &[], at_ns, share(missed_bytes, requested_bytes))?;
    }
    Ok(())
}

/// When the last of so many requests came, nanoseconds since the first.
fn since_start_ns(trace: &Trace, requests: usize) -> u64 {
    let Some(seconds) = trace.seconds() else { return 1_000_000_000 * requests as u64 };
    let last = seconds.get(requests.saturating_sub(1)).or(seconds.last());
    let since = |last: &u32| last.saturating_sub(seconds[0]);
    1_000_000_000 * u64::from(last.map_or(0, since))
}
