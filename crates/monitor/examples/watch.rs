//! Samples this host, and the cgroups and services that are named, once a second, and says what
//! that costs:
//!
//!     cargo run --release -p plimsoll-monitor --example watch -- 60 host \
//!         cgroup=/sys/fs/cgroup/cpu,/sys/fs/cgroup/memory redis=127.0.0.1:6379
//!
//! With 0 seconds it prints one sample of each and ends.

#![expect(clippy::disallowed_methods, reason = "it waits")]
#![expect(clippy::print_stdout, reason = "it prints")]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
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
    let (count, took_ns) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (sum, took_sum) = (Arc::clone(&count), Arc::clone(&took_ns));
    let started = Instant::now();
    let clock = Arc::new(move || u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let before = used();
    let sampler = Sampler::start(watched, Sampling::default(), clock, move |_, samples| {
        let len = u64::try_from(samples.len()).unwrap_or(u64::MAX);
        sum.fetch_add(len, Ordering::Relaxed);
        let took = samples.iter().find(|sample| sample.name == "plimsoll_collect_seconds");
        let took = took.map_or(0.0, |took| took.value);
        let took = Duration::from_secs_f64(took).as_nanos();
        took_sum.fetch_add(u64::try_from(took).unwrap_or(0), Ordering::Relaxed);
        for fault in samples.faults() {
            println!("{}: {}", fault.collector, fault.reason);
        }
    })?;
    let (_never, wait) = mpsc::channel::<()>();
    let _ = wait.recv_timeout(Duration::from_secs(seconds));
    drop(sampler);
    let elapsed = started.elapsed().as_secs_f64();
    let used = used() - before;
    let memory = Memory::read(Path::new("/")).map_or(0, |memory| memory.peak_bytes);
    println!(
        "{:.0} samples/s, reading {:.2} ms/s; {:.3}% of a core, {:.1} MB resident at most",
        count.load(Ordering::Relaxed) as f64 / elapsed,
        took_ns.load(Ordering::Relaxed) as f64 / 1e6 / elapsed,
        used / elapsed * 100.0,
        memory as f64 / 1e6,
    );
    Ok(())
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
