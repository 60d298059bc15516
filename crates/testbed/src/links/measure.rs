//! Whether a link does what it should, measured before it is used: a round trip by handshakes of
//! TCP, and where times spread, packets are lost or few are carried, each way by datagrams, sent
//! from the one end and timed at the other by the same clock.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_stats::Histogram;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::command::Deadline;
use crate::error::TestbedError;
use crate::links::way::Own;
use crate::links::{Pair, Place, Terms, Wiring};

/// The round trips of which the median is looked at.
const ROUNDS: u32 = 20;
/// How often a link is looked at before it is refused: a busy host may be slow for a moment.
const TRIES: u32 = 5;
/// How far a time may be off: by so much, or by so many parts of it.
const OFF: Duration = Duration::from_micros(300);
const OFF_PARTS: f64 = 50.0;
/// From how much on what the machine itself takes of a round trip is taken off.
const OWN_FROM: Duration = Duration::from_micros(100);
/// How many parts mean and deviation may be off where times spread.
const SPREAD_PARTS: f64 = 10.0;
/// How many parts a rate may be off.
const RATE_PARTS: f64 = 20.0;
/// How many deviations of what chance does the losses may be off.
const DEVIATIONS: f64 = 4.0;
/// How long a handshake may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Packets that are sent each way where times spread or some are lost, and where neither is so.
const MANY: u32 = 2000;
const FEW: u32 = 200;
/// The flows that they are of: each keeps its order, and its packets may not wait for each other.
const FLOWS: u32 = 100;
/// The least time between two packets.
const GAP: Duration = Duration::from_micros(500);
/// What a datagram has before its content: the heads of IPv4 and of UDP, bytes.
const HEADS: usize = 28;
/// The content of a packet that is timed, and of one of many that fill a way, bytes.
const SMALL: usize = 12;
const LARGE: usize = 1200;
/// The least and the most packets that fill a way, which is for a second between them.
const FILLS: (u32, u32) = (50, 2000);
/// How much more is sent than is carried.
const MORE: f64 = 1.25;
/// How long is waited for a packet beyond the time that it may take.
const REST: Duration = Duration::from_millis(300);

/// What was found of a link.
pub(super) struct Measured {
    /// For people.
    pub(super) text: String,
    /// How long what is sent and answered at once is under way, milliseconds.
    pub(super) round_trip_ms: f64,
}

/// Measures a link, and takes off what the machine itself takes where all packets are to take the
/// same time: a slow one makes no link longer than it should be. It is what the machine takes at
/// least, so that the link is no shorter than it should be when a busy moment is over.
///
/// # Errors
/// One that is off, in all tries; a network that cannot be entered.
pub(super) fn measure(wiring: &Wiring, pair: &Pair, own: &Own) -> Result<Measured, TestbedError> {
    let mut off = None;
    for _ in 0..TRIES {
        if pair.terms.is_plain() {
            let (one, other) = (wiring.end(pair.ends.0), wiring.end(pair.ends.1));
            let least = apart(|| round_trips(one, other))?[0];
            if least.abs_diff(pair.terms.rtt) > OWN_FROM {
                own.learns(least, pair.terms.rtt);
            }
        }
        let (found, round_trip_ms) = apart(|| look(wiring, pair))?;
        off = found.iter().find(|of| of.is_off()).map(Deviation::refused);
        if off.is_none() {
            let mut shown: Vec<String> = found.iter().map(ToString::to_string).collect();
            if !own.get().is_zero() {
                shown.push(format!("{:.2} ms taken off each way for the router", ms(own.get())));
            }
            let (one, other) = wiring.names(pair);
            let text = format!("{one} – {other}: {}", shown.join(", "));
            return Ok(Measured { text, round_trip_ms });
        }
    }
    let (one, other) = wiring.names(pair);
    let off = off.unwrap_or_default();
    Err(TestbedError::Wrong(format!("make the link between {one} and {other}: {off}")))
}

/// Does something on a thread of its own: it stays in the network that it went into last.
pub(super) fn apart<T: Send>(
    does: impl FnOnce() -> Result<T, TestbedError> + Send,
) -> Result<T, TestbedError> {
    std::thread::scope(|scope| match scope.spawn(does).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// How long that may take.
pub(super) fn longest(terms: &Terms) -> Duration {
    let once = match terms.is_plain() {
        true => terms.rtt * ROUNDS * 4,
        false => {
            let timed = gap(terms) * packets(terms) + patience(terms);
            let filled = terms.rate.map_or(Duration::ZERO, |_| {
                terms.one_way(LARGE + HEADS) * FILLS.0 + Duration::from_secs(1) + patience(terms)
            });
            (timed + filled) * 2
        }
    };
    once * TRIES
}

/// Something that was found of a link, beside what is wanted.
struct Deviation {
    /// What it is, for who reads that it is off.
    what: String,
    /// The same in a list.
    name: String,
    is: f64,
    wanted: f64,
    /// How far it may be off.
    bound: f64,
    unit: &'static str,
}

impl Deviation {
    fn is_off(&self) -> bool {
        let off = (self.is - self.wanted).abs();
        off.is_nan() || off > self.bound
    }

    fn refused(&self) -> String {
        let Self { what, is, wanted, unit, .. } = self;
        format!("{what} is {is:.2} {unit}, and {wanted:.2} {unit} are wanted")
    }
}

impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} {} {}", self.is, self.unit, self.name)
    }
}

