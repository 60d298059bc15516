//! Host and cgroup figures under loads of a known size: no less is told than was done, and of an
//! instance's cgroup, which has nobody else in it, no more either.

#![expect(clippy::disallowed_methods, reason = "loads are processes and take their time")]

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll_monitor::{Samples, Source, Watched};
use plimsoll_testing::{Running, skip, wait_until};

fn collect(name: &str, source: &Source) -> Samples {
    Watched::open(name, source).unwrap().collect().unwrap()
}

/// The sum of all samples of a name that have a label.
fn sum(samples: &Samples, name: &str, label: (&str, &str)) -> f64 {
    let fits = samples.iter().filter(|sample| sample.name == name);
    let fits = fits.filter(|sample| label.0.is_empty() || sample.label(label.0) == Some(label.1));
    fits.map(|sample| sample.value).sum()
}

/// How much a figure of this host's network rises while something is done.
fn rise(name: &str, label: (&str, &str), act: impl FnOnce()) -> f64 {
    let before = sum(&collect("network", &Source::default()), name, label);
    act();
    sum(&collect("network", &Source::default()), name, label) - before
}

#[test]
fn connections_and_bytes_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = rise("node_netstat_Tcp_PassiveOpens", ("", ""), || {
        for _ in 0..50 {
            let client = TcpStream::connect(address).unwrap();
            drop((client, listener.accept().unwrap()));
        }
    });
    assert!(accepted >= 50.0, "{accepted}");
    let mut client = TcpStream::connect(address).unwrap();
    let (mut served, _) = listener.accept().unwrap();
    let bytes = 8 << 20;
    let received = rise("node_network_receive_bytes_total", ("device", "lo"), || {
        let sender = std::thread::spawn(move || {
            client.write_all(&vec![7; bytes]).unwrap();
            client
        });
        served.read_exact(&mut vec![0; bytes]).unwrap();
        sender.join().unwrap();
    });
    assert!(received >= bytes as f64, "{received}");
}

#[test]
fn sockets_are_counted_by_state() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pairs: Vec<_> = (0..100)
        .map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0))
        .collect();
    // What a client closed, and its server did not.
    let (clients, servers): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let half: Vec<TcpStream> = clients.into_iter().skip(40).collect();
    let samples = collect("network", &Source::default());
    let of = |state| sum(&samples, "node_tcp_connection_states", ("state", state));
    assert!(of("established") >= 120.0, "{}", of("established"));
    assert!(of("close_wait") >= 40.0, "{}", of("close_wait"));
    // The server's host may not have acknowledged the end yet.
    let closed = of("fin_wait1") + of("fin_wait2");
    assert!(closed >= 40.0, "{closed}");
    assert!(of("listen") >= 1.0);
    drop((half, servers));
}

/// A group of version 1, and of version 2 where the host has it beside; undone when dropped.
struct Group {
    folders: Vec<PathBuf>,
}

/// Why a group cannot be made where the kernel gives none.
const MAY_NOT: [ErrorKind; 3] =
    [ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];

impl Group {
    /// `None`, said by name, where there is no such hierarchy or no right to it.
    fn new(test: &str, name: &str) -> Option<Self> {
        let name = format!("plimsoll-test-{name}-{}", std::process::id());
        let controllers = ["cpu", "cpuacct", "memory"];
        let folders = controllers.map(|at| Path::new("/sys/fs/cgroup").join(at).join(&name));
        let mut group = Self { folders: Vec::new() };
        for folder in folders {
            if let Err(error) = std::fs::create_dir(&folder) {
                assert!(MAY_NOT.contains(&error.kind()), "{}: {error}", folder.display());
                let needs = format!("namespaces: no control group {}: {error}", folder.display());
                skip(test, &needs);
                return None;
            }
            group.folders.push(folder);
        }
        let unified = Path::new("/sys/fs/cgroup/unified").join(&name);
        if std::fs::create_dir(&unified).is_ok() {
            group.folders.push(unified);
        }
        Some(group)
    }

    fn write(&self, file: &str, text: &str) {
        let folder = self.folders.iter().find(|folder| folder.join(file).exists()).unwrap();
        std::fs::write(folder.join(file), text).unwrap();
    }

    /// Runs a shell script in it.
    fn run(&self, script: &str) -> Running {
        let enter =
            self.folders.iter().map(|at| format!("echo $$ > {}/cgroup.procs", at.display()));
        let script = format!("{} && {script}", enter.collect::<Vec<_>>().join(" && "));
        shell(&script)
    }

