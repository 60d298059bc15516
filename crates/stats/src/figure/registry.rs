//! The registry: a line for each figure that any command prints, stores or compares.
//!
//! Each line makes a constant, by which a source names the figure that it takes a value for: a name
//! that is not here does not compile.

use super::{Better, Figure, Unit};

/// Makes a constant of each figure, and the list of all.
macro_rules! figures {
    ($($id:ident: $name:literal, $label:literal, $unit:ident, $better:ident,
        $about:literal, $commands:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $about, ".")]
            pub const $id: &Figure = &Figure {
                name: $name,
                label: $label,
                unit: Unit::$unit,
                better: Better::$better,
                about: $about,
                commands: $commands,
            };
        )*

        /// All figures, in the order of the manual's table.
        pub const ALL: &[&Figure] = &[$($id),*];
    };
}

// Name, label, unit, which way it is better, what it is, and the commands that print it.
figures! {
    // Of a load.
    RESPONSE_US_MIN: "response_us.min", "response min", Micros, Lower,
        "the least of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_MEAN: "response_us.mean", "response mean", Micros, Lower,
        "the mean of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_STDDEV: "response_us.stddev", "response deviation", Micros, Lower,
        "the standard deviation of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P25: "response_us.p25", "response p25", Micros, Lower,
        "the 25th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P50: "response_us.p50", "response p50", Micros, Lower,
        "the median of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P66: "response_us.p66", "response p66", Micros, Lower,
        "the 66th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P75: "response_us.p75", "response p75", Micros, Lower,
        "the 75th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P80: "response_us.p80", "response p80", Micros, Lower,
        "the 80th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P90: "response_us.p90", "response p90", Micros, Lower,
        "the 90th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P95: "response_us.p95", "response p95", Micros, Lower,
        "the 95th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P98: "response_us.p98", "response p98", Micros, Lower,
        "the 98th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P99: "response_us.p99", "response p99", Micros, Lower,
        "the 99th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P999: "response_us.p999", "response p99.9", Micros, Lower,
        "the 99.9th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_P9999: "response_us.p9999", "response p99.99", Micros, Lower,
        "the 99.99th percentile of the times from due to the last byte", "load, compare, simulate";
    RESPONSE_US_MAX: "response_us.max", "response max", Micros, Lower,
        "the greatest of the times from due to the last byte", "load, compare, simulate";
    SERVICE_US_MIN: "service_us.min", "service min", Micros, Lower,
        "the least of the times from sent to the last byte", "load, compare";
    SERVICE_US_MEAN: "service_us.mean", "service mean", Micros, Lower,
        "the mean of the times from sent to the last byte", "load, compare";
    SERVICE_US_STDDEV: "service_us.stddev", "service deviation", Micros, Lower,
        "the standard deviation of the times from sent to the last byte", "load, compare";
    SERVICE_US_P25: "service_us.p25", "service p25", Micros, Lower,
        "the 25th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P50: "service_us.p50", "service p50", Micros, Lower,
        "the median of the times from sent to the last byte", "load, compare";
    SERVICE_US_P66: "service_us.p66", "service p66", Micros, Lower,
        "the 66th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P75: "service_us.p75", "service p75", Micros, Lower,
        "the 75th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P80: "service_us.p80", "service p80", Micros, Lower,
        "the 80th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P90: "service_us.p90", "service p90", Micros, Lower,
        "the 90th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P95: "service_us.p95", "service p95", Micros, Lower,
        "the 95th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P98: "service_us.p98", "service p98", Micros, Lower,
        "the 98th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P99: "service_us.p99", "service p99", Micros, Lower,
        "the 99th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P999: "service_us.p999", "service p99.9", Micros, Lower,
        "the 99.9th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_P9999: "service_us.p9999", "service p99.99", Micros, Lower,
        "the 99.99th percentile of the times from sent to the last byte", "load, compare";
    SERVICE_US_MAX: "service_us.max", "service max", Micros, Lower,
        "the greatest of the times from sent to the last byte", "load, compare";
    RATE_MEAN: "rate_mean", "rate", PerSecond, Higher,
        "answers that came in a window as long as the schedule, over its length", "load, compare";
    ERRORS: "errors", "errors", Share, Lower,
        "share of requests due that did not succeed", "load, compare";
    AVAILABILITY_RATIO: "availability.ratio", "availability", Share, Higher,
        "share of seconds in which the service answered", "load, compare";
    OFFERED: "offered", "offered", Count, Neither,
        "requests due", "load, simulate";
    SENT: "sent", "sent", Count, Neither,
        "requests due whose first byte was given to the kernel", "load";
    COMPLETED: "completed", "completed", Count, Higher,
        "requests due that were answered to the last byte", "load";
    SUCCEEDED: "succeeded", "succeeded", Count, Higher,
        "requests due that were answered as expected", "load";
    IN_FLIGHT_AT_END: "in_flight_at_end", "in flight at the end", Count, Lower,
        "requests neither answered nor lost when the load ended", "load, simulate";
    // Of a load's groups of steps, users and WebSockets.
    DURATION_US_MIN: "duration_us.min", "duration min", Micros, Lower,
        "the least of the times from a group's first step due to its last done", "load";
    DURATION_US_MEAN: "duration_us.mean", "duration mean", Micros, Lower,
        "the mean of the times from a group's first step due to its last done", "load";
    DURATION_US_STDDEV: "duration_us.stddev", "duration deviation", Micros, Lower,
        "the standard deviation of the times from a group's first step due to its last done",
        "load";
    DURATION_US_P25: "duration_us.p25", "duration p25", Micros, Lower,
        "the 25th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P50: "duration_us.p50", "duration p50", Micros, Lower,
        "the median of the times from a group's first step due to its last done", "load";
    DURATION_US_P66: "duration_us.p66", "duration p66", Micros, Lower,
        "the 66th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P75: "duration_us.p75", "duration p75", Micros, Lower,
        "the 75th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P80: "duration_us.p80", "duration p80", Micros, Lower,
        "the 80th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P90: "duration_us.p90", "duration p90", Micros, Lower,
        "the 90th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P95: "duration_us.p95", "duration p95", Micros, Lower,
        "the 95th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P98: "duration_us.p98", "duration p98", Micros, Lower,
        "the 98th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P99: "duration_us.p99", "duration p99", Micros, Lower,
        "the 99th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P999: "duration_us.p999", "duration p99.9", Micros, Lower,
        "the 99.9th percentile of the times from a group's first step due to its last done", "load";
    DURATION_US_P9999: "duration_us.p9999", "duration p99.99", Micros, Lower,
        "the 99.99th percentile of the times from a group's first step due to its last done",
        "load";
    DURATION_US_MAX: "duration_us.max", "duration max", Micros, Lower,
        "the greatest of the times from a group's first step due to its last done", "load";
    USERS_ARRIVED: "users.arrived", "users arrived", Count, Neither,
        "users who began", "load";
    USERS_FINISHED: "users.finished", "users finished", Count, Higher,
        "users who went through all steps", "load";
    USERS_FAILED: "users.failed", "users failed", Count, Lower,
        "users who ended with a step that failed", "load";
    USERS_CUT: "users.cut", "users cut", Count, Neither,
        "users who were under way when the load ended", "load";
    USERS_ACTIVE_PEAK: "users.active_peak", "users at once", Count, Neither,
        "the most users who were under way at once", "load";
    WEBSOCKET_CONNECTED: "websocket.connected", "WebSockets opened", Count, Higher,
        "handshakes that opened a WebSocket", "load";
    WEBSOCKET_REFUSED: "websocket.refused", "WebSockets refused", Count, Lower,
        "handshakes that opened no WebSocket", "load";
    WEBSOCKET_RECONNECTED: "websocket.reconnected", "WebSockets reopened", Count, Lower,
        "handshakes that opened a WebSocket in the place of one that was lost", "load";
    WEBSOCKET_SENT: "websocket.sent", "messages sent", Count, Neither,
        "messages that were sent", "load";
    WEBSOCKET_RECEIVED: "websocket.received", "messages received", Count, Neither,
        "messages that were received", "load";
    WEBSOCKET_UNMATCHED: "websocket.unmatched", "messages unmatched", Count, Neither,
        "messages received that no step and no rule was for", "load";
    WEBSOCKET_ONLINE_S: "websocket.online_s", "WebSockets online", Seconds, Neither,
        "how long WebSockets were open, summed up", "load";
    WEBSOCKET_FAILED_STEPS: "websocket.failed_steps", "message steps failed", Count, Lower,
        "steps that only send or only await, and failed", "load";
    BROADCAST_RECEIVED: "websocket.broadcast.received", "broadcasts received", Count, Higher,
        "broadcasts received, each time by one client", "load";
    BROADCAST_SKIPPED: "websocket.broadcast.skipped", "broadcasts skipped", Count, Lower,
        "broadcasts that the server left out", "load";
    BROADCAST_LOST: "websocket.broadcast.lost", "broadcasts lost", Count, Lower,
        "broadcasts missing in their numbers, without those left out", "load";
    BROADCAST_DOUBLED: "websocket.broadcast.doubled", "broadcasts doubled", Count, Lower,
        "broadcasts that came twice", "load";
    BROADCAST_DISORDER: "websocket.broadcast.disorder", "broadcasts in disorder", Count, Lower,
        "broadcasts that came after later ones", "load";
    BROADCAST_AHEAD: "websocket.broadcast.ahead", "broadcasts ahead", Count, Neither,
        "broadcasts that came before they were published by the server's clock", "load";
    BROADCAST_UNKNOWN: "websocket.broadcast.unknown", "broadcasts untimed", Count, Neither,
        "broadcasts in no time, as the clock was set or is not known", "load";
    BROADCAST_UNREAD: "websocket.broadcast.unread", "broadcasts unread", Count, Neither,
        "broadcasts that lay unread while the generator stood still", "load";
    BROADCAST_MISDATED: "websocket.broadcast.misdated", "broadcasts misdated", Count, Neither,
        "broadcasts that state a publication hours away from their receipt", "load";
    BROADCAST_OFFSET_US: "websocket.broadcast.offset_us", "clock offset", Micros, Neither,
        "the server's clock less this host's", "load";
    BROADCAST_OFFSET_ERROR_US: "websocket.broadcast.offset_error_us",
        "clock offset error", Micros, Neither,
        "by how much that offset may be wrong", "load";
    BROADCAST_LATENCY_US_MIN: "websocket.broadcast.latency_us.min", "broadcast min", Micros, Lower,
        "the least of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_MEAN: "websocket.broadcast.latency_us.mean",
        "broadcast mean", Micros, Lower,
        "the mean of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_STDDEV: "websocket.broadcast.latency_us.stddev",
        "broadcast deviation", Micros, Lower,
        "the standard deviation of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P25: "websocket.broadcast.latency_us.p25", "broadcast p25", Micros, Lower,
        "the 25th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P50: "websocket.broadcast.latency_us.p50", "broadcast p50", Micros, Lower,
        "the median of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P66: "websocket.broadcast.latency_us.p66", "broadcast p66", Micros, Lower,
        "the 66th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P75: "websocket.broadcast.latency_us.p75", "broadcast p75", Micros, Lower,
        "the 75th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P80: "websocket.broadcast.latency_us.p80", "broadcast p80", Micros, Lower,
        "the 80th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P90: "websocket.broadcast.latency_us.p90", "broadcast p90", Micros, Lower,
        "the 90th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P95: "websocket.broadcast.latency_us.p95", "broadcast p95", Micros, Lower,
        "the 95th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P98: "websocket.broadcast.latency_us.p98", "broadcast p98", Micros, Lower,
        "the 98th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P99: "websocket.broadcast.latency_us.p99", "broadcast p99", Micros, Lower,
        "the 99th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P999: "websocket.broadcast.latency_us.p999",
        "broadcast p99.9", Micros, Lower,
        "the 99.9th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_P9999: "websocket.broadcast.latency_us.p9999",
        "broadcast p99.99", Micros, Lower,
        "the 99.99th percentile of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_LATENCY_US_MAX: "websocket.broadcast.latency_us.max", "broadcast max", Micros, Lower,
        "the greatest of the times from a broadcast's publication to its receipt", "load";
    BROADCAST_SPREAD_US_MIN: "websocket.broadcast.spread_us.min", "spread min", Micros, Lower,
        "the least of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_MEAN: "websocket.broadcast.spread_us.mean", "spread mean", Micros, Lower,
        "the mean of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_STDDEV: "websocket.broadcast.spread_us.stddev",
        "spread deviation", Micros, Lower,
        "the standard deviation of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P25: "websocket.broadcast.spread_us.p25", "spread p25", Micros, Lower,
        "the 25th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P50: "websocket.broadcast.spread_us.p50", "spread p50", Micros, Lower,
        "the median of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P66: "websocket.broadcast.spread_us.p66", "spread p66", Micros, Lower,
        "the 66th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P75: "websocket.broadcast.spread_us.p75", "spread p75", Micros, Lower,
        "the 75th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P80: "websocket.broadcast.spread_us.p80", "spread p80", Micros, Lower,
        "the 80th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P90: "websocket.broadcast.spread_us.p90", "spread p90", Micros, Lower,
        "the 90th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P95: "websocket.broadcast.spread_us.p95", "spread p95", Micros, Lower,
        "the 95th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P98: "websocket.broadcast.spread_us.p98", "spread p98", Micros, Lower,
        "the 98th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P99: "websocket.broadcast.spread_us.p99", "spread p99", Micros, Lower,
        "the 99th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P999: "websocket.broadcast.spread_us.p999", "spread p99.9", Micros, Lower,
        "the 99.9th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_P9999: "websocket.broadcast.spread_us.p9999",
        "spread p99.99", Micros, Lower,
        "the 99.99th percentile of the times from a broadcast's first to its last receipt", "load";
    BROADCAST_SPREAD_US_MAX: "websocket.broadcast.spread_us.max", "spread max", Micros, Lower,
        "the greatest of the times from a broadcast's first to its last receipt", "load";
    // Of a search.
    ESTIMATE_PER_S: "estimate_per_s", "estimate", PerSecond, Higher,
        "the highest rate that keeps the SLO", "capacity";
    LOWER_BOUND_PER_S: "lower_bound_per_s", "lower bound", PerSecond, Higher,
        "a rate that was seen to keep the SLO", "capacity";
    HELD_PER_S: "held_per_s", "held", PerSecond, Higher,
        "the highest rate that held", "capacity";
    BROKEN_PER_S: "broken_per_s", "broken", PerSecond, Higher,
        "the lowest rate above it that broke", "capacity";
    KNEE_PER_S: "knee_per_s", "knee", PerSecond, Higher,
        "the rate with the greatest ratio of rate to mean response time", "capacity";
    SATURATION_PER_S: "saturation_per_s", "saturation", PerSecond, Higher,
        "what the target completes at most", "capacity";
    BURST_PER_S: "burst_per_s", "burst", PerSecond, Higher,
        "the estimate before it was held", "capacity";
    SUSTAINED_PER_S: "sustained_per_s", "sustained", PerSecond, Higher,
        "the estimate that was held to the end", "capacity";
    EXHAUSTED_AFTER_S: "exhausted_after_s", "exhausted after", Seconds, Higher,
        "the time of holding after which the capacity fell for good", "capacity";
    HELD_S: "held_s", "held for", Seconds, Neither,
        "how long was held in all", "capacity";
    SECONDS: "seconds", "load time", Seconds, Lower,
        "how long was loaded", "capacity, infer";
    REQUESTS: "requests", "requests", Count, Neither,
        "requests that were due, or made", "capacity, cache simulate";
    REQUESTS_BEYOND_SLO: "requests_beyond_slo", "requests beyond the SLO", Count, Lower,
        "requests that the SLO's bound was not kept for", "capacity";
    SECONDS_ABOVE_ESTIMATE: "seconds_above_estimate", "load above estimate", Seconds, Lower,
        "load time at rates above the estimate", "capacity";
    COST_PER_REQUEST: "cost.per_request", "cost of a request", Money, Lower,
        "the price of an hour over the requests of an hour at the estimate", "capacity";
    COST_PER_MILLION: "cost.per_million", "cost of a million", Money, Lower,
        "a million requests at the estimate; of a pool, what it costs over what it served",
        "capacity, run";
    RTT_US_BASELINE: "rtt_us.baseline", "round trip, idle", Micros, Lower,
        "the least median round trip of a steady window", "capacity";
    RTT_US_P50: "rtt_us.p50", "round trip p50", Micros, Lower,
        "the median of the network's round trips", "capacity";
    RTT_US_P99: "rtt_us.p99", "round trip p99", Micros, Lower,
        "the 99th percentile of the network's round trips", "capacity";
    RTT_US_SPIKE_SHARE: "rtt_us.spike_share", "round trips, spikes", Share, Lower,
        "share of handshakes more than 15 ms above the baseline", "capacity";
    LOAD_PER_S: "load_per_s", "load", PerSecond, Neither,
        "the load that is on the server, without the probes", "infer";
    PROBE_RATE_PER_S: "probe_rate_per_s", "probe rate", PerSecond, Neither,
        "the rate of the probes", "infer";
    SHARE_OF_CAPACITY: "share_of_capacity", "share of the capacity", Share, Neither,
        "that load, over the capacity that was found", "infer";
    CAPACITY_PER_S: "capacity_per_s", "capacity", PerSecond, Higher,
        "the capacity that a load is told by", "infer";
    // Of a simulated pool, as means over the replications.
    INSTANCE_HOURS: "instance_hours", "hours billed", Hours, Lower,
        "hours of instances that are charged", "simulate, tune";
    INSTANCE_HOURS_USED: "instance_hours_used", "hours used", Hours, Lower,
        "hours of instances that were used", "simulate, tune";
    COST: "cost", "cost", Money, Lower,
        "what the pool costs", "simulate, tune";
    REVENUE: "revenue", "revenue", Money, Higher,
        "what the served requests earn", "simulate, tune";
    NET: "net", "net", Balance, Higher,
        "what the served requests earn, less the cost", "simulate, tune";
    SERVED: "served", "served", Count, Higher,
        "requests that were served", "simulate, tune";
    LOST: "lost", "lost", Count, Lower,
        "requests that were lost", "simulate, tune";
    LOST_BY_NO_SLOT: "lost_by.no_slot", "lost: no slot", Count, Lower,
        "requests that found no place, where there is no queue", "simulate";
    LOST_BY_QUEUE_FULL: "lost_by.queue_full", "lost: queue full", Count, Lower,
        "requests that found the balancer's queue full", "simulate";
    LOST_BY_QUEUE_TIMEOUT: "lost_by.queue_timeout", "lost: queue timeout", Count, Lower,
        "requests that waited in the balancer's queue for too long", "simulate";
    LOST_BY_CLIENT_TIMEOUT: "lost_by.client_timeout", "lost: client timeout", Count, Lower,
        "requests whose clients gave up", "simulate";
    LOST_BY_INSTANCE_FAILED: "lost_by.instance_failed", "lost: instance failed", Count, Lower,
        "requests whose instances failed", "simulate";
    LOST_BY_DRAINED: "lost_by.drained", "lost: drained", Count, Lower,
        "requests whose instances were taken away, and had no more time to end them", "simulate";
    LOST_BY_BALANCER_FAILED: "lost_by.balancer_failed", "lost: balancer failed", Count, Lower,
        "requests whose balancer failed, or could not be reached", "simulate";
    LOST_SHARE: "lost_share", "share lost", Share, Lower,
        "share of requests due that were lost", "simulate, tune";
    RESPONSE_MEAN_US: "response_mean_us", "mean response", Micros, Lower,
        "the mean of the replications' mean response times", "simulate, tune";
    RESPONSE_P50_US: "response_p50_us", "p50", Micros, Lower,
        "the mean of the replications' own p50 of the response times", "tune";
    RESPONSE_P90_US: "response_p90_us", "p90", Micros, Lower,
        "the mean of the replications' own p90 of the response times", "tune";
    RESPONSE_P95_US: "response_p95_us", "p95", Micros, Lower,
        "the mean of the replications' own p95 of the response times", "tune";
    RESPONSE_P99_US: "response_p99_us", "p99", Micros, Lower,
        "the mean of the replications' own p99 of the response times", "simulate, tune";
    RESPONSE_P999_US: "response_p999_us", "p99.9", Micros, Lower,
        "the mean of the replications' own p99.9 of the response times", "tune";
    SLO_VIOLATED_S: "slo_violated_s", "SLO not held", Seconds, Lower,
        "ticks in which the SLO did not hold", "simulate, tune";
    SLO_HELD: "slo_held", "SLO held", Share, Higher,
        "replications in which the whole SLO held, over all that was offered", "simulate, tune";
    CPU_MEAN: "cpu_mean", "CPU, mean", PerCent, Neither,
        "the mean processor time of the instances", "simulate, tune";
    SCALE_OUT: "scale_out", "scale-outs", Count, Neither,
        "instances that were launched", "simulate, tune";
    SCALE_IN: "scale_in", "scale-ins", Count, Neither,
        "instances that were ended", "simulate, tune";
    WASTED_INSTANCE_S: "wasted_instance_s", "wasted instance time", Seconds, Lower,
        "time for which instances were charged and took no requests", "run";
    START_FAILURES: "start_failures", "starts that failed", Count, Lower,
        "instances that were launched and did not come to take requests", "run";
    REPLACED: "replaced", "replaced", Count, Neither,
        "instances that were launched in the place of those that failed", "run";
    ADOPTED: "adopted", "adopted", Count, Neither,
        "instances that were there when a controller came back", "run";
    UNDER_ACCURACY: "under.accuracy", "under: accuracy", Number, Lower,
        "instances that were lacking, in the mean over all the time", "simulate, tune";
    UNDER_TIMESHARE: "under.timeshare", "under: timeshare", Share, Lower,
        "share of the time in which instances were lacking", "simulate, tune";
    OVER_ACCURACY: "over.accuracy", "over: accuracy", Number, Lower,
        "instances beyond demand, in the mean over all the time", "simulate, tune";
    OVER_TIMESHARE: "over.timeshare", "over: timeshare", Share, Lower,
        "share of the time with instances beyond demand", "simulate, tune";
    JITTER_PER_HOUR: "jitter_per_hour", "jitter an hour", Number, Lower,
        "instances launched and ended beyond what demand changed by", "simulate, tune";
    // Of simulated caches.
    MISS_RATIO: "miss_ratio", "miss ratio", Share, Lower,
        "share of requests whose answers came from the origin", "cache simulate, cache mrc";
    BYTE_MISS_RATIO: "byte_miss_ratio", "byte miss ratio", Share, Lower,
        "share of the requested bytes that came from the origin", "cache simulate, cache mrc";
    MISS_RATIO_BOUND: "miss_ratio_bound", "miss ratio, bound", Share, Neither,
        "a miss ratio that no policy is below", "cache simulate";
    BYTE_MISS_RATIO_BOUND: "byte_miss_ratio_bound", "byte miss ratio, bound", Share, Neither,
        "a byte miss ratio that no policy is below", "cache simulate";
    CAPACITY_BYTES: "capacity_bytes", "capacity", Bytes, Neither,
        "the size of the cache, where it is one of bytes", "cache simulate, cache mrc";
    CAPACITY_OBJECTS: "capacity_objects", "capacity, objects", Count, Neither,
        "the size of the cache, where it is one of objects", "cache simulate, cache mrc";
    RELIABLE: "reliable", "sample suffices", Share, Higher,
        "0 where the sample is too small for the ratios", "cache mrc";
    MISSES: "misses", "misses", Count, Lower,
        "requests whose answers came from the origin", "cache simulate";
    REQUESTED_BYTES: "requested_bytes", "bytes requested", Bytes, Neither,
        "the sizes of what was requested, summed", "cache simulate";
    MISSED_BYTES: "missed_bytes", "bytes missed", Bytes, Lower,
        "the sizes of what came from the origin, summed", "cache simulate";
    AFTER_SKIP_MISS_RATIO: "after_skip.miss_ratio", "misses after skip", Share, Lower,
        "share of the requests after those that are skipped that missed", "cache simulate";
    AFTER_SKIP_BYTE_MISS_RATIO: "after_skip.byte_miss_ratio", "bytes after skip", Share, Lower,
        "share of the bytes after the requests that are skipped that missed", "cache simulate";
    MEMORY_BYTES: "memory_bytes", "policy's memory", Bytes, Lower,
        "memory of the eviction policy's state", "cache simulate";
    EVICTIONS: "evictions", "evictions", Count, Neither,
        "objects that had to make room for others", "cache simulate";
    SIBLING_SHARE: "sibling_share", "from siblings", Share, Neither,
        "share of requests that a sibling answered", "cache simulate";
    PARENT_SHARE: "parent_share", "from parents", Share, Neither,
        "share of requests that a parent answered", "cache simulate";
    MESSAGES_PER_REQUEST: "messages_per_request", "messages a request", Number, Lower,
        "messages between caches, over the requests", "cache simulate";
    DUPLICATES: "duplicates", "duplicates", Count, Lower,
        "copies beyond the first that nodes hold at the end", "cache simulate";
    FALSE_HITS: "false_hits", "false hits", Count, Lower,
        "answers of a sibling that it has what it has not", "cache simulate";
    MISSED_CHANCES: "missed_chances", "missed chances", Count, Lower,
        "requests to the origin for what a sibling had", "cache simulate";
    STALE_HITS: "stale_hits", "stale hits", Count, Lower,
        "answers that the origin had changed meanwhile", "cache simulate";
    RESPONSE_MEAN_MS: "response_mean_ms", "mean response", Millis, Lower,
        "the mean response time by the latency model", "cache simulate";
    RESPONSE_P50_MS: "response_p50_ms", "p50", Millis, Lower,
        "the median of the response times by the latency model", "cache simulate";
    RESPONSE_P90_MS: "response_p90_ms", "p90", Millis, Lower,
        "the 90th percentile of the response times by the latency model", "cache simulate";
    RESPONSE_P95_MS: "response_p95_ms", "p95", Millis, Lower,
        "the 95th percentile of the response times by the latency model", "cache simulate";
    RESPONSE_P99_MS: "response_p99_ms", "p99", Millis, Lower,
        "the 99th percentile of the response times by the latency model", "cache simulate";
    RESPONSE_P999_MS: "response_p999_ms", "p99.9", Millis, Lower,
        "the 99.9th percentile of the response times by the latency model", "cache simulate";
    RESPONSE_MAX_MS: "response_max_ms", "max", Millis, Lower,
        "the greatest of the response times by the latency model", "cache simulate";
}
