//! Processors by kind of time and core, and what the scheduler counts: `/proc/stat`.
//!
//! Source: proc_stat(5). Time of guests is contained in `user` and `nice`. Ticks are of 1/100 s.

use super::Host;
use crate::collector::CollectError;
use crate::cpu::Ticks;
use crate::read::count;
use crate::sample::{Group, Samples, Series, counter, gauge};

/// Ticks a second that the kernel counts for programs, on every Linux we know.
pub(crate) const USER_HZ: f64 = 100.0;

const CPU: Series = counter("cpu", "node_cpu_seconds_total", "s", "time of a core by kind")
    .by(&["cpu", "mode"])
    .over(USER_HZ);

pub(crate) const GROUP: Group = Group {
    source: "proc/stat",
    series: &[
        CPU,
        counter("ctxt", "node_context_switches_total", "", "switches from one thread to another"),
        counter("processes", "node_forks_total", "", "processes and threads started"),
        gauge("procs_running", "node_procs_running", "", "threads running or ready to run"),
        gauge("procs_blocked", "node_procs_blocked", "", "threads waiting for I/O"),
        gauge("btime", "node_boot_time_seconds", "s", "when the host started, since 1970"),
    ],
};

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    Host::parse(&host.root.join(GROUP.source), out, parse)
}

pub(crate) fn parse(text: &str, out: &mut Samples) {
    for (index, line) in text.lines().enumerate() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        match key.strip_prefix("cpu") {
            // The first line is the sum of the others.
            Some("") if index == 0 => {}
            Some(core) => match Ticks::of_columns(rest) {
                Some(ticks) if count(core).is_some() => {
                    // A kernel that does not count a kind has no column of it.
                    let kinds = rest.split_ascii_whitespace().count();
                    for (mode, ticks) in ticks.by_kind().into_iter().take(kinds) {
                        out.push(&GROUP.series[0], &[core, mode], ticks as f64);
                    }
                }
                _ => out.leave_out(1, format!("{key} in {}", GROUP.source)),
            },
            None => {
                let Some(series) = GROUP.find(key) else { continue };
                match count(rest.trim()) {
                    Some(value) => out.push(series, &[], value),
                    None => out.leave_out(1, format!("{key} in {}", GROUP.source)),
                }
            }
        }
    }
}
