//! Objects of synthetic web workloads: all that follows from a name alone.

use proptest::prelude::*;

use plimsoll_workload::objects::{
    Catalogue, Class, Fresh, MAX_NAME_BYTES, MAX_SIZE, Object, Popularity, Population, SizeLaw,
    WorkingSet, Workload, WorkloadError, number_of, write_name,
};

use crate::statistics::{ks_distance, mean_and_variance};

fn class(label: &str, share: f64, sizes: &str) -> Class {
    let sizes = SizeLaw::parse(sizes).unwrap();
    Class { label: label.to_owned(), share, sizes, ..Class::default() }
}

fn of(classes: Vec<Class>) -> Workload {
    let population = Population::Open { recurrence: 0.5, working_set: WorkingSet::Growing };
    Workload { population, classes, ..Workload::default() }
}

fn catalogue(classes: Vec<Class>) -> Catalogue {
    Catalogue::new(&of(classes), 1).unwrap()
}

/// The sizes of the first objects under a law.
fn sizes(law: &str, n: u64) -> Vec<f64> {
    let catalogue = catalogue(vec![class("all", 1.0, law)]);
    (0..n).map(|number| catalogue.object(number).size as f64).collect()
}

const N: u64 = 100_000;

/// As [`ks_distance`], which is above this with probability 1.3e-4.
const KS: f64 = 2.2 / 316.227_766;

fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[test]
fn sizes_have_their_laws() {
    let exponential = |x: f64| 1.0 - (-x / 13_000.0).exp();
    assert!(ks_distance(&sizes("exp:13kB", N), exponential) < KS);
    // Mean 10 kB and σ 1.2: the median is mean · e^(−σ²/2).
    let median = 10_000.0 * f64::exp(-0.72);
    let lognormal = |x: f64| normal((x / median).ln() / 1.2);
    assert!(ks_distance(&sizes("lognormal:10kB,1.2", N), lognormal) < KS);
    let drawn = sizes("pareto:1.2,1kB..10MB", N);
    let cut = 1.0 - 1e-4_f64.powf(1.2);
    assert!(ks_distance(&drawn, |x| (1.0 - (1000.0 / x).powf(1.2)) / cut) < KS);
    assert!(drawn.iter().all(|size| (1e3..=1e7).contains(size)));
    assert!(sizes("5kB", 1000).iter().all(|&size| (size - 5000.0).abs() < 0.5));
}

#[test]
fn a_body_with_a_tail_has_both() {
    let drawn = sizes("lognormal+pareto:10kB,1.3,7%,1.1,133kB..50MB", N);
    let (tail, body): (Vec<f64>, Vec<f64>) = drawn.iter().partition(|&&size| size > 133_000.0);
    let share = tail.len() as f64 / N as f64;
    assert!((share - 0.07).abs() < 5.0 * (0.07 * 0.93 / N as f64).sqrt(), "{share}");
    let median = 10_000.0 * f64::exp(-0.5 * 1.3 * 1.3);
    let below = |x: f64| normal((x / median).ln() / 1.3);
    let distance = ks_distance(&body, |x| below(x) / below(133_000.0));
    assert!(distance < 2.2 / (body.len() as f64).sqrt(), "{distance}");
    let cut = 1.0 - (133e3_f64 / 50e6).powf(1.1);
    let distance = ks_distance(&tail, |x| (1.0 - (133e3 / x).powf(1.1)) / cut);
    assert!(distance < 2.2 / (tail.len() as f64).sqrt(), "{distance}");
    assert!(drawn.iter().all(|&size| size <= 50e6));
}

#[test]
fn means_are_those_of_samples() {
    for law in [
        "7kB",
        "exp:13kB",
        "uniform:1kB..9kB",
        "lognormal:10kB,0.8",
        "pareto:2.5,1kB..1MB",
        "lognormal+pareto:10kB,1.3,7%,2.2,133kB..5MB",
        "lognormal+pareto:10kB,0,10%,1.5,10kB..100kB",
        "lognormal+pareto:10kB,2,0%,1.5,2kB..100kB",
    ] {
        let (mean, variance) = mean_and_variance(&sizes(law, N));
        let expected = SizeLaw::parse(law).unwrap().mean();
        let error = 5.0 * (variance / N as f64).sqrt() + 0.5;
        assert!((mean - expected).abs() < error, "{law}: {mean}, {expected}");
    }
    let classes = vec![class("a", 0.25, "1kB"), class("b", 0.75, "exp:9kB")];
    assert!((of(classes).mean_size() - 7000.0).abs() < 1e-6);
}

