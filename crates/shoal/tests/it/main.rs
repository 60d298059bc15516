//! What the registry must do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answer_geo_api;
mod answer_openapi;
mod answer_pac;
mod answer_paths;
mod answer_python;
mod answer_query;
mod answer_recorded;
mod answer_traps;
mod answer_v1;
mod support;
