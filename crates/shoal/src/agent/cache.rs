//! Which cache an agent speaks for, and whether that cache answers.
//!
//! A cache is found as Shoal's agent finds it: a process `squid` and the port it listens on, by
//! the inodes of its sockets; else a process `varnishd` and the port of its option `-a`; else the
//! usual port of the kind. A cache is alive if a request through it is answered: a stopped process
//! still accepts connections, because the kernel does that for it.
//!
//! Sources: proc_pid_fd(5), proc_pid_cmdline(5); varnishd(1), `-a [name=][address][:port],…`.

use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::load::{socket_table, sockets};
use crate::heartbeat::Kind;
use plimsoll_net::http::client::{self as http, Dial, Limits, Peer, Request};
use plimsoll_net::url::{Url, bracketed};

/// A cache on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// What it is.
    pub kind: Kind,
    /// Where this host reaches it.
    pub address: IpAddr,
    /// Where clients reach it too.
    pub port: u16,
    /// Whether it was seen, or is only supposed to be there.
    pub seen: bool,
    /// How many more of its kind listen at other ports of this host.
    pub others: usize,
}

/// Where it is usually.
#[must_use]
pub fn usual_port(kind: Kind) -> u16 {
    match kind {
        Kind::Squid => 3128,
        Kind::Varnish => 6081,
    }
}

/// Finds the cache below a root: a port given is believed, a kind given is looked for alone. Where
/// something listens at that port, it is asked at the address of that.
#[must_use]
pub fn find(root: &Path, kind: Option<Kind>, port: Option<u16>) -> Cache {
    let loopback = IpAddr::from([127, 0, 0, 1]);
    if let Some(port) = port {
        let kind = kind.unwrap_or(Kind::Squid);
        let address = listening_at(root, port).unwrap_or(loopback);
        return Cache { kind, address, port, seen: true, others: 0 };
    }
    let squid = || {
        let (address, port, others) = listening_squid(root)?;
        Some((Kind::Squid, address, port, others))
    };
    let varnish = || {
        let (address, port) = listening_varnish(root)?;
        Some((Kind::Varnish, address, port, 0))
    };
    let found = match kind {
        Some(Kind::Squid) => squid(),
        Some(Kind::Varnish) => varnish(),
        None => squid().or_else(varnish),
    };
    let kind = kind.unwrap_or(Kind::Squid);
    let (kind, address, port, others, seen) = match found {
        Some((kind, address, port, others)) => (kind, address, port, others, true),
        None => (kind, loopback, usual_port(kind), 0, false),
    };
    let address = if address.is_unspecified() { loopback } else { address };
    Cache { kind, address, port, seen, others }
}

/// The address at which something listens at a port of this host, loopback where it is every one;
/// needs no right to see whose it is.
fn listening_at(root: &Path, port: u16) -> Option<IpAddr> {
    let folder = root.join("proc/net");
    let tables = ["tcp", "tcp6"].into_iter().filter_map(|name| socket_table(&folder, name));
    let all = tables.flat_map(sockets).filter(|one| one.port == port && one.state == LISTENING);
    let reached = |address: IpAddr| match address {
        IpAddr::V4(any) if any.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        // It carries IPv4, too, as a rule.
        IpAddr::V6(any) if any.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        other => other,
    };
    let addresses = all.map(|socket| reached(crate::address::normal(socket.address)));
    addresses.min_by_key(|address| (!address.is_loopback(), address.is_ipv6()))
}

/// Whether all that listens at a port of this host listens on loopback: nobody reaches it from
/// elsewhere, whatever address is announced.
#[must_use]
pub fn is_on_loopback_only(root: &Path, port: u16) -> bool {
    let folder = root.join("proc/net");
    let tables = ["tcp", "tcp6"].into_iter().filter_map(|name| socket_table(&folder, name));
    let all = tables.flat_map(sockets).filter(|one| one.port == port && one.state == LISTENING);
    let mut addresses = all.map(|socket| crate::address::normal(socket.address)).peekable();
    addresses.peek().is_some() && addresses.all(|address| address.is_loopback())
}

/// The state of a socket that listens: net/tcp_states.h.
const LISTENING: u8 = 10;