#[test]
fn every_object_has_a_byte_and_no_more_than_the_most() {
    assert!(sizes("exp:1B", 1000).iter().all(|&size| size >= 1.0));
    let most = MAX_SIZE as f64;
    let drawn = sizes("lognormal:1TiB,10", 1000);
    assert!(drawn.iter().all(|size| (1.0..=most).contains(size)));
}

#[test]
fn classes_get_their_shares() {
    let mut classes = vec![
        class("image", 0.65, "exp:4.5kB"),
        class("page", 0.345, "exp:8.5kB"),
        class("download", 0.005, "lognormal:300kB,0.83"),
    ];
    (classes[0].cachable, classes[1].cachable) = (0.8, 0.0);
    let catalogue = catalogue(classes.clone());
    let objects: Vec<Object> = (0..N).map(|number| catalogue.object(number)).collect();
    for (number, class) in classes.iter().enumerate() {
        let of = || objects.iter().filter(|object| usize::from(object.class) == number);
        let (n, p) = (N as f64, class.share);
        let count = of().count() as f64;
        assert!(
            (count - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(),
            "{}: {count}",
            class.label
        );
        let (kept, p) = (of().filter(|object| object.is_cachable).count() as f64, class.cachable);
        assert!((kept - count * p).abs() <= 5.0 * (count * p * (1.0 - p)).sqrt(), "{kept}");
    }
    // A class draws its sizes as it would alone.
    let images: Vec<f64> = objects
        .iter()
        .filter(|object| object.class == 0)
        .map(|object| object.size as f64)
        .collect();
    assert!(
        ks_distance(&images, |x| 1.0 - (-x / 4500.0).exp()) < 2.2 / (images.len() as f64).sqrt()
    );
    assert_eq!(catalogue.classes(), classes);
}

fn changing(changes: &str, variance: f64) -> Catalogue {
    let changes = changes.parse().unwrap();
    catalogue(vec![Class { changes, variance, ..Class::default() }])
}

#[test]
fn objects_change_at_their_periods() {
    const S: u64 = 1_000_000_000;
    for variance in [0.0, 0.33, 1.0] {
        let catalogue = changing("uniform:10s..30s", variance);
        for object in (0..200).map(|number| catalogue.object(number)) {
            let period = object.period_ns().unwrap();
            assert!((10 * S..30 * S).contains(&period));
            // Walk through all its changes.
            let mut at = 0;
            let mut version = object.version(0);
            assert!(version <= 1 && object.changed_ns(version).unwrap() <= 0);
            for _ in 0..50 {
                let next = object.next_change_ns(at).unwrap();
                assert!(next > at && object.version(next - 1) == version);
                version += 1;
                assert_eq!(object.version(next), version);
                assert_eq!(object.changed_ns(version), i64::try_from(next).ok());
                let stray = next as f64 - at as f64 - period as f64;
                // From the second change on: regular but for the variance, half a period a change.
                let most = variance * period as f64 + 2.0;
                assert!(at == 0 || stray.abs() <= most, "{stray} {most}");
                at = next;
            }
        }
    }
}

#[test]
fn ages_are_spread_over_the_period() {
    let catalogue = changing("const:1000s", 0.0);
    let ages: Vec<f64> = (0..N)
        .map(|number| {
            let object = catalogue.object(number);
            -object.changed_ns(object.version(0)).unwrap() as f64 / 1e12
        })
        .collect();
    assert!(ks_distance(&ages, |age| age) < KS);
    let periods: Vec<f64> = {
        let catalogue = changing("exp:1000s", 0.0);
        (0..N).map(|number| catalogue.object(number).period_ns().unwrap() as f64 / 1e12).collect()
    };
    // Cut below at a second, which a thousandth of them is.
    assert!(ks_distance(&periods, |x| 1.0 - (-x).exp()) < KS + 0.001);
    assert!(periods.iter().all(|&period| period >= 0.001));
}

#[test]
fn what_never_changes_stays_fresh() {
    let still = catalogue(vec![Class::default()]).object(3);
    assert_eq!((still.version(0), still.version(u64::MAX)), (0, 0));
    assert_eq!(
        (still.changed_ns(0), still.next_change_ns(5), still.period_ns()),
        (None, None, None)
    );
    assert_eq!(still.fresh_ns(5), u64::MAX);
    let moving = changing("const:100s", 0.5).object(3);
    assert_eq!(moving.fresh_ns(7), moving.next_change_ns(7).unwrap() - 7);
    let hour = Class { fresh: Fresh::parse("1h").unwrap(), ..Class::default() };
    assert_eq!(catalogue(vec![hour]).object(3).fresh_ns(7), 3_600_000_000_000);
}

#[test]
fn times_and_versions_at_their_ends_are_no_harm() {
    for object in [changing("const:1s", 1.0), changing("const:200000d", 1.0)].map(|c| c.object(9)) {
        for at in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            let version = object.version(at);
            assert!(object.next_change_ns(at).unwrap() >= at);
            let _ = (object.fresh_ns(at), object.changed_ns(version));
        }
        for version in [0, 1, u64::MAX - 1, u64::MAX] {
            assert!(object.changed_ns(version).is_some());
            assert_eq!(object.fill(version, u64::MAX, &mut [0; 9]), 0);
        }
    }
}

