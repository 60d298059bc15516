//! What the run of a simulated cache, or cluster of caches, has beside its figures: the course of
//! its misses over the time of the trace, and the response times.

use plimsoll_cache::cluster::Counts;
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

/// Writes one replication of a cluster into its run.
///
/// # Errors
/// When something could not be stored.
pub fn write_cluster(
    writer: &mut RunWriter,
    trace: &Trace,
    counts: &Counts,
) -> Result<(), SinkError> {
    let parts = counts.courses.cluster.iter().map(|part| Part {
        requests: part.requests,
        misses: part.origin,
        requested_bytes: part.requested_bytes,
        missed_bytes: part.origin_bytes,
    });
    write_course(writer, trace, parts)?;
    let long_ns = trace.seconds().map_or(0, |seconds| since_start_ns(seconds, trace.len()));
    writer.histogram(Tag::Response, (0, long_ns), &counts.response_ns)
}

/// Writes consecutive parts of a trace, each at the time of its last request; nothing where the
/// trace has no times.
fn write_course(
    writer: &mut RunWriter,
    trace: &Trace,
    parts: impl Iterator<Item = Part>,
) -> Result<(), SinkError> {
    let Some(seconds) = trace.seconds() else { return Ok(()) };
    let mut seen = 0;
    for Part { requests, misses, requested_bytes, missed_bytes } in parts {
        seen += usize::try_from(requests).unwrap_or(usize::MAX);
        let at_ns = since_start_ns(seconds, seen);
        // Of nothing there is no share: a sample without a value.
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        writer.series("cache_requests", &[], at_ns, requests as f64)?;
        writer.series("cache_miss_ratio", &[], at_ns, share(misses, requests))?;
        writer.series("cache_byte_miss_ratio", &[], at_ns, share(missed_bytes, requested_bytes))?;
    }
    Ok(())
}

/// When the last of so many requests came, nanoseconds since the first.
fn since_start_ns(seconds: &[u32], requests: usize) -> u64 {
    let last = seconds.get(requests.saturating_sub(1)).or(seconds.last());
    let since = |last: &u32| last.saturating_sub(seconds[0]);
    1_000_000_000 * u64::from(last.map_or(0, since))
}
