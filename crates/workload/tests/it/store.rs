//! Workloads of key-value stores: the operations that are drawn have the shares, the popularity and
//! the sizes that were asked for, whoever draws them.

use plimsoll_workload::random::Stream;
use plimsoll_workload::size::Sizes;
use plimsoll_workload::store::{
    Keys, Kind, LAG, Mix, Named, Operations, RECORDS, VALUE_BYTES, Wanted, Workload,
};
use proptest::prelude::*;

fn workload(named: Named, records: u64) -> Workload {
    let value_size = Sizes::Fixed(100);
    Workload { mix: named.mix(), keys: named.keys(), records, value_size }
}

/// How often each record was asked for in `draws` operations.
fn tally(workload: &Workload, seed: u64, draws: u64) -> Vec<u64> {
    let operations = Operations::new(workload, seed, Wanted::Mixed);
    let mut counts = vec![0; usize::try_from(workload.records).expect("a small number")];
    for number in 0..draws {
        counts[usize::try_from(operations.at(number).record).expect("a small number")] += 1;
    }
    counts
}

/// Pearson's χ² of counts against probabilities, over as many degrees of freedom as there are cells
/// less one, with cells joined until each expects ten.
fn chi_square(counts: &[u64], shares: &[f64]) -> (f64, f64) {
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut sum, mut cells) = (0.0, 0.0);
    let (mut count, mut expected) = (0.0, 0.0);
    for (found, share) in counts.iter().zip(shares) {
        count += *found as f64;
        expected += share * draws;
        if expected >= 10.0 {
            sum += (count - expected) * (count - expected) / expected;
            cells += 1.0;
            (count, expected) = (0.0, 0.0);
        }
    }
    (sum, cells - 1.0)
}

/// Fails where χ² is beyond its mean by five standard deviations.
#[track_caller]
fn assert_fits(counts: &[u64], shares: &[f64]) {
    let (sum, freedom) = chi_square(counts, shares);
    let most = freedom + 5.0 * (2.0 * freedom).sqrt();
    assert!(sum < most, "χ² {sum} with {freedom} degrees of freedom");
}

fn zipf_shares(n: usize, theta: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-theta)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

