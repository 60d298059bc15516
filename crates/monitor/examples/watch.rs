//! Samples this host, and the cgroups and services that are named, once a second, and says what
//! that costs:
//!
//!     cargo run --release -p plimsoll-monitor --example watch -- 60 host \
//!         cgroup=/sys/fs/cgroup/cpu,/sys/fs/cgroup/memory redis=127.0.0.1:6379
//!
//! With 0 seconds it prints one sample of each and ends.

#![expect(clippy::disallowed_methods, reason = "it waits")]
#![expect(clippy::print_stdout, reason = "it prints")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use plimsoll_monitor::{Memory, Sampler, Samples, Sampling, Source, Watched};
use plimsoll_net::prometheus::Page;
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().as_deref().unwrap_or("10").parse()?;
    let watched: Result<Vec<Watched>, _> = arguments.map(|word| open(&word)).collect();
    let mut watched = watched?;
    if seconds == 0 {
        for one in &mut watched {
            println!("{}", page(&one.collect()?));
        }
        return Ok(());
    }
    let tally = Arc::new(Mutex::new(Tally::default()));
    let shared = Arc::clone(&tally);
    let started = Instant::now();
    let clock = Arc::new(move || u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let before = used();
    let sampler = Sampler::start(watched, Sampling::default(), clock, move |at_ns, samples| {
        shared.lock().unwrap_or_else(PoisonError::into_inner).add(at_ns, samples);
    })?;
    let (_never, wait) = mpsc::channel::<()>();
    let _ = wait.recv_timeout(Duration::from_secs(seconds));
    drop(sampler);
    let elapsed = started.elapsed().as_secs_f64();
    let used = used() - before;
    let memory = Memory::read(Path::new("/")).map_or(0, |memory| memory.peak_bytes);
    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{:.0} samples/s; {:.3}% of a core, {:.1} MB resident at most",
        tally.samples as f64 / elapsed,
        used / elapsed * 100.0,
        memory as f64 / 1e6,
    );
    for (collector, one) in &tally.collectors {
        println!(
            "{collector}: read {} times, {} times in vain, in {:.2} ms in the mean; \
             {:.3} s between two at most",
            one.read,
            one.in_vain,
            one.took_s / f64::from(one.read.max(1)) * 1e3,
            one.gap_ns as f64 / 1e9,
        );
    }
    Ok(())
}

/// What was handed on.
#[derive(Default)]
struct Tally {
    samples: usize,
    collectors: BTreeMap<String, Collected>,
}

/// What a collector gave.
#[derive(Default)]
struct Collected {
    read: u32,
    in_vain: u32,
    took_s: f64,
    last_ns: Option<u64>,
    gap_ns: u64,
}

impl Tally {
    fn add(&mut self, at_ns: u64, samples: &Samples) {
        self.samples += samples.len();
        let named = |name: &str| samples.iter().find(|sample| sample.name == name);
        let Some(up) = named("plimsoll_collector_up") else { return };
        let took = named("plimsoll_collect_seconds").map_or(0.0, |took| took.value);
        let name = up.label("collector").unwrap_or_default();
        let one = self.collectors.entry(name.to_owned()).or_default();
        one.read += 1;
        one.in_vain += u32::from(up.value < 0.5);
        one.took_s += took;
        one.gap_ns = one.gap_ns.max(one.last_ns.map_or(0, |last| at_ns.saturating_sub(last)));
        one.last_ns = Some(at_ns);
        for fault in samples.faults() {
            println!("{}: {}", fault.collector, fault.reason);
        }
    }
}

/// `NAME`, or `NAME=` and its address, the folders of its cgroup, or the names of processes.
fn open(word: &str) -> Result<Watched, plimsoll_monitor::SourceError> {
    let (name, rest) = word.split_once('=').unwrap_or((word, ""));
    let mut source = Source::default();
    let list = || rest.split(',').filter(|word| !word.is_empty());
    match name {
        "host" => source.processes = list().map(str::to_owned).collect(),
        "cgroup" => source.cgroup = list().map(Into::into).collect(),
        "network" => source.net = list().next().map(Into::into),
        _ => source.address = Some(rest.to_owned()),
    }
    Watched::open(name, &source)
}

fn page(samples: &Samples) -> String {
    let mut page = Page::default();
    for sample in samples.iter() {
        let labels: Vec<(&str, &str)> =
            sample.labels.iter().map(|(name, text)| (name.as_ref(), text.as_str())).collect();
        page.sample(&sample.name, &labels, sample.value);
    }
    page.text()
}

/// Seconds of processor time that all threads of this process used.
fn used() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}
