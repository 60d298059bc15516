//! Collectors: of a host and its network, of an instance's cgroup, of services; and what must be
//! known of a host beside: its facts, its steal, how late its timers wake. An [`agent`] has the
//! collectors of a host at work for others that ask it.
//!
//! A [`Collector`] reads one source, and a [`Sampler`] has all of them read once a period. Text is
//! parsed purely, and the root of the file system is handed in, the folder that holds `proc` and
//! `sys`: `/` on a host, a committed fixture in the tests. A source that is not there is "no data",
//! never an error of the run: hosts differ, and a run on any of them is still a run.

pub mod agent;
pub mod announce;
#[cfg(test)]
mod any_text;
mod cgroup;
pub mod collector;
pub mod cpu;
pub mod doctor;
pub mod facts;
mod host;
pub mod memory;
mod namespace;
mod read;
pub mod sample;
pub mod sampler;
mod service;
pub mod timer;

pub use collector::{CollectError, Collector, Source, SourceError, Token, Watched};
pub use cpu::{Ticks, steal_share};
pub use facts::facts;
pub use memory::Memory;
pub use sample::{Fault, Sample, Samples, Series};
pub use sampler::{Door, Sampler, SamplerError, Sampling};
pub use timer::{TimerError, TimerProbe};

use std::path::Path;

/// The text of a file below the root, trimmed; `None` where it is missing, unreadable or empty.
fn text_of(root: &Path, path: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(path)).ok()?;
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}
