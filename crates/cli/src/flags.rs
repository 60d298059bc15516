//! The flags of `plimsoll load` that are keys of a plan: one table says which flag sets which key.

use clap::Args;
use plimsoll_plan::{LoadShape, Plan, RateSource, Setting};

use crate::shape_flags::ShapeFlags;

/// Flags as they were typed. Each is read by the plan's own reader.
#[derive(Args, Default)]
pub(crate) struct LoadFlags {
    #[command(flatten)]
    shape: ShapeFlags,
    /// So many users, each waiting for its answer; needs --for
    #[arg(long, value_name = "N", help_heading = "How much")]
    users: Option<String>,
    /// Ask for the requests of an access log again, at its own times
    #[arg(long, value_name = "FILE", help_heading = "How much")]
    replay: Option<String>,
    /// How long a user thinks: none, const:1s, uniform:1s..5s, exp:1s, lognormal:1s,0.8
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "How much")]
    think: Option<String>,
    /// A phase before the measured one, kept apart
    #[arg(long, value_name = "DURATION", help_heading = "How much")]
    warm_up: Option<String>,
    /// How long answers are awaited after the last request
    #[arg(long, value_name = "DURATION", help_heading = "How much")]
    drain: Option<String>,
    /// End early, such as 'errors>50% for 5s'
    #[arg(long, value_name = "RULE", help_heading = "How much")]
    stop_when: Option<String>,
    /// Run the plan so many times
    #[arg(long, value_name = "N", help_heading = "How much")]
    repeat: Option<String>,
    /// Begin with empty caches: a database is restarted, the page cache dropped
    #[arg(long, help_heading = "What a store is asked")]
    cold: bool,
    /// Restarts the store for --cold: a command for `sh -c`
    #[arg(long, value_name = "COMMAND", help_heading = "What a store is asked")]
    restart_command: Option<String>,
    /// How long the command may take, and then the store until it answers
    #[arg(long, value_name = "DURATION", help_heading = "What a store is asked")]
    restart_timeout: Option<String>,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
}

/// The flags that say what is asked and how it is sent, whatever the load.
#[derive(Args, Default)]
pub(crate) struct RequestFlags {
    /// Where all randomness comes from
    #[arg(long, value_name = "N", help_heading = "How it is sent")]
    seed: Option<String>,

