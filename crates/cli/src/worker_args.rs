//! The command line of a worker, which a controller writes, or whoever has it wait at a broker.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
A worker that waits at a broker (RabbitMQ) does what its own command line says, and nothing else:

  plimsoll fleet key w7                     # w7.key stays here, w7.pub goes to the controller
  plimsoll worker --bus amqps://worker@broker/fleet --key w7.key --trust controllers.txt
  plimsoll worker --bus amqps://worker@broker/fleet --key w7.key --trust controllers.txt \\
    --may load=10.0.0.0/8:80,443 --most-rate 20k/s --label region=eu

The broker's password stands in the environment variable PLIMSOLL_BUS_PASSWORD; without it it is
`guest`. Each controller is served by a process of its own, which the kernel keeps from this host's
files (Landlock, Linux 5.13).")]
pub(crate) struct Worker {
    /// Serve whoever started this program, over its input and output
    #[arg(long, conflicts_with = "bus")]
    pub(crate) stdio: bool,
    /// Wait at this broker for controllers: amqps://USER@HOST/VHOST
    #[arg(long, value_name = "URL", requires = "key", requires = "trust")]
    pub(crate) bus: Option<String>,
    /// The secret key of this worker: `plimsoll fleet key NAME` makes one
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) key: Option<PathBuf>,
    /// The public keys of controllers that it serves, one a line; read again when it changes
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) trust: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) duties: Duties,
    /// Certificates to trust the broker by, PEM; default: the system's
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) bus_ca: Option<PathBuf>,
    /// Speak without TLS to a broker that is not on this host
    #[arg(long, requires = "bus")]
    pub(crate) plain: bool,
    /// Nobody else writes in its TMPDIR, whoever may: it is in a container of its own
    #[arg(long)]
    pub(crate) alone: bool,
    /// Serve a stranger: what `--bus` starts for each controller
    #[arg(long, hide = true, requires = "stdio", value_name = "FOLDER")]
    pub(crate) stranger: Option<PathBuf>,
}

/// What a worker at a broker does, which nobody but its own command line says.
#[derive(Args)]
pub(crate) struct Duties {
    /// What it may do: simulate, or load=NETWORK[:PORT,…]; may be repeated
    #[arg(long, value_name = "WHAT", default_value = "simulate")]
    pub(crate) may: Vec<String>,
    /// What is said of it, by which controllers choose; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "bus")]
    pub(crate) label: Vec<String>,
    /// The highest rate at which it sends requests
    #[arg(long, value_name = "RATE")]
    pub(crate) most_rate: Option<String>,
    /// The most connections that it opens
    #[arg(long, value_name = "N")]
    pub(crate) most_connections: Option<u32>,
    /// The longest that it serves one controller
    #[arg(long, value_name = "DURATION", requires = "bus")]
    pub(crate) most_time: Option<String>,
    /// The most memory that a controller's work may have
    #[arg(long, value_name = "SIZE")]
    pub(crate) most_memory: Option<String>,
    /// The most that the files of a controller may have in all; 2 GiB without
    #[arg(long, value_name = "SIZE")]
    pub(crate) disk: Option<String>,
    /// A variable of the environment that plans may use as {{env.NAME}}; may be repeated
    #[arg(long, value_name = "NAME", requires = "bus")]
    pub(crate) env: Vec<String>,
    /// End when nobody has asked for it for so long; without it, it waits until it is ended
    #[arg(long, value_name = "DURATION", requires = "bus")]
    pub(crate) idle: Option<String>,
}

impl Duties {
    /// Its words, but for the variables: where these come from is said elsewhere.
    pub(crate) fn words(&self) -> Vec<String> {
        let connections = self.most_connections.map(|most| most.to_string());
        let may = self.may.iter().map(|of| ("--may", Some(of)));
        let labels = self.label.iter().map(|of| ("--label", Some(of)));
        let given = [
            ("--most-rate", self.most_rate.as_ref()),
            ("--most-connections", connections.as_ref()),
            ("--most-time", self.most_time.as_ref()),
            ("--most-memory", self.most_memory.as_ref()),
            ("--disk", self.disk.as_ref()),
            ("--idle", self.idle.as_ref()),
        ];
        let given = may.chain(labels).chain(given);
        let given = given.filter_map(|(flag, value)| Some([flag.to_owned(), value?.clone()]));
        given.flatten().collect()
    }
}

/// A fleet of workers at a broker.
#[derive(Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(clap::Subcommand)]
pub(crate) enum FleetCommand {
    /// Make keys of controllers and workers: NAME.key, which is secret, and NAME.pub
    Key {
        /// What each is called, with the folder of its files
        #[arg(required = true, value_name = "NAME")]
        names: Vec<PathBuf>,
    },
    /// Say which workers wait at a broker, what they may do, and which are busy
    Status(FleetStatus),
    /// Print what starts workers on a cluster: a batch script of Slurm, manifests of Kubernetes
    Script(Box<crate::script_args::Script>),
}

#[derive(Args)]
pub(crate) struct FleetStatus {
    /// The broker: amqps://USER@HOST/VHOST
    #[arg(long, value_name = "URL")]
    pub(crate) bus: String,
    /// The secret key of a controller that the workers trust
    #[arg(long, value_name = "FILE")]
    pub(crate) bus_key: PathBuf,
    /// The public keys of the workers
    #[arg(long, value_name = "FILE")]
    pub(crate) known: PathBuf,
    /// How long is waited for answers
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    pub(crate) wait: String,
    /// Certificates to trust the broker by, PEM; default: the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) bus_ca: Option<PathBuf>,
    /// Speak without TLS to a broker that is not on this host
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
