//! Requests of synthetic web workloads: popularity against exact probabilities, recurrence, hot
//! set, drift, and golden values.
//!
//! The statistical bounds are five standard errors of the statistic at a fixed seed, so a test
//! fails because the law changed, not by chance.

use proptest::prelude::*;

use plimsoll_workload::objects::{
    Clients, Drift, HotSet, Popularity, Population, Request, Requests, WorkingSet, Workload,
    WorkloadError,
};
use plimsoll_workload::random::Stream;

use crate::statistics::ks_distance;

const HOT: HotSet = HotSet { objects: 0.02, requests: 0.3 };

fn closed(objects: u32, exponent: f64, hot_set: Option<HotSet>) -> Workload {
    Workload {
        population: Population::Closed { objects, drift: None },
        popularity: Popularity { exponent },
        hot_set,
        ..Workload::default()
    }
}

fn open(recurrence: f64, working_set: WorkingSet, exponent: f64) -> Workload {
    let population = Population::Open { recurrence, working_set };
    Workload { population, ..closed(1, exponent, None) }
}

fn objects(workload: &Workload, seed: u64, n: usize) -> Vec<u64> {
    Requests::new(workload, seed).unwrap().take(n).map(|request| request.object).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a share of a small number")]
fn hot_size(n: usize, share: f64) -> usize {
    ((share * n as f64).round() as usize).max(1)
}

/// P(rank) of each rank, from the definition.
fn probabilities(n: usize, exponent: f64, hot: Option<HotSet>) -> Vec<f64> {
    let mut weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-exponent)).collect();
    let (size, share) = match hot {
        Some(hot) => (hot_size(n, hot.objects), hot.requests),
        None => (n, 1.0),
    };
    let size = size.min(n);
    let share = if size == n { 1.0 } else { share };
    for (range, share) in [(0..size, share), (size..n, 1.0 - share)] {
        let sum: f64 = weights[range.clone()].iter().sum();
        weights[range].iter_mut().for_each(|weight| *weight *= share / sum);
    }
    weights
}

/// Pearson's statistic, in its standard deviations from what is expected of it.
fn chi_square_off(counts: &[f64], probabilities: &[f64]) -> f64 {
    let all: f64 = counts.iter().sum();
    let chi: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(count, p)| (count - all * p).powi(2) / (all * p))
        .sum();
    let free = counts.len() as f64 - 1.0;
    (chi - free) / (2.0 * free).sqrt()
}

fn counts_of(objects: impl IntoIterator<Item = u64>, n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n];
    for object in objects {
        counts[usize::try_from(object).unwrap()] += 1.0;
    }
    counts
}

#[test]
fn popularity_has_the_exact_probabilities() {
    for hot in [None, Some(HOT)] {
        for exponent in [0.0, 0.3, 0.8, 1.0, 1.2] {
            let asked = objects(&closed(500, exponent, hot), 3, 400_000);
            let off = chi_square_off(&counts_of(asked, 500), &probabilities(500, exponent, hot));
            assert!(off.abs() < 5.0, "{exponent} {hot:?}: {off}");
        }
    }
}

#[test]
fn a_population_too_large_for_a_table_has_them_too() {
    let n = 5_000_000;
    for (exponent, hot) in [(0.8, None), (0.8, Some(HOT)), (0.0, Some(HOT)), (1.2, None)] {
        let exact = probabilities(n as usize, exponent, hot);
        // The first ranks each, then ranges up to powers of two.
        let ends: Vec<usize> = (1..16).chain((4..23).map(|bits| 1 << bits)).collect();
        let class = |rank: usize| ends.partition_point(|&end| end <= rank);
        let mut expected = vec![0.0; ends.len() + 1];
        for (rank, p) in exact.iter().enumerate() {
            expected[class(rank)] += p;
        }
        let asked = objects(&closed(n, exponent, hot), 4, 200_000);
        assert!(asked.iter().all(|&object| object < u64::from(n)));
        let classes = asked.iter().map(|&object| class(usize::try_from(object).unwrap()) as u64);
        let counts = counts_of(classes, expected.len());
        // Classes that are hardly ever met say nothing.
        let (counts, expected): (Vec<f64>, Vec<f64>) =
            counts.into_iter().zip(expected).filter(|(_, p)| p * 200_000.0 > 20.0).unzip();
        let off = chi_square_off(&counts, &expected);
        assert!(off.abs() < 5.0, "{exponent} {hot:?}: {off}");
    }
}