    /// A list of URLs or paths, with a weight each if wanted
    #[arg(long, value_name = "FILE", help_heading = "What is asked")]
    urls: Option<String>,
    /// in-order, round-robin, uniform, weighted or zipf:EXPONENT
    #[arg(long, value_name = "ORDER", help_heading = "What is asked")]
    order: Option<String>,
    /// The method
    #[arg(long, short = 'X', value_name = "METHOD", help_heading = "What is asked")]
    method: Option<String>,
    /// A header 'Name: value', with {{counter}}, {{uuid}}, {{random:1..100}}; may be repeated
    #[arg(long, short = 'H', value_name = "HEADER", help_heading = "What is asked")]
    header: Vec<String>,
    /// The body, with the same placeholders
    #[arg(long, value_name = "TEXT", help_heading = "What is asked", allow_hyphen_values = true)]
    body: Option<String>,
    /// A file that is sent as the body, as it is
    #[arg(long, value_name = "FILE", help_heading = "What is asked")]
    body_file: Option<String>,
    /// Basic authentication
    #[arg(
        long,
        value_name = "USER:PASSWORD",
        help_heading = "What is asked",
        allow_hyphen_values = true
    )]
    basic: Option<String>,
    /// Bearer authentication
    #[arg(long, value_name = "TOKEN", help_heading = "What is asked", allow_hyphen_values = true)]
    bearer: Option<String>,
    /// The environment variable that holds user:password
    #[arg(long, value_name = "VARIABLE", help_heading = "What is asked")]
    basic_env: Option<String>,
    /// The environment variable that holds the token
    #[arg(long, value_name = "VARIABLE", help_heading = "What is asked")]
    bearer_env: Option<String>,
    /// The Host header
    #[arg(long, value_name = "NAME", help_heading = "What is asked")]
    host: Option<String>,
    /// Connect to this address for a name; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = "What is asked")]
    resolve: Vec<String>,
    /// Statuses that count as success
    #[arg(long, value_name = "STATUSES", help_heading = "What is asked")]
    ok: Option<String>,

    /// What a store is asked for: write-only, read-only, read-heavy, balanced, read-latest
    #[arg(long, value_name = "NAME", help_heading = "What a store is asked")]
    workload: Option<String>,
    /// Records of its data set
    #[arg(long, value_name = "N", help_heading = "What a store is asked")]
    records: Option<String>,
    /// Size of a value: 100B, or a distribution such as uniform:100B..9KiB
    #[arg(long, value_name = "SIZE", help_heading = "What a store is asked")]
    value_size: Option<String>,
    /// How popular records are: zipf, zipf-plain, uniform, latest, hotset:20%,80%
    #[arg(long, value_name = "HOW", help_heading = "What a store is asked")]
    keys: Option<String>,
    /// Replicas of Cassandra that take part: one, quorum, all, local_quorum, …
    #[arg(long, value_name = "LEVEL", help_heading = "What a store is asked")]
    consistency: Option<String>,

    /// Connections in all; 64..2000 grows
    #[arg(long, short = 'c', value_name = "N", help_heading = "How it is sent")]
    connections: Option<String>,
    /// keep-alive or per-request
    #[arg(long, value_name = "LIFE", help_heading = "How it is sent")]
    connection: Option<String>,
    /// Whether TLS sessions are resumed, off or on [default: on; off with per-request]
    #[arg(long, value_name = "OFF|ON", help_heading = "How it is sent")]
    tls_resumption: Option<String>,
    /// 1.1, 2 or auto
    #[arg(long, value_name = "VERSION", help_heading = "How it is sent")]
    http: Option<String>,
    /// Requests at once on one connection of HTTP/2, or of a store
    #[arg(long, value_name = "N", help_heading = "How it is sent")]
    streams: Option<String>,
    /// Accept any certificate
    #[arg(long, short = 'k', help_heading = "How it is sent")]
    insecure: bool,
    /// Certificates to trust instead of the system's, PEM
    #[arg(long, value_name = "FILE", help_heading = "How it is sent")]
    ca: Option<String>,
    /// The server name that TLS asks for and checks
    #[arg(long, value_name = "NAME", help_heading = "How it is sent")]
    sni: Option<String>,
    /// When a request is given up, from its sending
    #[arg(long, value_name = "DURATION", help_heading = "How it is sent")]
    timeout: Option<String>,
    /// How many due requests may wait for a connection
    #[arg(long, value_name = "N", help_heading = "How it is sent")]
    max_waiting: Option<String>,
    /// Threads that generate the load
    #[arg(long, short = 't', value_name = "N", help_heading = "How it is sent")]
    threads: Option<String>,
    /// precise (spins) or thrifty (ticks of 1 ms)
    #[arg(long, value_name = "HOW", help_heading = "How it is sent")]
    pacing: Option<String>,

    /// What must hold, such as 'p99<200ms, errors<0.1%'
    #[arg(long, value_name = "SLO", help_heading = "What is measured")]
    slo: Option<String>,
    /// How long without an answer makes a second count as down
    #[arg(long, value_name = "DURATION", help_heading = "What is measured")]
    patience: Option<String>,
    /// Keep every single request
    #[arg(long, help_heading = "What is measured")]
    samples: bool,
    /// What reports call the run
    #[arg(long, value_name = "TEXT", help_heading = "What is measured")]
    name: Option<String>,
}

impl LoadFlags {
    /// The key that a trace's options belong to, and that of the speed: a trace, a profile or a
    /// replay that the flags name, else what the plan has.
    fn curve(&self, plan: Option<&Plan>) -> (&'static str, &'static str) {
        const TRACE: (&str, &str) = ("load.trace", "load.trace.speed");
        const PROFILE: (&str, &str) = ("load.profile", "load.profile.speed");
        const REPLAY: (&str, &str) = ("load.trace", "target.replay.speed");
        match (&self.shape.profile, &self.shape.trace, &self.replay) {
            (Some(_), _, _) => PROFILE,
            (None, Some(_), _) => TRACE,
            (None, None, Some(_)) => REPLAY,
            (None, None, None) => match plan.map(|plan| &plan.load.shape) {
                Some(LoadShape::Open { source: RateSource::Profile(_), .. }) => PROFILE,
                Some(LoadShape::Replay) => REPLAY,
                _ => TRACE,
            },
        }
    }

