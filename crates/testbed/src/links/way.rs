//! What a link does to what goes one way over it: how long each packet is under way, which are
//! lost, and how many it carries.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_units::{show_duration, show_share};
use plimsoll_workload::random::Stream;
use serde::{Deserialize, Serialize};

/// What may wait for a way that carries little: as much as it carries in this time, so that what
/// is lost is lost as by a router that is not made too deep.
const WAITS: Duration = Duration::from_millis(100);
/// What may wait in any case, bytes: some packets of a network that has none beyond 1,500.
const WAITS_BYTES: u64 = 10 * 1500;
/// The greatest part of a round trip that may be taken off each way for what the machine takes.
const OWN_PARTS: u32 = 20;
/// Flows that are kept in mind before those are forgotten that have nothing under way.
const MANY_FLOWS: usize = 4096;

/// What a link does to what goes over it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// What it adds to a round trip, half of it each way.
    pub rtt: Duration,
    /// By how much each way may take more or less, all times within as likely.
    pub jitter: Duration,
    /// The share of packets that are lost each way, from 0 and below 1.
    pub loss: f64,
    /// How much it carries each way, bits a second; none where that is as much as comes.
    pub rate: Option<u64>,
}

impl Terms {
    /// Whether it does nothing but take time, the same for all packets.
    pub(super) fn is_plain(&self) -> bool {
        self.jitter.is_zero() && self.loss <= 0.0 && self.rate.is_none()
    }

    /// How long a packet of so many bytes takes one way, in the mean, where it waits for no other.
    pub(super) fn one_way(&self, bytes: usize) -> Duration {
        self.rtt / 2 + self.carries(bytes)
    }

    /// How long it takes to carry so many bytes.
    pub(super) fn carries(&self, bytes: usize) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| {
            Duration::from_nanos(nanos(bytes as u64 * 8, rate.max(1)))
        })
    }

    /// How long a packet may wait for its turn.
    fn waits(&self) -> Duration {
        let least = self.rate.map_or(0, |rate| nanos(WAITS_BYTES * 8, rate.max(1)));
        WAITS.max(Duration::from_nanos(least))
    }
}

/// How long so many bits take at so many a second, nanoseconds.
fn nanos(bits: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(bits) * 1_000_000_000 / u128::from(rate)).unwrap_or(u64::MAX)
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms a round trip", self.rtt.as_nanos() as f64 / 1e6)?;
        if !self.jitter.is_zero() {
            let jitter = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
            write!(f, ", ± {} each way", show_duration(jitter))?;
        }
        if self.loss > 0.0 {
            write!(f, ", {} lost each way", show_share(self.loss))?;
        }
        self.rate.map_or(Ok(()), |rate| write!(f, ", {} Mbit/s each way", rate as f64 / 1e6))
    }
}

/// What the machine itself takes at least to carry a packet one way over a link: to wake the
/// router, to read and to write. It is found when the link is measured, and taken off.
#[derive(Debug, Clone, Default)]
pub(super) struct Own(Arc<AtomicU64>);

