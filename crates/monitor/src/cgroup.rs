//! An instance's cgroup: its time of processors, how long it was throttled, its memory.
//!
//! An instance is in one folder of the unified hierarchy (v2), or in one of each controller's (v1),
//! or in both, as on a host that has both. Which files a folder has says what it is; what two
//! folders tell is taken from the first. Names and units are those of cAdvisor.
//!
//! # Sources
//!
//! The kernel's `Documentation/admin-guide/cgroup-v2.rst`,
//! `Documentation/admin-guide/cgroup-v1/{cpuacct,memory,pids}.rst` and
//! `Documentation/scheduler/sched-bwc.rst`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::collector::{CollectError, Collector, Kind, Need};
use crate::host::pressure::{self, total};
use crate::host::stat::USER_HZ;
use crate::read::{self, count};
use crate::sample::{Group, Samples, Series, counter, gauge};

/// The collector `cgroup`.
pub(crate) const KIND: Kind = Kind {
    name: "cgroup",
    about: "an instance's processor time, throttling, memory and pressure",
    needs: &[Need::Cgroup],
    groups: &[&V2, &V1],
    make: |source| Ok(Box::new(Cgroup { folders: source.cgroup.clone() })),
};

const US_PER_S: f64 = 1e6;
const NS_PER_S: f64 = 1e9;

/// The least value that is no limit of memory: without a limit, v1 writes the greatest number of
/// pages that there can be.
const NO_LIMIT: f64 = (1_u64 << 62) as f64;

/// The files of version 2. The key is the name of a file that has one number, or the name of a file
/// and a word in it.
pub(crate) const V2: Group = Group {
    source: "cgroup v2",
    series: &[
        cpu("cpu.stat usage_usec").over(US_PER_S),
        cpu_user("cpu.stat user_usec").over(US_PER_S),
        cpu_system("cpu.stat system_usec").over(US_PER_S),
        periods("cpu.stat nr_periods"),
        throttled_periods("cpu.stat nr_throttled"),
        throttled("cpu.stat throttled_usec").over(US_PER_S),
        quota("cpu.max 1"),
        period("cpu.max 2"),
        memory("memory.current"),
        memory_peak("memory.peak"),
        memory_limit("memory.max"),
        memory_programs("memory.stat anon"),
        memory_files("memory.stat file"),
        limit_met("memory.events max"),
        oom("memory.events oom_kill"),
        threads("pids.current"),
        total(
            "cpu.pressure some",
            "container_pressure_cpu_waiting_seconds_total",
            "time in which a thread waited for a processor",
        ),
        total(
            "cpu.pressure full",
            "container_pressure_cpu_stalled_seconds_total",
            "time in which all threads waited for a processor",
        ),
        total(
            "io.pressure some",
            "container_pressure_io_waiting_seconds_total",
            "time in which a thread waited for a disk",
        ),
        total(
            "io.pressure full",
            "container_pressure_io_stalled_seconds_total",
            "time in which all threads waited for a disk",
        ),
        total(
            "memory.pressure some",
            "container_pressure_memory_waiting_seconds_total",
            "time in which a thread waited for memory",
        ),
        total(
            "memory.pressure full",
            "container_pressure_memory_stalled_seconds_total",
            "time in which all threads waited for memory",
        ),
    ],
};

/// The files of version 1, whose keys are made alike.
pub(crate) const V1: Group = Group {
    source: "cgroup v1",
    series: &[
        cpu("cpuacct.usage").over(NS_PER_S),
        cpu_user("cpuacct.stat user").over(USER_HZ),
        cpu_system("cpuacct.stat system").over(USER_HZ),
        periods("cpu.stat nr_periods"),
        throttled_periods("cpu.stat nr_throttled"),
        throttled("cpu.stat throttled_time").over(NS_PER_S),
        quota("cpu.cfs_quota_us"),
        period("cpu.cfs_period_us"),
        memory("memory.usage_in_bytes"),
        memory_peak("memory.max_usage_in_bytes"),
        memory_limit("memory.limit_in_bytes"),
        memory_programs("memory.stat total_rss"),
        memory_files("memory.stat total_cache"),
        limit_met("memory.failcnt"),
        oom("memory.oom_control oom_kill"),
        threads("pids.current"),
    ],
};

const fn cpu(key: &'static str) -> Series {
    counter(key, "container_cpu_usage_seconds_total", "s", "processor time")
}

const fn cpu_user(key: &'static str) -> Series {
    counter(key, "container_cpu_user_seconds_total", "s", "processor time in programs")
}

const fn cpu_system(key: &'static str) -> Series {
    counter(key, "container_cpu_system_seconds_total", "s", "processor time in the kernel")
}

const fn periods(key: &'static str) -> Series {
    counter(key, "container_cpu_cfs_periods_total", "", "periods of the quota that passed")
}

const fn throttled_periods(key: &'static str) -> Series {
    counter(
        key,
        "container_cpu_cfs_throttled_periods_total",
        "",
        "periods in which the quota was used up",
    )
}

const fn throttled(key: &'static str) -> Series {
    counter(
        key,
        "container_cpu_cfs_throttled_seconds_total",
        "s",
        "time that it was kept from running, all cores together",
    )
}

const fn quota(key: &'static str) -> Series {
    gauge(
        key,
        "container_spec_cpu_quota",
        "µs",
        "processor time of each period; none without a limit",
    )
}

const fn period(key: &'static str) -> Series {
    gauge(key, "container_spec_cpu_period", "µs", "length of a period of the quota")
}

