//! What `plimsoll shoal` and its commands are told.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ipnet::IpNet;
use plimsoll_shoal::{client, heartbeat, server, verify};

#[derive(Args)]
pub(crate) struct Shoal {
    #[command(subcommand)]
    pub(crate) command: ShoalCommand,
}

#[derive(Subcommand)]
pub(crate) enum ShoalCommand {
    /// Run the registry: caches announce themselves, clients ask for the nearest
    Server(Box<ShoalServer>),
    /// Announce the cache on this host, as long as it answers
    Agent(Box<ShoalAgent>),
    /// Find this host's nearest caches, and print or write its proxy setting
    Client(Box<ShoalClient>),
    /// Make a list of caches that run no agent from a site list, for `server --static`
    Import(Box<ShoalImport>),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll shoal server --geo city.mmdb
  plimsoll shoal server --listen 0.0.0.0:80 --geo city.mmdb --state /var/lib/shoal
  plimsoll shoal server --amqp amqps://me@broker/vhost --amqp-password-file /etc/shoal/password
  plimsoll shoal server --listen 0.0.0.0:443 --tls-cert chain.pem --tls-key key.pem
  plimsoll shoal server --verify http://stratum.example/cvmfs/some.repo/.cvmfswhitelist
  curl http://127.0.0.1:8080/nearest/5

Caches announce themselves over HTTP (POST /v1/heartbeat), so no broker is needed; with --amqp,
by one as well. The broker's password may also stand in the environment variable
SHOAL_AMQP_PASSWORD. The old paths (/nearest, /all, /wpad.dat …) answer as the original does;
/v1/openapi.json describes the new.")]
pub(crate) struct ShoalServer {
    /// Where to listen; without a host (`:8080`) at every address
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// Speak HTTPS with this certificate and its chain, PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Serving threads; default: one per core
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Where addresses are: a MaxMind DB file with cities (MaxMind's or DB-IP's fields); read
    /// again when it changes
    #[arg(long, value_name = "FILE")]
    pub(crate) geo: Option<PathBuf>,
    /// Caches of networks, a line each: NETWORK[,NETWORK…] CACHE[,CACHE…]; they come first there
    #[arg(long, value_name = "FILE")]
    pub(crate) sites: Option<PathBuf>,
    /// Caches that run no agent: a list made by `plimsoll shoal import`; read again when it
    /// changes
    #[arg(long = "static", value_name = "FILE")]
    pub(crate) fixed: Option<PathBuf>,
    /// How long a cache is listed after its last heartbeat
    #[arg(long, value_name = "DURATION", default_value = "180s")]
    pub(crate) ttl: String,
    /// In which order caches are given
    #[arg(long, value_name = "ORDER", default_value = "bands")]
    pub(crate) order: Order,
    /// Give verified caches only
    #[arg(long)]
    pub(crate) verified_only: bool,
    #[command(flatten)]
    pub(crate) verify: Verify,
    /// Networks that may announce any address, and decide about caches; not even loopback may
    /// where it is not named
    #[arg(long, value_name = "NETWORK", value_delimiter = ',')]
    pub(crate) trust: Vec<IpNet>,
    /// Networks of proxies whose X-Forwarded-For and Forwarded are believed
    #[arg(long, value_name = "NETWORK", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<IpNet>,
    /// Listen at this Unix socket, too, which only its owner may open: whoever comes by it is
    /// trusted
    #[arg(long, value_name = "FILE")]
    pub(crate) operator_socket: Option<PathBuf>,
    /// A public address of this host that no interface has: agents at loopback may announce it
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) external_ip: Vec<IpAddr>,
    /// Whether announcements are signed
    #[arg(long, value_name = "WHEN", default_value = "off")]
    pub(crate) auth: Auth,
    /// Who may sign, a line each: NAME SECRET [clouds=A,B] [networks=NET,NET] `[operator]`
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: Option<PathBuf>,
    /// Announcements that one network (a /24 or /56) may make, per second; bursts of ten times as
    /// many pass
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) announce_rate: f64,
    /// The most caches listed; a full list refuses new ones
    #[arg(long, value_name = "N", default_value = "200000")]
    pub(crate) most_caches: usize,
    /// A registry to copy the list from at the start: its URL; the first that answers is taken
    #[arg(long, value_name = "URL")]
    pub(crate) peer: Vec<String>,
    /// CA certificates for https:// peers, PEM; default: the system's
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub(crate) peer_ca: Option<PathBuf>,
    /// Keep the key of the caches' names and what was decided about them in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// Log every request to this file, a JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) amqp: Amqp,
    /// Stop after this time
    #[arg(long = "for", value_name = "DURATION")]
    pub(crate) run_for: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll shoal agent --server http://registry.example:8080
  plimsoll shoal agent --server http://registry.example:8080 --port 3128 --cloud my-cloud
  plimsoll shoal agent --amqp amqps://agent@broker/vhost --amqp-password-file /etc/shoal/password

