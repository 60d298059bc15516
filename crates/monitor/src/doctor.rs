//! Is this host fit to serve, or to generate, so many connections? What it has is read below the
//! root, compared with what is wanted, and told with the line that would change it. Nothing is
//! changed.
//!
//! # Sources
//!
//! The kernel's `Documentation/networking/ip-sysctl.rst`, `admin-guide/sysctl/{fs,net,vm}.rst`,
//! proc(5), tcp(7), listen(2). Thresholds beside which no source stands are ours.

mod host;
mod network;
mod own;

use std::fmt::Display;
use std::path::Path;

/// What a host is to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wants {
    /// Connections that are open at once.
    pub connections: u64,
    /// Connections that are opened a second.
    pub opened_per_s: f64,
}

impl Default for Wants {
    /// What a load of some weight asks of a host, where no plan says more.
    fn default() -> Self {
        Self { connections: 1000, opened_per_s: 1000.0 }
    }
}

/// How something that was found fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// As it should be.
    Good,
    /// It may spoil a measurement.
    Doubtful,
    /// What is wanted cannot be done.
    Unfit,
    /// This host does not say.
    Unknown,
}

impl Fit {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Doubtful => "doubtful",
            Self::Unfit => "unfit",
            Self::Unknown => "unknown",
        }
    }
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub name: &'static str,
    /// How it fits.
    pub fit: Fit,
    /// What was found; empty where this host does not say.
    pub found: String,
    /// What is wanted.
    pub wanted: String,
    /// Why it matters.
    pub why: &'static str,
    /// The line that would change it; `None` where nothing has to be changed, or no line can.
    pub change: Option<String>,
}

impl Finding {
    /// Something that is as it should be, until [`Finding::unless`] says otherwise.
    fn new(name: &'static str, why: &'static str, wanted: impl Display) -> Self {
        let (found, wanted) = (String::new(), wanted.to_string());
        Self { name, fit: Fit::Unknown, found, wanted, why, change: None }
    }

    /// What was found.
    fn found(mut self, found: impl Display) -> Self {
        (self.found, self.fit) = (found.to_string(), Fit::Good);
        self
    }

    /// How it fits where it is not as it should be, and the line that would change it.
    fn unless(mut self, is_so: bool, fit: Fit, change: impl Into<String>) -> Self {
        if !is_so {
            let change = change.into();
            (self.fit, self.change) = (fit, (!change.is_empty()).then_some(change));
        }
        self
    }
}

/// Looks at a host, below the root of its file system.
#[must_use]
pub fn examine(root: &Path, wants: Wants) -> Vec<Finding> {
    let facts = Facts { root };
    let mut all = host::descriptors(&facts, wants);
    all.extend(network::ports_and_queues(&facts, wants));
    all.extend(network::memory_and_time(&facts, wants));
    all.extend(host::memory(&facts, wants));
    all.extend(host::processors(&facts));
    all
}

/// What the kernel says of a host.
struct Facts<'a> {
    root: &'a Path,
}

impl Facts<'_> {
    fn text(&self, path: &str) -> Option<String> {
        crate::text_of(self.root, path)
    }

    /// The numbers of a setting of the kernel, below `/proc/sys`.
    fn setting(&self, name: &str) -> Option<Vec<u64>> {
        let text = self.text(&format!("proc/sys/{}", name.replace('.', "/")))?;
        text.split_whitespace().map(|word| word.parse().ok()).collect()
    }

    /// The first number of a setting.
    fn number(&self, name: &str) -> Option<u64> {
        self.setting(name)?.first().copied()
    }

    /// A counter of `/proc/net/netstat`, whose lines come in pairs of names and values.
    fn counter(&self, name: &str) -> Option<u64> {
        let text = self.text("proc/net/netstat")?;
        let lines: Vec<&str> = text.lines().collect();
        lines.chunks(2).find_map(|pair| {
            let [names, values] = pair else { return None };
            let place = names.split_whitespace().position(|of| of == name)?;
            values.split_whitespace().nth(place)?.parse().ok()
        })
    }

    /// A figure of a line of `/proc/net/sockstat`: `TCP: inuse 5 orphan 0 tw 2 …`.
    fn sockets(&self, line: &str, name: &str) -> Option<u64> {
        let text = self.text("proc/net/sockstat")?;
        let line = text.lines().find_map(|of| of.strip_prefix(line)?.strip_prefix(':'))?;
        let mut words = line.split_whitespace().skip_while(|word| *word != name);
        words.nth(1)?.parse().ok()
    }
}

