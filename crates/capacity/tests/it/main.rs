//! What a search must do, on windows made by hand and on simulated queues.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::cast_possible_truncation, reason = "figures of tests are small")]

mod adaptive;
mod ends;
mod fit;
mod guard;
mod hand;
mod infer;
mod ladder;
mod orders;
mod pauses;
mod pooled;
mod saturation;
mod stalls;
mod sustain;
mod timed;
mod verdict;
