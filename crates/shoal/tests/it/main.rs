//! What the registry, its server, its agent and its client must do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::cast_possible_truncation, reason = "figures of tests are small")]

mod address;
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
mod heartbeat;
mod mutants;
mod mutation;
mod python;
mod registry;
mod simulation;
mod support;
