//! How it was counted: short notes that keep the figures from being misread.

use crate::document::{Block, fixed_notes};

const NOTES: [(&str, &str); 10] = [
    (
        "Response time",
        "From the moment a request was due to its last byte. A server that stalls is charged for \
         every request it made wait, also for those that could not even be sent.",
    ),
    (
        "Service time",
        "From the moment a request was sent to its last byte. It never includes connecting, and it \
         hides what a stall does to the requests behind it.",
    ),
    (
        "Connection wait and lateness",
        "Due to sent is the wait for a usable connection (the target's doing) plus lateness: sent \
         minus the later of due and connection usable (the generator's doing).",
    ),
    (
        "Offered, sent, completed, succeeded",
        "Due in the measured phase; first byte given to the kernel; whole answer read, any status; \
         completed with an expected status and all checks passed. The share of errors is \
         1 − succeeded / offered.",
    ),
    (
        "Percentiles",
        "Over requests that were due in the measured phase and got a complete answer, of any \
         status; one that timed out counts with the time until it was given up. A percentile with \
         fewer than ten values beyond it is not stated.",
    ),
    (
        "Objectives",
        "An objective's percentile is over all requests due: whatever did not succeed ranks slower \
         than every bound. Each is judged twice, as measured and without the generator's own part: \
         where the two differ, it is not judged.",
    ),
    (
        "Warm-up",
        "A request belongs to the phase in which it was due. Summaries are of the measured phase \
         alone; charts over time show both, the warm-up shaded.",
    ),
    (
        "Seconds",
        "In charts over time a count is in the second in which it happened, and a percentile is \
         over the answers completed in it, where ten lie beyond. Courses and summaries are \
         never mixed: the percentiles of a run are not means of its seconds.",
    ),
    (
        "Availability",
        "As a user perceives it: a second is up if a correct answer arrived in it; else down if a \
         request failed in it or had been outstanding beyond patience at its end; else it is not \
         counted. Half of a second must lie in the measured schedule.",
    ),
    (
        "Validity",
        "A run is not valid when its lateness is no longer small beside the response time (p99 \
         above 1 ms and a tenth of it from 1,000 requests on, or p50 above 0.1 ms and a tenth of \
         it from 20 on), when the generator was busy beyond 95%, or denied its cores for more \
         than half, in three seconds while behind schedule, or when more than 0.1% of the \
         requests found no connection by its host's own limits.",
    ),
];

/// The notes.
pub(crate) fn notes() -> Block {
    fixed_notes(&NOTES)
}