/// The folders of the processes of this name.
fn processes(root: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(root.join("proc")) else { return Vec::new() };
    let is_number = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit())
    };
    let folders = folder.filter_map(Result::ok).map(|entry| entry.path()).filter(is_number);
    let has_name = |path: &PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    let mut folders: Vec<PathBuf> = folders.filter(has_name).collect();
    folders.sort();
    folders
}

/// The usual port if a `squid` listens there, else the least, and how many more Squids listen.
/// Needs the right to see the process's
/// descriptors: its own user's, or root's.
fn listening_squid(root: &Path) -> Option<(IpAddr, u16, usize)> {
    let mut found = Vec::new();
    // Of each process that may be looked into, whether it listens: a Squid's other processes, its
    // master among them, do not.
    let mut owners = Vec::new();
    for process in processes(root, "squid") {
        let Ok(links) = fs::read_dir(process.join("fd")) else { continue };
        let targets = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
        let inode = |target: PathBuf| {
            let name = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            name.parse::<u64>().ok()
        };
        let inodes: BTreeSet<u64> = targets.filter_map(inode).collect();
        let folder = process.join("net");
        let tables = ["tcp", "tcp6"].into_iter().filter_map(|name| socket_table(&folder, name));
        let own = tables.flat_map(sockets).filter(|socket| inodes.contains(&socket.inode));
        let listening = own.filter(|socket| socket.state == LISTENING);
        let before = found.len();
        found.extend(listening.map(|socket| (socket.address, socket.port)));
        owners.push(found.len() > before);
    }
    let usual = usual_port(Kind::Squid);
    let of_processes = owners.iter().filter(|owner| **owner).count();
    let (address, port) = found.into_iter().min_by_key(|&(_, port)| (port != usual, port))?;
    Some((address, port, of_processes.saturating_sub(1)))
}

fn listening_varnish(root: &Path) -> Option<(IpAddr, u16)> {
    processes(root, "varnishd").into_iter().find_map(|process| {
        let line = fs::read(process.join("cmdline")).ok()?;
        let text = String::from_utf8_lossy(&line).into_owned();
        varnish_listener(&text.split('\0').collect::<Vec<_>>())
    })
}

/// The first address of `-a` where HTTP is spoken over TCP, from varnishd's arguments.
#[must_use]
pub fn varnish_listener(arguments: &[&str]) -> Option<(IpAddr, u16)> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let Some(inline) = argument.strip_prefix("-a") else { continue };
        let value = if inline.is_empty() { arguments.next()? } else { inline };
        let mut parts = value.split(',');
        let address = parts.next().unwrap_or_default();
        let address = address.split_once('=').map_or(address, |(_, address)| address);
        if address.starts_with(['/', '@']) || parts.any(|part| part == "PROXY") {
            continue;
        }
        // Without a port it is that of HTTP.
        let (host, port) = match address.rsplit_once([':', ' ']) {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ => (address, 80),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let any = IpAddr::from([0, 0, 0, 0]);
        return Some((host.parse().unwrap_or(any), port));
    }
    None
}

/// How a cache is asked whether it is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Fetched through the cache, and then only status 200 counts; without one the cache itself is
    /// asked, and whatever HTTP it answers counts.
    pub url: Option<Url>,
    /// The longest it may take.
    pub time: Duration,
}

/// Asks a cache whether it is alive.
///
/// # Errors
/// Why it is not: no connection, no answer in time, no HTTP, or another status than 200 where a
/// URL is fetched.
pub fn probe(dial: &dyn Dial, cache: &Cache, probe: &Probe) -> Result<(), http::Error> {
    let host = cache.address.to_string();
    let peer = Peer::new(&host, cache.port);
    let limits = Limits::within(probe.time);
    if let Some(url) = &probe.url {
        let answer = http::through(dial, peer, url, limits)?;
        return if answer.status == 200 { Ok(()) } else { Err(http::Error::Status(answer.status)) };
    }
    let target = match cache.kind {
        // Small, never fetched from elsewhere, and answered even where the manager is refused.
        Kind::Squid => "/squid-internal-mgr/info",
        Kind::Varnish => "/",
    };
    let host = format!("{}:{}", bracketed(&host), cache.port);
    let request = Request { method: "GET", target, host: &host, headers: &[], body: &[] };
    http::exchange(dial, peer, &request, limits).map(drop)
}