/// FNV-1a of a number's eight bytes, the lowest first (Fowler, Noll, Vo).
fn fnv(number: u64) -> u64 {
    number.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn popularity_is_as_the_law_says() {
    const N: usize = 1000;
    let of = |keys| Workload { keys, ..workload(Named::ReadOnly, N as u64) };
    let plain = Keys::Zipf { theta: 0.99, scrambled: false };
    let shares = zipf_shares(N, 0.99);
    assert_fits(&tally(&of(plain), 1, 400_000), &shares);
    let mut scrambled = vec![0.0; N];
    for (rank, share) in shares.iter().enumerate() {
        scrambled[usize::try_from(fnv(rank as u64) % N as u64).unwrap()] += share;
    }
    assert_fits(&tally(&of(Keys::ZIPF), 2, 400_000), &scrambled);
    assert_fits(&tally(&of(Keys::Uniform), 3, 400_000), &[1.0 / N as f64; N]);
    let mut hot = [0.2 / 800.0; N];
    hot[..200].fill(0.8 / 200.0);
    let keys = Keys::parse("hotset:20%,80%").unwrap();
    assert_fits(&tally(&of(keys), 4, 400_000), &hot);
    // Nothing is inserted: the newest is the last of the data set.
    let newest: Vec<f64> = shares.iter().rev().copied().collect();
    assert_fits(&tally(&of(Keys::Latest), 5, 400_000), &newest);
    // The test itself can fail.
    let (sum, freedom) = chi_square(&tally(&of(plain), 1, 400_000), &zipf_shares(N, 1.05));
    assert!(sum > 3.0 * freedom, "{sum} {freedom}");
}

#[test]
fn the_latest_are_those_inserted_last() {
    let operations = Operations::new(&workload(Named::ReadLatest, 100), 7, Wanted::Mixed);
    let (mut inserted, mut newest, mut settled) = (0, 0, std::collections::VecDeque::new());
    for number in 0..200_000_u64 {
        settled.push_back(inserted);
        let before = if number < LAG { 0 } else { settled.pop_front().unwrap() };
        let operation = operations.at(number);
        match operation.kind {
            Kind::Insert => {
                assert_eq!(operation.record, 100 + inserted, "one number after the other");
                inserted += 1;
            }
            Kind::Read => {
                assert!(operation.record < 100 + before, "nothing is read before its time");
                newest += u64::from(operation.record + 1 == 100 + before);
            }
            Kind::Update => panic!("no updates here"),
        }
    }
    assert_eq!(inserted, 10_000, "5%, exactly");
    // P(1) of a law over some thousands: 1 / ζ(10,000, 0.99) is 0.098.
    assert!((15_000..26_000).contains(&newest), "{newest}");
}

#[test]
fn named_workloads_have_their_shares() {
    for (named, read, update, insert) in [
        (Named::WriteOnly, 0.0, 1.0, 0.0),
        (Named::ReadOnly, 1.0, 0.0, 0.0),
        (Named::ReadHeavy, 0.95, 0.05, 0.0),
        (Named::Balanced, 0.5, 0.5, 0.0),
        (Named::ReadLatest, 0.95, 0.0, 0.05),
    ] {
        assert_eq!(Named::parse(named.name()).unwrap(), named);
        let operations = Operations::new(&workload(named, 1000), 11, Wanted::Mixed);
        let mut counts = [0_u32; 3];
        for number in 0..100_000 {
            let operation = operations.at(number);
            counts[operation.kind as usize] += 1;
            let len = if operation.kind == Kind::Read { 0 } else { 100 };
            assert_eq!(operations.value(&operation).len(), len);
        }
        for (count, share) in counts.iter().zip([read, update, insert]) {
            let off = f64::from(*count) - share * 1e5;
            let deviation = (share * (1.0 - share) * 1e5).sqrt();
            assert!(off.abs() <= 4.5 * deviation, "{named}: {counts:?}");
        }
    }
    assert_eq!(Named::parse("update-heavy").unwrap(), Named::Balanced);
    let error = Named::parse("read-hevy").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `read-heavy`?"));
}

#[test]
fn a_data_set_is_every_record_once_with_the_same_values_whatever_the_load() {
    let one = Workload {
        value_size: Sizes::parse("exp:1KiB", VALUE_BYTES).unwrap(),
        ..workload(Named::ReadHeavy, 5000)
    };
    let operations = Operations::new(&one, 3, Wanted::DataSet);
    let mut sum = 0;
    for number in 0..5000 {
        let operation = operations.at(number);
        assert_eq!((operation.kind, operation.record), (Kind::Insert, number));
        assert_eq!(operation.key().to_vec(), format!("plimsoll:{number:012}").into_bytes());
        sum += operations.value(&operation).len();
    }
    // The mean of 5,000 exponential sizes: a standard deviation of 14.5 B.
    let mean = sum as f64 / 5000.0;
    assert!((mean - 1024.0).abs() < 60.0, "{mean}");
    let other = Workload { mix: Named::Balanced.mix(), keys: Keys::Uniform, ..one };
    let again = Operations::new(&other, 3, Wanted::DataSet);
    assert_eq!(operations.at(77), again.at(77));
    assert_eq!(operations.value(&operations.at(77)), again.value(&again.at(77)));
}

#[test]
fn values_hold_every_byte() {
    let large = Workload { value_size: Sizes::Fixed(100 * 1024), ..workload(Named::WriteOnly, 9) };
    let operations = Operations::new(&large, 1, Wanted::Mixed);
    let operation = operations.at(0);
    let value = operations.value(&operation);
    assert_eq!(value.len(), 100 * 1024);
    assert!((0..=255).all(|byte| value.contains(&byte)));
}

proptest! {
    /// The operation of a request is a function of seed and number, in any order of asking.
    #[test]
    fn the_same_seed_asks_for_the_same(
        seed: u64,
        numbers in prop::collection::vec(any::<u32>(), 1..50),
    ) {
        let one = workload(Named::ReadLatest, 50);
        let make = || Operations::new(&one, seed, Wanted::Mixed);
        let (a, b) = (make(), make());
        let forth: Vec<_> = numbers.iter().map(|n| a.at(u64::from(*n))).collect();
        let mut back: Vec<_> = numbers.iter().rev().map(|n| b.at(u64::from(*n))).collect();
        back.reverse();
        prop_assert_eq!(forth, back);
    }

    /// Whatever the share, insertions take every number in turn, and their count is exact.
    #[test]
    fn insertions_are_numbered_without_a_gap(percent in 1_u32..=100, seed: u64) {
        let mix = Mix::of_percent(100 - percent, 0, percent).unwrap();
        let one = Workload { mix, ..workload(Named::ReadLatest, 10) };
        let operations = Operations::new(&one, seed, Wanted::Mixed);
        let mut next = 10;
        for number in 0..2000 {
            let operation = operations.at(number);
            if operation.kind == Kind::Insert {
                prop_assert_eq!(operation.record, next);
                next += 1;
            }
        }
        prop_assert_eq!(next - 10, u64::from(percent) * 20);
    }

    /// Records stay within the data set, for every law and number of records.
    #[test]
    fn records_are_of_the_data_set(
        records in 1_u64..100_000, seed: u64, number: u32, which in 0_usize..6,
    ) {
        let text = ["uniform", "zipf", "zipf-plain:0", "zipf:2.5", "latest", "hotset:1%,100%"];
        let keys = Keys::parse(text[which]).unwrap();
        let one = Workload { keys, ..workload(Named::ReadOnly, records) };
        let operation = Operations::new(&one, seed, Wanted::Mixed).at(u64::from(number));
        prop_assert!(operation.record < records);
    }

    #[test]
    fn what_is_shown_reads_back_the_same(
        read in 0_u32..=100, split in 0_u32..=100, low in 1_u64..1000, more in 1_u64..90_000,
    ) {
        let update = (100 - read) * split / 100;
        let mix = Mix::of_percent(read, update, 100 - read - update).unwrap();
        prop_assert_eq!(Mix::parse(&mix.to_string()).unwrap(), mix);
        let sizes = format!("uniform:{low}B..{}B", low + more);
        prop_assert_eq!(Sizes::parse(&sizes, VALUE_BYTES).unwrap().to_string(), sizes);
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,24}", tail in "[0-9a-z%:,.]{0,12}") {
        for text in [text.clone(), format!("hotset:{tail}"), format!("zipf:{tail}"),
            format!("read:{tail}"), format!("uniform:{tail}")] {
            let _ = Keys::parse(&text);
            let _ = Named::parse(&text);
            let _ = Mix::parse(&text);
            let _ = Sizes::parse(&text, VALUE_BYTES);
        }
    }
}

