//! Collectors for the host a run takes place on: its facts, its steal, how late its timers wake.
//!
//! A collector parses text purely and gets the root of the file system handed in, the folder that
//! holds `proc` and `sys`: `/` on a host, a committed fixture in the tests. A source that is not
//! there is "no data", never an error: hosts differ, and a run on any of them is still a run.

pub mod cpu;
pub mod facts;
pub mod memory;
pub mod timer;

pub use cpu::{Ticks, steal_share};
pub use facts::facts;
pub use memory::Memory;
pub use timer::{TimerError, TimerProbe};

use std::path::Path;

/// The text of a file below the root, trimmed; `None` where it is missing, unreadable or empty.
fn text_of(root: &Path, path: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join(path)).ok()?;
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}
