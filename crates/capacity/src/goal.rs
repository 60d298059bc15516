//! What a search looks for: the SLO as clauses over the requests of a window.
//!
//! An SLO of a search is one percentile of the response time, and beside it, where the user wants
//! it, a limit of the share of failures. Both say that a share of all requests may be of one kind:
//! slower than the bound, or failed. A window is beyond the SLO where either share is exceeded.

use crate::window::{Second, Window};

/// By so much a share that is just allowed may differ from it in floating point: `1 − 0.9` is less
/// than a tenth.
pub(crate) const ROUNDING: f64 = 1e-9;

/// An SLO that a search steers by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The quantile of the response time, and its bound in nanoseconds.
    pub slo: (f64, u64),
    /// The greatest share of requests that may fail; `None`: as many as may be slow.
    pub most_errors: Option<f64>,
}

/// One condition of an SLO.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clause {
    /// The greatest share of requests that may be of the kind.
    pub allowed: f64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Answered later than the bound, or not at all.
    Slow,
    /// Not answered, or with an error.
    Failed,
}

impl Goal {
    /// The share of requests that may be slower than the bound.
    #[must_use]
    pub fn share(&self) -> f64 {
        1.0 - self.slo.0
    }

    /// The clauses: that of response times first.
    pub fn clauses(&self) -> impl Iterator<Item = Clause> + use<> {
        let slow = Clause { allowed: self.share(), kind: Kind::Slow };
        let failed = self.most_errors.map(|allowed| Clause { allowed, kind: Kind::Failed });
        std::iter::once(slow).chain(failed)
    }

    /// Whether any clause is exceeded in a window. Nothing is, where nothing was counted.
    #[must_use]
    pub fn is_beyond(&self, window: &Window) -> bool {
        self.clauses().any(|clause| clause.is_beyond(window.counted(), clause.hits(window)))
    }
}

impl Clause {
    /// How many of a window's counted requests are of the kind.
    #[must_use]
    pub fn hits(&self, window: &Window) -> u64 {
        match self.kind {
            Kind::Slow => window.beyond,
            Kind::Failed => window.counted_failed,
        }
    }

    /// How many of the requests due in a second are of the kind.
    #[must_use]
    pub fn hits_of(&self, second: &Second) -> u64 {
        match self.kind {
            Kind::Slow => second.beyond,
            Kind::Failed => second.failed,
        }
    }

    /// Whether `hits` of `n` requests are more than are allowed.
    #[must_use]
    pub fn is_beyond(&self, n: u64, hits: u64) -> bool {
        hits as f64 > (self.allowed + ROUNDING) * n as f64
    }
}
