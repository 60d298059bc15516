//! The command line: commands, options, help. Options that a plan has too are kept as text and read
//! by the plan's own reader ([`crate::flags`]), so that both say the same of the same mistake.

use crate::cache_args::Cache;
use crate::ci_args::Ci;
use crate::flags::{LoadFlags, SearchFlags, SearchedFlags, TlsFlags};
use crate::form_args::Forms;
use crate::otlp_args::Otlp;
use crate::place::version_text;
use crate::plan_args::Plans;
use crate::series_args::{CapacityCommand, SeriesFlags};
use crate::shoal_args::Shoal;
use crate::simulate_args::{Simulate, Tune};
use crate::tag_args::Tags;
use crate::trend_args::Trend;
use crate::web_args::Web;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// What stands above options of what comes of a load or a search, behind those of what it is.
pub(crate) const PRINTED: &str = "What is printed and kept";

/// Finds the load line of a web application: how much it may be loaded, and what moves that line.
#[derive(Parser)]
#[command(name = "plimsoll", version = version_text(), max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Execute a plan: a load, a search, a pool of servers, or caches
    Run(crate::run_args::Run),
    /// Say what a plan would do: cells, seeds, time; start nothing
    Check(crate::run_args::Check),
    /// Say how far an experiment is, from any terminal
    Status(crate::run_args::Status),
    /// Show what happens in an experiment, as it happens
    Follow(crate::run_args::Follow),
    /// Ask an experiment to stop, or a load to end
    Stop(crate::run_args::Stop),
    /// Say what an experiment shows: effects, intervals, the best combination
    Analyse(crate::run_args::Analyse),
    /// Drive a web application with a load, and tell the truth about its latency
    Load(Box<Load>),
    /// Load the data set of a store, before a load reads it
    Prepare(Box<Prepare>),
    /// Find the highest rate that a server sustains under an SLO, from outside
    Capacity(Box<Capacity>),
    /// Tell the load that is on a server now, by a few probes and an earlier search
    Infer(Box<crate::infer_args::Infer>),
    /// Compare provisioning policies of a pool of servers, simulated request by request
    Simulate(Box<Simulate>),
    /// Look for better parameters of a provisioning policy
    Tune(Box<Tune>),
    /// Look at what policies decided about real servers, and what others would have
    Elastic(crate::elastic_args::Elastic),
    /// Make traces from access logs; scale, resample and look at traces
    Trace(crate::trace_args::Trace),
    /// Make scenarios, which say what a user does step by step
    Scenario(crate::scenario_args::Scenario),
    /// Find how many clients a WebSocket server takes, by the public benchmarks' protocol
    Wsbench(crate::wsbench_args::Wsbench),
    /// Run a server of known behaviour
    Target(Target),
    /// Run a balancer: give each request to one of several servers
    Balance(crate::balance_args::Balance),
    /// Tell the figures of this host to those who ask: by page, JSON, Prometheus, or a line
    Agent(Agent),
    /// List and undo what experiments have started on this machine
    Testbed(crate::testbed_args::Testbed),
    /// Say whether this host is fit to serve or to generate a load, and what would change it
    Doctor(crate::doctor_args::Doctor),
    /// Compare web caches by trace: policies, sizes, miss ratios
    Cache(Cache),
    /// Tell every client its nearest living cache: the registry, its agent and its client
    Shoal(Shoal),
    /// Make one HTML page of a run, or of several side by side
    Report(Report),
    /// Compare two groups of replicated runs
    Compare(Compare),
    /// List and show runs
    Runs(Runs),
    /// Serve runs to a browser, read only: the list, the files, the pages
    Serve(crate::serve_args::Serve),
    /// Write a run for other tools
    Export(Export),
    /// Plans themselves: their schema, for editors
    Plan(Plans),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Serve controllers: a part of a load, or cells, as they say over a broker or a pipe
    Worker(crate::worker_args::Worker),
    /// Make the keys of workers that wait at a message broker, and of their controllers
    Fleet(crate::worker_args::Fleet),
    /// Write the manual pages of all commands into a folder
    #[command(hide = true)]
    Man(Man),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll load http://127.0.0.1:8080/ --rate 500/s --for 30s
  plimsoll load http://127.0.0.1:8080/ --users 64 --for 30s --think exp:1s
  plimsoll load http://h/ --schedule '100/s for 1m, 100/s..600/s in 10m' --slo 'p99<200ms'
  plimsoll load http://h/ --trace day.csv --scale 35/s..600/s --speed 60
  plimsoll load http://h/ --urls urls.csv --clean good.csv
  plimsoll load redis://127.0.0.1:6379 --workload read-heavy --rate 5000/s --for 10s
  plimsoll load plan.toml --repeat 5
  plimsoll load plan.toml --web 8089
  plimsoll load plan.toml --quiet --junit plimsoll.xml --markdown plimsoll.md

