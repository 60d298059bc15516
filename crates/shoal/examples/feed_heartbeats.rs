//! Agents, many in one process: announces COUNT caches to a server and keeps them alive.
//!
//!     feed_heartbeats HOST:PORT COUNT [RATE 0] [CHURN 0] [SECONDS 0] [SEED 1] [END_S 0]
//!
//! Announces all of them once as fast as the server takes them, prints how long that took, and
//! then, for SECONDS, sends RATE heartbeats of known caches a second, and lets CHURN caches join
//! and as many leave. Addresses are all over the IPv4 space. To a server on this host it speaks
//! from 127.0.0.2, which that has to trust: `--trust 127.0.0.2/32`.
//! With END_S (at least 15) each says an interval of its own, such that all of them expire so many
//! seconds after the start, together.
#![expect(clippy::unwrap_used, reason = "a run that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "keeps pace with the clock")]
#![expect(clippy::print_stdout, reason = "says how long it took")]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plimsoll_workload::random::Stream;
use rustix::net;

/// Announcements on their way at once.
const WINDOW: u64 = 64;

struct Feeder {
    stream: TcpStream,
    host: String,
    random: Stream,
    out: Vec<u8>,
    /// When all expire.
    end: Option<Instant>,
    sent: u64,
    answered: u64,
    tail: Vec<u8>,
}

impl Feeder {
    /// Cache `number`, which was started for the `life`-th time, says that it lives.
    fn beat(&mut self, number: u64, life: u64) {
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let address = address(number);
        let load = self.random.below(122_000);
        // An entry lives for four intervals.
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        let interval = left.map_or(String::new(), |left| {
            format!(", \"interval\": {:.6}", left.as_secs_f64() / 4.0)
        });
        let body = format!(
            "{{\"uuid\": \"{number:016x}{life:016x}\", \"hostname\": \"squid{number}.example\", \
             \"cache_port\": 3128, \"cache_type\": \"squid\", \"verified\": false, \
             \"max_load\": 122000, \"upstream\": \"both\", \"public_ip\": \"{address}\", \
             \"timestamp\": {unix_s:.6}, \"load\": {load}{interval}}}"
        );
        self.request("POST", &body);
    }

    fn bye(&mut self, number: u64, life: u64) {
        let unix_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let uuid = format!("{number:016x}{life:016x}");
        let body = plimsoll_shoal::heartbeat::goodbye_body(&uuid, unix_s);
        self.request("DELETE", &body);
    }

    fn request(&mut self, method: &str, body: &str) {
        let host = &self.host;
        let length = body.len();
        write!(
            self.out,
            "{method} /v1/heartbeat HTTP/1.1\r\nHost: {host}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        self.sent += 1;
        if self.sent - self.answered >= WINDOW {
            self.settle(WINDOW / 2);
        }
    }

    /// Sends what is to be sent and reads answers until at most so many are missing.
    fn settle(&mut self, most: u64) {
        self.stream.write_all(&self.out).unwrap();
        self.out.clear();
        let mut bytes = [0; 16 * 1024];
        while self.sent - self.answered > most {
            let read = self.stream.read(&mut bytes).unwrap();
            assert!(read > 0, "the server closed the connection");
            self.tail.extend_from_slice(&bytes[..read]);
            let mut from = 0;
            while let Some(end) = self.tail[from..].windows(4).position(|w| w == b"\r\n\r\n") {
                let head = &self.tail[from..from + end];
                assert!(head.starts_with(b"HTTP/1.1 204"), "{}", String::from_utf8_lossy(head));
                self.answered += 1;
                from += end + 4;
            }
            self.tail.drain(..from);
        }
    }
}

/// All over the space, the same for each run: a multiplicative hash of the number.
fn address(number: u64) -> Ipv4Addr {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let [a, rest @ ..] = u32::try_from(mixed).unwrap().to_be_bytes();
    // In the place of networks that nobody may announce, one that would be left over.
    let first = match (1 + a % 222, rest[0]) {
        (127, _) | (169, 254) => 223,
        (first, _) => first,
    };
    Ipv4Addr::from([first, rest[0], rest[1], rest[2]])
}

/// A connection from an address of loopback that the server trusts and nothing else has: what comes
/// from 127.0.0.1 is its proxy's.
fn connect(host: &str) -> TcpStream {
    let to: SocketAddr = host.parse().expect("HOST:PORT");
    let socket = net::socket(net::AddressFamily::INET, net::SocketType::STREAM, None).unwrap();
    if to.ip().is_loopback() {
        net::bind(&socket, &SocketAddr::from((TRUSTED, 0))).unwrap();
    }
    net::connect(&socket, &to).unwrap();
    TcpStream::from(socket)
}

/// By which the server knows whoever feeds it.
const TRUSTED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn main() {
    let mut given = std::env::args().skip(1);
    let host = given.next().expect("HOST:PORT");
    let mut number = |default: u64| given.next().map_or(default, |text| text.parse().unwrap());
    let count = number(1000);
    let (rate, churn, seconds, seed) = (number(0), number(0), number(0), number(1));
    let end_s = number(0);
    let stream = connect(&host);
    stream.set_nodelay(true).unwrap();
    let random = Stream::named(seed, "feed");
    let (out, tail) = (Vec::new(), Vec::new());
    let start = Instant::now();
    let end = (end_s > 0).then(|| start + Duration::from_secs(end_s));
    let mut feeder = Feeder { stream, host, random, out, end, sent: 0, answered: 0, tail };
    for number in 0..count {
        feeder.beat(number, 1);
    }
    feeder.settle(0);
    println!("{count} announced in {:.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let (mut beats, mut changes) = (0_u64, 0_u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        let passed = u64::try_from(start.elapsed().as_micros()).unwrap();
        while beats * 1_000_000 < passed * rate {
            // In turn, so that each is renewed as often as any.
            feeder.beat(churn * seconds + beats % (count - churn * seconds), 1);
            beats += 1;
        }
        while changes * 1_000_000 < passed * churn {
            feeder.bye(changes, 1);
            feeder.beat(changes, 2);
            changes += 1;
        }
        feeder.settle(0);
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("{beats} heartbeats, {changes} left and joined");
}
