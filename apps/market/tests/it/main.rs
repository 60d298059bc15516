//! The market as a whole: its binary, with Debian's MariaDB and Redis. Where those are not
//! installed the tests skip by name.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::disallowed_methods, reason = "tests start processes and wait for them")]

mod broadcasts;
mod client;
mod conformance;
mod doors;
mod ends;
mod money;
mod program;
mod stores;
mod switches;
mod timed;