#[test]
fn texts_read_back_and_mistakes_have_their_place() {
    for text in ["uniform", "zipf", "zipf:0.8", "zipf-plain", "latest", "hotset:20%,80%"] {
        assert_eq!(Keys::parse(text).unwrap().to_string(), text);
    }
    for text in [
        "",
        "zipfian",
        "zipf:-1",
        "zipf:x",
        "hotset",
        "hotset:0%,80%",
        "hotset:20%",
        "hotset:20%,180%",
    ] {
        assert!(Keys::parse(text).is_err(), "{text}");
    }
    let error = Keys::parse("hotset:20%,x").unwrap_err();
    assert_eq!((error.at, error.len), (11, 1), "{error:?}");
    assert_eq!(Mix::parse("update:5%, read:95%").unwrap().to_string(), "read:95%,update:5%");
    for text in ["read:95%", "read", "read:50%,read:50%", "write:100%", "read:95%,update:6%"] {
        assert!(Mix::parse(text).is_err(), "{text}");
    }
    for text in ["1", "100KiB", "exp:1KiB", "lognormal:100,0.5", "pareto:1.2,1B..100KiB"] {
        let sizes = Sizes::parse(text, VALUE_BYTES).unwrap();
        assert_eq!(Sizes::parse(&sizes.to_string(), VALUE_BYTES).unwrap(), sizes);
        let mut stream = Stream::named(1, "sizes");
        assert!((0..1000).all(|_| sizes.draw(&mut stream) < 1 << 40));
    }
    for text in ["0", "101KiB", "", "exp:0", "uniform:9..1", "uniform:1..200KiB", "pareto:0,1..9"] {
        assert!(Sizes::parse(text, VALUE_BYTES).is_err(), "{text}");
    }
    assert_eq!(RECORDS, 1..=1_000_000_000);
}
