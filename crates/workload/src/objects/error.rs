//! Why a workload is none.

/// What of a workload does not hold. Texts of the parts are read by their own parsers; this is what
/// only shows in the whole.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A closed population, a working set or clients without anyone.
    #[error("expected at least one of the {of}, found none")]
    None {
        /// Of what.
        of: &'static str,
    },
    /// A recurrence that is no share below 1.
    #[error(
        "expected a recurrence from 0 to below 1, found {found}: give the number of objects where \
         nothing new is ever asked for"
    )]
    Recurrence {
        /// What it is.
        found: f64,
    },
    /// A number out of its bounds.
    #[error("expected {what} from {least} to {most}, found {found}")]
    Range {
        /// Which number.
        what: &'static str,
        /// The least.
        least: f64,
        /// The greatest.
        most: f64,
        /// What it is.
        found: f64,
    },
    /// A population too large for its ranks to change.
    #[error(
        "expected at most {most} objects where ranks drift, found {found}: leave the drift out"
    )]
    DriftObjects {
        /// The most.
        most: u32,
        /// How many.
        found: u32,
    },
    /// A drift that takes longer than the requests.
    #[error(
        "expected a drift of at most {most} changes of rank a request, found {moved} every {every} \
         requests: let fewer objects change, or more seldom"
    )]
    DriftSpeed {
        /// The most for each request.
        most: u64,
        /// How many objects change.
        moved: u32,
        /// After how many requests.
        every: u64,
    },
    /// Too many or no classes.
    #[error("expected 1 to {most} content classes, found {found}")]
    Classes {
        /// The most.
        most: usize,
        /// How many.
        found: usize,
    },
    /// Shares that do not come to all objects.
    #[error("expected shares of the classes that come to 100%, found {found}%")]
    Shares {
        /// What they come to, percent.
        found: f64,
    },
    /// A label that is empty, long, or used twice.
    #[error("expected a label of 1 to {most} bytes that no other class has, found {found:?}")]
    Label {
        /// The most bytes.
        most: usize,
        /// The label.
        found: String,
    },
}