#[test]
fn an_object_follows_from_seed_and_number_alone() {
    let workload = of(vec![class("a", 0.4, "exp:1kB"), class("b", 0.6, "1kB")]);
    let here = Catalogue::new(&workload, 7).unwrap();
    let popularity = Popularity { exponent: 1.5 };
    let there = Catalogue::new(&Workload { popularity, ..workload.clone() }, 7).unwrap();
    assert!((0..1000).all(|number| here.object(number) == there.object(number)));
    // Other sizes leave classes, bytes and lives as they are.
    let mut other = workload.clone();
    other.classes[1].sizes = SizeLaw::parse("exp:5kB").unwrap();
    let other = Catalogue::new(&other, 7).unwrap();
    assert!((0..1000).all(|number| {
        let (a, b) = (here.object(number), other.object(number));
        let mut bytes = ([0; 1], [0; 1]);
        a.fill(0, 0, &mut bytes.0);
        b.fill(0, 0, &mut bytes.1);
        a.class == b.class && bytes.0 == bytes.1 && (a.class == 1 || a == b)
    }));
    let elsewhere = Catalogue::new(&workload, 8).unwrap();
    let same = (0..1000).filter(|&number| here.object(number) == elsewhere.object(number)).count();
    assert_eq!(same, 0);
}

#[test]
fn golden_objects() {
    let mut classes = vec![
        class("page", 0.5, "lognormal+pareto:10kB,1.3,7%,1.1,133kB..50MB"),
        class("image", 0.25, "pareto:1.2,1kB..10MB"),
        class("news", 0.25, "exp:8kB"),
    ];
    for class in &mut classes {
        class.changes = "lognormal:7d,0.14".parse().unwrap();
        (class.variance, class.cachable) = (0.33, 0.8);
    }
    let catalogue = catalogue(classes);
    let found = [0, 1, 2, 1_000_000, u64::MAX].map(|number| {
        let object = catalogue.object(number);
        let mut bytes = [0; 8];
        object.fill(2, 3, &mut bytes);
        let at = 30 * 86_400_000_000_000;
        let next = object.next_change_ns(at).unwrap();
        (object.class, object.size, object.is_cachable, object.version(at), next, bytes)
    });
    assert_eq!(found, GOLDEN);
}

const GOLDEN: [(u16, u64, bool, u64, u64, [u8; 8]); 5] = [
    (2, 1731, true, 4, 2634333730793696, [87, 141, 32, 238, 159, 235, 65, 197]),
    (0, 1220, true, 5, 3060985242560746, [226, 99, 168, 143, 57, 105, 42, 164]),
    (0, 1754, true, 6, 3072088283725931, [14, 50, 35, 97, 203, 137, 2, 12]),
    (1, 1257, false, 5, 3107500829945225, [175, 254, 44, 46, 118, 26, 33, 126]),
    (2, 11582, true, 3, 2615844227073509, [197, 201, 129, 85, 26, 30, 203, 64]),
];

#[test]
fn names_that_are_none_are_refused() {
    let refused: [&[u8]; 16] = [
        b"",
        b"/",
        b"/o",
        b"/o/",
        b"o/1",
        b"/o/01",
        b"/o/00",
        b"/o/-1",
        b"/o/+1",
        b"/o/1 ",
        b"/o/1/",
        b"/o/1?x",
        b"/O/1",
        b"//o/1",
        b"/o/18446744073709551616",
        b"/o/\xff",
    ];
    for name in refused {
        assert_eq!(number_of(name), None, "{}", name.escape_ascii());
    }
    assert_eq!(number_of(b"/o/18446744073709551615"), Some(u64::MAX));
    assert_eq!(number_of(b"/o/0"), Some(0));
    assert_eq!(number_of(&[b'1'; 1 << 20]), None);
    let few = Population::Closed { objects: 10, drift: None };
    let few = Catalogue::new(&Workload { population: few, ..Workload::default() }, 1).unwrap();
    assert!(few.find(b"/o/9").is_some() && few.find(b"/o/10").is_none());
}