Exit codes: 0 all held, 2 wrong use or plan, 3 an SLO did not hold, 4 not completed,
5 a verdict hangs on the generator itself, or, without an SLO, the run is not valid.")]
pub(crate) struct Load {
    /// A URL, or a plan file
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) flags: LoadFlags,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE", help_heading = PRINTED)]
    pub(crate) set: Vec<String>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs", help_heading = PRINTED)]
    pub(crate) out: PathBuf,
    #[command(flatten, next_help_heading = PRINTED)]
    pub(crate) tags: Tags,
    /// Say what the plan would do; send nothing
    #[arg(long, help_heading = PRINTED)]
    pub(crate) check: bool,
    /// Print the complete plan that the command line means; send nothing
    #[arg(long, help_heading = PRINTED)]
    pub(crate) print_plan: bool,
    /// Print the summary as JSON
    #[arg(long, help_heading = PRINTED)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short, help_heading = PRINTED)]
    pub(crate) quiet: bool,
    /// Expose live figures for Prometheus at this address, or at this port of this host's loopback
    #[arg(long, value_name = "ADDRESS", help_heading = PRINTED)]
    pub(crate) prometheus: Option<String>,
    #[command(flatten, next_help_heading = PRINTED)]
    pub(crate) otlp: Otlp,
    #[command(flatten, next_help_heading = PRINTED)]
    pub(crate) web: Web,
    /// Write the HTML report to this file as well
    #[arg(long, value_name = "FILE", help_heading = PRINTED)]
    pub(crate) report: Option<PathBuf>,
    /// Ask each line of --urls once, and write those that answered 200 to this file; no run is kept
    #[arg(
        long, value_name = "FILE", help_heading = PRINTED,
        conflicts_with_all = [
            "check", "print_plan", "report", "prometheus", "otlp", "web", "junit", "markdown"
        ]
    )]
    pub(crate) clean: Option<PathBuf>,
    #[command(flatten, next_help_heading = "For CI")]
    pub(crate) against: AgainstBaseline,
    #[command(flatten)]
    pub(crate) ci: Ci,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll prepare redis://127.0.0.1:6379 --records 100k --value-size 1KiB
  plimsoll prepare memcached://127.0.0.1:11211
  plimsoll prepare rediss://cache.example --basic-env LOGIN --ca ca.pem
  plimsoll prepare mysql://127.0.0.1:3306/shop --basic-env LOGIN
  plimsoll prepare cassandra://127.0.0.1/shop --replication 3 --consistency quorum

Exit codes: 0 every record is written, 2 wrong use or plan, 4 not every record is.")]
pub(crate) struct Prepare {
    /// A redis://, memcached://, mysql://, postgres:// or cassandra:// URL (over TLS rediss://,
    /// memcacheds://, mysqls://, postgresqls://, cassandras://), or a plan file
    pub(crate) target: String,
    /// Records of the data set
    #[arg(long, value_name = "N")]
    pub(crate) records: Option<String>,
    /// Size of a value: 100B, or a distribution such as uniform:100B..9KiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) value_size: Option<String>,
    /// Replicas of Cassandra that take part in a write: one, quorum, all, local_quorum, …
    #[arg(long, value_name = "LEVEL")]
    pub(crate) consistency: Option<String>,
    /// Replicas of a record in a keyspace of Cassandra that is made where there is none
    #[arg(long, value_name = "N")]
    pub(crate) replication: Option<String>,
    /// Where the sizes and the bytes of the values come from
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<String>,
    /// The store's user and password
    #[arg(long, value_name = "USER:PASSWORD", allow_hyphen_values = true)]
    pub(crate) basic: Option<String>,
    /// The environment variable that holds user:password
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) basic_env: Option<String>,
    /// Connect to this address for a name; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub(crate) resolve: Vec<String>,
    /// Connections
    #[arg(long, short = 'c', value_name = "N", default_value = "4")]
    pub(crate) connections: String,
    /// Records on their way at once on one connection [default: 64; with memcacheds:// 1]
    #[arg(long, value_name = "N")]
    pub(crate) streams: Option<String>,
    /// Time after sending at which a record is given up
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Print what was done as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Args, Default)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  plimsoll capacity http://127.0.0.1:8080/ --slo 'p90<150ms'
  plimsoll capacity http://h/ --slo 'p95<80ms' --precision 5% --max-rate 5000/s --max-time 10m
  plimsoll capacity http://h/ --slo 'p90<150ms,errors<1%'
  plimsoll capacity http://h/ --slo 'p90<150ms' --search ladder --start 50/s
  plimsoll capacity plan.toml --repeat 96 --every 15m --price 0.17/h
  plimsoll capacity http://h/ --restarts 5 --restart-command 'systemctl restart nginx'

