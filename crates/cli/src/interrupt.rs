//! Interrupts: the first asks to stop, the second ends at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How often the user has interrupted.
#[derive(Clone, Default)]
pub(crate) struct Interrupts(Arc<AtomicUsize>);

impl Interrupts {
    /// Counts interrupts from now on.
    pub(crate) fn watch() -> std::io::Result<Self> {
        let count = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let count = count.clone();
            #[expect(unsafe_code, reason = "a handler that only adds to a number")]
            // SAFETY: the handler does one atomic addition, which may be done in a signal handler.
            unsafe {
                signal_hook::low_level::register(signal, move || {
                    count.fetch_add(1, Ordering::Relaxed);
                })?;
            }
        }
        Ok(Self(count))
    }

    /// How many there were.
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A flag that is set by the first.
    pub(crate) fn flag() -> std::io::Result<Arc<AtomicBool>> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, flag.clone())?;
        }
        Ok(flag)
    }
}
