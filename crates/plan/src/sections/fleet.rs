//! `[fleet]`: the processes that offer a load together, each a part of it.

use std::time::Duration;

use crate::flag::Group;
use crate::section::Section;
use crate::takes::{Count, DURATION, Small};

/// So many workers a host may have.
const WORKERS: Small = Count(1..=256_u32);

section! {
    /// The processes that offer the load together, each a part of it.
    ["fleet"; read, write]
    #[derive(Copy, Eq)]
    pub struct Fleet {
        /// How many processes of this host offer the load together, each a part of it.
        workers: u32 { WORKERS, or 1, "4" }
            flag [Group::Load.flag("workers", "N")
                .says("Offer the load by so many processes of this host, each a part of it")]
        /// A worker that has said nothing for so long is lost, and the load ends.
        lost_after: Duration { DURATION, or Duration::from_secs(2), "5s" }
    }
}

/// What a load of several processes cannot go with: the section, and why.
const WITHOUT: [(&str, &str); 4] = [
    ("search", "a search"),
    ("testbed", "servers that the plan starts"),
    ("pool", "a pool"),
    ("tune", "a search for parameters"),
];

impl Fleet {
    /// Reads the section, and says what of the plan it does not go with.
    pub(crate) fn read_beside(section: &Section<'_>, top: &Section<'_>) -> Option<Self> {
        for (section, what) in WITHOUT.into_iter().filter(|(section, _)| top.has(section)) {
            let message = format!("`fleet` does not go with {what}: [{section}]");
            top.fault("fleet", message, Some("leave one of them out"));
        }
        Self::read(section)
    }
}