    fn samples(&self) -> Samples {
        collect("cgroup", &Source { cgroup: self.folders.clone(), ..Source::default() })
    }

    fn value(&self, name: &str) -> f64 {
        let samples = self.samples();
        samples.value(name, &[]).unwrap_or_else(|| panic!("no {name} in {samples:?}"))
    }
}

fn shell(script: &str) -> Running {
    Running::start(Command::new("sh").arg("-c").arg(script).stdout(Stdio::null()))
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // It is busy until the last process has gone.
            wait_until("the end of a group", || {
                std::fs::remove_dir(folder).is_ok() || !folder.exists()
            });
        }
    }
}

/// What a process used, in seconds: fields 14 and 15 of proc_pid_stat(5).
fn used(process: &Running) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    ticks.map(|word| word.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

#[test]
fn a_quota_is_seen_in_an_instances_figures() {
    let test = "a_quota_is_seen_in_an_instances_figures";
    let Some(group) = Group::new(test, "quota") else { return };
    group.write("cpu.cfs_period_us", "10000");
    group.write("cpu.cfs_quota_us", "2000");
    let process = group.run("while :; do :; done");
    wait_until("some use", || group.value("container_cpu_usage_seconds_total") >= 0.3);
    let usage_of = |folders: &[PathBuf]| {
        let source = Source { cgroup: folders.to_vec(), ..Source::default() };
        collect("cgroup", &source).value("container_cpu_usage_seconds_total", &[])
    };
    if let [one, two, three, unified] = &group.folders[..] {
        // Version 2 counts the same in other units, from the moment at which it was entered.
        let v1 = [one, two, three].map(Clone::clone);
        let before = usage_of(&v1).unwrap();
        let between = usage_of(std::slice::from_ref(unified)).unwrap();
        let range = before - 0.01..=usage_of(&v1).unwrap() + 0.01;
        assert!(range.contains(&between), "{between} s of {range:?}");
        assert!(
            group.samples().value("container_pressure_cpu_waiting_seconds_total", &[]).is_some()
        );
    }
    // The kernel counts ticks for the process, and nanoseconds for the group.
    let before = used(&process);
    let usage = group.value("container_cpu_usage_seconds_total");
    let after = used(&process);
    let range = before - 0.05..=after + 0.05;
    assert!(range.contains(&usage), "{usage} s, and the process says {range:?}");
    let samples = group.samples();
    let of = |name| samples.value(name, &[]).unwrap();
    assert!((of("container_spec_cpu_quota") / of("container_spec_cpu_period") - 0.2).abs() < 1e-9);
    let [periods, throttled] =
        ["container_cpu_cfs_periods_total", "container_cpu_cfs_throttled_periods_total"].map(of);
    assert!(throttled > 0.0 && throttled <= periods, "{throttled} of {periods} periods");
    assert!(of("container_cpu_cfs_throttled_seconds_total") > 0.0);
}

#[test]
fn a_process_killed_for_memory_is_counted() {
    let test = "a_process_killed_for_memory_is_counted";
    let Some(group) = Group::new(test, "memory") else { return };
    group.write("memory.limit_in_bytes", "20971520");
    let before = group.value("container_oom_events_total");
    let mut process = group.run("exec tail /dev/zero");
    let status = process.ended();
    assert!(!status.success(), "{status}");
    let samples = group.samples();
    let of = |name| samples.value(name, &[]).unwrap();
    assert!((of("container_oom_events_total") - before - 1.0).abs() < 1e-9);
    assert!((of("container_spec_memory_limit_bytes") - 20_971_520.0).abs() < 1e-9);
    assert!(of("container_memory_max_usage_bytes") <= 20_971_520.0);
    assert!(of("container_memory_failcnt") > 0.0);
}

#[test]
fn time_that_was_used_is_among_the_hosts() {
    let busy = |samples: &Samples| {
        let name = "node_cpu_seconds_total";
        sum(samples, name, ("mode", "user")) + sum(samples, name, ("mode", "nice"))
    };
    let before = busy(&collect("host", &Source::default()));
    let process = shell("while :; do :; done");
    wait_until("some use", || used(&process) >= 0.5);
    let rose = busy(&collect("host", &Source::default())) - before;
    // Both count ticks, and those of each core may be one behind.
    assert!(rose >= 0.4, "{rose} s");
}
