//! Facts, CPU time and memory, read from `tests/fixtures`.

use std::path::{Path, PathBuf};

use plimsoll_monitor::{Memory, Ticks, facts, steal_share};

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn pairs(facts: &[(String, String)]) -> Vec<(&str, &str)> {
    facts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

#[test]
fn a_virtual_host_tells_everything_but_its_governor() {
    let facts = facts(&fixture("x86-guest"));
    assert_eq!(
        pairs(&facts),
        [
            ("cpu_model", "Intel(R) Xeon(R) Processor"),
            ("cores", "2"),
            ("cores_allowed", "0-1"),
            ("memory_bytes", "25276510208"),
            ("kernel", "6.1.0-28-amd64"),
            ("hypervisor", "yes"),
            ("clocksource", "tsc"),
            ("congestion_control", "bbr"),
            ("autogroup", "on"),
            ("real_time_priority", "5"),
            ("nofile_soft", "20000"),
            ("nofile_hard", "524288"),
            ("port_range", "32768-60999"),
        ]
    );
}

#[test]
fn a_host_that_tells_little_is_not_guessed_at() {
    let facts = facts(&fixture("arm-board"));
    assert_eq!(
        pairs(&facts),
        [
            ("cores", "2"),
            ("governor", "ondemand"),
            ("autogroup", "off"),
            ("nofile_soft", "unlimited"),
            ("nofile_hard", "unlimited"),
        ]
    );
}

#[test]
fn no_source_at_all_is_no_data() {
    let nowhere = fixture("no-such-host");
    assert!(facts(&nowhere).is_empty());
    assert_eq!(Ticks::read(&nowhere), None);
    assert_eq!(Memory::read(&nowhere), None);
}

#[test]
fn this_host_can_be_read() {
    let facts = facts(Path::new("/"));
    assert!(facts.iter().any(|(name, _)| name == "cores"), "{facts:?}");
    let ticks = Ticks::read(Path::new("/")).expect("every Linux has /proc/stat");
    assert!(ticks.total() > 0);
    let memory = Memory::read(Path::new("/")).expect("every process has a status");
    assert!(memory.rss_bytes > 0 && memory.rss_bytes <= memory.peak_bytes, "{memory:?}");
}

#[test]
fn ticks_are_read_by_kind() {
    let ticks = Ticks::read(&fixture("x86-guest")).expect("the fixture has a cpu line");
    let expected = Ticks {
        user: 53_473,
        nice: 11,
        system: 5767,
        idle: 112_840,
        iowait: 515,
        irq: 7,
        softirq: 120,
        steal: 32,
    };
    assert_eq!(ticks, expected);
    // guest and guest_nice (40 and 2) are part of user and nice: not added again.
    assert_eq!(ticks.total(), 172_765);
}

#[test]
fn an_old_kernel_has_no_steal_column() {
    let ticks = Ticks::read(&fixture("arm-board")).expect("the fixture has a cpu line");
    assert_eq!((ticks.total(), ticks.steal), (1000, 0));
}

#[test]
fn what_is_no_stat_file_is_no_data() {
    for text in ["", "cpu0 1 2 3 4", "cpu ", "cpu  1 2 3", "cpu  a b c d", "cpu  -1 2 3 4"] {
        assert_eq!(Ticks::parse(text), None, "{text:?}");
    }
}

#[test]
fn steal_is_a_share_of_the_time_that_passed() {
    let before = Ticks { user: 100, idle: 900, steal: 10, ..Ticks::default() };
    let after = Ticks { user: 150, idle: 940, steal: 20, ..Ticks::default() };
    let share = steal_share(&before, &after);
    assert!((share - 0.1).abs() < 1e-12, "10 of 100 ticks, found {share}");
}

#[test]
fn steal_stays_within_its_bounds_whatever_the_counters_do() {
    let low = Ticks { user: 10, ..Ticks::default() };
    let high = Ticks { user: 10, idle: 5, iowait: 3, steal: 9, ..Ticks::default() };
    let huge = Ticks { user: u64::MAX, steal: u64::MAX, ..Ticks::default() };
    for before in [low, high, huge] {
        for after in [low, high, huge] {
            let share = steal_share(&before, &after);
            assert!((0.0..=1.0).contains(&share), "{before:?} to {after:?}: {share}");
        }
    }
    assert!(steal_share(&high, &high).abs() < f64::EPSILON, "no tick passed");
}

#[test]
fn memory_is_read_in_bytes() {
    let memory = Memory::read(&fixture("x86-guest"));
    assert_eq!(memory, Some(Memory { rss_bytes: 9_437_184, peak_bytes: 16_777_216 }));
}

#[test]
fn memory_without_either_figure_is_no_data() {
    for text in ["", "VmRSS:\t1 kB", "VmRSS: 1 kB\nVmHWM: x kB", "VmRSS: 1 MB\nVmHWM: 1 kB"] {
        assert_eq!(Memory::parse(text), None, "{text:?}");
    }
    // A longer name that begins alike is another field.
    assert_eq!(Memory::parse("VmRSSExtra: 1 kB\nVmHWM: 2 kB"), None);
}
