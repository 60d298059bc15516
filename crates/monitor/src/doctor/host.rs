//! Descriptors, memory, processors and clocks.

use super::{Facts, Finding, Fit, Wants, own, sysctl};
use crate::Ticks;
use crate::memory::bytes_of;
use plimsoll_units::{show_count, show_share, show_size};

/// What a process needs beside one descriptor a connection.
const SPARE: f64 = 100.0;
/// Memory of one connection, bytes: of the kernel's, and of a thrifty server's.
const A_CONNECTION: u64 = 18_000;
/// The share of a processor's time that may be taken away before measurements are doubtful.
const STEAL: f64 = 0.02;

/// The descriptors that so many connections need.
fn wanted(wants: Wants) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^53")]
    let wanted = (wants.connections as f64 * 1.1 + SPARE).round() as u64;
    wanted
}

/// A number of processors to a hundredth.
fn round(processors: f64) -> f64 {
    (100.0 * processors).round() / 100.0
}

pub(super) fn descriptors(facts: &Facts<'_>, wants: Wants) -> Vec<Finding> {
    let need = wanted(wants);
    let own = Finding::new(
        "descriptors",
        "a process without a free descriptor cannot connect or accept",
        format_args!("{} for {} connections", show_count(need), show_count(wants.connections)),
    );
    let limits = facts.text("proc/self/limits").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        let mut words = line.split_whitespace();
        let limit = |word: &str| match word {
            "unlimited" => Some(u64::MAX),
            word => word.parse().ok(),
        };
        Some((limit(words.next()?)?, limit(words.next()?)?))
    });
    let own = match limits {
        None => own,
        Some((soft, hard)) => {
            let own = own.found(format_args!("{}, at most {}", show_count(soft), show_count(hard)));
            match hard >= need {
                // A load raises the soft limit by itself; many servers do not.
                true => own.unless(soft >= need, Fit::Doubtful, format!("ulimit -n {need}")),
                // Nobody but the kernel's own limit hinders root then.
                false => {
                    let change = format!("prlimit --pid $$ --nofile={need}:{need}");
                    own.unless(false, Fit::Unfit, change)
                }
            }
        }
    };
    let all = Finding::new(
        "files of the host",
        "the kernel's bound of open files of all processes together",
        format_args!("{} free", show_count(2 * need)),
    );
    let all = match facts.setting("fs.file-nr").as_deref() {
        Some([open, _, most]) => {
            let free = most.saturating_sub(*open);
            all.found(format_args!("{} free", show_count(free))).unless(
                free >= 2 * need,
                Fit::Unfit,
                sysctl("fs.file-max", open + 4 * need),
            )
        }
        _ => all,
    };
    vec![own, all]
}

pub(super) fn memory(facts: &Facts<'_>, wants: Wants) -> Vec<Finding> {
    let info = facts.text("proc/meminfo").unwrap_or_default();
    let need = wants.connections.saturating_mul(A_CONNECTION);
    let free = Finding::new(
        "memory",
        "a connection takes about 18 kB of kernel and server together",
        format_args!("{} within 70% of what is free", show_size(need)),
    );
    let within = own::memory_left(facts);
    let free = match bytes_of(&info, "MemAvailable") {
        Some(bytes) => {
            let (bytes, whose) = match within.filter(|left| *left < bytes) {
                Some(left) => (left, " in its control group"),
                None => (bytes, ""),
            };
            let fits = need as f64 <= bytes as f64 * 0.7;
            let found = free.found(format_args!("{} free{whose}", show_size(bytes)));
            found.unless(fits, Fit::Unfit, "")
        }
        None => free,
    };
    let swap = Finding::new("swap", "a server whose pages are on a disk answers late", "unused");
    let swap = match (bytes_of(&info, "SwapTotal"), bytes_of(&info, "SwapFree")) {
        (Some(0), _) => swap.found("none"),
        (Some(all), Some(left)) => swap
            .found(format_args!("{} in use", show_size(all.saturating_sub(left))))
            .unless(left == all, Fit::Doubtful, "swapoff -a"),
        _ => swap,
    };
    let over = Finding::new(
        "overcommit",
        "under 2 a store that forks to save needs its memory twice",
        "0 or 1",
    );
    let over = match facts.number("vm.overcommit_memory") {
        Some(mode) => {
            over.found(mode).unless(mode < 2, Fit::Doubtful, sysctl("vm.overcommit_memory", 0))
        }
        None => over,
    };
    vec![free, swap, over]
}

pub(super) fn processors(facts: &Facts<'_>) -> Vec<Finding> {
    let steal = Finding::new(
        "steal",
        "what the hypervisor gives to others looks like a slow server",
        format_args!("at most {} since the start", show_share(STEAL)),
    );
    let ticks = facts.text("proc/stat").as_deref().and_then(Ticks::parse);
    let steal = match ticks {
        Some(ticks) => {
            let share = ticks.steal as f64 / (ticks.total() as f64).max(1.0);
            steal.found(show_share(share)).unless(share <= STEAL, Fit::Doubtful, "")
        }
        None => steal,
    };
    let source = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let clock = Finding::new(
        "clock",
        "hpet and acpi_pm take microseconds to read, and several threads wait for each other",
        "tsc, or the hypervisor's",
    );
    let clock = match facts.text(source) {
        Some(name) => {
            let is_fast =
                !["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&name.as_str());
            clock.found(&name).unless(is_fast, Fit::Doubtful, format!("echo tsc > /{source}"))
        }
        None => clock,
    };
    let file = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    let governor = Finding::new(
        "governor",
        "a processor that changes its speed makes the same work last differently",
        "performance",
    );
    let governor = match facts.text(file) {
        Some(name) => governor.found(&name).unless(
            name == "performance",
            Fit::Doubtful,
            "cpupower frequency-set -g performance",
        ),
        None => governor,
    };
    let time = Finding::new(
        "processor time",
        "what a process would take beyond its quota waits for the next period",
        "no quota",
    );
    let time = match (own::processors(facts), ticks.is_some()) {
        (Some(processors), _) => {
            let found = time.found(format_args!("{} processors", round(processors)));
            found.unless(false, Fit::Doubtful, "")
        }
        (None, true) => time.found("no quota"),
        (None, false) => time,
    };
    vec![steal, time, clock, governor]
}
