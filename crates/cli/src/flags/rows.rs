//! The rows: a flag, the key that it sets, and what its value is called.

use super::{Flag, Group};

/// Where the key begins that belongs to a trace, a profile or a replay.
pub(super) const CURVE: &str = "CURVE.";

const fn flag(long: &'static str, key: &'static str, value: &'static str) -> Flag {
    Flag { long, short: None, key, value, help: None, may_be_hyphened: false }
}

const fn switch(long: &'static str, key: &'static str) -> Flag {
    flag(long, key, "")
}

impl Flag {
    const fn short(self, short: char) -> Self {
        Self { short: Some(short), ..self }
    }

    const fn says(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    const fn hyphened(self) -> Self {
        Self { may_be_hyphened: true, ..self }
    }
}

/// How much is asked over time, of a load and of a simulation alike.
pub(super) const SHAPES: Group = (
    "How much",
    &[
        flag("rate", "load.rate", "RATE")
            .hyphened()
            .says("Constant rate, such as 500/s; needs --for"),
        flag("schedule", "load.schedule", "TEXT")
            .hyphened()
            .says("Rate over time: 'RATE for D, RATE..RATE in D, RATE..RATE step RATE every D'"),
        flag("trace", "load.trace.file", "FILE").says("Rate of a recorded trace, CSV or gzip"),
        flag("profile", "load.profile.name", "NAME")
            .says("Rate of a day that ships with the program: clarknet-day"),
        flag("for", "load.for", "DURATION").hyphened().says("How long, with --rate and --users"),
        flag("arrivals", "load.arrivals", "HOW")
            .says("How single requests fall: even, random, poisson, or burst:250ms"),
        flag("scale", "CURVE.scale", "MIN..MAX")
            .hyphened()
            .says("Map the trace's least and greatest rate to these"),
        flag("from", "CURVE.from", "MOMENT").says("Cut the trace before this"),
        flag("to", "CURVE.to", "MOMENT").says("Cut the trace from here on"),
        flag("speed", "CURVE.speed", "N")
            .says("Run the trace's time so many times faster; rates stay"),
        switch("interpolate", "CURVE.interpolate")
            .says("Straight lines between the trace's points"),
        flag("fill-drops", "CURVE.fill_drops", "SHARE")
            .says("Replace an interval below this share of the one before by it"),
        flag("counts-per", "load.trace.counts_per", "DURATION")
            .says("What each count of the trace is of, where it does not say"),
        flag("columns", "load.trace.columns", "NAMES")
            .says("What the trace's columns are, such as time_ms,rate or time,-,count"),
    ],
);

/// What else there is to a load.
pub(super) const LOADS: Group = (
    "How much",
    &[
        flag("users", "load.users", "N")
            .says("So many users, each waiting for its answer; needs --for"),
        flag("replay", "target.replay.file", "FILE")
            .says("Ask for the requests of an access log again, at its own times"),
        flag("think", "load.think", "DISTRIBUTION").says(
            "How long a user thinks: none, const:1s, uniform:1s..5s, exp:1s, lognormal:1s,0.8",
        ),
        flag("warm-up", "load.warm_up", "DURATION"),
        flag("drain", "load.drain", "DURATION"),
        flag("stop-when", "load.stop_when", "RULE").says("End early, such as 'errors>50% for 5s'"),
        flag("repeat", "repeat", "N").says("Run the plan so many times"),
    ],
);

/// With what a load of a store begins.
pub(super) const COLD: Group = (
    "What a store is asked",
    &[
        switch("cold", "store.cold")
            .says("Begin with empty caches: a database is restarted, the page cache dropped"),
        flag("restart-command", "target.restart", "COMMAND")
            .says("Restarts the store for --cold: a command for `sh -c`"),
        flag("restart-timeout", "target.restart_timeout", "DURATION")
            .says("How long the command may take, and then the store until it answers"),
    ],
);

/// What is asked.
pub(super) const ASKED: Group = (
    "What is asked",
    &[
        flag("urls", "target.urls", "FILE"),
        flag("order", "target.order", "ORDER")
            .says("in-order, round-robin, uniform, weighted or zipf:EXPONENT"),
        flag("method", "target.method", "METHOD").short('X'),
        flag("header", "target.headers", "HEADER").short('H').says(
            "A header 'Name: value', with {{counter}}, {{uuid}}, {{random:1..100}}; may be \
             repeated",
        ),
        flag("body", "target.body", "TEXT").hyphened(),
        flag("body-file", "target.body_file", "FILE"),
        flag("basic", "target.basic", "USER:PASSWORD").hyphened().says("Basic authentication"),
        flag("bearer", "target.bearer", "TOKEN").hyphened().says("Bearer authentication"),
        flag("basic-env", "target.basic_env", "VARIABLE"),
        flag("bearer-env", "target.bearer_env", "VARIABLE"),
        flag("host", "target.host", "NAME"),
        flag("resolve", "target.resolve", "HOST:PORT:ADDRESS")
            .says("Connect to this address for a name; may be repeated"),
        flag("ok", "target.ok", "STATUSES"),
    ],
);

/// What a store is asked.
pub(super) const STORED: Group = (
    "What a store is asked",
    &[
        flag("workload", "store.workload", "NAME"),
        flag("records", "store.records", "N"),
        flag("value-size", "store.value_size", "SIZE")
            .says("Size of a value: 100B, or a distribution such as uniform:100B..9KiB"),
        flag("keys", "store.keys", "HOW")
            .says("How popular records are: zipf, zipf-plain, uniform, latest, hotset:20%,80%"),
        flag("consistency", "store.consistency", "LEVEL")
            .says("Replicas of Cassandra that take part: one, quorum, all, local_quorum, …"),
    ],
);

/// How it is sent.
pub(super) const SENT: Group = (
    "How it is sent",
    &[
        flag("seed", "seed", "N"),
        flag("connections", "load.connections", "N").short('c'),
        flag("connection", "load.connection", "LIFE").says("keep-alive or per-request"),
        flag("tls-resumption", "load.tls_resumption", "OFF|ON").says(
            "Whether TLS sessions are resumed, off or on [default: on; off with per-request]",
        ),
        flag("http", "target.http", "VERSION").says("1.1, 2 or auto"),
        flag("streams", "load.streams", "N"),
        switch("insecure", "target.insecure").short('k').says("Accept any certificate"),
        flag("ca", "target.ca", "FILE"),
        flag("sni", "target.sni", "NAME"),
        flag("timeout", "load.timeout", "DURATION"),
        flag("max-waiting", "load.max_waiting", "N"),
        flag("threads", "load.threads", "N").short('t'),
        flag("pacing", "load.pacing", "HOW").says("precise (spins) or thrifty (ticks of 1 ms)"),
    ],
);

/// What is measured.
pub(super) const MEASURED: Group = (
    "What is measured",
    &[
        flag("slo", "measure.slo", "SLO").says("What must hold, such as 'p99<200ms, errors<0.1%'"),
        flag("patience", "load.patience", "DURATION"),
        switch("samples", "measure.samples").says("Keep every single request"),
        flag("name", "name", "TEXT"),
    ],
);

/// How a capacity is searched for.
pub(super) const SEARCHED: Group = (
    "How to search",
    &[
        flag("search", "search.method", "METHOD")
            .says("adaptive, or ladder: the published method [default: adaptive]"),
        flag("precision", "search.precision", "SHARE")
            .says("Half the width of the 95% interval at which it ends (adaptive) [default: 5%]"),
        flag("start", "search.start", "RATE").says("The first rate [default: 1/s]"),
        flag("max-rate", "search.max_rate", "RATE").says("Never offer more than this"),
        flag("max-time", "search.max_time", "DURATION")
            .says("End after so much load time, with what is known"),
        flag("max-overload", "search.max_overload", "DURATION")
            .says("End after so long at rates that were too much"),
        flag("window", "search.window", "DURATION")
            .says("The length of a window (ladder) [default: 10s]"),
        flag("tuning", "search.tuning", "SHARE")
            .says("The fine-tuning rate (ladder) [default: 20%]"),
        flag("near-rtt", "search.near_rtt", "DURATION").says(
            "How far the median may exceed the round trip in the ramp, or off (ladder) \
             [default: 10ms]",
        ),
        flag("step-of", "search.step_of", "WHAT")
            .says("What a step is a share of: gap or half (ladder) [default: gap]"),
        flag("first", "search.first", "RATE,…")
            .says("Search from each of these rates, one after the other (ladder)"),
        flag("sustain", "search.sustain", "DURATION")
            .says("Hold what was found for so long, and search again where it falls (adaptive)"),
        switch("calibrate", "search.calibrate")
            .says("Look at low and middle loads as well when it is found, for `plimsoll infer`"),
    ],
);

/// What there is to a simulated pool beside its load.
pub(super) const POOLS: Group = (
    "What is simulated",
    &[
        flag("seed", "seed", "N").says("Where all randomness comes from"),
        flag("slo", "measure.slo", "SLO")
            .says("What must hold, such as 'p99<400ms': demand goes by it"),
    ],
);
