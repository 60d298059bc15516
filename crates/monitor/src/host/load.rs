//! How many threads run or wait, as exponential means: `/proc/loadavg`.
//!
//! Source: proc_loadavg(5).

use super::Host;
use crate::collector::CollectError;
use crate::read::{count, number};
use crate::sample::{Group, Samples, gauge};

pub(crate) const GROUP: Group = Group {
    source: "proc/loadavg",
    series: &[
        gauge("1", "node_load1", "", "threads that run or wait, over 1 min"),
        gauge("2", "node_load5", "", "threads that run or wait, over 5 min"),
        gauge("3", "node_load15", "", "threads that run or wait, over 15 min"),
        gauge("4", "node_processes_threads", "", "threads that there are"),
    ],
};

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    Host::parse(&host.root.join(GROUP.source), out, parse)
}

pub(crate) fn parse(text: &str, out: &mut Samples) {
    let mut words = text.split_ascii_whitespace();
    for series in GROUP.series {
        let word = words.next().unwrap_or_default();
        let value = match series.key {
            // Threads that run, and all.
            "4" => word.split_once('/').and_then(|(_, all)| count(all)),
            _ => number(word).filter(|load| *load >= 0.0),
        };
        match value {
            Some(value) => out.push(series, &[], value),
            None => out.leave_out(1, format!("field {} of {}", series.key, GROUP.source)),
        }
    }
}