What is found was held: the lower end of its interval is offered for 10 to 30 s in the end.

Exit codes: 0 found, 2 wrong use or plan, 3 the SLO holds at no rate, 4 not completed (bracketed: no
more is known than a rate that held and one that broke; target lost, network not steady, a limit
reached), 5 not valid (the generator was the limit)."
)]
pub(crate) struct Capacity {
    #[command(subcommand)]
    pub(crate) command: Option<CapacityCommand>,
    /// A URL, or a plan file
    #[arg(required_unless_present = "resume")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) search: SearchFlags,
    #[command(flatten)]
    pub(crate) request: SearchedFlags,
    #[command(flatten)]
    pub(crate) series: SeriesFlags,
    /// Set any value of the plan
    #[arg(long, value_name = "KEY=VALUE", help_heading = PRINTED)]
    pub(crate) set: Vec<String>,
    /// Folder for runs
    #[arg(long, value_name = "FOLDER", default_value = "runs", help_heading = PRINTED)]
    pub(crate) out: PathBuf,
    #[command(flatten, next_help_heading = PRINTED)]
    pub(crate) tags: Tags,
    /// Say what the plan would do; send nothing
    #[arg(long, help_heading = PRINTED, conflicts_with = "resume")]
    pub(crate) check: bool,
    /// Print the complete plan that the command line means; send nothing
    #[arg(long, help_heading = PRINTED, conflicts_with = "resume")]
    pub(crate) print_plan: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = PRINTED)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short, help_heading = PRINTED)]
    pub(crate) quiet: bool,
    #[command(flatten, next_help_heading = PRINTED)]
    pub(crate) web: Web,
    /// Write the service model that was found, for `plimsoll target --model` (adaptive)
    #[arg(long, value_name = "FILE", help_heading = PRINTED)]
    pub(crate) model_out: Option<PathBuf>,
    #[command(flatten, next_help_heading = "For CI")]
    pub(crate) against: AgainstBaseline,
    #[command(flatten)]
    pub(crate) ci: Ci,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll target --listen 127.0.0.1:8080 --service-time exp:5ms --workers 4     # M/M/4
  plimsoll target --service-time const:2ms --stall 5s:1s                         # freezes 1 s in 5
  plimsoll target --errors 1% --body 10KiB --queue 100
  plimsoll target --sessions --path '/slow=exp:20ms' --workers 100             # users who log in
  plimsoll target --websocket --listen 127.0.0.1:9000                          # echo, broadcast")]
