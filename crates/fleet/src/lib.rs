//! One load from several processes, and many cells by several.
//!
//! A [`Fleet`] is an engine of loads ([`plimsoll_load::run::Engine`]), as a session of this
//! process's own threads is: it is offered the same times, told to end by the same words, and gives
//! the same slices. Behind it are workers, each a process with a part of the load: which requests
//! are its own follows from its number and how many there are, so nothing is handed out while the
//! load goes on.
//!
//! A worker ([`worker::serve`]) is a session over a pipe. It says what it is, is told what to do,
//! and answers; it keeps nothing. What both say is in [`message`], a line of JSON each, bounded.
//!
//! | module | what |
//! | --- | --- |
//! | `message` | what a controller and its workers say to each other |
//! | `lines` | lines of bounded length, and what stands before the first of ours |
//! | `clock` | by how much another clock is ahead, from four stamps, and moves |
//! | `bus` | workers that can only call out, reached over a broker of messages |
//! | `start` | how a worker is started, and what it is given |
//! | `child` | a worker behind a process of this one, or a bus: what it says, how it ended |
//! | `crew` | workers together: how they come, what they say, how they are lost |
//! | `cells` | cells that workers execute, given out by lease |
//! | `host` | what tells one host from another |
//! | `fleet` | workers as one engine |
//! | `gather` | slices of several workers as those of one |
//! | `memory` | whether the kernel ended somebody for want of memory |
//! | `script` | what starts workers on a cluster |
//! | `silence` | how long somebody has said nothing, by a clock that may have stood still |
//! | `worker` | the worker's own side |

#[cfg(feature = "amqp")]
pub mod bus;
pub mod cells;
mod child;
mod clock;
mod crew;
mod error;
mod fleet;
mod gather;
pub mod host;
mod lines;
mod memory;
pub mod message;
pub mod script;
mod silence;
mod start;
pub mod worker;

pub use error::FleetError;
pub use fleet::{Fleet, Terms, Used, WorkerClock};
pub use start::{At, By, Command, Content, Input, Start};
