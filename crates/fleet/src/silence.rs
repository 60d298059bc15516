//! How long somebody has said nothing, by a clock that may have stood still.
//!
//! Who was stopped for a while, or was kept from the processor, finds messages of that time only
//! when he goes on: what he did not look at is no silence. So time counts from look to look, and
//! never more than a moment of it at once.

/// The most that passes from one look to the next; whoever listens looks more often.
const BETWEEN_LOOKS_NS: u64 = 250_000_000;

/// The silence of somebody.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Silence {
    looked_ns: u64,
    silent_ns: u64,
}

impl Silence {
    /// It begins now.
    pub(crate) fn from(now_ns: u64) -> Self {
        Self { looked_ns: now_ns, silent_ns: 0 }
    }

    /// Something was said.
    pub(crate) fn end(&mut self) {
        self.silent_ns = 0;
    }

    /// Looks, after all that was said has been heard. Returns how long the silence has lasted.
    pub(crate) fn look(&mut self, now_ns: u64) -> u64 {
        self.silent_ns += now_ns.saturating_sub(self.looked_ns).min(BETWEEN_LOOKS_NS);
        self.looked_ns = now_ns;
        self.silent_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_looked_at_is_no_silence() {
        const MS: u64 = 1_000_000;
        let mut silence = Silence::from(0);
        for look in 1..=10 {
            assert_eq!(silence.look(50 * look * MS), 50 * look * MS);
        }
        assert_eq!(silence.look(60_500 * MS), 750 * MS, "a minute of standing still");
        silence.end();
        assert_eq!(silence.look(60_510 * MS), 10 * MS);
    }
}