pub(crate) struct Target {
    /// Where to listen: an address, or unix:/path
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// Service time of a request: const:, uniform:, exp:, lognormal:, pareto:, none
    #[arg(long, value_name = "DISTRIBUTION", default_value = "none")]
    pub(crate) service_time: String,
    /// Requests served at once
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: String,
    /// A measured service model in place of the service time and workers
    #[arg(long, value_name = "FILE", value_parser = crate::files::input)]
    pub(crate) model: Option<PathBuf>,
    /// A path with a service time of its own; may be repeated
    #[arg(long, value_name = "PATH=DISTRIBUTION")]
    pub(crate) path: Vec<String>,
    /// Users have a session: POST /login sets a cookie, and every other path wants it and the
    /// newest token back
    #[arg(long)]
    pub(crate) sessions: bool,
    /// Speak WebSocket: messages come back, and {"type":"broadcast"} goes to all who are connected
    #[arg(long, conflicts_with_all = ["service_time", "workers", "model", "path", "sessions",
        "queue", "errors", "body", "stall", "slow_start", "burn", "log"])]
    pub(crate) websocket: bool,
    /// Set its clock ahead by this much, to try out how a load finds that out
    #[arg(long, value_name = "DURATION", requires = "websocket")]
    pub(crate) clock_ahead: Option<String>,
    /// How many may wait; beyond it the answer is 503
    #[arg(long, value_name = "N")]
    pub(crate) queue: Option<String>,
    /// Share of requests that are answered 500
    #[arg(long, value_name = "SHARE")]
    pub(crate) errors: Option<String>,
    /// Size of the answer's body: a size, or a distribution of sizes
    #[arg(long, value_name = "SIZE", default_value = "1")]
    pub(crate) body: String,
    /// Freeze at this interval, for this length: 10s:500ms
    #[arg(long, value_name = "EVERY:LENGTH")]
    pub(crate) stall: Option<String>,
    /// Be slower at first by this factor, which fades over this time: 3:30s
    #[arg(long, value_name = "FACTOR:OVER")]
    pub(crate) slow_start: Option<String>,
    /// Use the processor for the service time instead of waiting
    #[arg(long)]
    pub(crate) burn: bool,
    /// How departures are timed: sleep or spin
    #[arg(long, value_name = "HOW", default_value = "sleep")]
    pub(crate) timers: String,
    /// Write arrival, service and departure of each request to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Seed of service times, sizes and errors
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: String,
    /// End by itself after this time
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) run_for: Option<String>,
    /// Print what it counted as JSON at its end; where it listens is then said beside
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll report -o last.html
  plimsoll report runs/A runs/B -o both.html --title 'A and B'
  plimsoll report LIVE SIMULATED      how far the prediction was off
  plimsoll report runs/E              an experiment: the best of its combinations first")]
