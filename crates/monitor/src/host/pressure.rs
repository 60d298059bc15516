//! Pressure: how long threads waited for want of something, from `/proc/pressure`.
//!
//! Source: the kernel's `Documentation/accounting/psi.rst`. `some` is time in which a thread
//! waited, `full` time in which all did; totals are in microseconds.

use super::Host;
use crate::collector::CollectError;
use crate::read::count;
use crate::sample::{Group, Samples, Series, counter};

const US_PER_S: f64 = 1e6;

/// A total of a file of pressure.
pub(crate) const fn total(key: &'static str, name: &'static str, about: &'static str) -> Series {
    counter(key, name, "s", about).over(US_PER_S)
}

pub(crate) const GROUP: Group = Group {
    source: "proc/pressure",
    series: &[
        total(
            "cpu some",
            "node_pressure_cpu_waiting_seconds_total",
            "time in which a thread waited for a processor",
        ),
        total(
            "io some",
            "node_pressure_io_waiting_seconds_total",
            "time in which a thread waited for a disk",
        ),
        total(
            "io full",
            "node_pressure_io_stalled_seconds_total",
            "time in which all threads waited for a disk",
        ),
        total(
            "memory some",
            "node_pressure_memory_waiting_seconds_total",
            "time in which a thread waited for memory",
        ),
        total(
            "memory full",
            "node_pressure_memory_stalled_seconds_total",
            "time in which all threads waited for memory",
        ),
        total(
            "irq full",
            "node_pressure_irq_stalled_seconds_total",
            "time in which interrupts kept threads from running",
        ),
    ],
};

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    for resource in ["cpu", "io", "memory", "irq"] {
        let path = host.root.join(GROUP.source).join(resource);
        Host::parse(&path, out, |text, out| parse(resource, text, &GROUP, out))?;
    }
    Ok(())
}

/// Reads the totals of one resource that a group knows.
pub(crate) fn parse(resource: &str, text: &str, group: &'static Group, out: &mut Samples) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let key = format!("{resource} {}", words.next().unwrap_or_default());
        let Some(series) = group.find(&key) else { continue };
        match words.find_map(|word| word.strip_prefix("total=")).and_then(count) {
            Some(value) => out.push(series, &[], value),
            None => out.leave_out(1, format!("{key} in {}", group.source)),
        }
    }
}
