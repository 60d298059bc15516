//! Reports of made-up runs: their form, what they must not hold, and the odd cases.
//!
//! `cargo test -p plimsoll-report --test it -- --ignored make_goldens_anew` makes the goldens anew;
//! read the difference before it is committed.
//! `cargo test -p plimsoll-report --test it -- --ignored make_pages_to_look_at` writes pages of
//! every kind into the target's `tmp` folder.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]
#![expect(clippy::cast_possible_truncation, reason = "made-up figures are small")]

mod caches;
mod capacity;
mod clusters;
mod colours;
mod comparison;
mod designed;
mod experiments;
mod golden;
mod kept;
mod made;
mod made_clusters;
mod made_simulation;
mod page;
mod parser;
mod pictures;
mod prediction;
mod simulation;
