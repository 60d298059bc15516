//! What load is on a server now? Told from the response times of a few light probes, by a search
//! for the server's capacity that was made before.
//!
//! 1. [`calibration`]: the windows of the search, as response times over the load.
//! 2. [`model`]: a monotone curve through them, with what is not known of it.
//! 3. [`estimate`]: the load that explains the probes, and its interval.
//! 4. [`probing`]: how many probes are sent, and when to decline.
//! 5. [`over_time`]: the load of one stretch after the other.
//!
//! All of it is pure; [`live`] sends the probes. How well it holds is measured by
//! `make bench-infer`; see `docs/method/infer.md`.

pub mod calibration;
pub mod estimate;
pub mod live;
pub mod model;
pub mod over_time;
pub mod probing;
pub mod result;

pub use calibration::{Calibration, CalibrationError};
pub use probing::{Probing, Settings, Step};