#[test]
fn the_hot_set_gets_its_share_and_no_more() {
    for (share, requests) in [(0.01, 0.1), (0.1, 0.9), (0.5, 0.0), (0.2, 1.0)] {
        let hot = HotSet { objects: share, requests };
        let asked = objects(&closed(1000, 0.7, Some(hot)), 5, 100_000);
        let size = hot_size(1000, share) as u64;
        let got = asked.iter().filter(|&&object| object < size).count() as f64 / 1e5;
        let error = 5.0 * (requests * (1.0 - requests) / 1e5).sqrt();
        assert!((got - requests).abs() <= error, "{hot:?}: {got}");
    }
}

#[test]
fn a_steep_law_holds_far_from_the_first_rank_too() {
    // Of 5 million, ranks from 100,001 on get a share by themselves.
    let hot = HotSet { objects: 0.02, requests: 0.0 };
    for exponent in [3.0, 10.0] {
        let asked = objects(&closed(5_000_000, exponent, Some(hot)), 4, 50_000);
        assert!(asked.iter().all(|&object| object >= 100_000));
        // Of so many ranks the law is all but that of Pareto, cut at both ends.
        let cut = 1.0 - 50_f64.powf(1.0 - exponent);
        let places: Vec<f64> = asked.iter().map(|&object| object as f64 + 1.0).collect();
        let law = |rank: f64| (1.0 - (rank / 1e5).powf(1.0 - exponent)) / cut;
        let distance = ks_distance(&places, law);
        assert!(distance < 2.2 / 50_000_f64.sqrt(), "{exponent}: {distance}");
    }
}

/// What the text of the module says of an open population, kept as lists.
struct Model {
    working_set: WorkingSet,
    came: u64,
    /// The object of each rank.
    holders: Vec<u64>,
    step: u64,
}

impl Model {
    fn new(working_set: WorkingSet) -> Self {
        let step = match working_set {
            WorkingSet::Drifting(size) => golden_step(u64::from(size)),
            _ => 0,
        };
        Self { working_set, came: 0, holders: Vec::new(), step }
    }

    fn bring(&mut self) {
        let object = self.came;
        self.came += 1;
        match self.working_set {
            WorkingSet::Frozen(size) if object >= u64::from(size) => {}
            WorkingSet::Drifting(size) if object >= u64::from(size) => {
                let size = u64::from(size);
                let rank = (object - size) * self.step % size;
                self.holders[usize::try_from(rank).unwrap()] = object;
            }
            _ => self.holders.push(object),
        }
    }
}

/// The whole number next to size / φ without a common factor with size, the lesser of two as near
/// first.
fn golden_step(size: u64) -> u64 {
    // F(90) / F(91) of Fibonacci's numbers is 1 / φ to 36 places.
    let (less, more) = (2_880_067_194_370_816_120_u128, 4_660_046_610_375_530_309_u128);
    let near = u64::try_from(u128::from(size) * less / more).unwrap();
    let divides = |d: u64, n: u64| n.is_multiple_of(d);
    let has_factor = |step: u64| (2..=step).any(|d| divides(d, step) && divides(d, size));
    (0..size)
        .flat_map(|away| [near.saturating_sub(away), near + away])
        .find(|&step| step > 0 && !has_factor(step))
        .unwrap_or(1)
}

#[test]
fn an_open_population_is_that_of_the_model() {
    let sets = [
        WorkingSet::Growing,
        WorkingSet::Frozen(400),
        WorkingSet::Drifting(400),
        WorkingSet::Drifting(1),
        WorkingSet::Frozen(7),
    ];
    for (set, hot, exponent) in
        sets.iter().flat_map(|set| [(set, None, 0.8), (set, Some(HOT), 0.8), (set, Some(HOT), 0.0)])
    {
        let recurrence = 0.6875;
        let workload = Workload { hot_set: hot, ..open(recurrence, *set, exponent) };
        let n = 20_000;
        let mut model = Model::new(*set);
        let mut places = Vec::new();
        let mut spread = Stream::named(1, "spread");
        let (mut of, mut cumulative) = (0, Vec::new());
        for object in objects(&workload, 6, n) {
            // A new one is the next number; anything else has come before, and is in the set.
            if object == model.came {
                model.bring();
                continue;
            }
            let rank = model.holders.iter().position(|&holder| holder == object);
            let rank = rank.unwrap_or_else(|| panic!("{set:?}: {object} of {}", model.came));
            if of != model.holders.len() {
                of = model.holders.len();
                let mut sum = 0.0;
                cumulative = vec![0.0];
                cumulative.extend(probabilities(of, exponent, hot).iter().map(|p| {
                    sum += p;
                    sum
                }));
            }
            // Where in 0..1 the rank lies by its law, spread over its probability: uniform.
            let (low, high) = (cumulative[rank], cumulative[rank + 1]);
            places.push(low + spread.uniform() * (high - low));
        }
        let revisits = places.len() as f64;
        let error = 5.0 * (recurrence * (1.0 - recurrence) * n as f64).sqrt();
        assert!((revisits - recurrence * n as f64).abs() < error, "{set:?}: {revisits}");
        let distance = ks_distance(&places, |x| x);
        assert!(distance < 2.2 / revisits.sqrt(), "{set:?} {hot:?} {exponent}: {distance}");
    }
}

