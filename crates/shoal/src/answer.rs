//! Bodies of answers: to the letter for Shoal's own paths, ours under `/v1`.
//!
//! Everything here is a pure function from what the registry knows to bytes: [`paths`] says what
//! a request line asks for, [`old`] and [`pac`] write what Shoal's clients read, [`v1`] and
//! [`problem()`] what ours read, [`geo_api`] what CVMFS asks of its servers, and [`openapi`]
//! describes all of it to programs; [`query`] reads what a question of ours adds to its path.

mod digits;
pub mod geo_api;
pub mod old;
pub mod openapi;
pub mod pac;
pub mod paths;
mod problem;
pub mod query;
pub mod v1;

pub use crate::heartbeat::{python_float, python_string};
pub(crate) use digits::integer;
pub use problem::{problem, status_text};

/// The content type of JSON, old and new.
pub const JSON: &str = "application/json";
/// The content type of a problem (RFC 9457).
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The content type of `/wpad.dat` and `/proxy.pac`.
pub const PAC: &str = "application/x-ns-proxy-autoconfig";
/// The content type of `/metrics` (Prometheus's text exposition format).
pub const METRICS: &str = plimsoll_net::prometheus::CONTENT_TYPE;
/// The content type of the page for people.
pub const HTML: &str = "text/html; charset=utf-8";
/// The content type of answers of the geo-API.
pub const TEXT: &str = "text/plain";

/// A text in quotes, as Python writes it, or `null`.
pub(crate) fn string_or_null(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => python_string(text, out),
        None => out.extend_from_slice(b"null"),
    }
}
