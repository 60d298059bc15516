//! Flags of `plimsoll infer`.

use crate::flags::RequestFlags;
use crate::tag_args::Tags;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll capacity http://127.0.0.1:8080/ --slo 'p90<150ms' --calibrate
  plimsoll infer runs/A --probe http://127.0.0.1:8080/
  plimsoll infer runs/A --probe http://127.0.0.1:8080/ --within 5% --probes 10000 --json
  plimsoll infer runs/A --probe http://127.0.0.1:8080/ --every 1m --for 24h --prometheus 9464

Exit codes: 0 inferred (over time: of some stretch), 2 wrong use, or a run that does not calibrate,
4 declined, interrupted or not reached, 5 not valid (the generator was the limit).")]
pub(crate) struct Infer {
    /// The run folder of a search for the server's capacity
    pub(crate) run: PathBuf,
    /// What is probed: a URL, or a plan file
    #[arg(long, value_name = "URL")]
    pub(crate) probe: String,
    /// The greatest number of probes
    #[arg(
        long,
        value_name = "N",
        default_value = "2000",
        help_heading = "How to probe",
        conflicts_with = "every"
    )]
    pub(crate) probes: String,
    /// Rate of the probes; default: 1% of the capacity
    #[arg(long, value_name = "RATE", help_heading = "How to probe")]
    pub(crate) rate: Option<String>,
    /// Half the width of the 95% interval that is asked for, as a share of the capacity (10%; 20%
    /// with --every)
    #[arg(long, value_name = "SHARE", help_heading = "How to probe")]
    pub(crate) within: Option<String>,
    /// Stop after this time, with what is known
    #[arg(long, value_name = "DURATION", help_heading = "How to probe", conflicts_with = "every")]
    pub(crate) max_time: Option<String>,
    /// Go on, and tell the load of each stretch of this length
    #[arg(long, value_name = "DURATION", help_heading = "Over time")]
    pub(crate) every: Option<String>,
    /// How long to go on (24h)
    #[arg(long = "for", value_name = "DURATION", help_heading = "Over time", requires = "every")]
    pub(crate) length: Option<String>,
    /// Expose the load for Prometheus at this address, or at this port of this host's loopback
    #[arg(long, value_name = "ADDRESS", help_heading = "Over time", requires = "every")]
    pub(crate) prometheus: Option<String>,
    /// Folder for the run of the probes (runs)
    #[arg(long, value_name = "FOLDER", help_heading = "Over time", requires = "every")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Over time")]
    pub(crate) tags: Tags,
    #[command(flatten)]
    pub(crate) request: RequestFlags,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print the result as JSON; with --every a line for each stretch
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
