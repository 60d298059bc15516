//! The command line of what is done with the runs of elastic pools.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Elastic {
    #[command(subcommand)]
    pub(crate) command: ElasticCommand,
}

#[derive(Subcommand)]
pub(crate) enum ElasticCommand {
    /// Say what another policy would have decided about the pool of a run, moment by moment
    Replay(ElasticReplay),
}

#[derive(Args)]
#[command(after_help = "\
The policy sees what was seen then: the metrics, and the instances that there were. What would have
followed from its decisions is not told: simulate the plan with the load of the run for that.

Examples:
  plimsoll elastic replay runs/LIVE/cells/0001 --policy 'threshold upper=60'
  plimsoll elastic replay runs/LIVE/cells/0001 --policy auto-scale --all --json

Exit codes: 0 replayed, 2 wrong use, or a run without a live pool, 4 not readable.")]
pub(crate) struct ElasticReplay {
    /// A run of a live pool: of an experiment, one of its cells
    pub(crate) run: PathBuf,
    /// The policy: its kind and parameters, such as 'slo headroom=0.2', or the name that the plan
    /// of the run has for one
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: String,
    /// Show every moment, and not only those at which the two differ
    #[arg(long)]
    pub(crate) all: bool,
    /// Print all as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
