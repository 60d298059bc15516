//! The command line of plans of any kind.

use crate::args::AgainstBaseline;
use crate::ci_args::Ci;
use crate::tag_args::Tags;
use crate::web_args::Web;
use clap::Args;
use plimsoll_plan::Setting;
use std::path::PathBuf;

/// What `run` and `check` take of a plan.
#[derive(Args)]
pub(crate) struct PlanFlags {
    /// A plan file; - for standard input
    pub(crate) plan: String,
    /// Simulate the plan instead of loading a live target
    #[arg(long)]
    pub(crate) simulated: bool,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Another test-bed: a file with that section and roles, whose keys win one by one
    #[arg(long, value_name = "FILE")]
    pub(crate) testbed: Option<String>,
    /// Make loads, their warm-ups and phases shorter: 20% is a fifth as long
    #[arg(long, value_name = "SHARE")]
    pub(crate) scale: Option<String>,
    /// Have so many processes of this host offer each load together, or execute simulated cells
    #[arg(long, value_name = "N", conflicts_with = "on")]
    pub(crate) workers: Option<String>,
    /// Have these hosts offer each load together, or execute simulated cells, by `ssh`
    #[arg(long, value_name = "HOST,…")]
    pub(crate) on: Option<String>,
    /// Have workers that wait at this broker do it: amqps://USER@HOST/VHOST
    #[arg(long, value_name = "URL", conflicts_with = "on")]
    pub(crate) bus: Option<String>,
    /// The secret key of this controller, for --bus: `plimsoll fleet key NAME`
    #[arg(long, value_name = "FILE")]
    pub(crate) bus_key: Option<String>,
    /// The public keys of the workers that may answer, for --bus
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<String>,
}

impl PlanFlags {
    /// What its flags say of workers, as settings of the plan.
    pub(crate) fn workers(&self) -> impl Iterator<Item = Setting> {
        let workers = ("fleet.workers", &self.workers, "--workers");
        let at_broker = [
            ("fleet.bus", &self.bus, "--bus"),
            ("fleet.key", &self.bus_key, "--bus-key"),
            ("fleet.known", &self.known, "--known"),
        ];
        let given = [workers, ("fleet.hosts", &self.on, "--on")].into_iter().chain(at_broker);
        given.filter_map(|(key, value, flag)| Some(Setting::new(key, value.as_deref()?, flag)))
    }
}

#[derive(Args)]
#[command(after_help = "\
A plan with [search] is a search for a capacity, one with [pool] or [policy] a pool of servers, one
with [cluster] caches, and any other one a load. An experiment that was ended or killed goes on with
the cells that are left.

Examples:
  plimsoll run examples/load/steps.toml
  plimsoll run examples/elastic/published-day.toml --simulated
  plimsoll run plan.toml --set repeat=5 --new
  plimsoll run plan.toml --simulated --json
  plimsoll run plan.toml --simulated --workers 4
  plimsoll run plan.toml --simulated --on node1,bench@node2
  plimsoll run plan.toml --simulated --workers 8 --bus amqps://controller@broker/fleet \\
    --bus-key controller.key --known workers.txt
  plimsoll run plan.toml --scale 20%
  plimsoll run plan.toml --budget 2h
  plimsoll run plan.toml --web 8089
  plimsoll run plan.toml --quiet --junit plimsoll.xml --markdown plimsoll.md

