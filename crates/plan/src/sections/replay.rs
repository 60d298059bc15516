//! `target.replay`: an access log that is asked for again.

use std::path::PathBuf;

use plimsoll_workload::access_log::Format;

use crate::flag::Group;
use crate::takes::{Count, FACTOR, File, Switch, word};

section! {
    /// An access log that is asked for again, in its order.
    ["target.replay", shorthand "file"; nested]
    pub struct Replay {
        /// The access log, plain or gzip.
        file: PathBuf { File, required "`file`", "access.log.gz" }
            flag [Group::Load.flag("replay", "FILE")
                .says("Ask for the requests of an access log again, at its own times")]
        /// How the log is written.
        format: Option<Format> { word::<Format>(), said "as detected", "squid" }
        /// How many distinct requests are kept; others are left out.
        max_urls: u64 { Count(1..=10_000_000_u64), or 200_000, "50k" }
        /// Asks also what changes something: POST, PUT, DELETE, …
        unsafe_methods: bool { Switch, or false, "true" }
        /// How many times faster than it was, where its own times hold.
        speed: f64 { FACTOR, or 1.0, "2.5" }
    }
}
