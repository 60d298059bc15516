//! Drives a server by the bare engine and prints what it counted: for profiles and quick looks.
//!
//! `drive URL RATE SECONDS precise|thrifty [CONNECTIONS [STREAMS]]`: a rate of 0 is a closed loop with
//! as many users as there are connections, or with STREAMS, which means HTTP/2, as there are streams.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]
use plimsoll_load::run::{Offer, Watch, Wish, run};
use plimsoll_load::session::Load;
use plimsoll_load::*;
use plimsoll_runs::*;
use plimsoll_stats::Percentiles;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::request::*;
use plimsoll_workload::schedule::Schedule;
use std::sync::Arc;

struct Sum(Interval, u64);
impl Sink for Sum {
    fn interval(&mut self, i: &Interval) -> Result<(), SinkError> {
        self.0.append(i);
        self.1 += 1;
        Ok(())
    }
    fn samples(&mut self, _: &[Sample]) -> Result<(), SinkError> {
        Ok(())
    }
    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
}
struct Quiet;
impl Watch for Quiet {
    fn watch(&mut self, _: &Interval, _: bool) -> Wish {
        Wish::Continue
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let url = Url::parse(&args[1]).unwrap();
    let rate: f64 = args[2].parse().unwrap();
    let seconds: u64 = args[3].parse().unwrap();
    let pacing = if args[4] == "precise" { Pacing::Precise } else { Pacing::Thrifty };
    let connections: u32 = args.get(5).map_or(64, |c| c.parse().unwrap());
    let streams: Option<u32> = args.get(6).map(|streams| streams.parse().unwrap());
    let protocol = if streams.is_some() { Protocol::Http2 } else { Protocol::Http1 };
    let endpoint = Endpoint::Tcp(format!("{}:{}", url.host, url.port).parse().unwrap());
    let requests = Requests::one(Request::new(url));
    let config = Config {
        endpoint,
        tls: None,
        protocol,
        requests: Arc::new(requests),
        sequence: None,
        head: http1::encode::Head { user_agent: "plimsoll".into(), host: None, close: false },
        connection_per_request: false,
        expected: Expected::default(),
        connections: (connections, connections),
        streams_per_connection: streams.unwrap_or(1),
        threads: 1,
        pacing,
        timeout_ns: 10_000_000_000,
        drain_ns: 10_000_000_000,
        max_waiting: None,
        measured_from_ns: 0,
        seed: 1,
        samples: false,
    };
    let ns = seconds * 1_000_000_000;
    let offer = if rate > 0.0 {
        Offer::Open {
            parts: vec![Times::Schedule(
                Arc::new(Schedule::constant(rate, ns).unwrap()),
                plimsoll_workload::arrivals::Arrivals::Even,
            )],
            limit: None,
        }
    } else {
        Offer::Closed(
            Load::Closed {
                users: connections * streams.unwrap_or(1),
                think: Distribution::parse("const:0ms").unwrap(),
                end_ns: ns,
                limit: None,
            },
            ns,
        )
    };
    let mut sum = Sum(Interval::default(), 0);
    let ended = run(&config, &offer, &mut sum, &mut Quiet);
    println!("{ended:?}");
    let all = &sum.0;
    let phase = &all.phases[1];
    println!("{:?}", phase.counters);
    for tag in Tag::ALL {
        let p = Percentiles::of(phase.histogram(tag));
        println!("{:16} n {} p50 {:?} p99 {:?} max {:?}", tag.name(), p.count, p.p50, p.p99, p.max);
    }
    let turn = Percentiles::of(&all.turn);
    println!("turn n {} p50 {:?} p99 {:?} max {:?}", turn.count, turn.p50, turn.p99, turn.max);
    #[allow(clippy::cast_precision_loss)]
    let (busy, cpu, len) = (
        all.busy_ns as f64 / all.thread_ns as f64,
        all.cpu_ns as f64 / 1e9,
        all.len_ns as f64 / 1e9,
    );
    #[allow(clippy::cast_precision_loss)]
    let done = phase.counters.completed as f64;
    println!(
        "busy {busy:.3} cpu {cpu:.2} s of {len:.2} s, {:.2} cpu-s/M, {:.0}/s, opened {} stale {} rtt {}",
        cpu / done * 1e6,
        done / len,
        all.opened,
        all.stale,
        all.rtt_ns
    );
}
