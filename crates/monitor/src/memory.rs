//! Resident memory of this process, now and at its peak, from `/proc/self/status`.
//!
//! # Source
//!
//! proc_pid_status(5): `VmRSS` and `VmHWM`, in units of 1024 bytes that the file calls `kB`.

use std::path::Path;

/// Resident memory of one process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Resident now (`VmRSS`).
    pub rss_bytes: u64,
    /// The most that was ever resident (`VmHWM`).
    pub peak_bytes: u64,
}

impl Memory {
    /// Reads the text of a `status` file; `None` where either figure is missing (a kernel thread
    /// has neither).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self { rss_bytes: bytes_of(text, "VmRSS")?, peak_bytes: bytes_of(text, "VmHWM")? })
    }

    /// Reads `proc/self/status` below the root; `None` where there is none.
    #[must_use]
    pub fn read(root: &Path) -> Option<Self> {
        Self::parse(&crate::text_of(root, "proc/self/status")?)
    }
}

/// The figure of a line `NAME: 1234 kB`, in bytes. `/proc/meminfo` has the same form.
pub(crate) fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}
