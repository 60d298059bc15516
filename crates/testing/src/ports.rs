//! Ports of this host that nothing listens on.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// From this port on, tests look for one.
const FIRST: u16 = 12_000;
/// Fewer than so many below those of the system are too few to look among.
const FEW: u16 = 2_000;

/// A port of 127.0.0.1 that nothing listens on.
///
/// It is none of those that the system gives to whoever asks for any, so no client and no listener
/// on port 0 takes it: a server that is ended can be started again where it was. No other call in
/// this process returns it, but another process may be quicker: who starts a server tries again.
#[must_use]
pub fn free_port() -> u16 {
    static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| AtomicU16::new(any()));
    let Some(ports) = ours() else { return of_system() };
    let count = ports.end - ports.start;
    let found = (0..count).find_map(|_| {
        let port = ports.start + NEXT.fetch_add(1, Ordering::Relaxed) % count;
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok().then_some(port)
    });
    found.unwrap_or_else(of_system)
}

/// An address of 127.0.0.1 that nothing listens at: see [`free_port`].
#[must_use]
pub fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}

/// Any number, so that processes that start at once look among different ports.
fn any() -> u16 {
    let bytes = RandomState::new().hash_one(std::process::id()).to_le_bytes();
    u16::from_le_bytes([bytes[0], bytes[1]])
}

/// The ports that the system gives to nobody.
fn ours() -> Option<Range<u16>> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    below(&range)
}

fn below(range: &str) -> Option<Range<u16>> {
    let first: u16 = range.split_whitespace().next()?.parse().ok()?;
    (first >= FIRST + FEW).then_some(FIRST..first)
}

fn of_system() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address.unwrap_or_else(|error| panic!("no port is free: {error}")).port()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_port_is_given_twice_or_by_the_system_too() {
        let all: BTreeSet<u16> = (0..200).map(|_| free_port()).collect();
        assert_eq!(all.len(), 200);
        let ours = ours().unwrap_or(0..u16::MAX);
        assert!(all.iter().all(|port| ours.contains(port)), "{all:?} of {ours:?}");
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_passed_over() {
        let listener = TcpListener::bind(free_address()).unwrap();
        let taken = listener.local_addr().unwrap().port();
        assert!((0..200).all(|_| free_port() != taken));
    }

    #[test]
    fn the_systems_own_ports_leave_enough_or_none() {
        assert_eq!(below("32768\t60999\n"), Some(FIRST..32_768));
        assert_eq!(below("1024\t65535\n"), None);
        assert_eq!(below(""), None);
    }
}
