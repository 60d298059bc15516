//! Sockets by state, by each way in which the kernel can be asked: all tell the same, and what is
//! true.

#![expect(clippy::disallowed_methods, reason = "a network namespace is had by a process")]

use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_monitor::{Source, Watched};
use plimsoll_testing::wait_until;
use rustix::fs::symlink;

/// The counts that are not 0.
fn states(source: &Source) -> Vec<(String, u32)> {
    let samples = Watched::open("network", source).unwrap().collect().unwrap();
    assert_eq!(samples.left_out(), 0, "{:?}", samples.first_left_out());
    let states = samples.iter().filter(|sample| sample.name == "node_tcp_connection_states");
    let named = states.map(|sample| (sample.label("state").unwrap().to_owned(), sample.value));
    let there = named.filter(|(_, count)| *count > 0.0);
    // Tens of sockets.
    #[expect(clippy::cast_possible_truncation, reason = "see above")]
    there.map(|(state, count)| (state, count as u32)).collect()
}

/// Connections of which each end is kept, as is the listener.
fn connect(address: SocketAddr, count: usize) -> (TcpListener, Vec<(TcpStream, TcpStream)>) {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    let pair = || (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0);
    let pairs = (0..count).map(|_| pair()).collect();
    (listener, pairs)
}

#[test]
fn sockets_by_state_are_the_same_by_each_way() {
    if !plimsoll_testing::has_namespaces("sockets_by_state_are_the_same_by_each_way") {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let script = format!(
        "ip link set lo up && exec {} --exact states::in_a_namespace --ignored --nocapture",
        own.display()
    );
    let ran = Command::new("unshare").args(["--net", "sh", "-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && out.contains("1 passed"), "{out}\n{said}");
}

#[test]
#[ignore = "needs a network namespace to itself: see above"]
fn in_a_namespace() {
    let four = SocketAddr::from(([127, 0, 0, 1], 0));
    let six = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let (listener, mut pairs) = connect(four, 30);
    let (listener_of_six, pairs_of_six) = connect(six, 5);
    // Ten clients end and their servers do not; of seven both end, the client first.
    let servers: Vec<TcpStream> = pairs.split_off(20).into_iter().map(|pair| pair.1).collect();
    drop(pairs.split_off(13));
    let wanted = [
        ("established", 2 * 13 + 2 * 5),
        ("fin_wait2", 10),
        ("time_wait", 7),
        ("close_wait", 10),
        ("listen", 2),
    ];
    let wanted = wanted.map(|(state, count)| (state.to_owned(), count));
    // The kernel may not have acknowledged the last end yet.
    let netlink = Source::default();
    wait_until(&format!("{wanted:?}"), || states(&netlink) == wanted);
    let entered = Source { net: Some(PathBuf::from("/proc/self/net")), ..Source::default() };
    assert_eq!(states(&entered), wanted);
    // A folder that is of no process tells of no namespace: its tables are read.
    let place = tempfile::tempdir().unwrap();
    for file in ["tcp", "tcp6", "snmp", "netstat", "sockstat", "sockstat6", "dev"] {
        symlink(Path::new("/proc/self/net").join(file), place.path().join(file)).unwrap();
    }
    let tables = Source { net: Some(place.path().to_owned()), ..Source::default() };
    assert_eq!(states(&tables), wanted);
    // Without the kernel's counters all sockets are asked for.
    let alone = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(alone.path().join("1/net")).unwrap();
    std::fs::create_dir_all(alone.path().join("1/ns")).unwrap();
    symlink("/proc/self/ns/net", alone.path().join("1/ns/net")).unwrap();
    let asked = Source { net: Some(alone.path().join("1/net")), ..Source::default() };
    assert_eq!(states(&asked), wanted);
    drop((listener, listener_of_six, pairs_of_six, servers, pairs));
}
