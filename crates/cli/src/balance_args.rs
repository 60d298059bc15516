//! The command line of the built-in balancer.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "\
HTTP/1.1 to both sides, on one thread; connections are kept, and upgraded ones, as those of
WebSockets, are passed through. An answer of the balancer itself is 503 where no instance has a
place, 502 where the instance failed and the request could not be given to another, 504 where it
did not answer in time. Safe requests without a body are given to another instance.

Each line to the control socket is an order, each answer a line:
  {\"do\": \"add\", \"name\": \"web-2\", \"address\": \"127.0.0.1:8082\"}
  {\"do\": \"drain\", \"name\": \"web-1\", \"within_ms\": 30000}
  {\"do\": \"remove\", \"name\": \"web-1\"}
  {\"do\": \"weigh\", \"name\": \"web-2\", \"weight\": 0.5}
  {\"do\": \"list\"}

Examples:
  plimsoll balance --listen 127.0.0.1:8080 web-1=127.0.0.1:8081 web-2=127.0.0.1:8082
  plimsoll balance --listen 127.0.0.1:8080 --control balancer.sock --limit 10 --queue 100
  echo '{\"do\": \"list\"}' | nc -NU balancer.sock

Exit codes: 0 ended by an interrupt, 2 wrong use, 4 an address or a path that cannot be used.")]
pub(crate) struct Balance {
    /// Instances at the start: NAME=ADDRESS:PORT
    #[arg(value_name = "NAME=ADDRESS")]
    pub(crate) instances: Vec<String>,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// A Unix socket for orders, of this user alone
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,
    /// Which instance takes a request: fair, least-connections, round-robin, weighted, random,
    /// two-choices, client-address
    #[arg(long, value_name = "RULE", default_value = "fair")]
    pub(crate) choose: String,
    /// Which of several with the fewest requests: first, next, random [default: first of fair, next
    /// of least-connections]
    #[arg(long, value_name = "RULE")]
    pub(crate) ties: Option<String>,
    /// The most requests of an instance at once [default: as many as come]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<String>,
    /// The most requests that wait where no instance has a place
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) queue: String,
    /// How long a request waits there [default: as long as its client]
    #[arg(long, value_name = "TIME")]
    pub(crate) queue_timeout: Option<String>,
    /// How long an instance may take to begin its answer
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: String,
    /// How long a client may take nothing of its answer before its connection is closed
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) send_timeout: String,
    /// How often each instance is checked; 0s: never
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) check_every: String,
    /// An instance is out when it has not answered a check for so long, and then for half of it
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub(crate) check_within: String,
    /// The path that a check asks for, which must answer with a status below 500 [default: to take
    /// connections is enough, which a frozen process does]
    #[arg(long, value_name = "PATH")]
    pub(crate) check: Option<String>,
    /// End after this time [default: when interrupted]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) run_for: Option<String>,
}
