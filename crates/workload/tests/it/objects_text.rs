//! The texts of synthetic web workloads: what reads back, and what is said of what does not.

use proptest::prelude::*;

use plimsoll_units::{ParseError, show_share_exact};
use plimsoll_workload::objects::{Drift, Fresh, HotSet, Popularity, SizeLaw, WorkingSet};

#[test]
fn texts_read_back() {
    for text in ["uniform", "zipf:0.8", "zipf:1", "zipf:10"] {
        assert_eq!(Popularity::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Popularity::parse("zipf:0").unwrap(), Popularity::UNIFORM);
    for text in ["growing", "frozen:1", "drifting:4294967295"] {
        assert_eq!(WorkingSet::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(WorkingSet::parse(" frozen: 10k ").unwrap(), WorkingSet::Frozen(10_000));
    let hot = HotSet::parse("1%, 10%").unwrap();
    assert_eq!((hot.to_string(), hot.objects, hot.requests), ("1%,10%".to_owned(), 0.01, 0.1));
    let drift = Drift::parse("1% every 100k").unwrap();
    assert_eq!((drift.to_string().as_str(), drift.every), ("1% every 100000", 100_000));
    assert_eq!(Fresh::parse("until-change").unwrap(), Fresh::UntilChange);
    assert_eq!(Fresh::parse("1h30m").unwrap().to_string(), "1h30m");
    for (text, shown) in [
        ("13kB", "13000B"),
        ("exp:13kB", "exp:13000B"),
        ("pareto:1.2,1KiB..1MiB", "pareto:1.2,1024B..1048576B"),
        (
            "lognormal+pareto:10KiB,1.3,7%,1.1,133kB..50MB",
            "lognormal+pareto:10240B,1.3,7%,1.1,133000B..50000000B",
        ),
    ] {
        let law = SizeLaw::parse(text).unwrap();
        assert_eq!(law.to_string(), shown);
        assert_eq!(SizeLaw::parse(shown).unwrap(), law);
    }
}

/// The part of the text an error points at, and what it wants.
fn fault<T: std::fmt::Debug>(
    parse: fn(&str) -> Result<T, ParseError>,
    text: &str,
) -> (String, String) {
    let error = parse(text).unwrap_err();
    let said = format!("{error} {}", error.hint.clone().unwrap_or_default());
    (text[error.at..error.at + error.len].to_owned(), said)
}

#[test]
fn faults_have_their_places() {
    for (text, at, says) in [
        ("zip:0.8", "zip:0.8", "did you mean `zipf`"),
        ("zipf", "zipf", "zipf:0.8"),
        (" zipf: -1", "-1", "from 0 to 10"),
        ("zipf:11", "11", "from 0 to 10"),
        ("zipf:NaN", "NaN", "from 0 to 10"),
        ("zipf:", "", "from 0 to 10"),
        ("", "", "a popularity"),
    ] {
        let (found, said) = fault(Popularity::parse, text);
        assert!(found == at && said.contains(says), "{text}: {found:?}, {said}");
    }
    for (text, at, says) in [
        ("frozn:5", "frozn:5", "did you mean `frozen`"),
        ("drifting", "drifting", "drifting:100k"),
        ("frozen:0", "0", "from 1 to"),
        ("frozen:5G", "5G", "from 1 to"),
        ("frozen:1.5", "1.5", "a whole number"),
    ] {
        let (found, said) = fault(WorkingSet::parse, text);
        assert!(found == at && said.contains(says), "{text}: {found:?}, {said}");
    }
    for (text, at, says) in [
        ("1%", "1%", "such as 1%,10%"),
        ("0%,10%", "0%", "above 0%"),
        ("100%,10%", "100%", "below 100%"),
        ("1%,200%", "200%", "a share"),
        ("x,10%", "x", "a share"),
    ] {
        let (found, said) = fault(HotSet::parse, text);
        assert!(found == at && said.contains(says), "{text}: {found:?}, {said}");
    }
    for (text, at, says) in [
        ("1%", "1%", "1% every 100k"),
        ("0% every 5", "0%", "above 0%"),
        ("1% every 0", "0", "at least one"),
        ("1% every 5s", "5s", "a whole number"),
    ] {
        let (found, said) = fault(Drift::parse, text);
        assert!(found == at && said.contains(says), "{text}: {found:?}, {said}");
    }
    for (text, at, says) in [
        ("5", "5", "5s is 5 seconds"),
        ("never", "never", "until-change"),
        ("", "", "until-change"),
    ] {
        let (found, said) = fault(Fresh::parse, text);
        assert!(found == at && said.contains(says), "{text}: {found:?}, {said}");
    }
}

#[test]
fn faults_of_sizes_have_their_places() {
    for (text, at, says) in [
        ("0B", "0B", "a size from 1 B"),
        ("9999TiB", "9999TiB", "a size from 1 B"),
        ("ex:5kB", "ex", "did you mean `exp`"),
        (" pareto:1.2,9kB..1kB", "9kB..1kB", "two sizes"),
        ("lognormal+pareto:1kB", "1kB", "the body's mean"),
        ("lognormal+pareto:0B,1,7%,1,1kB..2kB", "0B", "a size from 1 B"),
        ("lognormal+pareto:1kB,-1,7%,1,1kB..2kB", "-1", "a sigma"),
        ("lognormal+pareto:1kB,1,700%,1,1kB..2kB", "700%", "a share"),
        ("lognormal+pareto:1kB,1,7%,0,1kB..2kB", "0", "a shape"),
        ("lognormal+pareto:1kB,1,7%,1,1kB", "1kB", "133kB..50MB"),
        ("lognormal+pareto:1kB,1,7%,1,2kB..2kB", "2kB..2kB", "the cut before"),
        ("lognormal+pareto:1kB,1,7%,1,1kB..2x", "2x", "a size"),
        ("lognormal+pareto:9kB,0.1,7%,1,1kB..2kB", "1kB", "median"),
        ("lognormal+pareto:9kB,0,7%,1,1kB..2kB", "1kB", "median"),
    ] {
        let (found, said) = fault(SizeLaw::parse, text);
        assert!(found == at && said.contains(says), "{text}: {found:?}, {said}");
    }
}

proptest! {
    #[test]
    fn what_is_shown_reads_back(
        exponent in 0.0..=10.0_f64,
        objects in 1..999_999_u32,
        requests in 0..=1_000_000_u32,
        every in 1..=u64::MAX,
        n in 1..=u32::MAX,
        sigma in 0.0..=10.0_f64,
        shape in 0.01..=100.0_f64,
        cut in 1..1_000_000_u64,
        more in 1..1_000_000_u64,
    ) {
        let popularity = Popularity { exponent };
        prop_assert_eq!(Popularity::parse(&popularity.to_string()).unwrap(), popularity);
        let share = |millionths: u32| f64::from(millionths) / 1e6;
        let hot = HotSet { objects: share(objects), requests: share(requests) };
        prop_assert_eq!(HotSet::parse(&hot.to_string()).unwrap(), hot);
        let drift = Drift { share: share(objects), every };
        prop_assert_eq!(Drift::parse(&drift.to_string()).unwrap(), drift);
        for set in [WorkingSet::Frozen(n), WorkingSet::Drifting(n)] {
            prop_assert_eq!(WorkingSet::parse(&set.to_string()).unwrap(), set);
        }
        let fresh = Fresh::For { ns: every };
        prop_assert_eq!(Fresh::parse(&fresh.to_string()).unwrap(), fresh);
        let (share, most) = (share(requests), cut + more);
        let share = show_share_exact(share);
        let law = format!("lognormal+pareto:{cut}B,{sigma},{share},{shape},{cut}B..{most}B");
        prop_assert_eq!(SizeLaw::parse(&law).unwrap().to_string(), law);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9:,.%+ -]{0,30}|\\PC{0,20}") {
        let places = [
            Popularity::parse(&text).err(),
            WorkingSet::parse(&text).err(),
            HotSet::parse(&text).err(),
            Drift::parse(&text).err(),
            Fresh::parse(&text).err(),
            SizeLaw::parse(&text).err(),
            SizeLaw::parse(&format!("lognormal+pareto:{text}")).err().map(|error| {
                // In the longer text.
                ParseError { at: 0, len: 0, ..error }
            }),
        ];
        for error in places.into_iter().flatten() {
            prop_assert!(error.at + error.len <= text.len(), "{error:?}");
            prop_assert!(text.is_char_boundary(error.at));
            prop_assert!(text.is_char_boundary(error.at + error.len));
        }
    }
}
