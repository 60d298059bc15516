//! HTTP/2 against a server made with the `h2` crate: the books of whole runs, in the clear and over
//! TLS; and both ends of header compression against each other.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod compression;
mod mutate;
mod runs;
mod served;

/// Server bytes, changed at random, do no harm. `examples/http2_mutate.rs` does it for longer.
#[test]
fn changed_bytes_do_no_harm() {
    for seed in 0..3000 {
        mutate::round(seed);
    }
}
