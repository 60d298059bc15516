//! Interrupts: the first asks to stop, the second ends at once.
//!
//! A signal that was ignored when the program began stays ignored, so that a run that `nohup` has
//! started outlives its terminal. One exception: shells that start a job in the background of a
//! script have it ignore SIGINT together with SIGQUIT, which nobody asked for; `kill -INT` reaches
//! such a job.

use crate::terminal::say;
use rustix::process::{Pid, getppid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How often the user has interrupted.
#[derive(Clone, Default)]
pub(crate) struct Interrupts {
    count: Arc<AtomicUsize>,
    /// The process whose end is an interrupt, too.
    parent: Option<Pid>,
}

impl Interrupts {
    /// Counts interrupts from now on.
    pub(crate) fn watch() -> std::io::Result<Self> {
        let count = Arc::new(AtomicUsize::new(0));
        for signal in heeded() {
            let count = count.clone();
            #[expect(unsafe_code, reason = "a handler that only adds to a number")]
            // SAFETY: the handler does one atomic addition, which may be done in a signal handler.
            unsafe {
                signal_hook::low_level::register(signal, move || {
                    count.fetch_add(1, Ordering::Relaxed);
                })?;
            }
        }
        Ok(Self { count, parent: None })
    }

    /// The end of the process that has started this one is an interrupt, too, from now on: of what
    /// would go on with nobody to end it.
    pub(crate) fn bound_to_parent(self) -> Self {
        Self { parent: getppid(), ..self }
    }

    /// How many there were.
    pub(crate) fn count(&self) -> usize {
        // An orphan has another parent.
        let is_orphan = self.parent.is_some() && getppid() != self.parent;
        let interrupt = || {
            let (was, is) = (0, 1);
            self.count.compare_exchange(was, is, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if is_orphan && interrupt() {
            say("the process that started this load has ended: it ends, too");
        }
        self.count.load(Ordering::Relaxed)
    }

    /// Ends what goes on as the user's interrupt would.
    pub(crate) fn interrupt(&self) {
        let (was, is) = (0, 1);
        // One that has been interrupted ends already.
        let _ = self.count.compare_exchange(was, is, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A flag that is set by the first.
    pub(crate) fn flag() -> std::io::Result<Arc<AtomicBool>> {
        Self::set_by(&[SIGINT, SIGTERM, SIGHUP])
    }

    /// A flag that is set by what ends a service: not by a hang-up, which means something else.
    pub(crate) fn to_end() -> std::io::Result<Arc<AtomicBool>> {
        Self::set_by(&[SIGINT, SIGTERM])
    }

    fn set_by(signals: &[i32]) -> std::io::Result<Arc<AtomicBool>> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in heeded().into_iter().filter(|signal| signals.contains(signal)) {
            signal_hook::flag::register(signal, flag.clone())?;
        }
        Ok(flag)
    }
}

/// The signals that interrupt this program.
fn heeded() -> Vec<i32> {
    // Without /proc nothing is known to be ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let stays_ignored = |signal: i32| {
        let of_background = signal == SIGINT && ignores(ignored, SIGQUIT);
        ignores(ignored, signal) && !of_background
    };
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !stays_ignored(signal)).collect()
}

/// The mask of ignored signals in `/proc/self/status` (proc(5)).
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn ignores(mask: u64, signal: i32) -> bool {
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let mask = ignored("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001001\n");
        let ignored: Vec<i32> = (1..=64).filter(|&signal| ignores(mask, signal)).collect();
        assert_eq!(ignored, [1, 13]);
        assert_eq!(super::ignored("SigIgn:\tx\n") + super::ignored(""), 0);
    }
}
