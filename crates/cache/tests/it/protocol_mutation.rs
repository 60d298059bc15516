//! A fixed number of mutants of each protocol; `examples/mutate_protocols.rs` runs more.

use crate::protocol_mutants::{Protocol, check, mutant};

#[test]
fn whatever_the_bytes_decoders_end_and_believe_what_they_say_again() {
    const SEEDS: u64 = 20_000;
    for (name, protocol) in Protocol::ALL {
        let mut believed = 0;
        for seed in 0..SEEDS {
            match check(protocol, seed) {
                Ok(yes) => believed += u64::from(yes),
                Err(fault) => panic!("{name} {seed}: {fault}"),
            }
        }
        // Neither all valid nor all nonsense: the mutants reach the ends of the decoders.
        let expected = SEEDS / 10..SEEDS * 8 / 10;
        assert!(expected.contains(&believed), "{name}: {believed} of {SEEDS} believed");
    }
}

#[test]
fn the_same_seed_is_the_same_mutant() {
    for (_, protocol) in Protocol::ALL {
        assert!((0..200).all(|seed| mutant(protocol, seed) == mutant(protocol, seed)));
        assert!((1..200).any(|seed| mutant(protocol, seed) != mutant(protocol, 0)));
    }
}