#[test]
fn without_recurrence_everything_is_new() {
    let asked = objects(&open(0.0, WorkingSet::Growing, 0.8), 1, 1000);
    assert!(asked.into_iter().eq(0..1000));
}

#[test]
fn ranks_drift_by_their_share() {
    let every = 50_000;
    let drift = |share| Population::Closed { objects: 1000, drift: Some(Drift { share, every }) };
    let popularity = Popularity { exponent: 1.0 };
    // The most popular tenth of each of three epochs.
    let tops = |share| {
        let workload = Workload { population: drift(share), popularity, ..Workload::default() };
        let mut requests = Requests::new(&workload, 8).unwrap();
        [(); 3].map(|()| {
            let epoch = requests.by_ref().take(50_000).map(|request| request.object);
            let mut counts: Vec<_> = counts_of(epoch, 1000).into_iter().enumerate().collect();
            counts.sort_by(|a, b| b.1.total_cmp(&a.1));
            counts.iter().take(100).map(|(object, _)| *object).collect::<Vec<_>>()
        })
    };
    let shared = |a: &[usize], b: &[usize]| a.iter().filter(|object| b.contains(object)).count();
    // Counts of 50,000 requests tell the hundredth from the hundred-and-twentieth, not better.
    let [a, b, c] = tops(0.002);
    assert!(shared(&a, &b) >= 85 && shared(&b, &c) >= 85);
    let [a, b, c] = tops(0.4);
    // Six in ten keep their rank, and a tenth of what moves comes into the top tenth.
    assert!((45..=75).contains(&shared(&a, &b)), "{}", shared(&a, &b));
    assert!((20..=55).contains(&shared(&a, &c)), "{}", shared(&a, &c));
    let [a, b, _] = tops(1.0);
    assert!(shared(&a, &b) <= 25, "{}", shared(&a, &b));
}

#[test]
fn drift_leaves_the_law_and_what_was_before_alone() {
    let still = closed(300, 0.9, None);
    let drift = Some(Drift { share: 0.1, every: 1000 });
    let moving =
        Workload { population: Population::Closed { objects: 300, drift }, ..still.clone() };
    let (before, after) = (objects(&still, 2, 60_000), objects(&moving, 2, 60_000));
    assert_eq!(before[..1000], after[..1000]);
    // The ranks are the same; only who holds them changes. So in each epoch as many requests go to
    // the most popular object, whoever it is.
    let most = |of: &[u64]| counts_of(of.iter().copied(), 300).into_iter().fold(0.0, f64::max);
    let mut differ = 0;
    for (still, moving) in before.chunks(1000).zip(after.chunks(1000)) {
        assert!((most(still) - most(moving)).abs() < 0.5);
        differ += usize::from(still != moving);
    }
    assert_eq!(differ, 59);
}

#[test]
fn clients_ask_by_their_law_and_change_nothing_else() {
    let alone = closed(1000, 0.8, None);
    let all = objects(&alone, 9, 200_000);
    for exponent in [0.0, 0.5, 1.1] {
        let clients = Clients { count: 50, popularity: Popularity { exponent } };
        let workload = Workload { clients, ..alone.clone() };
        let requests: Vec<Request> = Requests::new(&workload, 9).unwrap().take(200_000).collect();
        assert!(requests.iter().map(|request| request.object).eq(all.iter().copied()));
        let counts = counts_of(requests.iter().map(|r| u64::from(r.client)), 50);
        let off = chi_square_off(&counts, &probabilities(50, exponent, None));
        assert!(off.abs() < 5.0, "{exponent}: {off}");
    }
}

