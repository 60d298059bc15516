//! Tests of the crate's public face: oracles, properties, golden streams.
