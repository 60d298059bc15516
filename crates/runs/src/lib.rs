//! The run: a folder that explains itself. Writing, reading, index, exports.

pub mod interval;
pub mod sink;

pub use interval::{Blame, Counters, ErrorKind, Interval, Phase, PhaseSlice, Sample, Tag};
pub use sink::{Event, Sink, SinkError};
