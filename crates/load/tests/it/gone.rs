//! A target that is not there, or goes away in mid-run.

use crate::drive::{
    MS, Output, closed, config, drive, finish, open, refused, session, take, times, to,
};
use crate::server::{Gate, OK, Peer, Server};
use plimsoll_load::{Endpoint, SessionError};
use plimsoll_runs::ErrorKind;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A port that is held and refuses, as nobody listens on it.
fn held() -> TcpListener {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    TcpListener::from(socket)
}

/// A server whose connections can be ended from outside.
fn mortal(listener: TcpListener) -> (Server, Arc<Mutex<Vec<TcpStream>>>) {
    let living: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let list = living.clone();
    let script = move |mut peer: Peer| {
        list.lock().unwrap().push(peer.tcp.as_ref().unwrap().try_clone().unwrap());
        peer.serve(OK, usize::MAX);
    };
    (Server::on(listener, script), living)
}

fn kill(server: Server, living: &Mutex<Vec<TcpStream>>) {
    drop(server);
    for tcp in living.lock().unwrap().drain(..) {
        let _ = tcp.shutdown(Shutdown::Both);
    }
}

#[test]
fn a_target_that_refuses_at_the_start_gets_no_load() {
    let held = held();
    let address = held.local_addr().unwrap();
    let error = refused(&to(address));
    let SessionError::Unreachable { endpoint, kind, source } = error else { panic!("{error:?}") };
    assert_eq!((endpoint, kind), (Endpoint::Tcp(address), ErrorKind::Connect));
    assert_eq!(source.kind(), std::io::ErrorKind::ConnectionRefused);
    let missing = Endpoint::Unix("/nonexistent/plimsoll.sock".into());
    let error = refused(&config(missing.clone()));
    let SessionError::Unreachable { endpoint, source, .. } = error else { panic!("{error:?}") };
    assert_eq!((endpoint, source.kind()), (missing, std::io::ErrorKind::NotFound));
}

#[test]
fn a_target_that_dies_and_comes_back_fails_what_is_due_between() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (server, living) = mortal(listener);
    let config = to(address);
    let mut session = session(&config);
    session.offer(0, &times(200.0, 60_000));
    let mut seen = Output::default();
    let mut now = take_until(&mut session, &mut seen, |seen| seen.counts().succeeded > 20);
    kill(server, &living);
    now = now.max(take_until(&mut session, &mut seen, |seen| seen.errors(ErrorKind::Connect) > 20));
    let (_server, _living) = mortal(TcpListener::bind(address).unwrap());
    let before = seen.counts().succeeded;
    now =
        now.max(take_until(&mut session, &mut seen, |seen| seen.counts().succeeded > before + 20));
    session.end_at(now);
    let seen = finish(session, seen, &config);
    let counts = seen.counts();
    let (connect, reset) =
        (counts.errors_of(ErrorKind::Connect), counts.errors_of(ErrorKind::Reset));
    assert_eq!(counts.offered, counts.succeeded + connect + reset, "{counts:?}");
    assert!(reset <= 2, "at most one on each connection: {counts:?}");
    // Attempts back off to one in 100 ms at last, however many requests fail with them.
    let attempts = seen.sum(|interval| interval.connect_failed);
    assert!(attempts < connect, "{attempts} attempts for {connect} requests");
}

fn take_until(
    session: &mut plimsoll_load::Session,
    seen: &mut Output,
    enough: impl Fn(&Output) -> bool,
) -> u64 {
    while !enough(seen) {
        take(session, seen, |_| true);
    }
    session.clock().now()
}

#[test]
fn a_closed_loop_does_not_spin_against_a_dead_target() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (server, living) = mortal(listener);
    let config = to(server.address());
    let offer = closed(50, 1000, None);
    let killer = std::thread::spawn(move || {
        while living.lock().unwrap().len() < 2 {
            std::thread::yield_now();
        }
        kill(server, &living);
    });
    let seen = drive(&config, &offer);
    killer.join().unwrap();
    let counts = seen.counts();
    let connect = counts.errors_of(ErrorKind::Connect);
    // Back-offs of 10, 20, 40, 80, 100, 100 … ms leave 13 rounds in a second, of at most two
    // attempts each; and one attempt for each of the two requests that were on their way.
    let attempts = seen.sum(|interval| interval.connect_failed);
    assert!(attempts <= 2 * 13 + 2, "{attempts} attempts");
    assert!(connect > 0 && connect <= 50 * 14, "{connect} requests failed");
}

#[test]
fn a_target_that_answers_no_attempt_fails_requests_that_waited_as_long_as_one() {
    // A listener whose queue is full takes no more: attempts end by our time-out only.
    let listener = held();
    listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let gate = Gate::new();
    let shut = gate.clone();
    let first = std::thread::spawn(move || {
        let (tcp, _) = listener.accept().unwrap();
        // The queue is filled before the one connection that answers ends.
        let fill = TcpStream::connect(address).unwrap();
        let mut peer = Peer::new(0, Box::new(tcp.try_clone().unwrap()), Some(tcp));
        peer.serve(OK, 3);
        drop(peer);
        shut.wait();
        drop((fill, listener));
    });
    let mut config = to(address);
    config.connections = (1, 4);
    config.timeout_ns = 200 * MS;
    let seen = drive(&config, &open(50.0, 1500));
    gate.open();
    first.join().unwrap();
    let counts = seen.counts();
    assert!(counts.succeeded >= 1, "{counts:?}");
    assert!(counts.errors_of(ErrorKind::Connect) > counts.errors_of(ErrorKind::Cut), "{counts:?}");
}
