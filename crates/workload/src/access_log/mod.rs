//! Access logs as workloads: how many requests a second, which URLs how often, and replay.
//!
//! A log is read once, as a stream ([`LogReader`] gives it line by line): memory depends on the
//! number of distinct URLs kept and of seconds covered, both bounded, never on the number of lines.
//! Formats: Common, Combined, Squid native, JSON lines, the W3C's (IIS, CloudFront), HAProxy's,
//! that of AWS's balancers and WikiBench's, plain or gzip, wrapped by a container's runtime or not,
//! told apart by their first lines; and any that is given in the words of nginx or Apache. Others
//! are refused, by name where they are known. A line that cannot be read is counted, not fatal;
//! what it lacks is never assumed: a request without a method is none to ask again.

mod alb;
mod clf;
mod date;
mod entry;
mod error;
mod foreign;
mod format;
mod haproxy;
mod import;
mod input;
mod json;
mod left_out;
mod lines;
mod log_format;
mod logs;
mod pattern;
mod reader;
mod reading;
mod replay;
mod rewrite;
mod seconds;
mod site;
mod squid;
mod urls;
mod w3c;
mod wikibench;
mod wrapper;
mod write;

pub(crate) use date::iso_ns;
pub use error::LogError;
pub use format::Format;
pub use import::{ImportOptions, ImportedLog, Unreadable, import, import_all, import_from};
pub use left_out::LeftOut;
pub use lines::{Line, Lines, MAX_LINE_BYTES};
pub use log_format::LogFormat;
pub use logs::MOST_LOGS;
pub(crate) use logs::names;
pub use pattern::Pattern;
pub use reader::{Answered, LogLine, LogReader};
pub use reading::excerpt;
pub use replay::{Replay, ReplayOptions, ReplayRequest, ReplayRequests};
pub use rewrite::Rewrite;
pub use seconds::{MAX_PAGES, MAX_SPAN_S, PAGE_SECONDS, SecondCounts};
pub use urls::{MAX_URL_TEXT_BYTES, UrlCounts};