The broker's password may also stand in the environment variable SHOAL_AMQP_PASSWORD. The cache is
found by its process, and probed every five seconds: one that does not answer is taken off the list
at once. The agent ends, and takes its leave, by an interrupt.")]
pub(crate) struct ShoalAgent {
    /// A registry to announce the cache to, by its URL; each gets every heartbeat
    #[arg(long, value_name = "URL", required_unless_present = "amqp")]
    pub(crate) server: Vec<String>,
    /// CA certificates for https:// registries, PEM; default: the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// A message broker to announce the cache by, beside --server or instead:
    /// amqp://USER@HOST:PORT/VHOST, or amqps; may be given many times, with one password for all
    #[arg(long, value_name = "URL")]
    pub(crate) amqp: Vec<String>,
    #[command(flatten)]
    pub(crate) way: AmqpWay,
    /// The cache's port; default: found by itself
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Address at which the cache is asked whether it answers; default: where it is seen to listen
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) cache_address: Option<IpAddr>,
    /// What the cache may be used for
    #[arg(long, value_name = "USE", default_value = "both")]
    pub(crate) upstream: Upstream,
    /// Time between heartbeats, varied at random by a tenth
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    pub(crate) interval: String,
    /// Fetch this through the cache to see whether it works; default: any answer will do
    #[arg(long, value_name = "URL")]
    pub(crate) probe_url: Option<String>,
    /// This host's public address, where no interface has it; default: as the first registry sees
    /// it
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) external_ip: Option<IpAddr>,
    /// The cache's name; default: the host's
    #[arg(long, value_name = "NAME")]
    pub(crate) hostname: Option<String>,
    /// The cloud that the cache runs in
    #[arg(long, value_name = "NAME")]
    pub(crate) cloud: Option<String>,
    /// Interface whose sent bytes are the load; default: that of the default route
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    /// The most that the cache can send, KiB/s; default: the interface's speed
    #[arg(long, value_name = "N")]
    pub(crate) max_load: Option<f64>,
    /// Where the cache is, degrees: for registries whose database does not know its address
    #[arg(long, value_name = "DEGREES", requires = "longitude", allow_hyphen_values = true)]
    pub(crate) latitude: Option<f64>,
    /// See --latitude
    #[arg(long, value_name = "DEGREES", requires = "latitude", allow_hyphen_values = true)]
    pub(crate) longitude: Option<f64>,
    /// A file with the key that signs what is announced: NAME SECRET
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Print errors only
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll shoal client --server http://registry.example:8080
  plimsoll shoal client --server http://registry.example:8080 --apply --dry-run
  plimsoll shoal client --server http://registry.example:8080 --frontier
  plimsoll shoal client --server http://registry.example:8080 --apply --talk --every 5m --jitter

Where no registry answers, the last good answer is used (--state), then the static list
(--fallback).")]
pub(crate) struct ShoalClient {
    /// A registry by its URL; they are tried in order
    #[arg(long, value_name = "URL", required = true)]
    pub(crate) server: Vec<String>,
    /// CA certificates for https:// registries, PEM; default: the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// How many caches are wanted
    #[arg(long, short = 'n', value_name = "N", default_value = "2")]
    pub(crate) count: usize,
    /// For Frontier instead of CVMFS
    #[arg(long)]
    pub(crate) frontier: bool,
    /// How long a registry may take
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub(crate) timeout: String,
    /// Fetched through each cache, to order them by the time it takes; none: skip that
    #[arg(long, value_name = "URL", default_value = client::OBJECT)]
    pub(crate) object: String,
    /// Set CVMFS_HTTP_PROXY in the file, the static list behind what is found; nothing else changes
    #[arg(long)]
    pub(crate) apply: bool,
    /// Print the lines that --apply would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The file with CVMFS_HTTP_PROXY
    #[arg(long, value_name = "FILE", default_value = "/etc/cvmfs/default.local")]
    pub(crate) file: PathBuf,
    /// Keep the last good answer, and what was written, in this file [default: with --apply, .shoal
    /// behind the name of --file]
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// The static list, as in CVMFS_HTTP_PROXY: behind what is found, and alone if nothing is
    /// [default: what the file held before it was first written]
    #[arg(long, value_name = "LIST")]
    pub(crate) fallback: Option<String>,
    /// Go on until it is interrupted, and ask again every so often
    #[arg(long, value_name = "DURATION")]
    pub(crate) every: Option<String>,
    /// Vary each of these intervals at random by up to this share of it; alone: 10%
    #[arg(long, value_name = "SHARE", requires = "every", num_args = 0..=1,
          default_missing_value = "10%")]
    pub(crate) jitter: Option<String>,
    /// Tell file systems that are mounted of a new list, too, by cvmfs_talk
    #[arg(long, requires = "apply", conflicts_with = "dry_run")]
    pub(crate) talk: bool,
    /// The program that tells them
    #[arg(long, value_name = "FILE", requires = "talk", default_value = client::talk::PROGRAM)]
    pub(crate) talk_by: PathBuf,
    /// Ask and print as the original client does
    #[arg(long)]
    pub(crate) old: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  plimsoll shoal import grid-squids.json
  curl http://lists.example/grid-squids.json | plimsoll shoal import - --out static.json
  plimsoll shoal server --static static.json

