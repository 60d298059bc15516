//! How a server begins and ends: addresses, Unix sockets, many connections, stopping.

use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use plimsoll_target::{Address, BodySize, Options, Server, Stall, TargetError};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::ServiceTime;

use super::client::{Client, GET, Running};

fn socket(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn a_unix_socket_is_served_and_removed() {
    let path = socket("served.sock");
    let server = Running::at(Options::default(), &Address::Unix(path.clone()));
    let stream = UnixStream::connect(&path).unwrap();
    let mut client = Client { reader: BufReader::new(stream) };
    assert_eq!(client.ask(GET).status, 200);
    server.finish();
    assert!(!path.exists());
}

#[test]
fn a_socket_left_behind_is_taken_over_and_a_living_one_is_not() {
    let path = socket("left.sock");
    drop(UnixListener::bind(&path).unwrap());
    let address = Address::Unix(path);
    let server = Running::at(Options::default(), &address);
    let error = Server::bind(Options::default(), &address).unwrap_err();
    assert!(matches!(error, TargetError::Listen { .. }), "{error}");
    server.finish();
}

#[test]
fn an_address_in_use_is_named() {
    let server = Running::new(Options::default());
    let error = Server::bind(Options::default(), &server.address).unwrap_err().to_string();
    assert!(error.contains(&server.address.to_string()), "{error}");
}

#[test]
fn ipv6_is_listened_on_where_there_is_any() {
    if !plimsoll_testing::has_ipv6("ipv6_is_listened_on_where_there_is_any") {
        return;
    }
    let server = Server::bind(Options::default(), &"[::1]:0".parse().unwrap()).unwrap();
    assert!(server.local_addr().to_string().starts_with("[::1]:"));
}

#[test]
fn addresses_read_back() {
    for text in ["127.0.0.1:80", "[::1]:80", "unix:/run/a.sock"] {
        assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
    }
    for text in ["", "unix:", "localhost", "127.0.0.1"] {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.to_string().contains("127.0.0.1:8080"), "{error}");
    }
}

#[test]
fn options_out_of_their_bounds_are_refused() {
    let default = Options::default;
    let cases = [
        (Options { speed: 0.0, ..default() }, "speed"),
        (Options { speed: f64::NAN, ..default() }, "speed"),
        (Options { error_share: 1.5, ..default() }, "share"),
        (Options { burn: true, stall: Stall::new(10, 1), ..default() }, "stall"),
    ];
    for (options, word) in cases {
        let error = Server::bind(options, &"127.0.0.1:0".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_log_that_cannot_be_made_is_named() {
    let log = Some(PathBuf::from("/nowhere/at/all.csv"));
    let server =
        Server::bind(Options { log, ..Options::default() }, &"127.0.0.1:0".parse().unwrap());
    let error = server.unwrap().run(Default::default()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all.csv"), "{error}");
}

#[test]
fn what_was_read_is_answered_after_the_stop() {
    let service = ServiceTime::Law(Distribution::parse("const:30ms").unwrap());
    let body = BodySize::Fixed(5_000_000);
    let server = Running::new(Options { service, body, ..Options::default() });
    let mut clients: Vec<_> = (0..5).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(GET);
    }
    server.barrier();
    server.stop();
    for client in &mut clients {
        assert_eq!(client.answer().body, 5_000_000);
        assert!(client.is_at_end());
    }
    assert_eq!(server.finish().succeeded, 5);
}

#[test]
fn thousands_of_connections() {
    let server = Running::new(Options::default());
    let mut clients: Vec<_> = (0..3_000).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send(GET);
    }
    for client in &mut clients {
        assert_eq!(client.answer().status, 200);
    }
    let stats = server.finish();
    assert_eq!((stats.connections, stats.connections_peak, stats.requests), (3_000, 3_000, 3_000));
    assert!(clients.iter_mut().all(Client::is_at_end), "a server that has ended closes");
}

/// Requests whose clients have gone take their place in the queue, and are answered to nobody.
#[test]
fn clients_may_go_away() {
    let service = ServiceTime::Law(Distribution::parse("const:1ms").unwrap());
    let server = Running::new(Options { service, ..Options::default() });
    for _ in 0..20 {
        let mut client = server.connect();
        client.send(&GET.repeat(3));
        server.barrier();
    }
    let mut last = server.connect();
    assert_eq!(last.ask(GET).status, 200);
    let stats = server.finish();
    assert_eq!((stats.requests, stats.succeeded), (61, 61));
}
