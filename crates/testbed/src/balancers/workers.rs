//! The workers of nginx of before a reload: when they get no more requests, and which servers they
//! are connected to.

use std::collections::BTreeSet;
use std::fs::{read, read_dir, read_link, read_to_string};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::command::Deadline;
use crate::thing::runs;

/// How long it may take until they are told to end: nginx tells them 100 ms after the new ones are
/// there.
const TOLD: Duration = Duration::from_secs(5);
/// How long a connection stays that no request has come on: `client_header_timeout`, and a quarter
/// for a busy host.
const UNUSED: Duration = Duration::from_millis(1700);

/// A process, by its number and the time of its start.
type Process = (u32, u64);

/// Waits until workers of before get no more requests: they are gone, or take no connections any
/// more, and have closed those that they took and that nobody used.
pub(super) fn retire(workers: &[Process]) {
    accept_no_more(workers);
    let unused = Deadline::within(UNUSED);
    while workers.iter().any(|of| runs(of.0, of.1)) && !unused.is_over() {
        unused.pause();
    }
}

/// Waits until workers of before take no connections any more.
pub(super) fn accept_no_more(workers: &[Process]) {
    let told = Deadline::within(TOLD);
    let accepts = |of: &Process| runs(of.0, of.1) && !is_ending(of.0);
    while workers.iter().any(accepts) && !told.is_over() {
        told.pause();
    }
}

/// Whether a worker was told to end when it has nothing any more: its title says so.
fn is_ending(pid: u32) -> bool {
    let title = read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&title).contains("shutting down")
}

/// Whether one of some processes that run has a connection to an address, or makes one.
pub(super) fn are_connected(processes: &[Process], to: SocketAddr) -> bool {
    let living = processes.iter().filter(|of| runs(of.0, of.1));
    living.into_iter().any(|(pid, _)| is_connected(*pid, to))
}

fn is_connected(pid: u32, to: SocketAddr) -> bool {
    let table = if to.is_ipv4() { "tcp" } else { "tcp6" };
    let table = read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
    let there: BTreeSet<&str> = table.lines().filter_map(|line| socket_to(line, to)).collect();
    if there.is_empty() {
        return false;
    }
    let Ok(opened) = read_dir(format!("/proc/{pid}/fd")) else {
        // Of a process that we may not look into: it may be its own.
        return true;
    };
    let is_there = |path: std::path::PathBuf| {
        let link = read_link(path).unwrap_or_default();
        let link = link.to_string_lossy();
        let number = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        number.is_some_and(|number| there.contains(number))
    };
    opened.flatten().any(|entry| is_there(entry.path()))
}

/// The number of the socket that a line of `/proc/net/tcp` is of, where it is connected to an
/// address, or is about to be (`tcp_states.h`: 1 established, 2 SYN sent).
fn socket_to(line: &str, to: SocketAddr) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_its = *fields.get(2)? == hex(to) && matches!(*fields.get(3)?, "01" | "02");
    fields.get(9).copied().filter(|_| is_its)
}

/// An address as the kernel writes it there: words of the machine's order.
fn hex(address: SocketAddr) -> String {
    let words: Vec<u8> = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let word = |of: &[u8]| of.try_into().map_or(0, u32::from_ne_bytes);
    let text: String = words.chunks(4).map(|of| format!("{:08X}", word(of))).collect();
    format!("{text}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thing::started_at;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn who_is_connected_is_known_by_the_kernels_tables() {
        let me = std::process::id();
        let me = [(me, started_at(me).unwrap())];
        let mut addresses = vec!["127.0.0.1:0"];
        if plimsoll_testing::has_ipv6("who_is_connected") {
            addresses.push("[::1]:0");
        }
        for address in addresses {
            let listener = TcpListener::bind(address).unwrap();
            let address = listener.local_addr().unwrap();
            assert!(!are_connected(&me, address), "it listens only");
            let stream = TcpStream::connect(address).unwrap();
            assert!(are_connected(&me, address));
            assert!(!are_connected(&[(me[0].0, me[0].1 + 1)], address), "another process");
            drop(stream);
            plimsoll_testing::wait_until("it is closed", || !are_connected(&me, address));
        }
    }

    #[test]
    fn who_has_ended_is_not_waited_for() {
        let me = std::process::id();
        retire(&[(me, started_at(me).unwrap() + 1)]);
        assert!(!is_ending(me));
    }
}
