//! What the registry must do.

mod agent;
mod agent_pace;
mod agent_read;
mod agent_squid;
mod client;
mod client_apply;
mod client_import;
mod http1;
mod serve;
