//! What one function shows, the other reads: exactly, or to the digits shown.

use plimsoll_units as units;
use proptest::prelude::*;

/// Every magnitude equally likely.
fn magnitude(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits, any::<u64>())
        .prop_map(|(bits, value)| if bits == 64 { value } else { value & ((1 << bits) - 1) })
}

fn near(found: f64, wanted: f64, relative: f64) -> bool {
    (found - wanted).abs() <= relative * wanted.abs()
}

#[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
fn float(n: u64) -> f64 {
    n as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn durations(ns in magnitude(64)) {
        let exact = units::show_duration_exact(ns);
        prop_assert_eq!(units::duration(&exact).unwrap().as_nanos(), u128::from(ns), "{}", exact);
    }

    #[test]
    fn durations_for_a_person(ns in magnitude(63)) {
        let shown = units::show_duration(ns);
        let read = units::duration(&shown).unwrap().as_secs_f64() * 1e9;
        // Three digits, or the smaller of two units: half an hour of a day is the coarsest.
        prop_assert!(near(read, float(ns), 0.021), "{} for {}", shown, ns);
        prop_assert!(shown.chars().count() <= 14, "{}", shown);
    }

    #[test]
    fn rates(per_s in prop_oneof![
        1e-15_f64..1.0, 1.0_f64..1e6, 1e6_f64..1e15,
        (1_u32..100_000).prop_map(|n| f64::from(n) / 60.0),
        (1_u32..100_000).prop_map(f64::from),
    ]) {
        let exact = units::show_rate_exact(per_s);
        prop_assert_eq!(units::rate(&exact).unwrap().to_bits(), per_s.to_bits(), "{}", exact);
        let shown = units::show_rate(per_s).replace(',', "");
        if per_s > 1e-3 {
            prop_assert!(near(units::rate(&shown).unwrap(), per_s, 0.0051), "{}", shown);
        }
    }

    #[test]
    fn a_decimal_is_the_number_the_standard_library_reads(text in "[0-9]{1,9}(\\.[0-9]{1,10})?") {
        let wanted: f64 = text.parse().unwrap();
        prop_assert_eq!(units::rate(&format!("{text}/s")).unwrap().to_bits(), wanted.to_bits());
        let percent: f64 = format!("{text}e-2").parse().unwrap();
        match units::share(&format!("{text}%")) {
            Ok(share) => prop_assert_eq!(share.to_bits(), percent.to_bits()),
            Err(_) => prop_assert!(percent > 1.0),
        }
    }

    #[test]
    fn sizes_and_counts(n in magnitude(64)) {
        prop_assert_eq!(units::size(&n.to_string()).unwrap(), n);
        prop_assert_eq!(units::count(&n.to_string()).unwrap(), n);
        let apart = units::show_count(n).replace(',', "_");
        prop_assert_eq!(units::count(&apart).unwrap(), n);
        if n < 1_000_000_000_000_000 {
            let shown = units::show_size(n);
            prop_assert!(near(float(units::size(&shown).unwrap()), float(n), 0.0051), "{}", shown);
        }
    }

    #[test]
    fn shares(share in prop_oneof![0.0_f64..=1.0, 0.0_f64..1e-4, 0.9999_f64..1.0]) {
        let shown = units::show_share(share);
        let read = units::share(&shown).unwrap();
        let distance = share.min(1.0 - share);
        let tolerance = 0.0051 * distance + 5.1e-12;
        prop_assert!((read - share).abs() <= tolerance, "{} for {}", shown, share);
    }

    #[test]
    fn a_word_with_one_slip_is_found_again(at in 0_usize..12, kind in 0..3) {
        let word = "availability";
        let mut letters: Vec<char> = word.chars().collect();
        match kind {
            0 => drop(letters.remove(at)),
            1 => letters[at] = '_',
            _ => letters.swap(at, (at + 1) % 12),
        }
        let typed: String = letters.into_iter().collect();
        let known = ["rate", "errors", word, "lost"];
        prop_assert_eq!(units::nearest(&typed, known), Some(word));
    }
}
