//! Memory and swap: `/proc/meminfo` and `/proc/vmstat`.
//!
//! Source: proc_meminfo(5), whose `kB` are 1024 bytes, and proc_vmstat(5).

use super::Host;
use crate::collector::CollectError;
use crate::read::keyed;
use crate::sample::{Group, Samples, Series, counter, gauge};

const fn kib(key: &'static str, name: &'static str, about: &'static str) -> Series {
    gauge(key, name, "bytes", about).times(1024.0)
}

pub(crate) const MEMINFO: Group = Group {
    source: "proc/meminfo",
    series: &[
        kib("MemTotal", "node_memory_MemTotal_bytes", "usable memory"),
        kib("MemFree", "node_memory_MemFree_bytes", "memory that holds nothing"),
        kib("MemAvailable", "node_memory_MemAvailable_bytes", "memory that programs could get"),
        kib("Buffers", "node_memory_Buffers_bytes", "cached blocks of devices"),
        kib("Cached", "node_memory_Cached_bytes", "cached pages of files"),
        kib("AnonPages", "node_memory_AnonPages_bytes", "pages of programs that are of no file"),
        kib("Shmem", "node_memory_Shmem_bytes", "shared memory and files of tmpfs"),
        kib("Slab", "node_memory_Slab_bytes", "the kernel's own objects"),
        kib("SReclaimable", "node_memory_SReclaimable_bytes", "those that can be given up"),
        kib("Dirty", "node_memory_Dirty_bytes", "pages that wait to be written"),
        kib("Writeback", "node_memory_Writeback_bytes", "pages that are being written"),
        kib("Committed_AS", "node_memory_Committed_AS_bytes", "what programs asked for"),
        kib("SwapTotal", "node_memory_SwapTotal_bytes", "swap space"),
        kib("SwapFree", "node_memory_SwapFree_bytes", "swap space that holds nothing"),
        kib("SwapCached", "node_memory_SwapCached_bytes", "pages both in memory and in swap"),
    ],
};

pub(crate) const VMSTAT: Group = Group {
    source: "proc/vmstat",
    series: &[
        counter("pgfault", "node_vmstat_pgfault", "", "page faults"),
        counter("pgmajfault", "node_vmstat_pgmajfault", "", "page faults that read from a disk"),
        counter("pgpgin", "node_vmstat_pgpgin", "KiB", "read from disks"),
        counter("pgpgout", "node_vmstat_pgpgout", "KiB", "written to disks"),
        counter("pswpin", "node_vmstat_pswpin", "pages", "read from swap"),
        counter("pswpout", "node_vmstat_pswpout", "pages", "written to swap"),
        counter("oom_kill", "node_vmstat_oom_kill", "", "processes killed for want of memory"),
    ],
};

pub(super) fn read(host: &Host, out: &mut Samples) -> Result<(), CollectError> {
    for group in [&MEMINFO, &VMSTAT] {
        Host::parse(&host.root.join(group.source), out, |text, out| keyed(text, group, out))?;
    }
    Ok(())
}
