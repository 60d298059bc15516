//! The network guard: a round trip that rises in the middle of a window says that the network has
//! changed, and that the window says nothing of the server.
//!
//! The round trip comes from the handshakes of the load's own connections, which the kernel answers
//! and which therefore do not grow with the server's load; there are no probe packets.

use crate::window::Window;

/// A rise above the baseline that is too much, nanoseconds.
pub const RISE_NS: u64 = 20_000_000;
/// So many discarded windows in a row end the search.
pub const MOST_DISCARDED: u32 = 5;

/// Judges windows by their round trips.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    baseline_ns: Option<u64>,
    discarded: u32,
}

/// What the guard says of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    /// The network was steady.
    Steady,
    /// It was not: the window is to be repeated.
    Repeat,
    /// It has not been for [`MOST_DISCARDED`] windows in a row.
    Unstable,
}

impl Guard {
    /// Judges a window: discarded where the round trip exceeded the baseline by more than
    /// [`RISE_NS`] in half of its seconds. The baseline is the least median of a steady window.
    pub fn rule(&mut self, window: &Window) -> Ruling {
        let mut trips: Vec<u64> =
            window.each_second.iter().map(|second| second.rtt_ns).filter(|&ns| ns > 0).collect();
        trips.sort_unstable();
        let Some(&median) = trips.get(trips.len() / 2) else { return Ruling::Steady };
        let baseline = *self.baseline_ns.get_or_insert(median);
        let risen = trips.iter().filter(|&&ns| ns > baseline + RISE_NS).count();
        if 2 * risen < trips.len() {
            self.discarded = 0;
            self.baseline_ns = Some(baseline.min(median));
            return Ruling::Steady;
        }
        self.discarded += 1;
        if self.discarded >= MOST_DISCARDED { Ruling::Unstable } else { Ruling::Repeat }
    }

    /// The baseline, once there is one.
    #[must_use]
    pub fn baseline_ns(&self) -> Option<u64> {
        self.baseline_ns
    }
}