/// The line that sets a setting of the kernel.
fn sysctl(name: &str, value: impl Display) -> String {
    let value = value.to_string();
    if value.contains(' ') {
        format!("sysctl -w {name}=\"{value}\"")
    } else {
        format!("sysctl -w {name}={value}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A host with these files, and nothing else.
    fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn one(files: &[(&str, &str)], wants: Wants, name: &str) -> Finding {
        let place = host(files);
        examine(place.path(), wants).into_iter().find(|of| of.name == name).unwrap()
    }

    const MANY: Wants = Wants { connections: 50_000, opened_per_s: 10_000.0 };
    const FEW: Wants = Wants { connections: 100, opened_per_s: 10.0 };

    #[test]
    fn a_host_that_says_nothing_is_unknown_and_never_good() {
        let place = host(&[]);
        for finding in examine(place.path(), MANY) {
            assert_eq!((finding.fit, finding.change), (Fit::Unknown, None), "{}", finding.name);
            assert!(!finding.why.is_empty() && finding.found.is_empty(), "{}", finding.name);
        }
    }

    /// Checks one file that does not fit: how, and what the line says that would change it.
    fn does_not_fit(name: &str, path: &str, text: &str, fit: Fit, change: &str) {
        let found = one(&[(path, text)], MANY, name);
        assert_eq!(found.fit, fit, "{found:?}");
        assert!(found.change.unwrap_or_default().contains(change), "{name}");
    }

    #[test]
    fn what_does_not_fit_is_told_with_the_line_that_changes_it() {
        let limits = "Max open files            20000   20000    files \n";
        let (ipv4, net) = ("proc/sys/net/ipv4", "proc/sys/net");
        does_not_fit("descriptors", "proc/self/limits", limits, Fit::Unfit, "prlimit");
        does_not_fit("files of the host", "proc/sys/fs/file-nr", "9 0 99", Fit::Unfit, "file-max");
        let doubtful = [
            ("accept queue", format!("{net}/core/somaxconn"), "128", "somaxconn=10000"),
            ("SYN queue", format!("{ipv4}/tcp_max_syn_backlog"), "512", "backlog=6000"),
            ("slow start after idle", format!("{ipv4}/tcp_slow_start_after_idle"), "1", "=0"),
            ("reuse of TIME_WAIT", format!("{ipv4}/tcp_tw_reuse"), "0", "tcp_tw_reuse=1"),
            ("orphans", format!("{ipv4}/tcp_max_orphans"), "4096", "tcp_max_orphans=50000"),
            ("overcommit", "proc/sys/vm/overcommit_memory".to_owned(), "2", "memory=0"),
        ];
        for (name, path, text, change) in &doubtful {
            does_not_fit(name, path, text, Fit::Doubtful, change);
        }
        let range = format!("{ipv4}/ip_local_port_range");
        does_not_fit("ports", &range, "32768 60999", Fit::Unfit, "\"1024 65535\"");
        let netstat = "TcpExt: ListenOverflows ListenDrops TCPMemoryPressures\nTcpExt: 3 4 0\n";
        does_not_fit("overflows", "proc/net/netstat", netstat, Fit::Doubtful, "");
        let softnet = "00000010 00000002 00000000\n00000010 00000000 00000000\n";
        does_not_fit("dropped packets", "proc/net/softnet_stat", softnet, Fit::Doubtful, "65536");
    }

    #[test]
    fn processors_and_memory_are_looked_at() {
        let stat = "cpu  100 0 100 700 0 0 0 100 0 0\n";
        does_not_fit("steal", "proc/stat", stat, Fit::Doubtful, "");
        let meminfo = "MemAvailable: 1000 kB\nSwapTotal: 9 kB\nSwapFree: 4 kB\n";
        does_not_fit("memory", "proc/meminfo", meminfo, Fit::Unfit, "");
        does_not_fit("swap", "proc/meminfo", meminfo, Fit::Doubtful, "swapoff");
        let devices = "sys/devices/system";
        let clock = format!("{devices}/clocksource/clocksource0/current_clocksource");
        does_not_fit("clock", &clock, "hpet", Fit::Doubtful, "tsc");
        let governor = format!("{devices}/cpu/cpu0/cpufreq/scaling_governor");
        does_not_fit("governor", &governor, "powersave", Fit::Doubtful, "performance");
    }

    #[test]
    fn what_the_kernel_keeps_of_connections_is_looked_at() {
        let waits = "sockets: used 9\nTCP: inuse 5 orphan 0 tw 20000 alloc 9 mem 900\n";
        let sockets = ("proc/net/sockstat", waits);
        let range = ("proc/sys/net/ipv4/ip_local_port_range", "32768 60999");
        assert_eq!(one(&[sockets, range], FEW, "TIME_WAIT").fit, Fit::Doubtful);
        let memory = ("proc/sys/net/ipv4/tcp_mem", "500 1000 2000");
        assert_eq!(one(&[sockets, memory], FEW, "TCP memory").fit, Fit::Doubtful);
        assert_eq!(one(&[sockets], FEW, "connection tracking").found, "not loaded");
        let tracked = [
            ("proc/sys/net/netfilter/nf_conntrack_max", "1000"),
            ("proc/sys/net/netfilter/nf_conntrack_count", "10"),
        ];
        assert_eq!(one(&tracked, MANY, "connection tracking").fit, Fit::Unfit);
        assert_eq!(one(&tracked, FEW, "connection tracking").fit, Fit::Good);
    }

    #[test]
    fn what_is_enough_for_few_is_good() {
        let limits = "Max open files            1024                 20000                files \n";
        assert_eq!(one(&[("proc/self/limits", limits)], FEW, "descriptors").fit, Fit::Good);
        let more = Wants { connections: 10_000, opened_per_s: 1.0 };
        let found = one(&[("proc/self/limits", limits)], more, "descriptors");
        assert_eq!((found.fit, found.change.as_deref()), (Fit::Doubtful, Some("ulimit -n 11100")));
        let range = [("proc/sys/net/ipv4/ip_local_port_range", "32768 60999")];
        assert_eq!(one(&range, FEW, "ports").fit, Fit::Good);
        let reserved =
            [range[0], ("proc/sys/net/ipv4/ip_local_reserved_ports", "32768-60000,60100")];
        let found = one(&reserved, Wants { connections: 1000, opened_per_s: 1.0 }, "ports");
        assert_eq!(found.fit, Fit::Unfit, "{found:?}");
    }

    #[test]
    fn what_a_control_group_lets_a_process_have_counts() {
        let meminfo = "MemAvailable:   20000000 kB\n";
        let v1 = "9:cpuacct,cpu:/a\n4:memory:/a/b\n1:name=systemd:/\n";
        let old: &[(&str, &str)] = &[
            ("proc/meminfo", meminfo),
            ("proc/self/cgroup", v1),
            ("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "67108864\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "7108864\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
        ];
        let new: &[(&str, &str)] = &[
            ("proc/meminfo", meminfo),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "67108864\n"),
            ("sys/fs/cgroup/a/b/memory.current", "7108864\n"),
            ("sys/fs/cgroup/a/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.max", "150000 100000\n"),
        ];
        for files in [old, new] {
            let found = one(files, MANY, "memory");
            assert_eq!(found.fit, Fit::Unfit, "{found:?}");
            assert!(found.found.contains("in its control group"), "{found:?}");
            assert_eq!(one(files, FEW, "memory").fit, Fit::Good);
            let found = one(files, FEW, "processor time");
            assert_eq!((found.fit, &*found.found), (Fit::Doubtful, "1.5 processors"));
        }
        let free = [
            ("proc/meminfo", meminfo),
            ("proc/self/cgroup", "0::/\n"),
            ("proc/stat", "cpu  1 1 1 1 1 1 1 1 0 0\n"),
        ];
        assert_eq!(one(&free, FEW, "memory").fit, Fit::Good);
        assert_eq!(one(&free, FEW, "processor time").fit, Fit::Good);
    }
}
