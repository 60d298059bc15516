//! Tests that hold upper bounds of time, which a busy machine breaks: they run with the machine to
//! themselves. Windows on a real session, against servers that answer at once, or after a while.

use plimsoll_capacity::conduct::Site;
use plimsoll_capacity::live::{Live, session};
use plimsoll_capacity::window::{Offer, Phase};
use plimsoll_load::http1::encode::Head;
use plimsoll_load::run::{Watch, Wish};
use plimsoll_load::{Config, Endpoint, Expected, Pacing, Protocol};
use plimsoll_runs::{Event, Interval, Sample, Sink, SinkError};
use plimsoll_workload::request::{Request, Requests, Url};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const RATE: f64 = 1000.0;

struct Nothing;
impl Sink for Nothing {
    fn interval(&mut self, _: &Interval) -> Result<(), SinkError> {
        Ok(())
    }
    fn samples(&mut self, _: &[Sample]) -> Result<(), SinkError> {
        Ok(())
    }
    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }
}
impl Watch for Nothing {
    fn watch(&mut self, _: &Interval, _: bool) -> Wish {
        Wish::Continue
    }
}

/// A server that answers whatever is asked after so long, and how much that was.
fn server(takes: Duration) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || answer(stream, takes, &count));
        }
    });
    (address, asked)
}

/// Answers each end of a head; clients wait for an answer before they ask again.
#[expect(clippy::disallowed_methods, reason = "a server that takes its time")]
fn answer(mut stream: TcpStream, takes: Duration, count: &AtomicU64) {
    let mut bytes = [0; 4096];
    while let Ok(1..) = stream.read(&mut bytes) {
        count.fetch_add(1, Ordering::Relaxed);
        if !takes.is_zero() {
            std::thread::sleep(takes);
        }
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

fn config(address: SocketAddr) -> Config {
    let request = Request::new(Url::parse("http://test.example/").unwrap());
    Config {
        endpoint: Endpoint::Tcp(address),
        tls: None,
        protocol: Protocol::Http1,
        requests: Arc::new(Requests::one(request)),
        sequence: None,
        names: None,
        users: None,
        checks: [].into(),
        store: None,
        head: Head { user_agent: "plimsoll".into(), host: None, close: false, proxy: None },
        follow: 0,
        way: plimsoll_load::way::Way::default(),
        connection_per_request: false,
        expected: Expected::default(),
        connections: (8, 8),
        streams_per_connection: 1,
        threads: 1,
        pacing: Pacing::Thrifty,
        timeout_ns: 20_000_000_000,
        drain_ns: 20_000_000_000,
        max_waiting: None,
        measured_from_ns: 0,
        renew_ns: None,
        traceparents: None,
        seed: 7,
        samples: true,
        part: plimsoll_load::Part::WHOLE,
    }
}

fn second(fresh: bool) -> Offer {
    let phase = Phase::Search;
    Offer { rate_per_s: RATE, seconds: 1.0, settle_s: 0.0, phase, may_cut: false, fresh }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a search that decides slowly")]
fn while_a_search_decides_nothing_is_sent_twice() {
    let (address, asked) = server(Duration::ZERO);
    let (mut sink, mut watch) = (Nothing, Nothing);
    let mut session = session(&config(address), &mut watch).unwrap();
    let mut live = Live::on(&mut session, (0.9, 100_000_000), &mut sink, &mut watch);
    let first = live.window(&second(false)).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    let last = live.window(&second(false)).unwrap();
    live.settle().unwrap();
    // The load went on from the first window to the last.
    let seconds = last.start_s + last.seconds - first.start_s;
    assert!(last.start_s >= first.start_s + first.seconds + 0.4, "{} s", last.start_s);
    let near = |count: u64, seconds: f64| {
        let expected = RATE * seconds;
        // Poisson arrivals, five standard deviations.
        let off = (count as f64 - expected).abs() / expected.sqrt();
        assert!(off < 5.0, "{count} of {expected:.0} expected");
    };
    near(asked.load(Ordering::Relaxed), seconds);
    near(last.due, last.seconds);
    near(last.counted(), last.counted_s);
}

#[test]
fn a_fresh_window_begins_when_all_is_answered() {
    // One connection, one request at a time, of a millisecond or more: most of what is due waits,
    // however fast the machine is.
    let (address, _) = server(Duration::from_millis(1));
    let (mut sink, mut watch) = (Nothing, Nothing);
    let mut slow = config(address);
    slow.connections = (1, 1);
    let mut session = session(&slow, &mut watch).unwrap();
    let mut live = Live::on(&mut session, (0.9, 100_000_000), &mut sink, &mut watch);
    let much = Offer { rate_per_s: 10.0 * RATE, ..second(false) };
    let before = live.window(&much).unwrap();
    let fresh = live.window(&Offer { rate_per_s: 10.0, ..second(true) }).unwrap();
    live.settle().unwrap();
    assert!(before.response.unanswered > 0, "the first window is too much");
    assert!(fresh.start_s > before.start_s + before.seconds);
    // What waited is not sent, and what is due now does not wait behind it.
    assert_eq!((fresh.beyond, fresh.response.unanswered), (0, 0));
    assert!(fresh.counted() > 0);
}
