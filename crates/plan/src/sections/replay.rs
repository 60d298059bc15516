//! `target.replay`: access logs that are asked for again.

use std::path::PathBuf;

use plimsoll_workload::access_log::{LogFormat, Rewrite};

use crate::flag::Group;
use crate::takes::Each;
use crate::takes::{Count, FACTOR, File, Parsed, Switch};

/// How a log is written.
pub(crate) const LOG_FORMAT: Parsed<LogFormat> =
    Parsed::text("log format", "a log format such as combined", LogFormat::parse);
const REWRITE: Parsed<Rewrite> =
    Parsed::text("REGEX=REPLACEMENT", "REGEX=REPLACEMENT such as ^/v1/=/v2/", Rewrite::parse);

section! {
    /// Access logs that are asked for again, in their order.
    ["target.replay", shorthand "file"; nested]
    pub struct Replay {
        /// The access log, plain or gzip; of several, the lines are merged by time.
        files: Vec<PathBuf> ["file"] { Each(File, "file or list"), required "`file`",
            "access.log.gz" }
            flag [Group::Load.flag("replay", "FILE")
                .says("Ask for the requests of an access log again, at its own times; repeatable")]
        /// How the log is written: a name, or the words of nginx or Apache.
        format: Option<LogFormat> { LOG_FORMAT, said "as detected", "squid" }
        /// How many distinct requests are kept; others are left out.
        max_urls: u64 { Count(1..=10_000_000_u64), or 200_000, "50k" }
        /// Asks also what changes something: POST, PUT, DELETE, …
        unsafe_methods: bool { Switch, or false, "true" }
        /// Sends the host that a line names as `Host`, not that of the target.
        keep_host: bool { Switch, or false, "true" }
            flag [Group::Load.switch("keep-host")
                .says("Send the host that a line of --replay names as Host")]
        /// How paths are rewritten, one rule after the other.
        rewrite: Vec<Rewrite> { Each(REWRITE, "rule or list"), or Vec::new(), "^/v1/=/v2/" }
            flag [Group::Load.flag("rewrite", "REGEX=REPLACEMENT")
                .says("Rewrite the paths of --replay, such as '^/v1/=/v2/'; repeatable")]
        /// How many times faster than it was, where its own times hold.
        speed: f64 { FACTOR, or 1.0, "2.5" }
    }
}