    /// The settings that the flags mean, beside a plan where there is one.
    pub(crate) fn settings(&self, plan: Option<&Plan>) -> Vec<Setting> {
        let (curve, speed) = self.curve(plan);
        let mut settings = self.shape.settings(curve, speed);
        let mut add = |flag: &str, key: &str, value: Option<&String>| {
            settings.extend(value.map(|value| Setting::new(key, value, format!("--{flag}"))));
        };
        add("users", "load.users", self.users.as_ref());
        add("replay", "target.replay.file", self.replay.as_ref());
        add("think", "load.think", self.think.as_ref());
        add("warm-up", "load.warm_up", self.warm_up.as_ref());
        add("drain", "load.drain", self.drain.as_ref());
        add("stop-when", "load.stop_when", self.stop_when.as_ref());
        add("repeat", "repeat", self.repeat.as_ref());
        let yes = "true".to_owned();
        add("cold", "store.cold", self.cold.then_some(&yes));
        add("restart-command", "target.restart", self.restart_command.as_ref());
        add("restart-timeout", "target.restart_timeout", self.restart_timeout.as_ref());
        settings.extend(self.request.settings());
        settings
    }
}

impl RequestFlags {
    /// The settings that the flags mean.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        let mut add = |flag: &str, key: &str, value: Option<&String>| {
            settings.extend(value.map(|value| Setting::new(key, value, format!("--{flag}"))));
        };
        add("seed", "seed", self.seed.as_ref());
        add("urls", "target.urls", self.urls.as_ref());
        add("order", "target.order", self.order.as_ref());
        add("method", "target.method", self.method.as_ref());
        add("body", "target.body", self.body.as_ref());
        add("body-file", "target.body_file", self.body_file.as_ref());
        add("basic", "target.basic", self.basic.as_ref());
        add("bearer", "target.bearer", self.bearer.as_ref());
        add("basic-env", "target.basic_env", self.basic_env.as_ref());
        add("bearer-env", "target.bearer_env", self.bearer_env.as_ref());
        add("host", "target.host", self.host.as_ref());
        add("ok", "target.ok", self.ok.as_ref());
        add("workload", "store.workload", self.workload.as_ref());
        add("records", "store.records", self.records.as_ref());
        add("value-size", "store.value_size", self.value_size.as_ref());
        add("keys", "store.keys", self.keys.as_ref());
        add("consistency", "store.consistency", self.consistency.as_ref());
        add("connections", "load.connections", self.connections.as_ref());
        add("connection", "load.connection", self.connection.as_ref());
        add("tls-resumption", "load.tls_resumption", self.tls_resumption.as_ref());
        add("http", "target.http", self.http.as_ref());
        add("streams", "load.streams", self.streams.as_ref());
        add("ca", "target.ca", self.ca.as_ref());
        add("sni", "target.sni", self.sni.as_ref());
        add("timeout", "load.timeout", self.timeout.as_ref());
        add("max-waiting", "load.max_waiting", self.max_waiting.as_ref());
        add("threads", "load.threads", self.threads.as_ref());
        add("pacing", "load.pacing", self.pacing.as_ref());
        add("slo", "measure.slo", self.slo.as_ref());
        add("patience", "load.patience", self.patience.as_ref());
        add("name", "name", self.name.as_ref());
        for header in &self.header {
            add("header", "target.headers", Some(header));
        }
        for resolve in &self.resolve {
            add("resolve", "target.resolve", Some(resolve));
        }
        let yes = "true".to_owned();
        add("insecure", "target.insecure", self.insecure.then_some(&yes));
        add("samples", "measure.samples", self.samples.then_some(&yes));
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed_key(flags: &LoadFlags, load: &str) -> String {
        let text = format!("[target]\nurl = \"http://127.0.0.1:1/\"\n[load]\n{load}\n");
        let plan = Plan::parse(&text, "plan.toml").expect("the plan is whole");
        let settings = flags.settings(Some(&plan));
        let with = Plan::parse_with(&text, "plan.toml", &settings).expect("the flags fit the plan");
        with.to_toml().lines().find(|line| line.contains("speed = 60")).unwrap_or("none").to_owned()
    }

    #[test]
    fn a_speed_belongs_to_what_the_plan_has_unless_a_flag_names_another() {
        let fast = || ShapeFlags { speed: Some("60".into()), ..ShapeFlags::default() };
        let with = |shape| LoadFlags { shape, ..LoadFlags::default() };
        let flags = with(fast());
        let profile = "profile = \"clarknet-day\"";
        assert!(speed_key(&flags, profile).starts_with("profile = "));
        assert!(speed_key(&flags, "trace = \"day.csv\"").starts_with("trace = "));
        let flags = with(ShapeFlags { trace: Some("day.csv".into()), ..fast() });
        assert!(speed_key(&flags, profile).starts_with("trace = "));
        let flags = with(ShapeFlags { profile: Some("clarknet-day".into()), ..fast() });
        assert!(speed_key(&flags, "rate = \"5/s\"\nfor = \"1s\"").starts_with("profile = "));
    }
}
