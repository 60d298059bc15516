//! What the registry, its server, its agent and its client must do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::cast_possible_truncation, reason = "figures of tests are small")]

mod address;
mod agent;
#[cfg(feature = "amqp")]
mod agent_amqp;
mod agent_pace;
mod agent_read;
mod agent_squid;
#[cfg(feature = "amqp")]
mod amqp;
#[cfg(feature = "amqp")]
mod amqp_away;
mod answer_geo_api;
mod answer_openapi;
mod answer_pac;
mod answer_paths;
mod answer_query;
mod answer_recorded;
mod answer_traps;
mod answer_v1;
mod auth;
mod client;
mod client_apply;
mod client_import;
mod fixed;
mod geo;
mod heartbeat;
mod index;
mod members;
mod mutants;
mod mutation;
mod order;
mod page;
mod python;
mod registry;
#[path = "../../../net/tests/it/serve.rs"]
mod serve;
mod server;
mod server_facts;
mod server_folder;
mod server_hostile;
mod server_rules;
mod server_trust;
mod simulation;
mod support;
#[cfg(feature = "tls")]
mod tls;
mod verify;
mod verify_live;
mod verify_turns;
