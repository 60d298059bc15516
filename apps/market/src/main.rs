//! `market`: a real-time prediction market, an application to put under load.
//!
//! Users stake on the outcomes of games; whoever was right divides the pool. It is an ordinary web
//! application: REST and WebSocket by axum, money in MariaDB, Redis between its processes, which
//! keep nothing of their own. docs/market.md tells how to start it, its API, and what each switch
//! shows.
//!
//! Where to look: `money` has the payout rule, `store` the transactions, `bus` and `announcer` what
//! goes through Redis and when, `hub` who is told of it; `ws`, `rest` and `admin` are its three
//! doors, `server` and `worker` the threads behind them.

mod admin;
mod announcer;
mod args;
mod bus;
mod feed;
mod hub;
mod log;
mod market;
mod message;
mod metrics;
mod money;
mod pool;
mod random;
mod resolver;
mod rest;
mod server;
mod store;
mod worker;
mod ws;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let ended = server::executor().and_then(|executor| executor.block_on(server::serve(args)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where standard error is closed nobody reads.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}
