//! The description of the interface for programs: `OpenAPI` 3.1, at `/v1/openapi.json`.

/// The document.
pub const DOCUMENT: &str = include_str!("openapi.json");
