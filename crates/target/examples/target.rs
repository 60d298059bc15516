//! A target from the command line, for trying things out before and beside `plimsoll target`:
//!
//! ```text
//! cargo run -p plimsoll-target --release --example target -- ADDRESS SERVICE [NAME=VALUE]…
//! ```
//!
//! Names: model (FILE), workers, bound, stall (EVERY:LENGTH), slow (FACTOR:OVER), errors, body,
//! timers (sleep or spin), log (FILE), seed, burn (yes), for (how long to run; default 1h).

#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use plimsoll_target::{Address, BodySize, Options, Server, SlowStart, Stall};
use plimsoll_units::{count, duration, share, show_duration};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};

fn ns(text: &str) -> Result<u64, Box<dyn Error>> {
    Ok(u64::try_from(duration(text)?.as_nanos())?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address: Address = arguments.next().ok_or("an address such as 127.0.0.1:8080")?.parse()?;
    let mut options = Options::default();
    if let Some(service) = arguments.next() {
        let service = if service == "const:0" { "none" } else { service.as_str() };
        options.service = ServiceTime::Law(Distribution::parse(service)?);
    }
    let mut run_for = ns("1h")?;
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("NAME=VALUE")?;
        let parts = || value.split_once(':').ok_or("two values with a colon between");
        match name {
            "model" => options = options.with_model(&ServiceModel::read(value.as_ref())?),
            "workers" => options.workers = u32::try_from(count(value)?)?.try_into()?,
            "bound" => options.queue_bound = Some(count(value)?),
            "stall" => options.stall = Stall::new(ns(parts()?.0)?, ns(parts()?.1)?),
            "slow" => options.slow_start = SlowStart::new(parts()?.0.parse()?, ns(parts()?.1)?),
            "errors" => options.error_share = share(value)?,
            "body" => options.body = BodySize::parse(value)?,
            "timers" => options.timers = value.parse()?,
            "log" => options.log = Some(PathBuf::from(value)),
            "seed" => options.seed = count(value)?,
            "burn" => options.burn = true,
            "for" => run_for = ns(value)?,
            _ => return Err(format!("unknown name {name}").into()),
        }
    }
    let server = Server::bind(options, &address)?;
    let local = server.local_addr().to_string();
    println!("listening on {local} for {}", show_duration(run_for));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    thread::spawn(move || {
        thread::park_timeout(std::time::Duration::from_nanos(run_for));
        stopped.store(true, Ordering::Relaxed);
    });
    let stats = server.run(stop)?;
    println!("{stats:#?}");
    let late = |q| show_duration(stats.late.value_at_quantile(q).unwrap_or(0));
    println!("late: p50 {}, p99 {}, max {}", late(0.5), late(0.99), late(1.0));
    Ok(())
}
