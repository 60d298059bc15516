//! What the registry must do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod agent;
mod agent_pace;
mod agent_read;
mod agent_squid;
mod client;
mod client_apply;
mod client_import;
mod http1;
mod serve;
