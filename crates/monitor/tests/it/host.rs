//! The collectors `host`, `network` and `cgroup`, on the fixtures and on the host that runs this.

use std::collections::BTreeSet;

use plimsoll_monitor::collector::{self, CollectError};
use plimsoll_monitor::{Samples, Source, Watched};

use crate::collectors::fixture;

fn guest() -> Source {
    Source { root: fixture("x86-guest"), ..Source::default() }
}

fn collect(name: &str, source: &Source) -> Samples {
    Watched::open(name, source).unwrap().collect().unwrap()
}

/// Compares samples by name and labels, `NAME{LABEL=TEXT,…}`, with what the fixture's text says.
fn assert_values(samples: &Samples, wanted: &[(&str, f64)]) {
    for (series, wanted) in wanted {
        let (name, labels) = series.trim_end_matches('}').split_once('{').unwrap_or((series, ""));
        let labels: Vec<(&str, &str)> =
            labels.split(',').filter_map(|pair| pair.split_once('=')).collect();
        let found = samples.value(name, &labels);
        let is_equal = found.is_some_and(|found| (found - wanted).abs() <= 1e-12 * wanted.abs());
        assert!(is_equal, "{series}: wanted {wanted}, found {found:?}");
    }
}

/// The names of the series that a collector says it reads.
fn known(name: &str) -> BTreeSet<&'static str> {
    let groups = collector::named(name).unwrap().groups.iter();
    groups.flat_map(|group| group.series.iter().map(|series| series.name)).collect()
}

fn found(samples: &Samples) -> BTreeSet<&str> {
    samples.iter().map(|sample| sample.name.as_ref()).collect()
}

#[test]
fn a_host_tells_every_series_that_is_documented() {
    let source = Source { processes: vec!["nginx".to_owned()], ..guest() };
    let samples = collect("host", &source);
    assert_eq!(found(&samples), known("host"));
    assert_eq!((samples.left_out(), samples.first_left_out()), (0, None));
}

#[test]
fn figures_of_a_host_are_those_of_its_files() {
    let names = ["nginx", "systemd-journald", "absent"].map(str::to_owned).to_vec();
    let samples = collect("host", &Source { processes: names, ..guest() });
    assert_values(
        &samples,
        &[
            ("node_cpu_seconds_total{cpu=0,mode=user}", 268.11),
            ("node_cpu_seconds_total{cpu=1,mode=iowait}", 4.55),
            ("node_cpu_seconds_total{cpu=1,mode=steal}", 0.2),
            ("node_context_switches_total", 601_169.0),
            ("node_procs_running", 3.0),
            ("node_boot_time_seconds", 1_795_167_280.0),
            ("node_load1", 2.76),
            ("node_load15", 0.65),
            ("node_processes_threads", 102.0),
            ("node_memory_MemAvailable_bytes", 24_279_748.0 * 1024.0),
            ("node_memory_SwapFree_bytes", 2_096_124.0 * 1024.0),
            ("node_vmstat_pswpout", 29.0),
            ("node_disk_reads_completed_total{device=vda}", 3_051_311.0),
            ("node_disk_read_bytes_total{device=vda}", 270_157_602.0 * 512.0),
            ("node_disk_written_bytes_total{device=vda}", 523_044_904.0 * 512.0),
            ("node_disk_io_time_seconds_total{device=vda}", 676.36),
            ("node_disk_io_now{device=vda}", 2.0),
            ("node_disk_written_bytes_total{device=loop1}", 320.0 * 512.0),
            ("node_network_receive_bytes_total{device=eth0}", 259_747_653.0),
            ("node_network_receive_drop_total{device=eth0}", 2.0),
            ("node_network_transmit_packets_total{device=eth0}", 6917.0),
            ("node_network_transmit_drop_total{device=eth0}", 4.0),
            ("node_processes_pids", 3.0),
            ("plimsoll_processes{name=nginx}", 2.0),
            // The kernel keeps 15 bytes of a name.
            ("plimsoll_processes{name=systemd-journald}", 1.0),
            ("plimsoll_processes{name=absent}", 0.0),
            ("node_filefd_allocated", 539.0),
            ("node_filefd_maximum", 2_466_165.0),
            ("node_pressure_cpu_waiting_seconds_total", 19_023.890_994),
            ("node_pressure_io_stalled_seconds_total", 127.373_22),
            ("node_pressure_irq_stalled_seconds_total", 1.5),
        ],
    );
}

