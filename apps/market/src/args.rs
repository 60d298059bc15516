//! The command line: where its stores are, and a switch for each limit that can be shown.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::money::{BasisPoints, WHOLE};

/// A real-time prediction market over REST and WebSocket. Money is in MariaDB, and what changes is
/// told through Redis, so any number of processes serve the same market.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "market", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Where it listens
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9000")]
    pub(crate) listen: SocketAddr,

    /// The MariaDB that has the money: mysql://user:password@host:port/database
    #[arg(long, value_name = "URL")]
    pub(crate) database: String,

    /// A replica of it, which is read for lists and balances, and may lag behind
    #[arg(long, value_name = "URL")]
    pub(crate) database_replica: Option<String>,

    /// The Redis that caches, and through which processes tell each other: redis://host:port/
    #[arg(long, value_name = "URL")]
    pub(crate) redis: String,

    /// A replica of it, from which caches are read and broadcasts come
    #[arg(long, value_name = "URL")]
    pub(crate) redis_replica: Option<String>,

    /// The file with the administrator's token; without it nobody feeds or resolves by hand
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token: Option<PathBuf>,

    /// Whether a worker does something else while it waits for its stores
    #[arg(long, value_enum, value_name = "HOW", default_value = "async")]
    pub(crate) db: Waiting,

    /// Threads that serve; connections are given to them in turn
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) workers: u16,

    /// Connections to the database of each worker, at most
    #[arg(long, value_name = "N", default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..=500))]
    pub(crate) db_connections: u16,

    /// Whether predictions on a game are told together, or each by itself
    #[arg(long, value_enum, value_name = "ON|OFF", default_value = "on")]
    pub(crate) batching: Switch,

    /// Whether Redis decides in one step that a game may be told of
    #[arg(long, value_enum, value_name = "HOW", default_value = "atomic")]
    pub(crate) batch_check: BatchCheck,

    /// How long nothing is told of a game after something was
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    pub(crate) window: Duration,

    /// Whether lists of pools have each of the user's predictions in them
    #[arg(long, value_enum, value_name = "ON|OFF", default_value = "off")]
    pub(crate) list_predictions: Switch,

    /// The house's share of new pools, in percent
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = rake)]
    pub(crate) rake: BasisPoints,

    /// Play matches by itself, of this seed: of all processes only one should
    #[arg(long, value_name = "SEED")]
    pub(crate) feed: Option<u64>,

    /// How long such a match lasts
    #[arg(long, value_name = "DURATION", default_value = "90s", value_parser = duration)]
    pub(crate) match_time: Duration,

    /// Answer every WebSocket message at /echo with itself, for suites that judge WebSocket
    #[arg(long)]
    pub(crate) echo: bool,

    /// Connections of clients, at most; more wait until one ends
    #[arg(long, value_name = "N", default_value_t = 18_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_connections: u32,
}

/// What a worker does while a store has not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Waiting {
    /// It serves others.
    Async,
    /// Nothing.
    Blocking,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    /// It is done.
    On,
    /// It is not.
    Off,
}

/// How it is decided that a game may be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BatchCheck {
    /// Looked up and taken in one step.
    Atomic,
    /// Looked up, then taken: two processes may come to the same result.
    Split,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = plimsoll_units::duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_millis(1) || duration > Duration::from_secs(86_400) {
        return Err("it is from 1ms to 24h".to_owned());
    }
    Ok(duration)
}

fn rake(text: &str) -> Result<BasisPoints, String> {
    let share = plimsoll_units::share(text).map_err(|error| error.to_string())?;
    let points = (share * f64::from(WHOLE)).round();
    (0..=WHOLE)
        .find(|whole| (f64::from(*whole) - points).abs() < 0.5)
        .ok_or_else(|| "it is from 0% to 100%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rake_is_a_share_in_hundredths_of_a_percent() {
        assert_eq!(rake("5%"), Ok(500));
        assert_eq!(rake("0%"), Ok(0));
        assert_eq!(rake("12.34%"), Ok(1234));
        assert_eq!(rake("100%"), Ok(WHOLE));
        assert!(rake("101%").is_err());
    }

    #[test]
    fn the_command_line_is_whole() {
        <Args as clap::CommandFactory>::command().debug_assert();
    }
}
