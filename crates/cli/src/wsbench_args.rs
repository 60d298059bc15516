//! The command line of the public WebSocket benchmarks.

use crate::flags::TlsFlags;
use clap::Args;

#[derive(Args)]
#[command(after_help = "\
Clients join in steps and stay. At each step a few of them send {\"type\":\"echo\",…} or
{\"type\":\"broadcast\",…} and await the answer: the same message, or \"broadcastResult\".
It ends with the first step whose 95th percentile of the round trip is beyond --limit, or at a
bound. Then it is checked that every client has received every broadcast exactly once. No run is
kept.

Examples:
  plimsoll wsbench broadcast ws://127.0.0.1:9000/
  plimsoll wsbench echo wss://chat.example/ws -H 'Origin: https://chat.example' --step 100
  plimsoll wsbench broadcast ws://h:9000/ --limit 100ms --max-clients 5000 --json

Exit codes: 0 clients were found or --max-clients held, 2 wrong use, 3 not even the first step
held or a client did not receive everything once, 4 a client was refused, the time was over or it
was interrupted, 5 this host had no means for another client.")]
pub(crate) struct Wsbench {
    /// What clients send: echo comes back to its sender, broadcast goes to all
    #[arg(value_parser = ["echo", "broadcast"])]
    pub(crate) kind: String,
    /// The server: ws://… or wss://…
    pub(crate) url: String,
    /// The longest 95th percentile of the round trip
    #[arg(long, value_name = "DURATION", default_value = "500ms")]
    pub(crate) limit: String,
    /// Clients that join at each step
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) step: String,
    /// Messages that are sent at each step
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) samples: String,
    /// How many of them are on their way at once, each of a client of its own
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) concurrent: String,
    /// Padding in each message
    #[arg(long, value_name = "SIZE", default_value = "200B")]
    pub(crate) payload: String,
    /// Clients that join in a second
    #[arg(long, value_name = "RATE", default_value = "1000/s")]
    pub(crate) connect_rate: String,
    /// End when there are so many clients
    #[arg(long, value_name = "N", default_value = "50000")]
    pub(crate) max_clients: String,
    /// End after this time
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub(crate) max_time: String,
    /// A header of the handshake; may be repeated
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Threads at most; as many as divide both --step and --concurrent are used
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: String,
    #[command(flatten)]
    pub(crate) tls: TlsFlags,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