/// What a link does now, and what a round trip over it takes, milliseconds.
fn look(wiring: &Wiring, pair: &Pair) -> Result<(Vec<Deviation>, f64), TestbedError> {
    let (terms, (one, other)) = (&pair.terms, pair.ends);
    if terms.is_plain() {
        let wanted = ms(terms.rtt);
        let is = ms(round_trip(wiring.end(one), wiring.end(other))?);
        let found = Deviation {
            what: format!("the median of {ROUNDS} round trips"),
            name: "a round trip".to_owned(),
            is,
            wanted,
            bound: ms(OFF).max(wanted / OFF_PARTS),
            unit: "ms",
        };
        return Ok((vec![found], is));
    }
    let (mut found, mut both_ms) = (Vec::new(), 0.0);
    for (from, to) in [(one, other), (other, one)] {
        let way = Between::new(wiring, (from, to), terms)?;
        let times = way.times();
        both_ms += times[0].is;
        found.extend(times);
        if let Some(rate) = terms.rate {
            found.push(way.fills(rate));
        }
    }
    Ok((found, both_ms))
}

pub(super) fn ms(of: Duration) -> f64 {
    of.as_secs_f64() * 1e3
}

/// How many packets are timed.
fn packets(terms: &Terms) -> u32 {
    if terms.jitter.is_zero() && terms.loss <= 0.0 { FEW } else { MANY }
}

/// The time between two packets that do not disturb each other.
fn gap(terms: &Terms) -> Duration {
    GAP.max(terms.jitter * 4 / FLOWS).max(terms.carries(SMALL + HEADS) * 2)
}

/// How long a packet is waited for.
fn patience(terms: &Terms) -> Duration {
    terms.one_way(LARGE + HEADS) + terms.jitter + REST
}

/// Sockets of datagrams at both ends of a way.
struct Between<'a> {
    /// For people.
    ends: (&'a str, &'a str),
    terms: &'a Terms,
    from: Vec<UdpSocket>,
    to: UdpSocket,
}

impl<'a> Between<'a> {
    fn new(
        wiring: &'a Wiring,
        (from, to): (usize, usize),
        terms: &'a Terms,
    ) -> Result<Self, TestbedError> {
        let (from, to) = (wiring.end(from), wiring.end(to));
        let failed = TestbedError::file("listen at", to.name.clone());
        enter(to.namespace.as_deref()).map_err(TestbedError::file(ENTER, to.name.clone()))?;
        let there = UdpSocket::bind((to.address, 0))
            .and_then(|there| there.set_read_timeout(Some(patience(terms))).map(|()| there))
            .map_err(failed)?;
        let at = there.local_addr().map_err(TestbedError::file("listen at", to.name.clone()))?;
        enter(from.namespace.as_deref()).map_err(TestbedError::file(ENTER, from.name.clone()))?;
        let here = (0..FLOWS).map(|_| {
            let socket = UdpSocket::bind((from.address, 0))?;
            socket.connect(at)?;
            Ok(socket)
        });
        let here = here.collect::<Result<Vec<_>, std::io::Error>>();
        let here = here.map_err(TestbedError::file("send from", from.name.clone()))?;
        Ok(Self { ends: (&from.name, &to.name), terms, from: here, to: there })
    }

    /// How long packets are under way, and how many are lost.
    fn times(&self) -> Vec<Deviation> {
        let (from, to) = self.ends;
        let count = packets(self.terms);
        let sent = self.send((count, SMALL), gap(self.terms), &self.from);
        let mut times = Histogram::new();
        for (sent, came) in &sent {
            let took = came.map(|came| came.saturating_sub(*sent).as_nanos());
            took.into_iter().for_each(|ns| times.record(u64::try_from(ns).unwrap_or(u64::MAX)));
        }
        let in_ms = |ns: Option<f64>| ns.map_or(f64::NAN, |ns| ns / 1e6);
        let wanted = ms(self.terms.one_way(SMALL + HEADS));
        let spreads = !self.terms.jitter.is_zero();
        let median = || times.value_at_quantile(0.5).map(|ns| ns as f64);
        let (word, is, parts) = match spreads {
            true => ("mean", in_ms(times.mean()), SPREAD_PARTS),
            false => ("median", in_ms(median()), OFF_PARTS),
        };
        let of = |word: &str| format!("the {word} of {count} packets from {from} to {to}");
        let mut found = vec![Deviation {
            what: of(word),
            name: format!("from {from} to {to}"),
            is,
            wanted,
            bound: ms(OFF).max(wanted / parts),
            unit: "ms",
        }];
        if spreads {
            let wanted = ms(self.terms.jitter) / 3_f64.sqrt();
            found.push(Deviation {
                what: of("deviation"),
                name: "of deviation".to_owned(),
                is: in_ms(times.stddev()),
                wanted,
                bound: ms(OFF).max(wanted / SPREAD_PARTS),
                unit: "ms",
            });
        }
        let (loss, count) = (self.terms.loss, f64::from(count));
        found.push(Deviation {
            what: of("share lost"),
            name: "lost".to_owned(),
            is: (count - times.count() as f64) / count * 100.0,
            wanted: loss * 100.0,
            bound: DEVIATIONS * (loss * (1.0 - loss) / count).sqrt() * 100.0,
            unit: "%",
        });
        found
    }

