//! How much the cache's host sends, how busy it is, and who is connected.
//!
//! The load of a heartbeat is what the interface of the default route has sent since the one
//! before, over the time that really passed. Everything is read below a root that tests choose.
//!
//! Sources: Linux, Documentation/ABI/testing/sysfs-class-net-statistics (`tx_bytes`) and
//! sysfs-class-net (`speed`, Mbit/s); proc_pid_net(5) (`route`, `tcp`); proc_stat(5). The
//! capacity of an interface is Shoal's: nine tenths of its speed, in units of 1,000 bytes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::Path;

/// An interface's `flags` of a route that may be used (`RTF_UP`, linux/route.h).
const ROUTE_IS_UP: u32 = 1;

/// The interface of the default route by IPv4, else by IPv6.
#[must_use]
pub fn default_interface(root: &Path) -> Option<String> {
    let read = |name: &str| fs::read_to_string(root.join("proc/net").join(name));
    let by_ipv4 = read("route").ok().and_then(|text| route_interface(&text));
    by_ipv4.or_else(|| read("ipv6_route").ok().and_then(|text| ipv6_route_interface(&text)))
}

/// The interface of the default route with the least metric in a `/proc/net/route`.
#[must_use]
pub fn route_interface(text: &str) -> Option<String> {
    let routes = text.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let &[interface, "00000000", _, flags, _, _, metric, "00000000", ..] = columns.as_slice()
        else {
            return None;
        };
        let flags = u32::from_str_radix(flags, 16).ok()?;
        let metric = metric.parse::<u32>().ok()?;
        (flags & ROUTE_IS_UP != 0).then_some((metric, interface))
    });
    routes.min_by_key(|&(metric, _)| metric).map(|(_, interface)| interface.to_owned())
}

/// The interface of the default route with the least metric in a `/proc/net/ipv6_route`.
#[must_use]
pub fn ipv6_route_interface(text: &str) -> Option<String> {
    const ANYWHERE: &str = "00000000000000000000000000000000";
    let routes = text.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let &[ANYWHERE, "00", _, _, _, metric, _, _, flags, interface] = columns.as_slice() else {
            return None;
        };
        let (metric, flags) = (number(metric)?, number(flags)?);
        (flags & ROUTE_IS_UP != 0 && interface != "lo").then_some((metric, interface))
    });
    routes.min_by_key(|&(metric, _)| metric).map(|(_, interface)| interface.to_owned())
}

fn number(hexadecimal: &str) -> Option<u32> {
    u32::from_str_radix(hexadecimal, 16).ok()
}

/// Bytes that an interface has sent since it came up.
#[must_use]
pub fn sent_bytes(root: &Path, interface: &str) -> Option<u64> {
    let path = root.join("sys/class/net").join(interface).join("statistics/tx_bytes");
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// What an interface can send, in units of 1,000 bytes a second; `None` where it does not say, as
/// those of most virtual machines.
#[must_use]
pub fn capacity(root: &Path, interface: &str) -> Option<u64> {
    let path = root.join("sys/class/net").join(interface).join("speed");
    let megabits: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    (megabits > 0 && megabits <= 10_000_000).then(|| megabits * 1000 * 9 / 10 / 8)
}

/// Differences of one interface's counter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meter {
    last: Option<(u64, u64)>,
    interface: String,
    kib_s: f64,
}

impl Meter {
    /// Takes the counter of a moment (`elapsed_ns` of a monotonic clock) and answers KiB/s since
    /// the one before. Where there is none, the counter went backwards, the interface is another
    /// or less than half a second has passed, the answer is the last known one, at first 0.
    pub fn sample(&mut self, elapsed_ns: u64, interface: &str, bytes: u64) -> f64 {
        /// Several registries are told at nearly one time: the load is not that of the gap.
        const SHORTEST_NS: u64 = 500_000_000;
        let last = self.last.filter(|_| self.interface == interface);
        if let Some((then, before)) = last {
            let passed_ns = elapsed_ns.saturating_sub(then);
            if passed_ns < SHORTEST_NS {
                return self.kib_s;
            }
            if let Some(sent) = bytes.checked_sub(before) {
                self.kib_s = per_second(sent, passed_ns) / 1024.0;
            }
        }
        interface.clone_into(&mut self.interface);
        self.last = Some((elapsed_ns, bytes));
        self.kib_s
    }
}