#[test]
fn classes_that_do_not_make_a_workload_are_refused() {
    let refused = |classes| Catalogue::new(&of(classes), 1).unwrap_err();
    assert!(matches!(refused(vec![]), WorkloadError::Classes { .. }));
    let halves = |a, b, sum| vec![class(a, sum / 2.0, "1B"), class(b, sum / 2.0, "1B")];
    assert!(matches!(refused(halves("a", "b", 0.9)), WorkloadError::Shares { .. }));
    assert!(matches!(refused(halves("a", "a", 1.0)), WorkloadError::Label { .. }));
    assert!(matches!(refused(halves("a", "", 1.0)), WorkloadError::Label { .. }));
    let with = |change: fn(&mut Class)| {
        let mut class = Class::default();
        change(&mut class);
        refused(vec![class])
    };
    assert!(matches!(with(|class| class.variance = 1.1), WorkloadError::Range { .. }));
    assert!(matches!(with(|class| class.cachable = f64::NAN), WorkloadError::Range { .. }));
    assert!(matches!(with(|class| class.share = -1.0), WorkloadError::Range { .. }));
}

proptest! {
    #[test]
    fn names_read_back(number in any::<u64>()) {
        let mut name = b"http://h".to_vec();
        write_name(number, &mut name);
        prop_assert!(name.len() - 8 <= MAX_NAME_BYTES);
        prop_assert_eq!(number_of(&name[8..]), Some(number));
        prop_assert_eq!(String::from_utf8(name).unwrap(), format!("http://h/o/{number}"));
    }

    #[test]
    fn any_bytes_are_a_name_or_none(tail in proptest::collection::vec(any::<u8>(), 0..40)) {
        let catalogue = catalogue(vec![Class::default()]);
        for path in [tail.clone(), [&b"/o/"[..], &tail].concat(), [&b"/o/1"[..], &tail].concat()] {
            let Some(object) = catalogue.find(&path) else { continue };
            // One object has one name.
            let mut name = Vec::new();
            write_name(object.number, &mut name);
            prop_assert_eq!(name, path);
        }
    }

    #[test]
    fn ranges_are_parts_of_the_whole(
        number in any::<u64>(),
        version in 0..3_u64,
        size in 1..200_u64,
        offset in 0..220_u64,
        len in 0..100_usize,
    ) {
        let object = catalogue(vec![class("all", 1.0, &format!("{size}B"))]).object(number);
        let mut whole = vec![0; 300];
        prop_assert_eq!(object.fill(version, 0, &mut whole) as u64, size);
        prop_assert!(whole[usize::try_from(size).unwrap()..].iter().all(|&byte| byte == 0));
        let mut part = vec![0; len];
        let filled = object.fill(version, offset, &mut part);
        let left = usize::try_from(size.saturating_sub(offset)).unwrap();
        prop_assert_eq!(filled, left.min(len));
        let start = usize::try_from(offset).unwrap().min(200);
        prop_assert_eq!(&part[..filled], &whole[start..start + filled]);
        // Far off, each word by itself.
        let other = catalogue(vec![class("all", 1.0, &format!("{size}B"))]).object(number ^ 1);
        let mut bytes = vec![0; 300];
        other.fill(version, 0, &mut bytes);
        prop_assert!(size < 16 || bytes != whole);
        object.fill(version + 1, 0, &mut bytes);
        prop_assert!(size < 16 || bytes != whole);
    }
}

#[test]
fn bytes_are_no_pattern() {
    let object = catalogue(vec![class("all", 1.0, "1MB")]).object(5);
    let mut bytes = vec![0; 1_000_000];
    object.fill(0, 0, &mut bytes);
    let mut counts = [0.0; 256];
    bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1.0);
    let expected = 1e6 / 256.0;
    let chi: f64 = counts.iter().map(|count: &f64| (count - expected).powi(2) / expected).sum();
    assert!((chi - 255.0).abs() < 5.0 * (2.0 * 255.0_f64).sqrt(), "{chi}");
}