const fn memory(key: &'static str) -> Series {
    gauge(key, "container_memory_usage_bytes", "bytes", "memory, with cached files")
}

const fn memory_peak(key: &'static str) -> Series {
    gauge(key, "container_memory_max_usage_bytes", "bytes", "the most that was used")
}

const fn memory_limit(key: &'static str) -> Series {
    gauge(
        key,
        "container_spec_memory_limit_bytes",
        "bytes",
        "the limit of memory; none without a limit",
    )
}

const fn memory_programs(key: &'static str) -> Series {
    gauge(key, "container_memory_rss", "bytes", "memory of programs that is of no file")
}

const fn memory_files(key: &'static str) -> Series {
    gauge(key, "container_memory_cache", "bytes", "cached pages of files")
}

const fn limit_met(key: &'static str) -> Series {
    counter(key, "container_memory_failcnt", "", "times that the limit of memory was met")
}

const fn oom(key: &'static str) -> Series {
    counter(key, "container_oom_events_total", "", "processes killed for want of memory")
}

const fn threads(key: &'static str) -> Series {
    gauge(key, "container_threads", "", "threads")
}

struct Cgroup {
    folders: Vec<PathBuf>,
}

/// The cgroups of a host whose names begin alike, as they come and go.
pub(crate) struct Groups {
    /// The folder that holds `sys`.
    pub(crate) root: PathBuf,
    /// How the names begin; the rest of each is the name of its instance.
    pub(crate) prefix: String,
}

impl Groups {
    /// The folders of each instance: one of version 2, or one of each controller's.
    fn all(&self) -> BTreeMap<String, Vec<PathBuf>> {
        let mount = self.root.join("sys/fs/cgroup");
        let entries = |path: &Path| {
            let of =
                |entry: std::fs::DirEntry| Some((entry.file_name().into_string().ok()?, entry));
            std::fs::read_dir(path).into_iter().flatten().flatten().filter_map(of)
        };
        let mut hierarchies: Vec<PathBuf> = entries(&mount).map(|(_, of)| of.path()).collect();
        hierarchies.sort();
        let mut all: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for hierarchy in [mount].iter().chain(&hierarchies) {
            for (name, entry) in entries(hierarchy) {
                let own = name.strip_prefix(&self.prefix).filter(|own| !own.is_empty());
                if let Some(own) = own.filter(|_| entry.path().is_dir()) {
                    all.entry(own.to_owned()).or_default().push(entry.path());
                }
            }
        }
        all
    }
}

impl Collector for Groups {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        for (instance, folders) in self.all() {
            let mut own = Samples::of(Some(&instance));
            // One that ends in this moment is no fault.
            if (Cgroup { folders }).collect(&mut own).is_ok() {
                out.leave_out(own.left_out(), own.first_left_out().unwrap_or_default());
                out.list.extend(own.list);
            }
        }
        Ok(())
    }
}

impl Collector for Cgroup {
    fn collect(&mut self, out: &mut Samples) -> Result<(), CollectError> {
        let mut first = None;
        for folder in &self.folders {
            let before = out.list.len();
            if let Err(error) = read_folder(folder, out) {
                out.leave_out(1, plimsoll_units::failure::chain(&error));
                first.get_or_insert(error);
            }
            let new = out.list.split_off(before);
            for sample in new {
                if !out.list.iter().any(|other| other.name == sample.name) {
                    out.list.push(sample);
                }
            }
        }
        match first {
            _ if !out.is_empty() => Ok(()),
            Some(error) => Err(error),
            None => {
                let found: Vec<_> =
                    self.folders.iter().map(|at| at.display().to_string()).collect();
                Err(CollectError::garbage("the files of a cgroup", &found.join(", ")))
            }
        }
    }
}

/// Reads the files that a folder has. Fails where one of them cannot be read, after all others.
fn read_folder(folder: &Path, out: &mut Samples) -> Result<(), CollectError> {
    if !folder.is_dir() {
        return Err(CollectError::Missing(folder.to_owned()));
    }
    let group = if folder.join("cgroup.controllers").exists() { &V2 } else { &V1 };
    let mut result = Ok(());
    let mut before = "";
    for series in group.series {
        let file = series.key.split(' ').next().unwrap_or_default();
        if file == before {
            continue;
        }
        before = file;
        match read::text(&folder.join(file)) {
            Ok(Some(text)) => parse(file, &text, group, out),
            Ok(None) => {}
            Err(error) => result = Err(error),
        }
    }
    result
}

/// Reads one file of a folder.
pub(crate) fn parse(file: &str, text: &str, group: &'static Group, out: &mut Samples) {
    if file.ends_with(".pressure") {
        return pressure::parse(file, text, group, out);
    }
    if file == "cpu.max" {
        // The quota and its period.
        let (quota, period) = text.trim().split_once(' ').unwrap_or((text, ""));
        push("cpu.max 1", quota, group, out);
        push("cpu.max 2", period, group, out);
    } else if group.find(file).is_some() {
        push(file, text.trim(), group, out);
    } else {
        for line in text.lines() {
            if let Some((word, value)) = line.split_once(' ') {
                push(&format!("{file} {word}"), value, group, out);
            }
        }
    }
}

/// Adds the value of a key that the group knows. A word for "no limit" adds nothing.
fn push(key: &str, word: &str, group: &'static Group, out: &mut Samples) {
    let Some(series) = group.find(key) else { return };
    match count(word) {
        Some(value) if value < NO_LIMIT => out.push(series, &[], value),
        Some(_) => {}
        None if matches!(word, "max" | "-1") => {}
        None => out.leave_out(1, format!("{key} of {}", group.source)),
    }
}