#[expect(clippy::cast_precision_loss, reason = "differences are far below 2⁵³")]
fn per_second(count: u64, time_ns: u64) -> f64 {
    count as f64 / (time_ns as f64 / 1e9)
}

/// Differences of the processors' times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Processors {
    last: Option<(u64, u64)>,
}

impl Processors {
    /// Takes a `/proc/stat` and answers the share of the time since the one before in which the
    /// processors were busy, 0 to 1; `None` the first time and where no time has passed.
    #[expect(clippy::cast_precision_loss, reason = "differences are far below 2⁵³")]
    pub fn sample(&mut self, stat: &str) -> Option<f64> {
        let (busy, all) = processor_ticks(stat)?;
        let (busy_before, all_before) = self.last.replace((busy, all))?;
        let passed = all.checked_sub(all_before).filter(|&ticks| ticks > 0)?;
        Some((busy.saturating_sub(busy_before) as f64 / passed as f64).min(1.0))
    }
}

/// Busy and all ticks of a `/proc/stat`'s first line. What guests took stands in `user` already;
/// waiting for a disk is not busy.
fn processor_ticks(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Option<Vec<u64>> =
        line.split_whitespace().take(8).map(|text| text.parse().ok()).collect();
    let ticks = ticks.filter(|ticks| ticks.len() >= 5)?;
    let all: u64 = ticks.iter().sum();
    Some((all - ticks[3] - ticks[4], all))
}

/// One line of a `/proc/net/tcp` or `tcp6`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// The local address.
    pub address: IpAddr,
    /// The local port.
    pub port: u16,
    /// 1: established, 10: listening (net/tcp_states.h).
    pub state: u8,
    /// By which a process's file descriptors name it.
    pub inode: u64,
}

/// The sockets of a table, read line by line: with many connections it has many megabytes.
pub fn sockets(table: impl BufRead) -> impl Iterator<Item = Socket> {
    table.lines().map_while(Result::ok).filter_map(|line| socket(&line))
}

fn socket(line: &str) -> Option<Socket> {
    let mut columns = line.split_whitespace();
    let (address, port) = columns.nth(1)?.split_once(':')?;
    let state = columns.nth(1)?;
    let inode = columns.nth(5)?.parse().ok()?;
    Some(Socket {
        address: address_of(address)?,
        port: u16::from_str_radix(port, 16).ok()?,
        state: u8::from_str_radix(state, 16).ok()?,
        inode,
    })
}

/// Words of 32 bits in the byte order of the machine that wrote them, which is this one.
fn address_of(digits: &str) -> Option<IpAddr> {
    let word = |index: usize| {
        let digits = digits.get(8 * index..8 * index + 8)?;
        number(digits).map(u32::to_ne_bytes)
    };
    match digits.len() {
        8 => word(0).map(IpAddr::from),
        32 => {
            let mut bytes = [0; 16];
            for index in 0..4 {
                bytes[4 * index..4 * index + 4].copy_from_slice(&word(index)?);
            }
            Some(IpAddr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

/// Opens a table of sockets below a folder of `/proc`.
pub(crate) fn socket_table(folder: &Path, name: &str) -> Option<impl BufRead + use<>> {
    fs::File::open(folder.join(name)).ok().map(BufReader::new)
}

/// How many connections a port has, by IPv4 and IPv6.
#[must_use]
pub fn connections(root: &Path, port: u16) -> u64 {
    const ESTABLISHED: u8 = 1;
    let folder = root.join("proc/net");
    let tables = ["tcp", "tcp6"].into_iter().filter_map(|name| socket_table(&folder, name));
    let all = tables.flat_map(sockets);
    all.filter(|socket| socket.port == port && socket.state == ESTABLISHED).count() as u64
}