pub(crate) struct Report {
    /// Runs, or an experiment, by folder or by name; default: the last one in runs
    pub(crate) runs: Vec<PathBuf>,
    /// Where the page goes; default: artifacts/report.html in the first run's folder, report.html
    /// in an experiment's
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The page's title
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
A and B are groups of replications, as `plimsoll load --repeat` makes them: the name of the
group or of its runs (--name), the folder they are in (--out), or `--with` between the runs of both.
Two experiments of one kind are compared combination by combination.

Examples:
  plimsoll compare runs/A runs/B
  plimsoll compare runs/a1 runs/a2 runs/a3 --with runs/b1 runs/b2 runs/b3 --tolerance 5%
  plimsoll compare runs/A runs/B --figure 'checkout: p99,users.failed'")]
pub(crate) struct Compare {
    /// Run folders, groups or names of them, or folders that hold them (--out)
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// The other side, where both have several run folders
    #[arg(long, num_args = 1.., value_name = "RUN")]
    pub(crate) with: Vec<PathBuf>,
    /// By how much B may be worse
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub(crate) tolerance: String,
    /// Judge by these figures alone, such as users.failed, or those of a name: 'checkout: p99'
    #[arg(long, value_name = "NAME,…")]
    pub(crate) figure: Vec<String>,
    #[command(flatten)]
    pub(crate) forms: Forms,
}

#[derive(Args)]
pub(crate) struct Runs {
    #[command(subcommand)]
    pub(crate) command: RunsCommand,
}

#[derive(Subcommand)]
pub(crate) enum RunsCommand {
    /// List the runs and experiments of a folder, the oldest first
    List {
        /// Folder for runs
        #[arg(long, value_name = "FOLDER", default_value = "runs")]
        out: PathBuf,
        /// Only those that were tagged so, such as branch=main
        #[arg(long, value_name = "KEY=VALUE")]
        tag: Vec<String>,
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run's summary again, the results of an experiment, or one of its cells
    #[command(after_help = "\
Examples:
  plimsoll runs show
  plimsoll runs show runs/20261120T105245Z-1bdc
  plimsoll runs show runs/E --figure cost,response_us.p99
  plimsoll runs show runs/E/cells/7 --json")]
    Show {
        /// The run, experiment or cell, by folder or by name; default: the last one in runs
        run: Option<PathBuf>,
        /// Of an experiment show these figures, such as cost,response_us.p99
        #[arg(long, value_name = "NAME,…")]
        figure: Vec<String>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep what replications came to in one small file, that later runs are compared with
    #[command(after_help = "\
Examples:
  plimsoll load plan.toml --repeat 5 --name shop
  plimsoll runs baseline shop -o shop.plim
  plimsoll load plan.toml --repeat 5 --baseline shop.plim
  plimsoll compare shop.plim runs/B")]
    Baseline {
        /// Runs that are replications of each other, groups or names of them, at least three; or
        /// one experiment
        #[arg(required = true)]
        runs: Vec<PathBuf>,
        /// The file
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Show a figure over runs by one of their tags, such as the commit that they are of
    Trend(Trend),
}

/// The baseline that what was measured is compared with in the end.
#[derive(Args, Default, Clone)]
pub(crate) struct AgainstBaseline {
    /// Compare with this baseline in the end (`runs baseline`); exit with 3 where it is worse
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// By how much it may be worse than the baseline
    #[arg(long, value_name = "SHARE", default_value = "5%", requires = "baseline")]
    pub(crate) tolerance: String,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll export runs/20261120T105245Z-1bdc --format hgrm -o response.hgrm
  plimsoll export runs/20261120T105245Z-1bdc --format samples-csv > samples.csv
  plimsoll export runs/E > cells.csv
  plimsoll export runs/E --format csv --every 1m > minutes.csv
  plimsoll export runs/E --figures figures")]
pub(crate) struct Export {
    /// The run, experiment or cell, by folder or by name
    pub(crate) run: PathBuf,
    /// csv, json, hgrm, names-csv, labels-csv, samples-csv, samples-jsonl or samples-parquet (where
    /// it was built with that feature); of an experiment csv or json, a row for each cell
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub(crate) format: String,
    /// The series in periods of this length: a row a period, instance and series, as csv
    #[arg(long, value_name = "DURATION")]
    pub(crate) every: Option<String>,
    /// The file; default: standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Each chart of its page as an SVG file of its own, into this folder; files that have the
    /// names of its charts are replaced
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "every", "output"])]
    pub(crate) figures: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Man {
    /// The folder that they are written into
    pub(crate) folder: PathBuf,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
#[command(after_help = "\
Asked for: / (a page), /metrics (for Prometheus), /json, /json/NAME (the last hour of a series),
/clock, and a line STATS. Names of processes are told, never their arguments.

Examples:
  plimsoll agent
  curl -s 127.0.0.1:5555/metrics
  echo STATS | nc 127.0.0.1 5555
  plimsoll agent --listen 0.0.0.0:5555 --allow 10.0.0.0/8 --token-file /etc/plimsoll/token
  plimsoll agent --announce http://10.0.0.1:5556 --name web7 --serves 8080 --token-file token

Exit codes: 0 ended by a signal, 2 wrong use, 4 the port cannot be had.")]
pub(crate) struct Agent {
    /// Where to listen; beyond this host only with --allow or --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5555")]
    pub(crate) listen: String,
    /// Time between two samples
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) every: String,
    /// A network whose hosts may ask, such as 10.0.0.0/8; may be given again
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow: Vec<String>,
    /// A file with the token that has to be given, readable by its owner only
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The name by which this host is asked, beside its addresses and localhost
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Names of processes that are counted, joined by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) processes: Vec<String>,
    /// Watch the control groups whose names begin so too: instances, by the rest of their names
    #[arg(long, value_name = "PREFIX")]
    pub(crate) cgroups: Option<String>,
    /// Leave out the figures of the host itself
    #[arg(long, requires = "cgroups")]
    pub(crate) no_host: bool,
    /// Announce this host, by --name, to a pool that follows its instances; gives the token
    #[arg(long, value_name = "URL", requires = "name", requires = "serves")]
    pub(crate) announce: Option<String>,
    /// The port on which this host serves the pool's requests, or an address
    #[arg(long, value_name = "PORT", requires = "announce")]
    pub(crate) serves: Option<String>,
}