#[test]
fn figures_of_a_network_are_those_of_its_files() {
    // The network of a namespace is read from a folder of its own, whatever the root is.
    let net = Some(fixture("x86-guest/proc/net"));
    let instance = Some("web1".to_owned());
    let source = Source { net, net_bits_per_s: Some(20_000_000), instance, ..Source::default() };
    let samples = collect("network", &source);
    assert_eq!(found(&samples), known("network"));
    assert!(samples.iter().all(|sample| sample.label("instance") == Some("web1")));
    assert_values(
        &samples,
        &[
            ("node_network_receive_bytes_total{device=lo,instance=web1}", 327_400_533_751.0),
            ("node_network_speed_bytes{device=eth0,instance=web1}", 2_500_000.0),
            ("node_tcp_connection_states{state=established}", 2.0),
            ("node_tcp_connection_states{state=listen}", 2.0),
            ("node_tcp_connection_states{state=time_wait}", 1.0),
            ("node_tcp_connection_states{state=close_wait}", 1.0),
            ("node_tcp_connection_states{state=syn_recv}", 1.0),
            ("node_tcp_connection_states{state=fin_wait2}", 1.0),
            ("node_tcp_connection_states{state=closing}", 0.0),
            ("node_netstat_Tcp_PassiveOpens", 213_387.0),
            ("node_netstat_Tcp_AttemptFails", 17_562.0),
            ("node_netstat_Tcp_RetransSegs", 371.0),
            ("node_netstat_Udp_RcvbufErrors", 7.0),
            ("node_netstat_TcpExt_ListenOverflows", 252.0),
            ("node_netstat_TcpExt_ListenDrops", 253.0),
            ("node_netstat_TcpExt_SyncookiesSent", 52.0),
            ("node_netstat_TcpExt_TCPTimeouts", 644.0),
            ("node_sockstat_TCP_orphan", 2.0),
            ("node_sockstat_TCP_tw", 1.0),
            ("node_sockstat_TCP6_inuse", 2.0),
        ],
    );
}

#[test]
fn unused_devices_and_partitions_are_no_disks() {
    let samples = collect("host", &guest());
    let disks = samples.iter().filter(|sample| sample.name == "node_disk_io_now");
    let names: BTreeSet<&str> = disks.filter_map(|sample| sample.label("device")).collect();
    assert_eq!(names, BTreeSet::from(["loop1", "vda"]));
}

#[test]
fn a_host_that_has_little_tells_that_and_no_more() {
    let samples = collect("host", &Source { root: fixture("arm-board"), ..Source::default() });
    assert_values(&samples, &[("node_cpu_seconds_total{cpu=0,mode=user}", 0.6)]);
    assert_eq!(found(&samples), BTreeSet::from(["node_cpu_seconds_total"]));
    let steal = samples.iter().filter(|sample| sample.label("mode") == Some("steal"));
    assert_eq!(steal.count(), 0, "its kernel does not count it");
    assert_eq!(samples.left_out(), 0, "{:?}", samples.first_left_out());
}

#[test]
fn a_root_without_a_host_is_an_error() {
    let source = Source { root: fixture("no-such-host"), ..Source::default() };
    let error = Watched::open("host", &source).unwrap().collect().unwrap_err();
    assert!(matches!(error, CollectError::Missing(_)), "{error}");
}

