//! StatsD: lines of counters, gauges and times that a service sends by UDP.
//!
//! It listens on the loopback, in the instance's own network namespace where it has one, so that
//! nobody else can send. A thread takes what comes; each reading hands on what has gathered. All of
//! it is bounded: datagrams of at most 8 KiB, at most 1,000 series.
//!
//! | line | series |
//! | --- | --- |
//! | `jobs:3\|c\|@0.1` | `jobs_total`, a counter: here 30 more |
//! | `queue:7\|g`, `queue:-2\|g` | `queue`, a gauge: set, or changed where there is a sign |
//! | `took:12\|ms`, `size:3\|h` | `took_count_total` and `took_sum_total`, in the line's own unit |
//!
//! Labels stand behind `#`: `jobs:1|c|#kind:mail`. Of a name all but letters, digits, `_` and `:`
//! becomes `_`. Sets (`|s`) and all else are left out, and counted; so are datagrams that the
//! kernel dropped at a full buffer, as it tells in `net/udp`.
//!
//! Source: statsd's description of its metric types; labels as DogStatsD has them.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_units::ParseError;

use crate::collector::{CollectError, Collector, Kind, Need};
use crate::namespace::Namespace;
use crate::sample::Samples;

/// The collector `statsd`.
pub(crate) const KIND: Kind = Kind {
    name: "statsd",
    about: "what a service sends as lines of StatsD: its own series",
    needs: &[Need::Address],
    groups: &[],
    make: |source| {
        let address = source.address.as_deref().unwrap_or_default();
        let wrong =
            || ParseError::new("an address such as 127.0.0.1:8125", address, 0, address.len());
        let at: SocketAddr = address.parse().map_err(|_| wrong())?;
        if !at.ip().is_loopback() {
            return Err(wrong().hint("anybody could send to any other address than the loopback"));
        }
        let namespace = source.net.as_deref().and_then(Namespace::of_figures);
        let namespace = namespace.unwrap_or(Namespace::Own);
        let net = source.net.clone().unwrap_or_else(|| source.root.join("proc/net"));
        let udp = net.join(if at.is_ipv6() { "udp6" } else { "udp" });
        Ok(Box::new(Statsd { at, namespace, udp, dropped: 0, listener: None }))
    },
};

/// The longest datagram that is read.
const DATAGRAM_BYTES: usize = 8 * 1024;
/// The most series that are kept.
const MOST_SERIES: usize = 1_000;
/// How often the thread looks whether it is to end.
const WAKES: Duration = Duration::from_millis(100);

struct Statsd {
    at: SocketAddr,
    namespace: Namespace,
    /// The file in which the kernel tells what it dropped.
    udp: PathBuf,
    /// How many datagrams it had dropped at the last reading.
    dropped: u64,
    listener: Option<Listener>,
}

impl Collector for Statsd {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        if self.listener.as_ref().is_none_or(Listener::has_ended) {
            let failed = |source| CollectError::Listen { address: self.at.to_string(), source };
            self.listener = Some(Listener::start(self.at, &self.namespace).map_err(failed)?);
            self.dropped = 0;
        }
        let listener = self.listener.as_ref();
        listener.iter().for_each(|listener| listener.gathered().tell(out));
        let text = crate::read::text(&self.udp)?.unwrap_or_default();
        let dropped = dropped_at(&text, self.at.port());
        let new = dropped.saturating_sub(std::mem::replace(&mut self.dropped, dropped));
        out.leave_out(new, "datagrams that came faster than they were taken");
        Ok(())
    }
}

/// How many datagrams to a port the kernel has dropped: the last field of its row.
fn dropped_at(text: &str, port: u16) -> u64 {
    let end = format!(":{port:04X}");
    let is_of_port = |line: &&str| {
        line.split_ascii_whitespace().nth(1).is_some_and(|local| local.ends_with(&end))
    };
    let drops = |line: &str| line.split_ascii_whitespace().last()?.parse::<u64>().ok();
    text.lines().filter(is_of_port).filter_map(drops).sum()
}

