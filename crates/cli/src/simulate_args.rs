//! The command line of simulations, and of looking for a policy's parameters.

use crate::flags::{PoolFlags, TuneFlags};
use crate::tag_args::Tags;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll simulate examples/elastic/published-day.toml
  plimsoll simulate plan.toml --policy 'threshold upper=60 lower=40' --policy revenue
  plimsoll simulate plan.toml --replications 20 --report day.html
  plimsoll simulate plan.toml --only auto-scale --set instance.boot=const:60s,const:5m
  plimsoll simulate plan.toml --trace day.csv --scale 35/s..600/s --json
  plimsoll simulate access.log --service exp:70ms --policy hpa --price 0.17
  plimsoll simulate web1.log web2.log.gz --service exp:70ms --policy hpa

Access logs in the place of the plan make one: it is written to the working folder, and said.

Exit codes: 0 simulated, 2 wrong use or plan, 3 no policy held the SLO, 4 interrupted.")]
pub(crate) struct Simulate {
    /// A plan file with a pool; or access logs, in any order
    #[arg(required_unless_present = "list_policies", value_name = "PLAN")]
    pub(crate) inputs: Vec<String>,
    /// One more policy: its kind and parameters, such as 'slo headroom=0.2' or 'calm: threshold'
    #[arg(long, value_name = "POLICY", help_heading = "What is simulated")]
    pub(crate) policy: Vec<String>,
    /// How long a request takes at a server, such as exp:70ms
    #[arg(long, value_name = "DISTRIBUTION", help_heading = "What is simulated")]
    pub(crate) service: Option<String>,
    /// What an instance costs a unit of time (an hour)
    #[arg(long, value_name = "PRICE", help_heading = "What is simulated")]
    pub(crate) price: Option<String>,
    /// Only these policies, or instance types, of the plan
    #[arg(long, value_name = "LABEL,…", value_delimiter = ',', help_heading = "What is simulated")]
    pub(crate) only: Vec<String>,
    /// Replications of each policy; intervals need at least two
    #[arg(long, value_name = "N", help_heading = "What is simulated")]
    pub(crate) replications: Option<String>,
    #[command(flatten)]
    pub(crate) flags: PoolFlags,
    /// Set any value of the plan; several values, with commas, are each simulated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print the policies that there are, with their parameters
    #[arg(long)]
    pub(crate) list_policies: bool,
    /// Threads; default: all cores
    #[arg(long, short = 't', value_name = "N")]
    pub(crate) threads: Option<String>,
    /// Print every decision that changed the pool
    #[arg(long)]
    pub(crate) decisions: bool,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) tags: Tags,
    /// Keep a run of every cell (a policy in one replication), even of more than 100
    #[arg(long)]
    pub(crate) keep_cells: bool,
    /// Write the HTML report to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print the complete plan that the command line means; simulate nothing
    #[arg(long)]
    pub(crate) print_plan: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Simulate {
    /// The plan, or the first of the logs; empty where there is none.
    pub(crate) fn plan(&self) -> &str {
        self.inputs.first().map_or("", String::as_str)
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll tune plan.toml --policy auto-scale --minimise cost --subject-to 'lost<0.1%,p99<400ms'
  plimsoll tune plan.toml --policy auto-scale --vary upper=60..90/5 --vary lower=20..60/10
  plimsoll tune plan.toml --policy auto-scale --maximise net --replications 20 --json

Exit codes: 0 found, 2 wrong use or plan, 3 nothing keeps what was asked, 4 interrupted.")]
pub(crate) struct Tune {
    /// A plan file with a pool
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) tune: TuneFlags,
    /// A parameter and its values: upper=60,70,80 or upper=60..90/5; may be repeated
    #[arg(long, value_name = "NAME=VALUES", help_heading = "What is looked for")]
    pub(crate) vary: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: PoolFlags,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Threads; default: all cores
    #[arg(long, short = 't', value_name = "N")]
    pub(crate) threads: Option<String>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) tags: Tags,
    /// Keep a run of every cell (a setting in one replication), even of more than 100
    #[arg(long)]
    pub(crate) keep_cells: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
