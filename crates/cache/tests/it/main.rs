//! What the cache lab must do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::cast_possible_truncation, reason = "figures of tests are small")]
#![expect(clippy::print_stderr, reason = "a test says what it measured")]

mod cluster;
mod cluster_course;
mod protocol_carp;
mod protocol_digest;
mod protocol_htcp;
mod protocol_icp;
mod protocol_live;
mod protocol_mutants;
mod protocol_mutation;
mod protocol_siblings;
mod protocol_sizes;
mod reference_counts;
mod support;