/// The thread that takes what comes.
struct Listener {
    gathered: Arc<Mutex<Gathered>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    fn start(at: SocketAddr, namespace: &Namespace) -> io::Result<Self> {
        let socket = namespace.open(|| UdpSocket::bind(at))?;
        socket.set_read_timeout(Some(WAKES))?;
        let (gathered, stop) = (Arc::<Mutex<Gathered>>::default(), Arc::<AtomicBool>::default());
        let shared = (Arc::clone(&gathered), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("statsd".to_owned()).stack_size(128 * 1024);
        let thread = thread.spawn(move || listen(&socket, &shared.0, &shared.1))?;
        Ok(Self { gathered, stop, thread: Some(thread) })
    }

    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn gathered(&self) -> std::sync::MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A thread that panicked has printed why.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

fn listen(socket: &UdpSocket, gathered: &Mutex<Gathered>, stop: &AtomicBool) {
    // One byte more tells a datagram that is too long.
    let mut datagram = vec![0; DATAGRAM_BYTES + 1];
    while !stop.load(Ordering::Relaxed) {
        match socket.recv(&mut datagram) {
            Ok(length) => {
                let text = String::from_utf8_lossy(&datagram[..length]);
                gathered.lock().unwrap_or_else(PoisonError::into_inner).take(&text);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// A series: its name and its labels.
type Key = (String, Vec<(String, String)>);

/// What has come so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    series: BTreeMap<Key, f64>,
    /// Lines that were left out since the last reading, and the first of them.
    left_out: u64,
    first: Option<String>,
}

impl Gathered {
    /// Takes the lines of a datagram.
    pub(crate) fn take(&mut self, text: &str) {
        if text.len() > DATAGRAM_BYTES {
            return self.leave_out("a datagram that is too long");
        }
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if self.line(line.trim()).is_none() {
                self.leave_out(line);
            }
        }
    }

    fn leave_out(&mut self, what: &str) {
        const SHOWN: usize = 60;
        self.left_out += 1;
        self.first.get_or_insert_with(|| what.chars().take(SHOWN).collect());
    }

    /// Takes a line; `None` where it is not understood, or there are too many series.
    fn line(&mut self, line: &str) -> Option<()> {
        let (name, rest) = line.split_once(':')?;
        let mut parts = rest.split('|');
        let (value, kind) = (parts.next()?, parts.next()?);
        let (mut rate, mut labels) = (1.0, Vec::new());
        for part in parts {
            match part.split_at_checked(1)? {
                ("@", share) => rate = number(share).filter(|of| *of > 0.0 && *of <= 1.0)?,
                ("#", all) => labels = self::labels(all)?,
                _ => return None,
            }
        }
        let name = plain(name)?;
        let number = number(value)?;
        match kind {
            "c" if number >= 0.0 => self.add((format!("{name}_total"), labels), number / rate),
            "g" if value.starts_with(['+', '-']) => self.add((name, labels), number),
            "g" => self.set((name, labels), number),
            "ms" | "h" | "d" if number >= 0.0 => {
                self.add((format!("{name}_count_total"), labels.clone()), 1.0 / rate)?;
                self.add((format!("{name}_sum_total"), labels), number / rate)
            }
            _ => None,
        }
    }

    fn add(&mut self, key: Key, by: f64) -> Option<()> {
        let sum = self.series.get(&key).copied().unwrap_or(0.0) + by;
        self.set(key, sum)
    }

    fn set(&mut self, key: Key, value: f64) -> Option<()> {
        let has_room = self.series.len() < MOST_SERIES || self.series.contains_key(&key);
        if !has_room || !value.is_finite() {
            return None;
        }
        self.series.insert(key, value);
        Some(())
    }

    /// Hands on what there is. What was left out is told once.
    pub(crate) fn tell(&mut self, out: &mut Samples) {
        for ((name, labels), value) in &self.series {
            let labels = labels.iter().map(|(name, text)| (name.as_str(), text.as_str()));
            out.push_foreign(name, labels, *value);
        }
        let (count, first) = (std::mem::take(&mut self.left_out), self.first.take());
        out.leave_out(count, first.unwrap_or_default());
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The most characters of a name, or of a label's text.
const MOST_NAME: usize = 200;

/// A name of which all but letters, digits, `_` and `:` is `_`; `None` of one that is too long, or
/// begins with a digit.
fn plain(name: &str) -> Option<String> {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | ':') { c } else { '_' };
    let fits =
        (1..=MOST_NAME).contains(&name.len()) && !name.starts_with(|c: char| c.is_ascii_digit());
    fits.then(|| name.chars().map(keep).collect())
}

/// Labels `NAME:TEXT,NAME:TEXT`, sorted; a name without a text has an empty one.
fn labels(all: &str) -> Option<Vec<(String, String)>> {
    let label = |label: &str| {
        let (name, text) = label.split_once(':').unwrap_or((label, ""));
        (text.len() <= MOST_NAME).then(|| Some((plain(name)?, text.to_owned())))?
    };
    let labels: BTreeMap<String, String> = all.split(',').map(label).collect::<Option<_>>()?;
    Some(labels.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Samples {
        let (mut gathered, mut out) = (Gathered::default(), Samples::default());
        gathered.take(text);
        gathered.tell(&mut out);
        out
    }

    #[test]
    fn counters_add_up_gauges_are_set_and_times_are_summed() {
        let out = read("jobs:2|c\njobs:3|c|@0.1\nqueue:7|g\nqueue:-2|g\ntook:12|ms\ntook:8.5|ms\n");
        for (name, value) in [
            ("jobs_total", 32.0),
            ("queue", 5.0),
            ("took_count_total", 2.0),
            ("took_sum_total", 20.5),
        ] {
            assert_eq!(out.value(name, &[]), Some(value), "{name}");
        }
        assert_eq!((out.len(), out.left_out()), (4, 0));
    }

    #[test]
    fn names_become_plain_and_labels_are_kept() {
        let out = read("shop.mail-jobs:1|c|#kind:order,b\nshop.mail-jobs:1|c|#b,kind:order");
        let labels = [("kind", "order"), ("b", "")];
        assert_eq!(out.value("shop_mail_jobs_total", &labels), Some(2.0));
    }

    #[test]
    fn what_is_not_understood_is_left_out_and_counted() {
        for line in [
            "jobs",
            "jobs:|c",
            "jobs:1",
            "jobs:1|",
            "jobs:x|c",
            "jobs:-1|c",
            "jobs:1|s",
            "jobs:inf|g",
            ":1|c",
            "1st:1|c",
            "jobs:1|c|@0",
            "jobs:1|c|@2",
            "jobs:1|c|?",
            "jobs:1|c|",
            "a:1|c|#9:b",
        ] {
            let out = read(line);
            assert_eq!((out.len(), out.left_out()), (0, 1), "{line}");
        }
        let many: String = (0..1_200).map(|n| format!("a{n}:1|g\n")).collect();
        let mut gathered = Gathered::default();
        many.lines().for_each(|line| gathered.take(line));
        let mut out = Samples::default();
        gathered.tell(&mut out);
        assert_eq!((out.len(), out.left_out()), (MOST_SERIES, 200));
        assert_eq!(read(&"a:1|c\n".repeat(2_000)).left_out(), 1, "a datagram that is too long");
    }
}
