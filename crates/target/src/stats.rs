//! What a server saw and did, told when it ends.

use plimsoll_stats::Histogram;

use crate::paths::Counts;

/// Figures of one run of a server.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// From the start of the loop to its end, nanoseconds.
    pub elapsed_ns: u64,
    /// Requests read whole, refused ones included.
    pub requests: u64,
    /// Answered 200.
    pub succeeded: u64,
    /// Answered 500, as drawn.
    pub errors: u64,
    /// Answered 503: the queue was full.
    pub refused: u64,
    /// Answered 403: without the cookie, or the newest token.
    pub forbidden: u64,
    /// Counts by path, of a server whose answers depend on it.
    pub by_path: Counts,
    /// What was no acceptable request: answered 400, 431, 501 or 505; not among `requests`.
    pub rejected: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Greatest number of connections open at once.
    pub connections_peak: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes handed to the kernel.
    pub bytes_out: u64,
    /// Greatest number of requests in the system at once, waiting or in service.
    pub peak_in_system: u64,
    /// Work done by the workers, as a share of what they could have done from the first request
    /// to the end of the run.
    pub worker_busy_share: f64,
    /// Share of the run that the loop's thread spent on events, neither waiting nor polling.
    pub loop_busy_share: f64,
    /// How long after its computed departure an answer was handed to the kernel, nanoseconds:
    /// the machine's timers and this thread, not the queue. Answers without service time, which
    /// leave with the event that brought their request, are not in it, nor are those of `burn`.
    pub late: Histogram,
}
