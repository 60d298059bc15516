//! Tests of the crate's public face: oracles, properties, golden streams.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access_log;
mod arrivals;
mod distribution;
mod log_lines;
mod mutation;
mod objects_catalogue;
mod objects_requests;
mod objects_text;
mod profile;
mod random;
mod redirects;
mod request;
mod scenario_cookies;
mod scenario_from_log;
mod scenario_har;
mod scenario_har_hosts;
mod scenario_har_odd;
mod scenario_har_secrets;
mod scenario_har_times;
mod scenario_har_tokens;
mod scenario_take;
mod schedule;
mod service_model;
mod several_logs;
mod statistics;
mod store;
mod trace;
mod url_list;