Exit codes: 0 all held, 2 wrong use or plan, 3 an SLO did not hold, 4 not completed, 5 not valid. Of
several policies one that holds the SLO in most replications is enough.")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) of: PlanFlags,
    /// Install the packages that the plan's test-bed lacks; no service of theirs is started
    #[arg(long)]
    pub(crate) install: bool,
    /// Watch somebody's pool, by the agents of `[collect]`: write down what the plan's policies
    /// would do and why, and change nothing; until --for or Ctrl-C
    #[arg(long, conflicts_with_all = ["simulated", "install", "scale"])]
    pub(crate) shadow: bool,
    /// How long the pool is watched
    #[arg(long = "for", value_name = "DURATION", requires = "shadow")]
    pub(crate) shadow_for: Option<String>,
    /// Start over, even where an unfinished experiment of this plan could go on
    #[arg(long)]
    pub(crate) new: bool,
    /// Execute even more than 10,000 cells
    #[arg(long)]
    pub(crate) yes: bool,
    /// End before the cell that would take the experiment beyond this time
    #[arg(long, value_name = "DURATION")]
    pub(crate) budget: Option<String>,
    /// Go on with a plan that has changed, by the cells that are equal
    #[arg(long, conflicts_with = "new")]
    pub(crate) adopt: bool,
    /// End with the first cell that fails, instead of trying it once more at the end
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Threads of simulations; default: all cores
    #[arg(long, short = 't', value_name = "N")]
    pub(crate) threads: Option<String>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) tags: Tags,
    /// Keep a run of every simulated cell, even of more than 100
    #[arg(long)]
    pub(crate) keep_cells: bool,
    #[command(flatten)]
    pub(crate) web: Web,
    #[command(flatten, next_help_heading = "For CI")]
    pub(crate) against: AgainstBaseline,
    #[command(flatten)]
    pub(crate) ci: Ci,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll check examples/load/steps.toml
  plimsoll check examples/elastic/published-day.toml --simulated --json

Exit codes: 0 it can be run, 2 wrong use or plan.")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) of: PlanFlags,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Effects are ratios: a figure at a level over the same figure at the factor's first level. Cells
whose availability did not hold are in none.

Examples:
  plimsoll analyse
  plimsoll analyse runs/20261126T072723Z-d92f --json
  plimsoll analyse --baseline shop.plim --junit plimsoll.xml

Exit codes: 0 some combination holds the SLO, 2 wrong use, 3 none does, or it is worse than the
baseline, 4 cells are left or failed, 5 a cell is not valid.")]
pub(crate) struct Analyse {
    /// An experiment's folder, id or name; the last one where none is named
    pub(crate) experiment: Option<PathBuf>,
    #[command(flatten, next_help_heading = "For CI")]
    pub(crate) against: AgainstBaseline,
    #[command(flatten)]
    pub(crate) ci: Ci,
    /// Print it as JSON
    #[arg(long, help_heading = "Options")]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
An experiment is held by a lock of whoever executes it: what this says is true also from another
terminal, and after a crash.

Exit codes: 0 it goes on, or all its cells are done, 2 wrong use, 4 it ended before.")]
pub(crate) struct Status {
    /// The folder, id or name of an experiment or a run; where none is named the last one that goes
    /// on, else the last one
    pub(crate) experiment: Option<PathBuf>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Ends with the experiment. An interrupt ends the following only: the experiment goes on.

Exit codes: 0 all cells are done, or it still goes on, 2 wrong use, 4 it ended before.")]
pub(crate) struct Follow {
    /// The folder, id or name of an experiment or a run; where none is named the last one that goes
    /// on, else the last one
    pub(crate) experiment: Option<PathBuf>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
Whoever executes the experiment reads the request in its folder and ends with 4; `plimsoll run` of
the same plan goes on with the cells that are left. A load, and a cell whose load is `for =
\"ever\"`, ends with its next second as if its time were over: it is whole, and its SLO decides the
exit code.

  plimsoll load http://127.0.0.1:8080/ --rate 50/s --for ever --slo 'p99<200ms'
  plimsoll stop       # from another terminal, when enough is seen

Exit codes: 0 it was asked, 2 wrong use, or nobody executes it.")]
pub(crate) struct Stop {
    /// The folder, id or name of an experiment or a run; where none is named the last one that
    /// goes on
    pub(crate) experiment: Option<PathBuf>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// Undo the cell that goes on, instead of finishing it
    #[arg(long)]
    pub(crate) now: bool,
}