#[test]
fn a_file_that_is_something_else_is_counted_and_leaves_the_others() {
    let place = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &[u8]| {
        let path = place.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("proc/loadavg", b"0.50 0.25 0.10 1/99 4242\n");
    write("proc/meminfo", b"\xff\xfe\0\0 what is this\n");
    write("proc/net/dev", b"eth0: 1 2 3\n");
    // A folder cannot be read as a file.
    std::fs::create_dir_all(place.path().join("proc/stat")).unwrap();
    let source = Source { root: place.path().to_owned(), ..Source::default() };
    let samples = collect("host", &source);
    assert_values(&samples, &[("node_load5", 0.25)]);
    assert_eq!(samples.left_out(), 3);
    let first = samples.first_left_out().unwrap();
    assert!(first.contains("proc/stat"), "{first}");
}

#[test]
fn this_host_is_read_without_anything_left_out() {
    let samples = collect("host", &Source::default());
    assert_eq!((samples.left_out(), samples.first_left_out()), (0, None));
    let cores = std::thread::available_parallelism().unwrap().get();
    let idle = samples.iter().filter(|sample| sample.label("mode") == Some("idle")).count();
    assert!(idle >= cores, "{idle} cores, of which this process may use {cores}");
    assert!(samples.value("node_memory_MemAvailable_bytes", &[]).unwrap() > 0.0);
    assert!(samples.value("node_processes_pids", &[]).unwrap() >= 1.0);
    assert!(samples.value("node_network_receive_bytes_total", &[("device", "lo")]).is_some());
}

fn cgroup(folders: &[&str]) -> Source {
    let cgroup = folders.iter().map(|name| fixture("cgroups").join(name)).collect();
    Source { cgroup, instance: Some("web1".to_owned()), ..Source::default() }
}

#[test]
fn both_versions_of_cgroups_tell_the_same() {
    let wanted = [
        ("container_cpu_user_seconds_total", 2.01),
        ("container_cpu_cfs_periods_total", 138.0),
        ("container_cpu_cfs_throttled_periods_total", 134.0),
        ("container_spec_cpu_quota", 20_000.0),
        ("container_spec_cpu_period", 100_000.0),
        ("container_memory_usage_bytes", 94_371_840.0),
        ("container_memory_max_usage_bytes", 104_857_600.0),
        ("container_spec_memory_limit_bytes", 104_857_600.0),
        ("container_memory_rss", 74_114_176.0),
        ("container_memory_cache", 20_108_928.0),
        ("container_memory_failcnt", 77.0),
        ("container_oom_events_total", 2.0),
        ("container_threads", 6.0),
    ];
    let v2 = collect("cgroup", &cgroup(&["v2"]));
    assert_values(&v2, &wanted);
    assert_values(
        &v2,
        &[
            ("container_cpu_usage_seconds_total{instance=web1}", 2.760_123),
            ("container_cpu_cfs_throttled_seconds_total", 5.000_891),
            ("container_pressure_cpu_waiting_seconds_total", 4.0),
            ("container_pressure_memory_stalled_seconds_total", 3.0),
        ],
    );
    assert_eq!(found(&v2), known("cgroup"));
    let v1 = collect("cgroup", &cgroup(&["v1/cpu", "v1/cpuacct", "v1/memory", "v1/pids"]));
    assert_values(&v1, &wanted);
    assert_values(
        &v1,
        &[
            ("container_cpu_usage_seconds_total", 2.760_123_456),
            ("container_cpu_cfs_throttled_seconds_total", 5.000_891_422),
        ],
    );
    assert_eq!((v1.left_out(), v2.left_out()), (0, 0));
}

#[test]
fn of_two_hierarchies_the_first_tells() {
    let folders = ["v1/cpu", "v1/cpuacct", "v1/memory", "v1/pids", "v1/unified"];
    let samples = collect("cgroup", &cgroup(&folders));
    assert_values(
        &samples,
        &[
            ("container_cpu_usage_seconds_total", 2.760_123_456),
            ("container_pressure_cpu_waiting_seconds_total", 4.0),
        ],
    );
    let later = collect("cgroup", &cgroup(&["v1/unified", "v1/cpuacct"]));
    assert_values(&later, &[("container_cpu_usage_seconds_total", 2.760_999)]);
}

#[test]
fn a_limit_that_is_none_is_no_sample() {
    let place = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| std::fs::write(place.path().join(path), text).unwrap();
    write("cpu.cfs_quota_us", "-1\n");
    write("cpu.cfs_period_us", "100000\n");
    write("memory.limit_in_bytes", "9223372036854771712\n");
    write("memory.usage_in_bytes", "4096\n");
    let source = Source { cgroup: vec![place.path().to_owned()], ..Source::default() };
    let names = ["container_memory_usage_bytes", "container_spec_cpu_period"];
    let v1 = collect("cgroup", &source);
    assert_eq!((found(&v1), v1.left_out()), (BTreeSet::from(names), 0));
    write("cgroup.controllers", "cpu memory\n");
    write("cpu.max", "max 100000\n");
    write("memory.max", "max\n");
    write("memory.current", "4096\n");
    let v2 = collect("cgroup", &source);
    assert_eq!((found(&v2), v2.left_out()), (BTreeSet::from(names), 0));
}

#[test]
fn a_cgroup_that_is_gone_is_an_error() {
    let mut watched = Watched::open("cgroup", &cgroup(&["no-such-cgroup"])).unwrap();
    let error = watched.collect().unwrap_err();
    assert!(matches!(error, CollectError::Missing(_)), "{error}");
    let mut empty = Watched::open("cgroup", &cgroup(&["v1"])).unwrap();
    let error = empty.collect().unwrap_err().to_string();
    assert!(error.starts_with("expected the files of a cgroup, found "), "{error}");
    let samples = collect("cgroup", &cgroup(&["no-such-cgroup", "v2"]));
    assert_eq!(samples.left_out(), 1);
    assert!(!samples.is_empty());
}

#[test]
fn collectors_say_what_they_lack() {
    let open = |name: &str| Watched::open(name, &Source::default()).unwrap_err().to_string();
    assert_eq!(open("cgroup"), "the collector `cgroup` needs a folder of the instance's cgroup");
    assert_eq!(open("redis"), "the collector `redis` needs the service's address");
    let unknown = Watched::open("ngnix", &Source::default()).unwrap_err();
    let hint = plimsoll_units::failure::Failure::hint(&unknown);
    assert_eq!(hint.as_deref(), Some("did you mean `nginx`?"));
    assert!(unknown.to_string().contains("host, network, cgroup"), "{unknown}");
}

/// Of either version, and of both together, each group is one instance, whenever it comes; those of
/// others are left alone.
#[test]
fn groups_whose_names_begin_alike_are_instances_as_they_come_and_go() {
    let place = tempfile::tempdir().unwrap();
    let mount = place.path().join("sys/fs/cgroup");
    let write = |folder: &str, file: &str, text: &str| {
        std::fs::create_dir_all(mount.join(folder)).unwrap();
        std::fs::write(mount.join(folder).join(file), text).unwrap();
    };
    let mut watched = Watched::groups(place.path(), "bed-");
    assert!(watched.collect().unwrap().is_empty(), "there is none yet");
    write("cpuacct/bed-web-1", "cpuacct.usage", "2000000000\n");
    write("pids/bed-web-1", "pids.current", "3\n");
    write("cpuacct/other-web-1", "cpuacct.usage", "5\n");
    write("cpuacct/bed-", "cpuacct.usage", "5\n");
    write("bed-web-2", "cgroup.controllers", "cpu\n");
    write("bed-web-2", "cpu.stat", "usage_usec 4000000\n");
    let samples = watched.collect().unwrap();
    let used = |of: &str| {
        samples.value("container_cpu_usage_seconds_total", &[("instance", of)]).unwrap_or_default()
    };
    assert!((used("web-1") - 2.0).abs() < 1e-9 && (used("web-2") - 4.0).abs() < 1e-9);
    assert_eq!(samples.value("container_threads", &[("instance", "web-1")]), Some(3.0));
    assert!(samples.iter().all(|of| of.label("instance").is_some_and(|of| of.starts_with("web"))));
    std::fs::remove_dir_all(mount.join("bed-web-2")).unwrap();
    assert!(watched.collect().unwrap().iter().all(|of| of.label("instance") == Some("web-1")));
}