    /// How much comes through where more is sent than that.
    fn fills(&self, rate: u64) -> Deviation {
        let (from, to) = self.ends;
        let carried = self.terms.carries(LARGE + HEADS);
        let count = 1.0 / carried.as_secs_f64().max(1e-9);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
        let count = count.clamp(f64::from(FILLS.0), f64::from(FILLS.1)) as u32;
        let gap = carried.div_f64(MORE);
        let sent = self.send((count, LARGE), gap, &self.from[..1]);
        let came: Vec<Duration> = sent.iter().filter_map(|(_, came)| *came).collect();
        let first = came.iter().min().copied().unwrap_or_default();
        let seconds = came.iter().max().map_or(0.0, |last| (*last - first).as_secs_f64());
        let bits = came.len().saturating_sub(1) as f64 * (LARGE + HEADS) as f64 * 8.0;
        let wanted = rate as f64 / 1e6 * (1.0 - self.terms.loss);
        let spread = 2.0 * self.terms.jitter.as_secs_f64() / seconds;
        Deviation {
            what: format!("what is carried from {from} to {to}"),
            name: "carried".to_owned(),
            is: bits / seconds / 1e6,
            wanted,
            bound: wanted * (1.0 / RATE_PARTS + spread),
            unit: "Mbit/s",
        }
    }

    /// Sends so many packets of so many bytes, this long after each other, from some sockets in
    /// turn. Returns when each was sent, and when it came, where it did.
    #[expect(clippy::disallowed_methods, reason = "packets are sent by the clock")]
    fn send(
        &self,
        (count, bytes): (u32, usize),
        gap: Duration,
        from: &[UdpSocket],
    ) -> Vec<(Duration, Option<Duration>)> {
        let (clock, is_sent) = (Deadline::within(Duration::MAX), AtomicBool::new(false));
        let came = |times: &mut Vec<Option<Duration>>| {
            let mut packet = vec![0; bytes + 1];
            loop {
                let Ok(_) = self.to.recv(&mut packet) else {
                    if is_sent.load(Ordering::Acquire) {
                        return;
                    }
                    continue;
                };
                let now = clock.passed();
                let number = u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]);
                if let Some(time) = times.get_mut(number as usize) {
                    *time = Some(now);
                }
            }
        };
        let (mut sent, mut times) = (Vec::new(), vec![None; count as usize]);
        std::thread::scope(|scope| {
            scope.spawn(|| came(&mut times));
            let mut packet = vec![0; bytes];
            for (number, socket) in (0..count).zip(from.iter().cycle()) {
                std::thread::sleep((gap * number).saturating_sub(clock.passed()));
                packet[..4].copy_from_slice(&number.to_be_bytes());
                sent.push(clock.passed());
                // One that is not taken is one that does not come.
                let _ = socket.send(&packet);
            }
            is_sent.store(true, Ordering::Release);
        });
        sent.into_iter().zip(times).collect()
    }
}

/// What fails where a network cannot be entered.
const ENTER: &str = "enter the network of";

/// The median of some round trips, from one place to another.
pub(super) fn round_trip(from: &Place, to: &Place) -> Result<Duration, TestbedError> {
    let all = round_trips(from, to)?;
    let middle = all.len() / 2;
    Ok((all[middle - 1] + all[middle]) / 2)
}

/// Some round trips, the least first: handshakes of TCP, from one place to another.
fn round_trips(from: &Place, to: &Place) -> Result<Vec<Duration>, TestbedError> {
    let failed = |deed: &'static str, place: &Place| TestbedError::file(deed, place.name.clone());
    enter(to.namespace.as_deref()).map_err(failed(ENTER, to))?;
    let listener = TcpListener::bind((to.address, 0)).map_err(failed("listen at", to))?;
    let at: SocketAddr = listener.local_addr().map_err(failed("listen at", to))?;
    enter(from.namespace.as_deref()).map_err(failed(ENTER, from))?;
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        let clock = Deadline::within(LIMIT);
        let stream = TcpStream::connect_timeout(&at, LIMIT).map_err(failed("connect to", to))?;
        all.push(clock.passed());
        let taken = listener.accept().map_err(failed("accept at", to))?;
        drop((stream, taken));
    }
    all.sort_unstable();
    Ok(all)
}

/// Goes into a network namespace, with this thread alone; none is that of this process.
fn enter(namespace: Option<&str>) -> std::io::Result<()> {
    // tidy: allow(shared-folder, `ip netns` of root makes them)
    let path = namespace.map_or("/proc/self/ns/net".into(), |name| format!("/run/netns/{name}"));
    let file = File::open(path)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}
