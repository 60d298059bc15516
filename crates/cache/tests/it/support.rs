//! What tests against real caches need: an origin, and Squids that end with their tests.

pub(crate) mod origin;
pub(crate) mod sibling;
pub(crate) mod squid;
