//! A whole agent from the command line, to see what it costs: `agent SERVER CACHE_PORT`.
//!
//! It announces the cache at that port of this host, under a documentation address where the host
//! has none of its own, prints what happens and ends at the end of its input.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program of its own")]

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plimsoll_net::http::client::Plain;
use plimsoll_net::url::Url;
use plimsoll_shoal::Now;
use plimsoll_shoal::agent::addresses::way_out;
use plimsoll_shoal::agent::announce::{Announce, Http};
use plimsoll_shoal::agent::{self, Options, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("usage: agent SERVER CACHE_PORT")?;
    let port = arguments.next().ok_or("usage: agent SERVER CACHE_PORT")?.parse()?;
    let begin = Instant::now();
    let now = || Now {
        elapsed_ns: u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
        unix_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
    };
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        stopped.store(true, Ordering::Relaxed);
    });
    let registry: Box<dyn Announce> =
        Box::new(Http::new(&Url::parse(&server)?, Arc::new(Plain), None));
    let world = World {
        root: PathBuf::from("/"),
        now: &now,
        stop: &stop,
        seed: agent::random_seed()?,
        uuid: &mut || agent::uuid().unwrap_or_default(),
        way_out: &way_out,
        registries: vec![registry],
        dial: Arc::new(Plain),
    };
    let options = Options {
        port: Some(port),
        external_ip: Some("192.0.2.1".parse()?),
        interval: Duration::from_secs(2),
        ..Options::default()
    };
    agent::run(options, world, &mut |event| {
        println!("{:.3} {event:?}", begin.elapsed().as_secs_f64());
    })?;
    Ok(())
}
