//! What a heartbeat that comes by a broker costs the server: many are queued while it is stopped,
//! then drained, and its CPU time is read. The broker must be there; it keeps the exchange
//! `shoal-drain`.
//!
//! `cargo run --release -p plimsoll-shoal --features amqp --example drain_heartbeats -- \
//!  amqp://127.0.0.1:5672 500000 [GEO.mmdb]`
#![expect(clippy::disallowed_methods, reason = "measuring is the purpose of this program")]
#![expect(clippy::print_stdout, reason = "its result goes to the terminal")]

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plimsoll_net::http::client::Plain;
use plimsoll_shoal::amqp::{self, Broker, Consumer, Publisher};
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::geo::Geography;
use plimsoll_shoal::order::Sites;
use plimsoll_shoal::registry::{Kept, Settings};
use plimsoll_shoal::server::{Auth, Options, Order, Server};

/// Caches that are known in the second part.
const KNOWN: u32 = 100_000;
/// Each waits for the broker's word after every message. A divisor of [`KNOWN`].
const PUBLISHERS: u32 = 32;
const EXCHANGE: &str = "shoal-drain";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", broker, ..] => serve(broker, args.get(2).map(PathBuf::from)),
        [broker, count, ..] => drain(broker, count.parse()?, args.get(2)),
        _ => Err("drain_heartbeats BROKER COUNT [GEO.mmdb]".into()),
    }
}

/// The server, in a process of its own: says so when it hears, then what it has heard.
fn serve(broker: &str, geo: Option<PathBuf>) -> Outcome<()> {
    let geography = geo.map_or_else(|| Ok(Geography::none()), Geography::open)?;
    let server = Server::start(Options {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        tls: None,
        threads: 1,
        settings: Settings { most_entries: 2_000_000, ..Settings::default() },
        secret: [7; 32],
        kept: Kept::default(),
        folder: None,
        geography: Arc::new(geography),
        sites: Sites::default(),
        sites_file: None,
        order: Order::Bands,
        verified_only: false,
        verify: None,
        trust: Vec::new(),
        trusted_proxies: Vec::new(),
        operator_socket: None,
        external_ips: Vec::new(),
        auth: Auth::Off,
        keys: Keys::read("")?,
        keys_file: None,
        say: |_| (),
        settle: std::time::Duration::from_secs(30),
        rate: 1.0,
        peers: Vec::new(),
        peer_ca: None,
        fixed: None,
        access_log: None,
    })?;
    let long = Duration::from_secs(3600);
    let options = amqp::Options {
        exchange: EXCHANGE.to_owned(),
        message_ttl: long,
        most_queued: 10_000_000,
        heartbeat: long,
        ..amqp::Options::new(Broker::parse(broker)?, "drain".to_owned(), 1)
    };
    let shared = Arc::clone(server.shared());
    let _consumer = Consumer::spawn(options, Arc::new(Plain), shared, |text| println!("{text}"))?;
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let counts = server.shared().registry().counts().clone();
        let refused: u64 = counts.refused.values().sum();
        println!("heard {} {} {refused}", counts.joined, counts.renewed);
    }
}

fn drain(broker: &str, count: u32, geo: Option<&String>) -> Outcome<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", broker]).args(geo).stdout(Stdio::piped());
    let mut child = Ended(command.spawn()?);
    let mut lines = BufReader::new(child.0.stdout.take().ok_or("no output")?).lines();
    lines
        .find(|line| line.as_ref().is_ok_and(|line| line.starts_with("hearing")))
        .ok_or("deaf")??;
    let empty = rss_kib(child.0.id())?;
    for (what, number) in [("new", all as fn(u32) -> u32), ("known", some)] {
        signal(&child, "STOP")?;
        let start = Instant::now();
        publish(&Broker::parse(broker)?, count, number)?;
        let queued_s = start.elapsed().as_secs_f64();
        let before_s = cpu_s(child.0.id())?;
        let start = Instant::now();
        signal(&child, "CONT")?;
        let last = loop {
            let line = lines.next().ok_or("the server ended")??;
            let counts: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            let [joined, renewed, refused] = counts[..] else { continue };
            let rounds = if what == "new" { 1 } else { 2 };
            if joined + renewed + refused >= rounds * u64::from(count) {
                break line;
            }
        };
        let wall_s = start.elapsed().as_secs_f64();
        let us = (cpu_s(child.0.id())? - before_s) * 1e6 / f64::from(count);
        println!(
            "{what}: {us:.1} us of our CPU a heartbeat; drained in {wall_s:.1} s ({:.0}/s, the \
             broker's pace too), queued in {queued_s:.1} s ({:.0}/s); {last} (joined, renewed, \
             refused); RSS {} KiB, {empty} when empty",
            f64::from(count) / wall_s,
            f64::from(count) / queued_s,
            rss_kib(child.0.id())?,
        );
    }
    Ok(())
}

fn all(number: u32) -> u32 {
    number
}

fn some(number: u32) -> u32 {
    number % KNOWN
}

/// Queues so many, each cache's by one thread, in order.
fn publish(broker: &Broker, count: u32, number: fn(u32) -> u32) -> Outcome<()> {
    let one = |thread: u32| -> Result<(), amqp::Error> {
        let (exchange, time) = (EXCHANGE.to_owned(), Duration::from_secs(60));
        let dial = Arc::new(Plain);
        let mut publisher = Publisher::new(broker.clone(), exchange, None, time, dial, None);
        for n in (thread..count).step_by(PUBLISHERS as usize) {
            publisher.publish("info", &body(number(n), unix_s()), &[], time)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PUBLISHERS).map(|n| scope.spawn(move || one(n))).collect();
        for thread in threads {
            thread.join().map_err(|_| "a publisher panicked")??;
        }
        Ok(())
    })
}

/// Ends with us.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(child: &Ended, name: &str) -> Outcome<()> {
    let pid = child.0.id().to_string();
    let done = Command::new("kill").args([&format!("-{name}"), &pid]).status()?.success();
    done.then_some(()).ok_or_else(|| "kill failed".into())
}

/// User and system time of all its threads: fields 14 and 15 of proc_pid_stat(5), 10 ms each.
fn cpu_s(pid: u32) -> Outcome<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, after) = stat.rsplit_once(')').ok_or("stat")?;
    let fields: Vec<f64> = after.split(' ').filter_map(|word| word.parse().ok()).collect();
    // Without the name and the state, which are no numbers.
    Ok((fields[10] + fields[11]) / 100.0)
}

fn rss_kib(pid: u32) -> Outcome<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("status")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// As Shoal's current agent writes it, from all over the address space.
fn body(number: u32, unix_s: f64) -> Vec<u8> {
    let address = Ipv4Addr::from(number.wrapping_mul(2_654_435_761) | 1);
    let mut body = String::with_capacity(400);
    let _ = write!(
        body,
        "{{\"uuid\": \"{number:032x}\", \"hostname\": \"squid{number:07}.net.example\", \
         \"cache_port\": 3128, \"cache_type\": \"squid\", \"verified\": false, \
         \"max_load\": 1125000, \"upstream\": \"both\", \"private_ip\": \"10.1.2.3\", \
         \"public_ip\": \"{address}\", \"timestamp\": {unix_s:.7}, \"load\": 30.087890625}}"
    );
    body.into_bytes()
}