Names of hosts are looked up now; a cache whose name has no public address is left out, and said
so. The networks of an entry are those whose clients get its caches first.")]
pub(crate) struct ShoalImport {
    /// The site list, grid-squids.json or worker-proxies.json; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) list: PathBuf,
    /// Write the list here, at once as a whole
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the list as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Upstream {
    /// CVMFS and Frontier
    Both,
    /// File systems of CVMFS
    Cvmfs,
    /// Conditions data of Frontier
    Frontier,
}

impl From<Upstream> for heartbeat::Upstream {
    fn from(upstream: Upstream) -> Self {
        match upstream {
            Upstream::Both => Self::Both,
            Upstream::Cvmfs => Self::Cvmfs,
            Upstream::Frontier => Self::Frontier,
        }
    }
}

#[derive(Args)]
pub(crate) struct Amqp {
    /// Listen for heartbeats at this message broker, too: amqp://USER@HOST:PORT/VHOST, or amqps
    #[arg(long, value_name = "URL")]
    pub(crate) amqp: Option<String>,
    /// Listen only to this cloud's agents, and to those without a cloud; may be given many times
    #[arg(long, value_name = "CLOUD", requires = "amqp")]
    pub(crate) amqp_cloud: Vec<String>,
    #[command(flatten)]
    pub(crate) way: AmqpWay,
}

/// How a broker is spoken to: the same for who hears and who speaks.
#[derive(Args)]
pub(crate) struct AmqpWay {
    /// The exchange agents publish to
    #[arg(long, value_name = "NAME", default_value = "shoal", requires = "amqp")]
    pub(crate) amqp_exchange: String,
    /// The broker's password; default: SHOAL_AMQP_PASSWORD, else `guest`
    #[arg(long, value_name = "FILE", requires = "amqp")]
    pub(crate) amqp_password_file: Option<PathBuf>,
    /// CA certificates for amqps, PEM; default: the system's
    #[arg(long, value_name = "FILE", requires = "amqp")]
    pub(crate) amqp_ca: Option<PathBuf>,
    /// A certificate for brokers that want one, PEM
    #[arg(long, value_name = "FILE", requires = "amqp_key")]
    pub(crate) amqp_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "amqp_cert")]
    pub(crate) amqp_key: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Verify {
    /// Fetch this object, of at most 4 KiB with its head, through each cache again and again: who
    /// delivers it is verified, who fails twice in a row is failing and not given
    #[arg(long, value_name = "URL")]
    pub(crate) verify: Option<String>,
    /// Text that the object must contain; of a .cvmfswhitelist its repository's name will do
    #[arg(long, value_name = "TEXT", requires = "verify")]
    pub(crate) verify_text: Option<String>,
    /// The shortest time between two questions to one network (a /24 or /56): agents' interval
    #[arg(long, value_name = "DURATION", default_value = "30s", requires = "verify")]
    pub(crate) verify_every: String,
    /// Private networks whose caches are asked, too; all others must be globally routable
    #[arg(long, value_name = "NETWORK", value_delimiter = ',', requires = "verify")]
    pub(crate) verify_private: Vec<IpNet>,
    /// The ports that are asked
    #[arg(long, value_name = "PORT", value_delimiter = ',', requires = "verify",
          default_values_t = verify::PORTS)]
    pub(crate) verify_ports: Vec<u16>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Order {
    /// By band of distance, then by load; any of equals
    Bands,
    /// By the original server's cost
    Shoal,
    /// The nearest first by whole km, of equally near ones the least loaded
    Distance,
}

impl From<Order> for server::Order {
    fn from(order: Order) -> Self {
        match order {
            Order::Bands => Self::Bands,
            Order::Shoal => Self::Shoal,
            Order::Distance => Self::Distance,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Auth {
    /// Signatures are not looked at
    Off,
    /// A signature that is there must be right
    Optional,
    /// There must be one
    Required,
}

impl From<Auth> for server::Auth {
    fn from(auth: Auth) -> Self {
        match auth {
            Auth::Off => Self::Off,
            Auth::Optional => Self::Optional,
            Auth::Required => Self::Required,
        }
    }
}
