//! Unix sockets, IPv6, and what the operating system does not allow.

use crate::drive::{config, drive, open, refused, to};
use crate::server::{OK, Server};
use plimsoll_load::{Endpoint, SessionError};
use plimsoll_testing::{has_ipv6, skip};
use plimsoll_workload::request::{Order, Requests};
use std::net::TcpListener;
use std::sync::Arc;

#[test]
fn a_unix_socket() {
    let folder = tempfile();
    let path = folder.join("server.sock");
    let server = Server::unix(&path, |mut peer| peer.serve(OK, 7));
    let seen = drive(&config(Endpoint::Unix(path)), &open(100.0, 300));
    assert_eq!(seen.counts().succeeded, 30, "{:?}", seen.counts());
    drop(server);
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("plimsoll-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn ipv6() {
    if !has_ipv6("ipv6") {
        return;
    }
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let server = Server::on(listener, |mut peer| peer.serve(OK, usize::MAX));
    let seen = drive(&to(server.address()), &open(100.0, 200));
    assert_eq!(seen.counts().succeeded, 20);
}

#[test]
fn more_connections_than_descriptors_are_refused_with_the_numbers() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let Some(most) = limit.maximum.and_then(|most| u32::try_from(most).ok()) else {
        let test = "more_connections_than_descriptors_are_refused_with_the_numbers";
        return skip(test, "namespaces: no bound of descriptors");
    };
    let server = Server::plain();
    let mut config = to(server.address());
    config.connections = (1, most);
    let error = refused(&config);
    let SessionError::Descriptors { needed, connections, allowed, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!((*connections, *allowed), (most, u64::from(most)));
    assert!(*needed > u64::from(most));
    let text = plimsoll_units::failure::told(&error);
    assert!(text.contains(&needed.to_string()) && text.contains("ulimit -Hn"), "{text}");
    assert_eq!(server.accepted(), 0, "nothing was connected to");
}

#[test]
fn a_list_of_nothing_is_no_unreachable_target() {
    let server = Server::plain();
    let mut config = to(server.address());
    config.threads = 2;
    config.requests = Arc::new(Requests { list: Vec::new(), order: Order::RoundRobin });
    let error = refused(&config);
    assert!(matches!(error, SessionError::System(_)), "{error:?}");
}
