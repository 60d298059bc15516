//! How busy the processors of a pool's instances are: the time that the kernel counted for the
//! cgroup of each, as a share of what it may use.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_monitor::{Samples, Source, Watched};
use plimsoll_testbed::{Instance as Server, Role};

/// The counter of a cgroup's processor time, seconds.
const USED: &str = "container_cpu_usage_seconds_total";
/// Reading a cgroup may take so long.
const LIMIT: Duration = Duration::from_millis(100);

/// The processors of the instances of a role.
pub(super) struct Processors {
    /// How many an instance may use.
    cores: f64,
    clock: Clock,
    meters: BTreeMap<String, Meter>,
}

/// What was read of one instance in the present tick: the first time and the last one, seconds of
/// the clock and of its processors.
struct Meter {
    watched: Watched,
    first: Option<(f64, f64)>,
    last: Option<(f64, f64)>,
}

impl Meter {
    /// The share of one core that it used since the tick began.
    fn share(&self) -> Option<f64> {
        let ((from_s, was_s), (to_s, is_s)) = self.first.zip(self.last)?;
        (to_s > from_s).then(|| (is_s - was_s).max(0.0) / (to_s - from_s))
    }
}

impl Processors {
    /// Those of a role on a host with so many cores.
    pub(super) fn of(role: &Role, cores: f64) -> Self {
        let cores = role.limits.cpu.unwrap_or(cores);
        Self { cores, clock: Clock::start(), meters: BTreeMap::new() }
    }

    /// Reads those of the instances that take requests. One without a cgroup has none to be read.
    pub(super) fn look<'a>(&mut self, servers: impl Iterator<Item = &'a Server>) {
        let mut there = BTreeSet::new();
        for server in servers.filter(|of| !of.cgroups.is_empty()) {
            there.insert(server.name.clone());
            if !self.meters.contains_key(&server.name) {
                let source =
                    Source { cgroup: server.cgroups.clone(), limit: LIMIT, ..Source::default() };
                let Ok(watched) = Watched::open("cgroup", &source) else { continue };
                let meter = Meter { watched, first: None, last: None };
                self.meters.insert(server.name.clone(), meter);
            }
        }
        self.meters.retain(|name, _| there.contains(name));
        for meter in self.meters.values_mut() {
            let at_s = self.clock.now() as f64 / 1e9;
            let read = meter.watched.collect().ok();
            let used = read.and_then(|samples: Samples| samples.value(USED, &[]));
            if let Some(used_s) = used {
                meter.first.get_or_insert((at_s, used_s));
                meter.last = Some((at_s, used_s));
            }
        }
    }

    /// Ends a tick: the mean over the instances, per cent of what each may use. `None` where none
    /// could be read.
    pub(super) fn end_tick(&mut self) -> Option<f64> {
        let shares: Vec<f64> = self.meters.values().filter_map(Meter::share).collect();
        for meter in self.meters.values_mut() {
            meter.first = meter.last;
        }
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        (!shares.is_empty()).then(|| 100.0 * mean / self.cores)
    }
}
