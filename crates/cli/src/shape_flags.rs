//! The flags that say how much is asked over time, of a load and of a simulation alike.

use clap::Args;
use plimsoll_plan::Setting;

/// Flags as they were typed. Each is read by the plan's own reader.
#[derive(Args, Default)]
pub(crate) struct ShapeFlags {
    /// Constant rate, such as 500/s; needs --for
    #[arg(long, value_name = "RATE", help_heading = "How much", allow_hyphen_values = true)]
    pub(crate) rate: Option<String>,
    /// Rate over time: 'RATE for D, RATE..RATE in D, RATE..RATE step RATE every D'
    #[arg(long, value_name = "TEXT", help_heading = "How much", allow_hyphen_values = true)]
    pub(crate) schedule: Option<String>,
    /// Rate of a recorded trace, CSV or gzip
    #[arg(long, value_name = "FILE", help_heading = "How much")]
    pub(crate) trace: Option<String>,
    /// Rate of a day that ships with the program: clarknet-day
    #[arg(long, value_name = "NAME", help_heading = "How much")]
    pub(crate) profile: Option<String>,
    /// How long, with --rate and --users
    #[arg(
        long = "for",
        value_name = "DURATION",
        help_heading = "How much",
        allow_hyphen_values = true
    )]
    pub(crate) run_for: Option<String>,
    /// How single requests fall: even, random, poisson, or burst:250ms
    #[arg(long, value_name = "HOW", help_heading = "How much")]
    pub(crate) arrivals: Option<String>,
    /// Map the trace's least and greatest rate to these
    #[arg(long, value_name = "MIN..MAX", help_heading = "How much", allow_hyphen_values = true)]
    pub(crate) scale: Option<String>,
    /// Cut the trace before this
    #[arg(long, value_name = "MOMENT", help_heading = "How much")]
    pub(crate) from: Option<String>,
    /// Cut the trace from here on
    #[arg(long, value_name = "MOMENT", help_heading = "How much")]
    pub(crate) to: Option<String>,
    /// Run the trace's time so many times faster; rates stay
    #[arg(long, value_name = "N", help_heading = "How much")]
    pub(crate) speed: Option<String>,
    /// Straight lines between the trace's points
    #[arg(long, help_heading = "How much")]
    pub(crate) interpolate: bool,
    /// Replace an interval below this share of the one before by it
    #[arg(long, value_name = "SHARE", help_heading = "How much")]
    pub(crate) fill_drops: Option<String>,
    /// What each count of the trace is of, where it does not say
    #[arg(long, value_name = "DURATION", help_heading = "How much")]
    pub(crate) counts_per: Option<String>,
    /// What the trace's columns are, such as time_ms,rate or time,-,count
    #[arg(long, value_name = "NAMES", help_heading = "How much")]
    pub(crate) columns: Option<String>,
}

impl ShapeFlags {
    /// The settings that the flags mean; `curve` is the key that a trace's options belong to,
    /// `speed` that of the speed.
    pub(crate) fn settings(&self, curve: &str, speed: &str) -> Vec<Setting> {
        let of_curve = |key: &str| format!("{curve}.{key}");
        let mut settings = Vec::new();
        let mut add = |flag: &str, key: &str, value: Option<&String>| {
            settings.extend(value.map(|value| Setting::new(key, value, format!("--{flag}"))));
        };
        add("rate", "load.rate", self.rate.as_ref());
        add("schedule", "load.schedule", self.schedule.as_ref());
        add("trace", "load.trace.file", self.trace.as_ref());
        add("profile", "load.profile.name", self.profile.as_ref());
        add("for", "load.for", self.run_for.as_ref());
        add("arrivals", "load.arrivals", self.arrivals.as_ref());
        add("scale", &of_curve("scale"), self.scale.as_ref());
        add("from", &of_curve("from"), self.from.as_ref());
        add("to", &of_curve("to"), self.to.as_ref());
        add("speed", speed, self.speed.as_ref());
        add("fill-drops", &of_curve("fill_drops"), self.fill_drops.as_ref());
        add("counts-per", "load.trace.counts_per", self.counts_per.as_ref());
        add("columns", "load.trace.columns", self.columns.as_ref());
        let yes = "true".to_owned();
        add("interpolate", &of_curve("interpolate"), self.interpolate.then_some(&yes));
        settings
    }
}
