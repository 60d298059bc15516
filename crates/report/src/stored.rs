//! A series as a run stores it, and what a line of a chart has of it.

use std::collections::BTreeMap;

use crate::columns::Stretch;

/// The label that names the instance that a series is of; the host's own have none.
pub(crate) const INSTANCE: &str = "instance";

/// A series of a run: its labels, and its samples in order of time.
pub(crate) struct Stored {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) samples: Vec<(u64, f64)>,
}

/// What a line has for the stretch of time that ended with a sample.
pub(crate) struct Value {
    from_s: f64,
    length_s: f64,
    pub(crate) value: f64,
}

impl Value {
    /// Of a stretch from one moment to another, nanoseconds.
    pub(crate) fn of((from, to, value): (u64, u64, f64)) -> Self {
        let (from_s, to_s) = (from as f64 / 1e9, to as f64 / 1e9);
        Self { from_s, length_s: (to_s - from_s).max(1e-3), value }
    }
}

impl Stretch for Value {
    fn stretch(&self) -> (f64, f64) {
        (self.from_s, self.length_s)
    }
}
