//! Servers that take a request, work on it and close without an answer: a failure, each time, on
//! whatever connection and in whatever protocol. And servers that close as a request comes, which
//! is nobody's failure where it may be sent again.

use crate::drive::{Output, closed, drive, get, to};
use crate::server::{Gate, OK, Peer, Server};
use crate::tls::Identity;
use plimsoll_load::{Config, Protocol};
use plimsoll_runs::ErrorKind;
use plimsoll_workload::request::Requests;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How requests and answers travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Tls,
    /// In the clear, ended without a word.
    Http2,
    /// Ended by a GOAWAY that claims all requests as taken.
    GoAway,
}

/// How a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Fin,
    Reset,
}

/// A server that drops every fifth request of those it takes.
struct Dropping {
    server: Server,
    identity: Arc<Identity>,
    way: Way,
    taken: Arc<AtomicU64>,
    dropped: Arc<AtomicU64>,
}

impl Dropping {
    /// It drops after it has worked for so long, and answers the others at once.
    fn after(work: Duration, by: By, way: Way) -> Self {
        let (taken, dropped) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let identity = Arc::new(Identity::new());
        let (take, drop, own) = (taken.clone(), dropped.clone(), identity.clone());
        let server = Server::tcp(move |peer| {
            let mut peer = if way == Way::Tls { own.accept(peer) } else { peer };
            let is_http2 = matches!(way, Way::Http2 | Way::GoAway);
            if is_http2 {
                peer.write(b"\0\0\0\x04\0\0\0\0\0");
            }
            loop {
                let stream = if is_http2 {
                    let Some(stream) = headers(&mut peer) else { return };
                    stream
                } else {
                    let Some(_) = peer.request() else { return };
                    0
                };
                if take.fetch_add(1, Ordering::SeqCst) % 5 != 4 {
                    // HEADERS with `:status: 200`, at the stream's end.
                    let ok = [b"\0\0\x01\x01\x05", &stream.to_be_bytes()[..], b"\x88"].concat();
                    peer.write(if is_http2 { &ok } else { OK });
                    continue;
                }
                Gate::new().wait_for(work);
                drop.fetch_add(1, Ordering::SeqCst);
                if way == Way::GoAway {
                    peer.write(
                        &[b"\0\0\x08\x07\0\0\0\0\0", &stream.to_be_bytes()[..], b"\0\0\0\0"]
                            .concat(),
                    );
                }
                if by == By::Reset {
                    peer.reset();
                }
                return;
            }
        });
        Self { server, identity, way, taken, dropped }
    }

    fn config(&self, method: &str) -> Config {
        let mut config = match self.way {
            Way::Tls => self.identity.config(self.server.address(), "localhost"),
            _ => to(self.server.address()),
        };
        if matches!(self.way, Way::Http2 | Way::GoAway) {
            config.protocol = Protocol::Http2;
            config.streams_per_connection = 1;
        }
        config.requests = Arc::new(Requests::one(get().method(method).unwrap()));
        config
    }

    /// Drives it; returns what was seen, how many it took, and how many it dropped.
    fn drive(&self, method: &str, requests: u64) -> (Output, u64, u64) {
        let seen = drive(&self.config(method), &closed(2, 60_000, Some(requests)));
        let count = |of: &AtomicU64| of.load(Ordering::SeqCst);
        (seen, count(&self.taken), count(&self.dropped))
    }
}

/// The stream of the next HEADERS frame.
fn headers(peer: &mut Peer) -> Option<u32> {
    let mut head = [0; 9];
    loop {
        peer.stream.read_exact(&mut head).ok()?;
        if head == *b"PRI * HTT" {
            // The rest of the preface.
            peer.stream.read_exact(&mut [0; 15]).ok()?;
            continue;
        }
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        peer.stream.read_exact(&mut vec![0; len as usize]).ok()?;
        if head[3] == 1 {
            return Some(u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
        }
    }
}

fn stale(seen: &Output) -> u64 {
    seen.sum(|interval| interval.stale)
}

#[test]
fn what_a_server_drops_after_work_on_it_is_a_reset_and_goes_once() {
    let ms = Duration::from_millis;
    for (work, by, way) in [
        (ms(8), By::Fin, Way::Plain),
        (ms(50), By::Fin, Way::Plain),
        (ms(50), By::Reset, Way::Plain),
        (ms(50), By::Fin, Way::Tls),
        (ms(50), By::Reset, Way::Tls),
        (ms(50), By::Fin, Way::Http2),
        (ms(50), By::Reset, Way::Http2),
        (ms(50), By::Fin, Way::GoAway),
    ] {
        for method in ["GET", "POST"] {
            let (seen, taken, dropped) = Dropping::after(work, by, way).drive(method, 40);
            let what = format!("{method} {work:?} {by:?} {way:?}: {:?}", seen.counts());
            assert_eq!((taken, dropped), (40, 8), "{what}");
            assert_eq!((seen.errors(ErrorKind::Reset), stale(&seen)), (dropped, 0), "{what}");
            assert_eq!(seen.counts().succeeded, 32, "{what}");
        }
    }
}

#[test]
fn a_drop_is_never_hidden_however_soon_it_comes() {
    for work in [Duration::ZERO, Duration::from_millis(2)] {
        for way in [Way::Plain, Way::Tls, Way::Http2, Way::GoAway] {
            for by in [By::Fin, By::Reset] {
                let (seen, taken, dropped) = Dropping::after(work, by, way).drive("GET", 60);
                let (stale, resets) = (stale(&seen), seen.errors(ErrorKind::Reset));
                let what = format!("{work:?} {by:?} {way:?}: {:?}", seen.counts());
                // How soon a close comes is for the machine to say, but it is one or the other.
                assert_eq!((taken, dropped), (60 + stale, stale + resets), "{what}");
                assert!(stale > 0, "{what}");
            }
        }
    }
}

#[test]
fn what_could_be_done_twice_is_sent_once() {
    for method in ["POST", "PATCH", "LOCK"] {
        for way in [Way::Plain, Way::Tls, Way::Http2] {
            let server = Dropping::after(Duration::ZERO, By::Fin, way);
            let (seen, taken, dropped) = server.drive(method, 20);
            assert_eq!((taken, dropped), (20, 4), "{method} {way:?}");
            assert_eq!((seen.errors(ErrorKind::Reset), stale(&seen)), (4, 0), "{method} {way:?}");
        }
    }
}

#[test]
fn what_does_no_more_when_done_twice_goes_again() {
    for method in ["HEAD", "OPTIONS", "PUT", "DELETE"] {
        let server = Dropping::after(Duration::ZERO, By::Fin, Way::Http2);
        let (seen, taken, dropped) = server.drive(method, 60);
        let (stale, resets) = (stale(&seen), seen.errors(ErrorKind::Reset));
        assert_eq!((taken, dropped), (60 + stale, stale + resets), "{method}: {:?}", seen.counts());
        assert!(stale > 0, "{method}: {:?}", seen.counts());
    }
}