impl Own {
    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// A round trip took this long, and another time is wanted. It is never less than nothing, nor
    /// more than a part of what is wanted.
    pub(super) fn learns(&self, is: Duration, wanted: Duration) {
        let most = wanted / OWN_PARTS;
        let own = (self.get() + is / 2).saturating_sub(wanted / 2).min(most);
        self.0.store(u64::try_from(own.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// What becomes of a packet that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It comes to the other end at this time.
    Due(Duration),
    /// It is one of the share that is lost.
    Lost,
    /// Too many wait already for their turn.
    Full,
}

/// One way of a link. Packets of one flow stay in the order in which they came, as on most ways.
#[derive(Debug, Clone)]
pub(super) struct Way {
    terms: Terms,
    own: Own,
    draws: Stream,
    /// When all that came so far is carried.
    free: Duration,
    /// When the last packet of each flow is due, where not all take the same time.
    flows: BTreeMap<u64, Duration>,
}

impl Way {
    /// A way with draws of its own.
    pub(super) fn new(terms: Terms, own: Own, seed: u64) -> Self {
        let draws = Stream::named(seed, "link.way");
        Self { terms, own, draws, free: Duration::ZERO, flows: BTreeMap::new() }
    }

    /// What becomes of a packet that comes at a time, which is never before that of the last one.
    pub(super) fn takes(&mut self, now: Duration, packet: &[u8]) -> Fate {
        let begins = self.free.max(now);
        if self.terms.rate.is_some() {
            if begins - now > self.terms.waits() {
                return Fate::Full;
            }
            self.free = begins + self.terms.carries(packet.len());
        }
        // What is lost has been carried to where it was lost.
        if self.terms.loss > 0.0 && self.draws.uniform() < self.terms.loss {
            return Fate::Lost;
        }
        let left = self.free.max(now);
        if self.terms.jitter.is_zero() {
            return Fate::Due((left + self.terms.rtt / 2).saturating_sub(self.own.get()));
        }
        let drawn = self.terms.jitter.mul_f64(2.0 * self.draws.uniform());
        let due = (left + self.terms.rtt / 2 + drawn).saturating_sub(self.terms.jitter);
        Fate::Due(self.behind(now, flow_of(packet), due))
    }

    /// When a packet is due that may not come before the last one of its flow.
    fn behind(&mut self, now: Duration, flow: u64, due: Duration) -> Duration {
        if self.flows.len() >= MANY_FLOWS && !self.flows.contains_key(&flow) {
            self.flows.retain(|_, last| *last > now);
        }
        let last = self.flows.entry(flow).or_default();
        *last = due.max(*last);
        *last
    }
}

/// What distinguishes the flow of a packet of IPv4 from others on its way: its protocol and, of
/// TCP and UDP, both ports. The later parts of a packet in several have none.
fn flow_of(packet: &[u8]) -> u64 {
    let (Some(first), Some(protocol)) = (packet.first(), packet.get(9)) else { return 0 };
    let flow = u64::from(*protocol) << 32;
    let part = packet.get(6..8).map_or(0, |of| u16::from_be_bytes([of[0], of[1]]) & 0x1fff);
    let header = usize::from(first & 0x0f) * 4;
    match packet.get(header..header + 4) {
        Some(ports) if part == 0 && matches!(*protocol, 6 | 17) => {
            flow | u64::from(u32::from_be_bytes([ports[0], ports[1], ports[2], ports[3]]))
        }
        _ => flow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Terms =
        Terms { rtt: Duration::from_millis(80), jitter: Duration::ZERO, loss: 0.0, rate: None };

    /// A packet of UDP from this port.
    fn packet(port: u16, bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; bytes];
        (packet[0], packet[9]) = (0x45, 17);
        packet[20..22].copy_from_slice(&port.to_be_bytes());
        packet
    }

    fn due(fate: Fate) -> Option<Duration> {
        if let Fate::Due(due) = fate { Some(due) } else { None }
    }

    #[test]
    fn times_spread_evenly_around_half_of_the_round_trip() {
        let jitter = Duration::from_millis(30);
        let mut way = Way::new(Terms { jitter, ..PLAIN }, Own::default(), 1);
        let all: Vec<f64> = (0..20_000_u32)
            .map(|at| {
                let now = Duration::from_secs(u64::from(at));
                let due = due(way.takes(now, &packet(1, 100))).unwrap();
                (due - now).as_secs_f64() * 1e3
            })
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|of| (of - mean).powi(2)).sum::<f64>() / all.len() as f64;
        assert!(all.iter().all(|of| (10.0..=70.0).contains(of)));
        assert!((mean - 40.0).abs() < 0.5, "{mean}");
        assert!((square.sqrt() - 30.0 / 3_f64.sqrt()).abs() < 0.3, "{}", square.sqrt());
    }

    #[test]
    fn what_the_machine_takes_itself_is_taken_off() {
        let own = Own::default();
        let mut way = Way::new(PLAIN, own.clone(), 6);
        let mut trip = |machine: Duration| {
            2 * (due(way.takes(Duration::from_secs(1), &packet(1, 100))).unwrap()
                - Duration::from_secs(1)
                + machine)
        };
        let machine = Duration::from_micros(350);
        let found = trip(machine);
        assert_eq!(found, PLAIN.rtt + 2 * machine);
        own.learns(found, PLAIN.rtt);
        assert_eq!((own.get(), trip(machine)), (machine, PLAIN.rtt));
        // It has become faster; and one that is far too slow is not made up for.
        own.learns(trip(machine / 2), PLAIN.rtt);
        assert_eq!(own.get(), machine / 2);
        own.learns(trip(Duration::from_secs(1)), PLAIN.rtt);
        assert_eq!(own.get(), PLAIN.rtt / 20);
        own.learns(Duration::ZERO, PLAIN.rtt);
        assert_eq!(own.get(), Duration::ZERO);
    }

    #[test]
    fn a_flow_keeps_its_order_and_waits_for_no_other() {
        let jitter = Duration::from_millis(30);
        let mut way = Way::new(Terms { jitter, ..PLAIN }, Own::default(), 2);
        let (mut last, mut is_behind_another) = ([Duration::ZERO; 3], false);
        for at in 0..9_000_u32 {
            let flow = at as usize % 3;
            let now = Duration::from_millis(u64::from(at));
            let due = due(way.takes(now, &packet(u16::try_from(flow).unwrap(), 100))).unwrap();
            assert!(due >= last[flow]);
            is_behind_another |= last.iter().any(|of| *of > due);
            last[flow] = due;
        }
        assert!(is_behind_another, "flows were kept in the order of all");
    }

    #[test]
    fn as_many_are_lost_as_are_asked_for() {
        let mut way = Way::new(Terms { loss: 0.02, ..PLAIN }, Own::default(), 3);
        let fates = (0..50_000_u64).map(|at| way.takes(Duration::from_millis(at), &packet(1, 99)));
        let lost = fates.filter(|fate| *fate == Fate::Lost).count();
        // Four deviations of a binomial of 1,000.
        assert!((875..1_125).contains(&lost), "{lost}");
    }

    #[test]
    fn it_carries_no_more_than_its_rate_and_lets_so_much_wait() {
        let terms = Terms { rate: Some(8_000_000), ..PLAIN };
        let mut way = Way::new(terms, Own::default(), 4);
        // 1,000 bytes take a millisecond; two come in each.
        let fates: Vec<Fate> = (0..4_000_u64)
            .map(|at| way.takes(Duration::from_micros(500 * at), &packet(1, 1_000)))
            .collect();
        let all: Vec<Duration> = fates.iter().filter_map(|fate| due(*fate)).collect();
        assert_eq!(all[0], Duration::from_millis(41));
        assert!(all.windows(2).all(|of| of[1] - of[0] == Duration::from_millis(1)));
        let full = fates.iter().filter(|fate| **fate == Fate::Full).count();
        assert!((1_890..1_910).contains(&full), "a half, but those that wait: {full}");
        // The longest wait is a tenth of a second, and the packet's own time.
        let longest = fates
            .iter()
            .enumerate()
            .filter_map(|(at, fate)| Some(due(*fate)? - Duration::from_micros(500 * at as u64)));
        let longest = longest.max().unwrap();
        assert!(longest > Duration::from_millis(140) && longest < Duration::from_millis(142));
    }

    #[test]
    fn any_bytes_have_a_flow() {
        for bytes in 0..80 {
            let packet = vec![0xff; bytes];
            let of =
                Way::new(Terms { jitter: Duration::from_millis(1), ..PLAIN }, Own::default(), 5)
                    .takes(Duration::ZERO, &packet);
            assert!(matches!(of, Fate::Due(_)));
        }
        assert_ne!(flow_of(&packet(1, 60)), flow_of(&packet(2, 60)));
    }
}
