//! Disks: `/proc/diskstats`, whole disks only.
//!
//! Source: the kernel's `Documentation/admin-guide/iostats.rst`, which counts the fields behind
//! the name from 1. Sectors are of 512 bytes, whatever the disk's own are.

use std::path::Path;

use super::Host;
use crate::collector::CollectError;
use crate::read::{count, row};
use crate::sample::{Group, Samples, Series, counter, gauge};

const SECTOR_BYTES: f64 = 512.0;
const MS_PER_S: f64 = 1000.0;

const fn operations(key: &'static str, name: &'static str, about: &'static str) -> Series {
    counter(key, name, "", about).by(&["device"])
}

const fn sectors(key: &'static str, name: &'static str, about: &'static str) -> Series {
    counter(key, name, "bytes", about).by(&["device"]).times(SECTOR_BYTES)
}

const fn ms(key: &'static str, name: &'static str, about: &'static str) -> Series {
    counter(key, name, "s", about).by(&["device"]).over(MS_PER_S)
}

pub(crate) const GROUP: Group = Group {
    source: "proc/diskstats",
    series: &[
        operations("1", "node_disk_reads_completed_total", "reads completed"),
        sectors("3", "node_disk_read_bytes_total", "read"),
        ms("4", "node_disk_read_time_seconds_total", "time of all reads together"),
        operations("5", "node_disk_writes_completed_total", "writes completed"),
        sectors("7", "node_disk_written_bytes_total", "written"),
        ms("8", "node_disk_write_time_seconds_total", "time of all writes together"),
        gauge("9", "node_disk_io_now", "", "operations in progress").by(&["device"]),
        ms("10", "node_disk_io_time_seconds_total", "time with an operation in progress"),
        ms("11", "node_disk_io_time_weighted_seconds_total", "that, times the operations"),
    ],
};

/// Kinds of devices of which a host has many that are never used. Those are left out until they are
/// used.
const OFTEN_UNUSED: [&str; 5] = ["loop", "ram", "zram", "nbd", "fd"];

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    // Partitions are not in it. A root without it tells nothing of what is one.
    let disks = host.root.join("sys/block");
    let disks = disks.is_dir().then_some(disks);
    let is_whole = |name: &str| disks.as_deref().is_none_or(|disks| is_disk(disks, name));
    if let Some(text) = host.text(GROUP.source)? {
        parse(&text, is_whole, out);
    }
    Ok(())
}

fn is_disk(disks: &Path, name: &str) -> bool {
    // A slash in a device's name is an exclamation mark in sysfs.
    disks.join(name.replace('/', "!")).exists()
}

pub(crate) fn parse(text: &str, is_whole: impl Fn(&str) -> bool, out: &mut Samples) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let name = words.next().unwrap_or_default();
        let fields: Vec<&str> = words.collect();
        let is_right = fields.len() >= 11 && fields.iter().all(|field| count(field).is_some());
        let is_unused = fields.iter().all(|field| *field == "0");
        if !is_right {
            out.leave_out(1, format!("the row of {name:?} in {}", GROUP.source));
        } else if is_whole(name) && !(is_unused && is_often_unused(name)) {
            row(fields, &GROUP, &[name], out);
        }
    }
}

fn is_often_unused(name: &str) -> bool {
    OFTEN_UNUSED.iter().any(|kind| name.starts_with(kind))
}