#[test]
fn golden_requests() {
    let first = |workload: &Workload| -> [u64; 8] { objects(workload, 1, 8).try_into().unwrap() };
    let drift = Some(Drift { share: 1.0, every: 2 });
    let moving = Population::Closed { objects: 1000, drift };
    let found = [
        first(&closed(1_000_000, 0.8, None)),
        first(&closed(4_000_000_000, 0.8, Some(HOT))),
        first(&closed(1_000_000, 0.0, None)),
        first(&Workload { population: moving, ..closed(1, 0.8, None) }),
        first(&open(0.7, WorkingSet::Drifting(3), 1.0)),
    ];
    // Far into the stream, where rounding that differs would tell.
    let growing = open(0.5, WorkingSet::Growing, 0.9);
    let digest = Requests::new(&growing, 1).unwrap().take(300_000).fold(0_u64, |sum, request| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(request.object)
    });
    let clients = Clients { count: 9, popularity: Popularity { exponent: 1.0 } };
    let asking = Workload { clients, ..closed(10, 0.8, None) };
    let clients: Vec<u32> = Requests::new(&asking, 1).unwrap().take(8).map(|r| r.client).collect();
    assert_eq!((found, digest, clients), (GOLDEN, GOLDEN_DIGEST, GOLDEN_CLIENTS.to_vec()));
}

const GOLDEN: [[u64; 8]; 5] = [
    [10332, 363334, 577256, 55, 23, 2649, 121, 889],
    [480350117, 546189396, 1451343553, 1067591796, 121307621, 3502515164, 465576083, 741075692],
    [790572, 363334, 577256, 394717, 351784, 661823, 438908, 572203],
    [22, 363, 430, 853, 216, 224, 196, 767],
    [0, 0, 0, 0, 0, 0, 1, 0],
];
const GOLDEN_DIGEST: u64 = 17637503689429730774;
const GOLDEN_CLIENTS: [u32; 8] = [2, 2, 1, 6, 0, 5, 5, 1];

#[test]
fn what_is_no_workload_is_refused() {
    let refused = |workload: Workload| Requests::new(&workload, 1).unwrap_err();
    let good = closed(10, 0.8, None);
    assert!(matches!(refused(closed(0, 0.8, None)), WorkloadError::None { of: "objects" }));
    assert!(matches!(refused(closed(9, f64::NAN, None)), WorkloadError::Range { .. }));
    assert!(matches!(refused(closed(9, -0.1, None)), WorkloadError::Range { .. }));
    let hot = HotSet { objects: 0.0, requests: 0.5 };
    assert!(matches!(refused(closed(9, 1.0, Some(hot))), WorkloadError::Range { .. }));
    for recurrence in [1.0, -0.1, f64::NAN] {
        let error = refused(open(recurrence, WorkingSet::Growing, 1.0));
        assert!(matches!(error, WorkloadError::Recurrence { .. }), "{error}");
    }
    assert!(matches!(refused(open(0.5, WorkingSet::Frozen(0), 1.0)), WorkloadError::None { .. }));
    let none = Clients { count: 0, popularity: Popularity::UNIFORM };
    assert!(matches!(refused(Workload { clients: none, ..good }), WorkloadError::None { .. }));
    let drifting = |objects, share, every| {
        let population = Population::Closed { objects, drift: Some(Drift { share, every }) };
        refused(Workload { population, ..closed(1, 0.8, None) })
    };
    assert!(matches!(drifting(u32::MAX, 0.1, 1000), WorkloadError::DriftObjects { .. }));
    assert!(matches!(drifting(100_000, 1.0, 1), WorkloadError::DriftSpeed { .. }));
    assert!(matches!(drifting(100, 0.1, 0), WorkloadError::None { .. }));
    assert!(matches!(drifting(100, f64::NAN, 1), WorkloadError::Range { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_workload_asks_for_what_there_is(
        seed in any::<u64>(),
        size in 1_u32..300,
        exponent in 0.0..3.0_f64,
        hot in proptest::option::of((0.001..0.999_f64, 0.0..=1.0_f64)),
        kind in 0..5_u8,
    ) {
        let hot_set = hot.map(|(objects, requests)| HotSet { objects, requests });
        let drift = (kind == 1).then_some(Drift { share: 0.5, every: 3 });
        let population = match kind {
            0 | 1 => Population::Closed { objects: size, drift },
            2 => Population::Open { recurrence: 0.6, working_set: WorkingSet::Growing },
            3 => Population::Open { recurrence: 0.6, working_set: WorkingSet::Frozen(size) },
            _ => Population::Open { recurrence: 0.6, working_set: WorkingSet::Drifting(size) },
        };
        let popularity = Popularity { exponent };
        let workload = Workload { population, popularity, hot_set, ..Workload::default() };
        let mut came = if kind < 2 { u64::from(size) } else { 0 };
        for object in objects(&workload, seed, 500) {
            prop_assert!(object < came || (kind >= 2 && object == came));
            came = came.max(object + 1);
        }
        prop_assert_eq!(objects(&workload, seed, 50), objects(&workload, seed, 50));
    }
}
