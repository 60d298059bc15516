//! Tests of the run folder as a whole: written, crashed, read, exported, listed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adopted;
mod crash;
mod experiment;
mod export;
mod export_cells;
mod folder;
mod going_on;
mod index;
mod log;
mod made;
mod mount;
mod rows;
mod samples;
mod strangers;
mod summary;
mod sums;
