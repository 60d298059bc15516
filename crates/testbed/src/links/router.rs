//! The router: a process that carries packets between the networks of instances, each after
//! its time. Each end has a TUN device with a route to the ends that it has links to, so that the
//! kernels' own TCP goes over it, from the first SYN on; with the process all of it is gone.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use plimsoll_stats::Histogram;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::set_current_timer_slack;

use crate::command::{Deadline, Words, run};
use crate::error::TestbedError;
use crate::links::measure::measure;
use crate::links::way::{Fate, Own, Way};
use crate::links::{Wiring, matrix, tun};

/// The last line that a router says when all its links are as they should be.
pub(crate) const READY: &str = "ready";
/// How long a command of `ip` may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Packets that a device holds until they are read.
const QUEUE: &str = "10000";
/// What may be under way, bytes: what comes then is lost.
const MOST_UNDER_WAY: usize = 256 << 20;
/// How often it says how late it was, while packets come.
const EVERY: Duration = Duration::from_secs(2);
/// Packets that are read of one device before others have their turn.
const MOST_AT_ONCE: usize = 64;

/// Makes the links that stand in a file, measures each, says so on standard output, and carries
/// packets until the process is ended.
///
/// # Errors
/// What this host cannot make; a link that does not take as long as it should.
pub fn carry(file: &Path) -> Result<Infallible, TestbedError> {
    let text = std::fs::read_to_string(file).map_err(TestbedError::file("read", file))?;
    let wiring: Wiring = serde_json::from_str(&text)
        .map_err(|error| TestbedError::Wrong(format!("read {}: {error}", file.display())))?;
    let devices = wiring.ends.iter().map(|end| {
        tun::open(&end.device).map_err(TestbedError::file("make a device by", tun::SOURCE))
    });
    let devices = devices.collect::<Result<Vec<File>, _>>()?;
    lead(&wiring)?;
    let own: Vec<Own> = wiring.pairs.iter().map(|_| Own::default()).collect();
    let roads = roads(&wiring, &own);
    // It goes before others: what keeps it from being on time bends all links. Where the host does
    // not allow that, it takes its turn, and what it measures says so.
    let process = std::process::id().to_string();
    let first = Words::of(&["chrt", "--fifo", "--pid", "1", process.as_str()]);
    let _ = run(&first, Path::new("/"), &Deadline::within(LIMIT));
    // It goes on for as long as the process does: where a link is refused, that ends.
    let carrying = std::thread::spawn(move || Carrier::new(devices, roads).carry());
    let mut trips = BTreeMap::new();
    for (pair, own) in wiring.pairs.iter().zip(&own) {
        let measured = measure(&wiring, pair, own)?;
        say(&measured.text)?;
        let places = (wiring.ends[pair.ends.0].place, wiring.ends[pair.ends.1].place);
        trips.insert((places.0.min(places.1), places.0.max(places.1)), measured.round_trip_ms);
    }
    for line in matrix::of(&wiring, trips)? {
        say(&line)?;
    }
    say(READY)?;
    match carrying.join() {
        Ok(ended) => ended,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn say(line: &str) -> Result<(), TestbedError> {
    let mut out = std::io::stdout().lock();
    let said = writeln!(out, "{line}").and_then(|()| out.flush());
    said.map_err(TestbedError::file("write", "standard output"))
}

/// Puts each device into its network, and has what is meant for the other ends go there.
fn lead(wiring: &Wiring) -> Result<(), TestbedError> {
    let ip = |words: &[&str]| {
        let words: Vec<&str> = [&["ip"], words].concat();
        run(&Words::of(&words), Path::new("/"), &Deadline::within(LIMIT)).map(drop)
    };
    for (at, end) in wiring.ends.iter().enumerate() {
        let device = end.device.as_str();
        let mut within = Vec::new();
        let place = wiring.end(at);
        if let Some(namespace) = &place.namespace {
            ip(&["link", "set", device, "netns", namespace])?;
            within = vec!["-n", namespace.as_str()];
        }
        let up = ["link", "set", device, "txqueuelen", QUEUE, "up"];
        ip(&[&within[..], &up[..]].concat())?;
        let own = place.address.to_string();
        let others = wiring.pairs.iter().filter_map(|pair| match pair.ends {
            (one, other) if one == at => Some(other),
            (one, other) if other == at => Some(one),
            _ => None,
        });
        for other in others {
            let to = format!("{}/32", wiring.end(other).address);
            let route = ["route", "add", &to, "dev", device, "src", &own];
            ip(&[&within[..], &route[..]].concat())?;
        }
    }
    Ok(())
}

/// Where what comes from an end and is meant for an address goes, and by which way.
type Roads = BTreeMap<(usize, Ipv4Addr), (usize, Way)>;

fn roads(wiring: &Wiring, own: &[Own]) -> Roads {
    // Who makes the same links again gets other draws, as of any other day.
    let seed = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs() ^ u64::from(since.subsec_nanos()) << 32);
    let both = wiring.pairs.iter().zip(own).flat_map(|(pair, own)| {
        let (one, other) = pair.ends;
        [(one, other, pair.terms, own), (other, one, pair.terms, own)]
    });
    let way = |(number, (from, to, terms, own)): (usize, (usize, usize, _, &Own))| {
        let way = Way::new(terms, own.clone(), seed.wrapping_add(number as u64));
        ((from, wiring.end(to).address), (to, way))
    };
    both.enumerate().map(way).collect()
}

/// A packet under way: when it is due, in which order it came, and to whom.
type UnderWay = Reverse<(Duration, u64, usize, Vec<u8>)>;

/// Carries packets.
struct Carrier {
    devices: Vec<File>,
    roads: Roads,
    clock: Deadline,
    under_way: BinaryHeap<UnderWay>,
    /// What is under way, bytes.
    bytes: usize,
    /// How many were taken so far.
    taken: u64,
    /// Those that were lost because that was asked for.
    drawn: u64,
    /// Those for which there was no room.
    lost: u64,
    /// How late they were sent, microseconds.
    late_us: Histogram,
    /// When that was told last.
    told: Duration,
}

impl Carrier {
    fn new(devices: Vec<File>, roads: Roads) -> Self {
        Self {
            devices,
            roads,
            clock: Deadline::within(Duration::MAX),
            under_way: BinaryHeap::new(),
            bytes: 0,
            taken: 0,
            drawn: 0,
            lost: 0,
            late_us: Histogram::new(),
            told: Duration::ZERO,
        }
    }

    /// For ever.
    fn carry(mut self) -> Result<Infallible, TestbedError> {
        // Without it the kernel may be late by 50 us more; where it refuses that, it is.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let mut buffer = vec![0; 1 << 16];
        loop {
            for from in self.ready()? {
                self.take(from, &mut buffer)?;
            }
            self.send();
            self.tell()?;
        }
    }

    /// Waits until a packet has come or is due. Returns from whom some came.
    fn ready(&self) -> Result<Vec<usize>, TestbedError> {
        let due = self.under_way.peek().map(|Reverse((due, ..))| *due);
        let left = due.map(|due| due.saturating_sub(self.clock.passed()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled: Vec<PollFd<'_>> =
            self.devices.iter().map(|device| PollFd::new(device, PollFlags::IN)).collect();
        match poll(&mut polled, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(TestbedError::file("wait for", tun::SOURCE)(error.into())),
        }
        let ready = polled.iter().enumerate().filter(|(_, of)| !of.revents().is_empty());
        Ok(ready.map(|(from, _)| from).collect())
    }

    /// Takes what came from an end.
    fn take(&mut self, from: usize, buffer: &mut [u8]) -> Result<(), TestbedError> {
        for _ in 0..MOST_AT_ONCE {
            let length = match (&self.devices[from]).read(buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(TestbedError::file("read", tun::SOURCE)(error)),
            };
            let packet = &buffer[..length];
            // What is meant for nobody here is the kernel's own, such as a search for routers.
            let road = to(packet).and_then(|to| self.roads.get_mut(&(from, to)));
            let Some((to, way)) = road else { continue };
            if self.bytes + length > MOST_UNDER_WAY {
                self.lost += 1;
                continue;
            }
            let due = match way.takes(self.clock.passed(), packet) {
                Fate::Due(due) => due,
                Fate::Lost => {
                    self.drawn += 1;
                    continue;
                }
                Fate::Full => {
                    self.lost += 1;
                    continue;
                }
            };
            self.under_way.push(Reverse((due, self.taken, *to, packet.to_vec())));
            (self.bytes, self.taken) = (self.bytes + length, self.taken + 1);
        }
        Ok(())
    }

    /// Sends what is due.
    fn send(&mut self) {
        loop {
            let now = self.clock.passed();
            if self.under_way.peek().is_none_or(|Reverse((due, ..))| *due > now) {
                return;
            }
            let Some(Reverse((due, _, to, packet))) = self.under_way.pop() else { return };
            self.bytes -= packet.len();
            let late = now.saturating_sub(due).as_micros();
            self.late_us.record(u64::try_from(late).unwrap_or(u64::MAX));
            // One that the network does not take is lost, as on any way.
            if rustix::io::write(&self.devices[to], &packet).is_err() {
                self.lost += 1;
            }
        }
    }

    /// Says how late it was, of all so far.
    fn tell(&mut self) -> Result<(), TestbedError> {
        let now = self.clock.passed();
        if now - self.told < EVERY {
            return Ok(());
        }
        self.told = now;
        let late = |q| self.late_us.value_at_quantile(q).unwrap_or(0) as f64 / 1e3;
        say(&format!(
            "{} packets carried, {} lost as asked for, {} for want of room; late by \
             {:.3} ms (p50), {:.3} ms (p99), {:.3} ms at most",
            self.taken,
            self.drawn,
            self.lost,
            late(0.5),
            late(0.99),
            late(1.0)
        ))
    }
}

/// The address that a packet of IPv4 is meant for.
fn to(packet: &[u8]) -> Option<Ipv4Addr> {
    let is_of_four = packet.first().is_some_and(|first| first >> 4 == 4);
    let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    is_of_four.then(|| Ipv4Addr::from(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_says_where_it_goes() {
        let mut packet = [0; 20];
        packet[0] = 0x45;
        packet[16..].copy_from_slice(&[10, 64, 0, 3]);
        assert_eq!(to(&packet), Some(Ipv4Addr::new(10, 64, 0, 3)));
        assert_eq!(to(&packet[..19]), None);
        packet[0] = 0x60;
        assert_eq!(to(&packet), None);
        assert_eq!(to(&[]), None);
    }
}
