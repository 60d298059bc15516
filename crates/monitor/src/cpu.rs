//! CPU time by kind, from `/proc/stat`, and the share of it that the hypervisor took away.
//!
//! # Units
//!
//! Ticks of `USER_HZ` (1/100 s on every Linux we know), summed over all cores since the host
//! started. Only shares of differences are computed here, so the tick's length does not matter.
//!
//! # Source
//!
//! proc_stat(5). `guest` and `guest_nice` are already contained in `user` and `nice`, so a total
//! adds the first eight columns only.

use std::path::Path;

/// The first line of `/proc/stat`: ticks by kind, since the host started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// In user mode.
    pub user: u64,
    /// In user mode at low priority.
    pub nice: u64,
    /// In the kernel.
    pub system: u64,
    /// With nothing to do.
    pub idle: u64,
    /// With nothing to do while I/O was outstanding.
    pub iowait: u64,
    /// Serving interrupts.
    pub irq: u64,
    /// Serving softirqs, where the network stack works.
    pub softirq: u64,
    /// Ready to run, while the hypervisor ran something else.
    pub steal: u64,
}

impl Ticks {
    /// Reads the line `cpu …` of the text of `/proc/stat`; `None` without such a line.
    ///
    /// Columns that an old kernel does not have count as 0.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let mut columns = line.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        // The first four have been there since Linux 1: without them it is another file.
        let mut required = || columns.next().flatten();
        let (user, nice, system, idle) = (required()?, required()?, required()?, required()?);
        let mut optional = || columns.next().flatten().unwrap_or(0);
        Some(Self {
            user,
            nice,
            system,
            idle,
            iowait: optional(),
            irq: optional(),
            softirq: optional(),
            steal: optional(),
        })
    }

    /// Reads `proc/stat` below the root; `None` where there is none.
    #[must_use]
    pub fn read(root: &Path) -> Option<Self> {
        Self::parse(&crate::text_of(root, "proc/stat")?)
    }

    /// All ticks, of every kind.
    #[must_use]
    pub fn total(&self) -> u64 {
        [self.user, self.nice, self.system, self.idle]
            .into_iter()
            .chain([self.iowait, self.irq, self.softirq, self.steal])
            .fold(0, u64::saturating_add)
    }
}

/// Share of all cores' time between two readings that the hypervisor took away, 0 to 1.
///
/// 0 where no tick has passed. A counter that went backwards (`iowait` may, proc_stat(5)) counts
/// as one that stood still.
#[must_use]
pub fn steal_share(before: &Ticks, after: &Ticks) -> f64 {
    let passed = after.total().saturating_sub(before.total());
    let stolen = after.steal.saturating_sub(before.steal).min(passed);
    if passed == 0 { 0.0 } else { stolen as f64 / passed as f64 }
}
