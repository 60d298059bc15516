//! The command line of `plimsoll fleet script`.

use crate::worker_args::Duties;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Script {
    #[command(subcommand)]
    pub(crate) of: Cluster,
}

#[derive(Subcommand)]
pub(crate) enum Cluster {
    /// A batch script of Slurm: one allocation with all workers, or an array that waits at a broker
    #[command(after_help = "\
One allocation, whose steps are the workers; no broker is needed:

  plimsoll fleet script slurm --workers 8 --time 2h -- run plan.toml --simulated > job.sh
  sbatch job.sh

An array of workers that wait at a broker, with the keys keys/w0.key to keys/w7.key:

  plimsoll fleet key keys/w{0..7}
  plimsoll fleet script slurm --workers 8 --bus amqps://worker@broker/fleet \\
    --keys keys/w --trust controllers.txt | sbatch")]
    Slurm(Slurm),
    /// Manifests of Kubernetes: an Indexed Job of workers that wait at a broker
    #[command(after_help = "\
  plimsoll fleet script kubernetes --workers 8 --image registry.example/plimsoll:0.1 \\
    --bus amqps://worker@broker/fleet --trust controllers.txt > workers.yaml
  kubectl apply -f workers.yaml        # its first lines say which secrets it wants")]
    Kubernetes(Kubernetes),
}

/// What a cluster gives workers.
#[derive(Args)]
pub(crate) struct Allotted {
    /// How many workers there are
    #[arg(long, value_name = "N")]
    pub(crate) workers: u32,
    /// How many processors each has
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) cpus: u32,
    /// How much memory each has
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub(crate) memory: String,
    /// The longest that they live
    #[arg(long, value_name = "DURATION", default_value = "2h")]
    pub(crate) time: String,
    /// What the job is called
    #[arg(long, value_name = "NAME", default_value = "plimsoll")]
    pub(crate) name: String,
}

#[derive(Args)]
pub(crate) struct Slurm {
    #[command(flatten)]
    pub(crate) of: Allotted,
    /// The partitions that take the job
    #[arg(long, value_name = "NAME,…")]
    pub(crate) partition: Option<String>,
    /// The account that pays for it
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// The broker at which the workers wait: amqps://USER@HOST/VHOST
    #[arg(long, value_name = "URL", requires = "keys", requires = "trust")]
    pub(crate) bus: Option<String>,
    /// The keys of the workers: PATH0.key, PATH1.key and so on
    #[arg(long, value_name = "PATH", requires = "bus")]
    pub(crate) keys: Option<String>,
    /// The public keys of the controllers that they serve
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) trust: Option<String>,
    #[command(flatten)]
    pub(crate) duties: Duties,
    /// Certificates to trust the broker by, PEM; default: the system's
    #[arg(long, value_name = "FILE", requires = "bus")]
    pub(crate) bus_ca: Option<String>,
    /// Speak without TLS to a broker that is not on the worker's host
    #[arg(long, requires = "bus")]
    pub(crate) plain: bool,
    /// What the workers are for: a command of this program, as `run plan.toml`
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with = "bus",
        required_unless_present = "bus"
    )]
    pub(crate) command: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Kubernetes {
    #[command(flatten)]
    pub(crate) of: Allotted,
    /// The image, with this program as its entry point
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// The namespace; default: that which kubectl uses
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// The broker at which the workers wait: amqps://USER@HOST/VHOST
    #[arg(long, value_name = "URL")]
    pub(crate) bus: String,
    /// The public keys of the controllers that they serve
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: PathBuf,
    #[command(flatten)]
    pub(crate) duties: Duties,
    /// Certificates to trust the broker by, PEM; default: the image's
    #[arg(long, value_name = "FILE")]
    pub(crate) bus_ca: Option<PathBuf>,
    /// Speak without TLS to a broker that is not on the worker's host
    #[arg(long)]
    pub(crate) plain: bool,
}
