//! How busy the processors of a pool's instances are, and how full their memory: what the kernel
//! counted for the cgroup of each, as a share of what it may use.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_monitor::{Samples, Source, Watched};
use plimsoll_testbed::{Instance as Server, Role};

/// The counter of a cgroup's processor time, seconds.
const USED: &str = "container_cpu_usage_seconds_total";
/// A cgroup's memory of programs, bytes: cached files are given up when memory is wanted.
const MEMORY: &str = "container_memory_rss";
/// Reading a cgroup may take so long.
const LIMIT: Duration = Duration::from_millis(100);

/// The cgroups of the instances of a role.
pub(super) struct Meters {
    /// How many processors an instance may use, and how much memory, bytes.
    cores: f64,
    memory: Option<f64>,
    clock: Clock,
    /// Whether an instance with a cgroup was seen.
    has_cgroups: bool,
    meters: BTreeMap<String, Meter>,
}

/// What was read of one instance in the present tick.
struct Meter {
    watched: Watched,
    /// The first time and the last one, seconds of the clock and of its processors.
    first: Option<(f64, f64)>,
    last: Option<(f64, f64)>,
    /// Its memory in use, bytes: the sum over the readings, and how many there were.
    memory: (f64, u32),
}

impl Meter {
    /// The share of one core that it used since the tick began.
    fn share(&self) -> Option<f64> {
        let ((from_s, was_s), (to_s, is_s)) = self.first.zip(self.last)?;
        (to_s > from_s).then(|| (is_s - was_s).max(0.0) / (to_s - from_s))
    }

    /// The memory that it had in use in the mean, bytes.
    fn memory(&self) -> Option<f64> {
        let (sum, count) = self.memory;
        (count > 0).then(|| sum / f64::from(count))
    }

    fn read(&mut self, at_s: f64) {
        let Ok(samples) = self.watched.collect() else { return };
        let value = |of: &Samples, name| of.value(name, &[]);
        if let Some(used_s) = value(&samples, USED) {
            self.first.get_or_insert((at_s, used_s));
            self.last = Some((at_s, used_s));
        }
        if let Some(bytes) = value(&samples, MEMORY) {
            self.memory = (self.memory.0 + bytes, self.memory.1 + 1);
        }
    }
}

/// What was read in a tick: means over the instances, per cent of what each may use; not numbers
/// where none could be read. `cpu` is none where no instance has a cgroup here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) cpu: Option<f64>,
    pub(super) memory: f64,
}

impl Meters {
    /// Those of a role on a host with so many cores.
    pub(super) fn of(role: &Role, cores: f64) -> Self {
        let cores = role.limits.cpu.unwrap_or(cores);
        let memory = role.limits.memory.map(|bytes| bytes as f64);
        let (clock, meters) = (Clock::start(), BTreeMap::new());
        Self { cores, memory, clock, has_cgroups: false, meters }
    }

    /// Reads those of the instances that take requests. One without a cgroup on this host has none
    /// to be read.
    pub(super) fn look<'a>(&mut self, servers: impl Iterator<Item = &'a Server>) {
        let mut there = BTreeSet::new();
        for server in servers.filter(|of| of.host.is_none() && !of.cgroups.is_empty()) {
            self.has_cgroups = true;
            there.insert(server.name.clone());
            if !self.meters.contains_key(&server.name) {
                let source =
                    Source { cgroup: server.cgroups.clone(), limit: LIMIT, ..Source::default() };
                let Ok(watched) = Watched::open("cgroup", &source) else { continue };
                let meter = Meter { watched, first: None, last: None, memory: (0.0, 0) };
                self.meters.insert(server.name.clone(), meter);
            }
        }
        self.meters.retain(|name, _| there.contains(name));
        for meter in self.meters.values_mut() {
            meter.read(self.clock.now() as f64 / 1e9);
        }
    }

    /// Ends a tick.
    pub(super) fn end_tick(&mut self) -> Read {
        let cpu = mean(self.meters.values().filter_map(Meter::share));
        let memory = mean(self.meters.values().filter_map(Meter::memory));
        for meter in self.meters.values_mut() {
            (meter.first, meter.memory) = (meter.last, (0.0, 0));
        }
        let most = self.memory.unwrap_or(f64::NAN);
        let cpu = self.has_cgroups.then_some(100.0 * cpu / self.cores);
        Read { cpu, memory: 100.0 * memory / most }
    }
}

/// The mean; not a number of nothing.
fn mean(of: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = of.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}
