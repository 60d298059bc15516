//! Malformed heartbeats: none breaks the parser, none is believed, each has its reason.
//!
//! `cargo run --release -p plimsoll-shoal --example mutate_heartbeats` does the same ten million
//! times.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::mutants::{corpus, judge, mutant};

const CASES: u64 = 100_000;

#[test]
fn nothing_malformed_is_believed() {
    let corpus = corpus();
    let mut reasons = BTreeMap::new();
    for seed in 0..CASES {
        let body = mutant(&corpus, seed);
        let judged = catch_unwind(AssertUnwindSafe(|| judge(&body)));
        match judged.unwrap_or_else(|_| Err("panicked".into())) {
            Ok(reason) => *reasons.entry(reason).or_insert(0_u64) += 1,
            Err(fault) => panic!(
                "seed {seed}: {fault}\n{}\nreplay: cargo run --release -p plimsoll-shoal \
                 --example mutate_heartbeats 1 {seed}",
                String::from_utf8_lossy(&body)
            ),
        }
    }
    println!("{reasons:?}");
    // Each outcome is met often enough to have been looked for.
    let outcomes =
        ["(heartbeat)", "(goodbye)", "malformed", "too_long", "missing", "type", "range"];
    for outcome in outcomes {
        let share = reasons.get(outcome).copied().unwrap_or(0) as f64 / CASES as f64;
        assert!(share > 0.005, "{outcome}: {share} of {CASES}");
    }
}

#[test]
fn what_is_mutated_is_believed_as_it_is() {
    for body in corpus() {
        let judged = judge(&body).unwrap();
        assert!(judged.starts_with('('), "{judged}: {}", String::from_utf8_lossy(&body));
    }
}

#[test]
fn the_same_seed_is_the_same_mutant() {
    let corpus = corpus();
    let mutants = |from: u64| (from..from + 1000).map(|seed| mutant(&corpus, seed));
    assert!(mutants(7).eq(mutants(7)));
    let kept = mutants(7).filter(|text| corpus.contains(text)).count();
    assert!(kept < 100, "{kept} of 1000 are not mutated");
}
