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
    /// Columns that an old kernel does not have count as 0; one that is no number makes the line
    /// none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::of_columns(text.lines().find_map(|line| line.strip_prefix("cpu "))?)
    }

    /// Reads what stands behind the name of a line, of all cores or of one.
    pub(crate) fn of_columns(columns: &str) -> Option<Self> {
        let mut columns = columns.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        // The first four have been there since Linux 1: without them it is another file.
        let mut required = || columns.next().flatten();
        let (user, nice, system, idle) = (required()?, required()?, required()?, required()?);
        // One that is there and no number is not taken for 0.
        let mut optional = || columns.next().unwrap_or(Some(0));
        Some(Self {
            user,
            nice,
            system,
            idle,
            iowait: optional()?,
            irq: optional()?,
            softirq: optional()?,
            steal: optional()?,
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
        self.by_kind().iter().fold(0, |sum, (_, ticks)| sum.saturating_add(*ticks))
    }

    /// Each kind by its name.
    pub(crate) fn by_kind(&self) -> [(&'static str, u64); 8] {
        [
            ("user", self.user),
            ("nice", self.nice),
            ("system", self.system),
            ("idle", self.idle),
            ("iowait", self.iowait),
            ("irq", self.irq),
            ("softirq", self.softirq),
            ("steal", self.steal),
        ]
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
