//! The run: a folder that explains itself. Writing, reading, index, exports.

pub mod error;
pub mod interval;
pub mod meta;
pub mod sink;

pub use error::RunError;
pub use interval::{Blame, Counters, ErrorKind, Interval, Phase, PhaseSlice, Sample, Tag};
pub use meta::{End, Ended, HostSample, RunMeta, World};
pub use sink::{Event, Sink, SinkError};
