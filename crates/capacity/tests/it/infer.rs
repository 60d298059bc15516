//! The load from response times: what calibrates, what is answered and declined, and that
//! intervals cover, on simulated queues and with fixed seeds.

use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::calibrate::{Calibrating, SHARES};
use plimsoll_capacity::conduct::{Limits, conduct};
use plimsoll_capacity::infer::calibration::{Calibration, CalibrationError, Level};
use plimsoll_capacity::infer::estimate::{Probe, Table};
use plimsoll_capacity::infer::model::Model;
use plimsoll_capacity::infer::over_time::{Stretch, Stretches};
use plimsoll_capacity::infer::probing::{Probing, Settings, Step, Why};
use plimsoll_capacity::result::CapacityResult;
use plimsoll_capacity::search::Search;
use plimsoll_capacity::simulated::Simulated;
use plimsoll_runs::{ErrorKind, Interval, Phase, Sample, Tag};
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use proptest::prelude::*;
use std::num::NonZeroU32;
use std::sync::OnceLock;

const BOUND_NS: u64 = 30_000_000;

fn queue(workers: u32) -> ServiceModel {
    let mut model = ServiceModel::new(ServiceTime::Law(Distribution::parse("exp:4ms").unwrap()));
    model.cores = NonZeroU32::new(workers).unwrap();
    model
}

fn search(workers: u32, calibrate: bool, seed: u64) -> CapacityResult {
    let slo = (0.9, BOUND_NS);
    let settings = adaptive::Settings {
        slo,
        start_per_s: 10.0,
        precision: 0.05,
        most_errors: None,
        max_rate_per_s: None,
    };
    let mut search: Box<dyn Search> = Box::new(Adaptive::new(settings));
    if calibrate {
        search = Box::new(Calibrating::after(search, slo));
    }
    let mut world = Simulated::new(queue(workers), BOUND_NS, seed);
    let Ok(outcome) = conduct(search.as_mut(), &mut world, Limits::default(), &mut |_| {});
    CapacityResult::of(&outcome, "adaptive", "p90<30ms")
}

/// A search on M/M/1, made once.
fn single() -> &'static CapacityResult {
    static RESULT: OnceLock<CapacityResult> = OnceLock::new();
    RESULT.get_or_init(|| search(1, true, 1))
}

/// What is said of a load, with the usual settings.
fn infer(workers: u32, calibration: &Calibration, load: f64, seed: u64) -> (Step, u64) {
    let mut world = Simulated::new(queue(workers), BOUND_NS, seed);
    world.load(load, 20.0);
    let rate_per_s = 0.01 * calibration.capacity_per_s;
    let settings = Settings { probes: 2000, rate_per_s, within: 0.1 };
    let mut probing = Probing::new(calibration, settings).unwrap();
    let mut step = probing.next(None);
    while let Step::Probe(n) = step {
        let probe = |(due_s, s): (f64, f64)| Probe { due_s, response_s: Some(s) };
        let seen = world.probe(load, rate_per_s, usize::try_from(n).unwrap());
        step = probing.next(Some(&seen.into_iter().map(probe).collect::<Vec<_>>()));
    }
    (step, probing.probes())
}

#[test]
fn a_search_that_calibrates_looks_at_low_loads_and_finds_the_same() {
    let (plain, more) = (search(4, false, 3), search(4, true, 3));
    assert_eq!(plain.estimate_per_s, more.estimate_per_s);
    assert_eq!(plain.windows[..], more.windows[..plain.windows.len()]);
    let extra = &more.windows[plain.windows.len()..];
    let estimate = more.estimate_per_s.unwrap();
    let shares: Vec<f64> = extra.iter().map(|w| w.offered_per_s / estimate).collect();
    assert_eq!(shares.len(), SHARES.len());
    assert!(shares.iter().zip(SHARES).all(|(a, b)| (a - b).abs() < 1e-9), "{shares:?}");
    assert!(extra.iter().all(|w| w.phase == "calibrate" && w.verdict == "within"), "{extra:?}");
}

/// Far fewer repetitions than the bench's, and a bound that 40 true intervals of 95% fail to keep
/// once in 20,000 times.
#[test]
fn answers_cover_and_are_as_narrow_as_asked_for() {
    let (mut answered, mut covered) = (0, 0);
    for seed in 0..10 {
        let calibration = Calibration::of(&search(1, true, seed)).unwrap();
        for (number, load) in [70.0, 104.0, 138.0, 164.0].into_iter().enumerate() {
            let (step, probes) = infer(1, &calibration, load, 100 * seed + number as u64);
            assert!(probes <= 2000);
            let Step::Done(estimate) = step else { continue };
            let (low, high) = estimate.ci95;
            assert!(low <= estimate.load_per_s && estimate.load_per_s <= high);
            assert!(high - low <= 0.2 * calibration.capacity_per_s + 1e-9);
            answered += 1;
            covered += u32::from(low <= load && load <= high);
        }
    }
    assert!(answered >= 34 && covered * 100 >= answered * 82, "{covered} of {answered}");
}

/// M/M/1 as a search sees it that looks at low loads briefly and then close to the line: the means
/// are exact, but what stands for the service time has waited, at a fifth of the load.
#[test]
fn what_waits_at_low_load_is_not_taken_for_service() {
    let (saturation, bound_s) = (250.0, 0.15);
    let mean = |rate: f64| (1.0 - f64::exp(-(saturation - rate) * bound_s)) / (saturation - rate);
    let level = |&(rate, seconds): &(f64, f64)| {
        let (n, mean) = (rate * seconds, mean(rate));
        Level { rate, seconds, n, mean, sd: mean }
    };
    let seen = [(8.0, 1.0), (16.0, 1.0), (50.0, 4.0), (64.0, 1.0), (128.0, 1.0)];
    let near = [(218.0, 8.0), (222.0, 8.0), (226.0, 16.0)];
    let quantile = |k: u32| -libm::log(1.0 - (f64::from(k) + 0.5) / 20.0) * mean(50.0);
    let calibration = Calibration {
        capacity_per_s: 234.6,
        uncertainty: Some(0.04),
        saturation_per_s: Some(saturation),
        bound_s,
        longest_s: 1.0,
        levels: seen.iter().chain(&near).map(level).collect(),
        service_s: (0..20).map(quantile).collect(),
        has_low_loads: false,
    };
    let model = Model::fit(&calibration).unwrap();
    for share in [0.0, 0.3, 0.5, 0.7, 0.8, 0.9] {
        let rate = share * calibration.capacity_per_s;
        let off = model.mean(rate) / mean(rate) - 1.0;
        // Taken for service, it is 4% too slow without load and 2.2% too fast in the middle.
        assert!(off.abs() < 0.02, "{off} at {share}");
    }
}

/// At a fifth of the capacity 2,000 probes are hardly enough. Those whose probes were fast by
/// chance have an interval that is cut off at no load at all; narrow for that, seven of 240 were
/// answered, and missed. Of a server that is nearly idle such an interval is an answer.
#[test]
fn an_interval_that_is_narrow_for_being_cut_off_is_an_answer_of_idle_servers_only() {
    let (mut missed, mut idle) = (0, 0);
    for seed in 0..6 {
        let calibration = Calibration::of(&search(1, true, seed)).unwrap();
        let answer = |load, number| match infer(1, &calibration, load, 1000 + 40 * seed + number).0
        {
            Step::Done(estimate) => Some(estimate.ci95),
            _ => None,
        };
        let misses = |(low, high): (f64, f64)| low > 34.6 || high < 34.6;
        missed +=
            (0..40).filter_map(|number| answer(34.6, number)).filter(|ci| misses(*ci)).count();
        idle += (0..4).filter_map(|number| answer(1.0, number)).count();
    }
    assert!(missed == 0 && idle >= 6, "{missed} missed, {idle} of 24 idle ones answered");
}

#[test]
fn a_flat_curve_is_declined_with_the_number_of_probes_it_would_take() {
    let calibration = Calibration::of(&search(4, true, 5)).unwrap();
    let (step, probes) = infer(4, &calibration, 175.0, 6);
    let Step::Declined(declined) = step else { panic!("{step:?}") };
    assert!(matches!(declined.why, Why::Flat | Why::Coarse), "{declined:?}");
    assert!(probes < 2000, "it saw so early: {probes}");
    // More than may be sent, whatever the slope of so flat a curve was taken for.
    let at_best = declined.probes_needed_at_best.unwrap();
    assert!(at_best > 4_000, "{at_best}");
    let (low, high) = declined.known.unwrap().ci95;
    assert!(low <= 175.0 && 175.0 <= high);
}

#[test]
fn probes_faster_and_slower_than_any_load_are_not_answered() {
    let calibration = Calibration::of(single()).unwrap();
    let settings = Settings { probes: 400, rate_per_s: 2.0, within: 0.1 };
    let all = |response_s: Option<f64>| {
        let mut probing = Probing::new(&calibration, settings).unwrap();
        assert_eq!(probing.next(None), Step::Probe(200));
        let probe = |n: u32| Probe { due_s: f64::from(n), response_s };
        match probing.next(Some(&(0..200).map(probe).collect::<Vec<_>>())) {
            Step::Declined(declined) => declined.why,
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(all(Some(0.0001)), Why::Faster);
    assert_eq!(all(Some(1.0)), Why::Slower);
    assert_eq!(all(None), Why::Unanswered);
}

#[test]
fn ended_early_it_says_what_is_known() {
    let calibration = Calibration::of(single()).unwrap();
    let settings = Settings { probes: 2000, rate_per_s: 2.0, within: 0.1 };
    let mut probing = Probing::new(&calibration, settings).unwrap();
    let probe = |n: u32| Probe { due_s: f64::from(n), response_s: Some(0.004) };
    let step = probing.next(Some(&(0..20).map(probe).collect::<Vec<_>>()));
    assert_eq!(step, Step::Probe(180));
    let Step::Declined(declined) = probing.conclude() else { panic!("it has an answer") };
    assert_eq!(declined.why, Why::Ended);
    assert!(declined.known.is_some() && declined.probes_needed_at_best.is_some());
}

/// The probes of a load, as a run sees them: those due in one second after the other, with what had
/// ended by then and what had not.
fn watched(stretches: &mut Stretches, probes: &[(f64, f64)], until_s: u64) -> Vec<Stretch> {
    let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
    let mut over = Vec::new();
    for second in 0..until_s {
        let (from_ns, until_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
        let at = |&(due, took): &(f64, f64)| (nanoseconds(due), nanoseconds(due + took));
        let ended = probes.iter().map(at).filter(|(_, done)| (from_ns..until_ns).contains(done));
        let samples: Vec<Sample> = ended.map(|(due, done)| sample(due, done)).collect();
        let out = probes.iter().map(at).filter(|(due, done)| *due < until_ns && *done >= until_ns);
        let oldest = out.clone().map(|(due, _)| due).min();
        let interval = Interval {
            start_ns: from_ns,
            len_ns: SECOND_NS,
            in_flight: out.count() as u64,
            oldest_outstanding_ns: oldest.map_or(0, |due| until_ns - due),
            ..Interval::default()
        };
        stretches.take(&samples);
        over.extend(stretches.second(&interval));
    }
    over
}

const SECOND_NS: u64 = 1_000_000_000;

fn sample(due_ns: u64, done_ns: u64) -> Sample {
    Sample {
        due_ns,
        sent_ns: due_ns,
        first_byte_ns: done_ns,
        done_ns,
        bytes: 1,
        request: 0,
        name: plimsoll_runs::names::NO_NAME,
        connection: 1,
        status: 200,
        phase: Phase::Measured,
        error: None,
        trace: None,
    }
}

/// Stretches of 20 s with 400 probes each.
fn stretches(calibration: &Calibration) -> Stretches {
    let settings = Settings { probes: 400, rate_per_s: 20.0, within: 0.2 };
    Stretches::new(calibration, settings, 20 * SECOND_NS).unwrap()
}

/// Each step of a load is told from the first stretch on that lies behind it.
#[test]
fn steps_of_a_load_are_told_over_time() {
    let calibration = Calibration::of(single()).unwrap();
    let mut world = Simulated::new(queue(1), BOUND_NS, 8);
    let steps = [110.0, 30.0, 140.0, 80.0];
    let probes: Vec<(f64, f64)> =
        steps.iter().flat_map(|load| world.probe(*load, 20.0, 1200)).collect();
    let mut stretches = stretches(&calibration);
    let mut over = watched(&mut stretches, &probes, 230);
    over.extend(stretches.end(235 * SECOND_NS));
    assert_eq!(over.len(), 11, "what was cut is no stretch");
    let step_of = |at_ns: u64| probes.partition_point(|(due, _)| *due < at_ns as f64 / 1e9) / 1200;
    let (mut told, mut covered) = (0, 0);
    for (number, stretch) in (1..).zip(&over) {
        assert_eq!((stretch.number, stretch.until_ns), (number, number * 20 * SECOND_NS));
        let (first, last) = (step_of(stretch.from_ns), step_of(stretch.until_ns - 1));
        let Step::Done(estimate) = &stretch.step else { continue };
        if first == last {
            told += 1;
            let (low, high) = estimate.ci95;
            covered += u32::from(low <= steps[first] && steps[first] <= high);
        }
    }
    assert!(told >= 6 && covered + 1 >= told, "{covered} of {told}: {over:?}");
}

/// A server that answers no more is slower than ever, as soon as that is certain, and goes on to be
/// told when it answers again; what comes late is of no stretch.
#[test]
fn a_server_that_hangs_says_nothing_and_that_is_told() {
    let calibration = Calibration::of(single()).unwrap();
    let mut world = Simulated::new(queue(1), BOUND_NS, 9);
    let mut probes = world.probe(100.0, 20.0, 2400);
    // From 30 s to 75 s nobody is answered.
    for (due, took) in &mut probes {
        *took = if (30.0..75.0).contains(due) { 75.0 - *due + *took } else { *took };
    }
    let mut stretches = stretches(&calibration);
    let over = watched(&mut stretches, &probes, 118);
    let why = |stretch: &Stretch| match &stretch.step {
        Step::Declined(declined) => Some(declined.why),
        _ => None,
    };
    let all: Vec<Option<Why>> = over.iter().map(why).collect();
    // In the fourth, what had piled up was answered.
    assert_eq!(all[..3], [None, Some(Why::Slower), Some(Why::Slower)]);
    assert_eq!(all[3], Some(Why::Stalled));
    assert_eq!((all.len(), all[4], over[4].failed), (5, None, 0));
}

#[test]
fn moments_that_say_nothing_say_why() {
    let calibration = Calibration::of(single()).unwrap();
    let every = |probes: &[(f64, f64)]| {
        let mut stretches = stretches(&calibration);
        assert_eq!(watched(&mut stretches, probes, 22), [], "it may have been cut");
        stretches.end(20 * SECOND_NS).into_iter().next()
    };
    let constant = |took: f64, n: u32| -> Vec<(f64, f64)> {
        (0..n).map(|k| (f64::from(k) * 19.9 / f64::from(n), took)).collect()
    };
    let why = |stretch: Option<Stretch>| match stretch.map(|of| of.step) {
        Some(Step::Declined(declined)) => declined.why,
        step => panic!("{step:?}"),
    };
    assert_eq!(why(every(&constant(0.0001, 400))), Why::Faster);
    assert_eq!(why(every(&constant(0.9, 400))), Why::Slower);
    assert_eq!(why(every(&constant(0.006, 60))), Why::Few);
    assert_eq!(why(every(&[])), Why::Unanswered);
    // A generator that was late itself has its own delay in all of them.
    let mut stretches = stretches(&calibration);
    let samples: Vec<Sample> =
        (0..400).map(|n| sample(n * 49_000_000, n * 49_000_000 + 6_000_000)).collect();
    stretches.take(&samples);
    let mut late = Interval { len_ns: SECOND_NS, ..Interval::default() };
    late.phases[Phase::Measured as usize].histograms[Tag::Lateness as usize]
        .record_n(5_000_000, 20);
    stretches.second(&late);
    assert_eq!(why(stretches.end(20 * SECOND_NS).into_iter().next()), Why::Late);
}

fn why(stretch: &Stretch) -> Option<Why> {
    match &stretch.step {
        Step::Declined(declined) => Some(declined.why),
        _ => None,
    }
}

/// Probes that fail at once are fast, and those that wait for a server that stands still are slow:
/// neither says how many others there are.
#[test]
fn failures_and_a_server_that_stands_still_for_a_while_are_no_load() {
    let calibration = Calibration::of(single()).unwrap();
    let probes = Simulated::new(queue(1), BOUND_NS, 8).probe(60.0, 20.0, 400);
    let judged = |fails: &dyn Fn(usize) -> bool, took: &dyn Fn(f64, f64) -> f64| {
        let mut stretches = stretches(&calibration);
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let samples = probes.iter().enumerate().map(|(number, &(due, response))| {
            let of = sample(ns(due), ns(due + took(due, response)));
            Sample { error: fails(number).then_some(ErrorKind::Status), ..of }
        });
        stretches.take(&samples.collect::<Vec<_>>());
        stretches.end(20 * SECOND_NS).remove(0)
    };
    let as_it_is = |_: f64, response: f64| response;
    let mended = judged(&|_| false, &as_it_is);
    assert_ne!(why(&mended), Some(Why::Failing));
    let failing = judged(&|number| number % 20 == 0, &as_it_is);
    assert_eq!(why(&failing), Some(Why::Failing));
    assert!((15..=20).contains(&failing.failed), "{}", failing.failed);
    // One in 400 is no more than a hiccup.
    assert_eq!(why(&judged(&|number| number == 7, &as_it_is)), why(&mended));
    let longest = calibration.longest_s;
    let stands = |due: f64, response: f64| match due {
        5.0..12.0 => 12.0 - due + response,
        _ => response,
    };
    assert!(longest < 3.0, "{longest}");
    assert_eq!(why(&judged(&|_| false, &stands)), Some(Why::Stalled));
    // What was waited for in vain, for longer than the bound, has taken so long.
    let slow = judged(&|_| true, &|_, _| 2.0 * calibration.bound_s);
    assert_eq!((why(&slow), slow.failed), (Some(Why::Slower), 0));
}

/// Few requests are late by themselves where this program stood still: the others waited for a
/// connection.
#[test]
fn a_program_that_stood_still_says_so_of_every_moment_that_it_did_so_in() {
    let calibration = Calibration::of(single()).unwrap();
    let settings = Settings { probes: 200, rate_per_s: 80.0, within: 0.2 };
    let probes = Simulated::new(queue(1), BOUND_NS, 8).probe(20.0, 80.0, 600);
    let mut stretches = Stretches::new(&calibration, settings, 5 * SECOND_NS / 2).unwrap();
    let samples: Vec<Sample> = probes
        .iter()
        .map(|(due, took)| sample((due * 1e9) as u64, ((due + took) * 1e9) as u64))
        .collect();
    stretches.take(&samples);
    for second in 0..7 {
        let mut of =
            Interval { start_ns: second * SECOND_NS, len_ns: SECOND_NS, ..Interval::default() };
        let late = &mut of.phases[Phase::Measured as usize].histograms[Tag::Lateness as usize];
        late.record_n(20_000, 80);
        late.record_n(400_000_000, if second == 2 { 4 } else { 0 });
        assert!(second > 0 || stretches.second(&of).is_empty());
        if second > 0 {
            let over = stretches.second(&of);
            let late = over.iter().filter(|of| why(of) == Some(Why::Late));
            let late: Vec<u64> = late.map(|of| of.number).collect();
            // The third second lies in the first stretch and in the second.
            let wanted: &[u64] = match over.first().map(|of| of.number) {
                Some(number @ 1..=2) => &[number],
                _ => &[],
            };
            assert_eq!(late, wanted, "{over:?}");
        }
    }
}

/// Where there are connections for what is due and nobody sends it, the server is not to blame.
#[test]
fn a_program_that_sleeps_does_not_blame_the_server() {
    let calibration = Calibration::of(single()).unwrap();
    for (in_flight, wanted) in [(8, Why::Slower), (0, Why::Late)] {
        let mut stretches = stretches(&calibration);
        let second = Interval {
            start_ns: 59 * SECOND_NS,
            len_ns: SECOND_NS,
            waiting: 700,
            connections: 8,
            in_flight,
            oldest_outstanding_ns: 55 * SECOND_NS,
            ..Interval::default()
        };
        let over = stretches.second(&second);
        assert_eq!(over.iter().map(why).collect::<Vec<_>>(), [Some(wanted); 3]);
    }
}

#[test]
fn too_few_windows_and_no_capacity_are_refused() {
    let mut few = single().clone();
    few.windows.truncate(3);
    let refused = Calibration::of(&few).unwrap_err();
    assert!(matches!(refused, CalibrationError::TooFewWindows { windows: 3, .. }), "{refused}");
    let mut none = single().clone();
    (none.estimate_per_s, none.ended) = (None, "slo_unreachable".to_owned());
    let refused = Calibration::of(&none).unwrap_err();
    assert!(matches!(refused, CalibrationError::NoCapacity { .. }), "{refused}");
}

/// What ended before its last window has not seen the loads it would have looked at.
#[test]
fn low_loads_that_were_looked_at_in_part_do_not_count() {
    let mut part = single().clone();
    assert!(Calibration::of(&part).unwrap().has_low_loads);
    part.windows.pop();
    assert!(!Calibration::of(&part).unwrap().has_low_loads);
}

#[test]
fn windows_that_are_not_steady_do_not_calibrate() {
    let whole = Calibration::of(single()).unwrap();
    let mut changed = single().clone();
    let steady = changed.windows.iter().position(|w| w.phase == "calibrate").unwrap();
    for verdict in ["discarded", "cut", "refused"] {
        verdict.clone_into(&mut changed.windows[steady].verdict);
        let levels = Calibration::of(&changed).unwrap().levels.len();
        assert_eq!(levels, whole.levels.len() - 1, "{verdict}");
    }
    changed.windows[steady].verdict = "within".to_owned();
    changed.windows[steady].phase = "recover".to_owned();
    assert_eq!(Calibration::of(&changed).unwrap().levels.len(), whole.levels.len() - 1);
    changed.windows[steady].phase = "search".to_owned();
    changed.windows[steady].offered_per_s = 249.0;
    assert_eq!(Calibration::of(&changed).unwrap().levels.len(), whole.levels.len() - 1);
}

#[test]
fn values_that_no_search_writes_are_refused_with_their_place() {
    let change = |wrong: &dyn Fn(&mut CapacityResult)| {
        let mut result = single().clone();
        wrong(&mut result);
        Calibration::of(&result).unwrap_err().to_string()
    };
    let said = change(&|result| result.windows[1].offered_per_s = -1.0);
    assert!(said.starts_with("window 2 of `windows`, `offered_per_s`"), "{said}");
    let said = change(&|result| result.estimate_per_s = Some(f64::NAN));
    assert!(said.starts_with("estimate_per_s"), "{said}");
    let said = change(&|result| {
        result.windows[0].percentiles_us.insert(1, Some(1e9));
    });
    assert!(said.contains("`percentiles_us`"), "{said}");
    let said = change(&|result| result.slo = "errors<1%".to_owned());
    assert!(said.starts_with("slo"), "{said}");
}

proptest! {
    // Each case is a search.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The model rises with the load, whatever the search was.
    #[test]
    fn the_mean_rises_with_the_load(seed in 0_u64..6, workers in 1_u32..6) {
        let calibration = Calibration::of(&search(workers, false, seed));
        prop_assume!(calibration.is_ok());
        let model = Model::fit(&calibration.unwrap()).unwrap();
        let means: Vec<f64> =
            (0..100).map(|k| model.mean(0.01 * f64::from(k) * model.saturation())).collect();
        prop_assert!(means.is_sorted(), "{means:?}");
    }

}

proptest! {
    /// More probes never make the interval wider, and the number that is needed is enough.
    #[test]
    fn what_is_needed_is_enough(share in 0.3_f64..0.95, half in 0.05_f64..0.3) {
        let calibration = Calibration::of(single()).unwrap();
        let model = Model::fit(&calibration).unwrap();
        let table = Table::of(&model, 1.7, 1000.0, calibration.bound_s);
        let (load, half) = (share * 170.0, half * 170.0);
        prop_assert!(table.half_width(load, 4000.0) <= table.half_width(load, 1000.0) + 1e-6);
        let (needed, at_best) = table.needed(load, half);
        if let Some(needed) = needed {
            prop_assert!(table.half_width(load, needed) <= half + 1e-6);
            prop_assert!(at_best.unwrap() <= 1.02 * needed);
        }
    }

    /// Whatever a file says, it is refused or gives finite figures: no panic, no NaN.
    #[test]
    fn a_changed_result_is_refused_or_gives_figures(
        window in 0_usize..20,
        value in prop_oneof![Just(0.0), Just(-1.0), Just(1e300), Just(1e-300), 0.0..1e6_f64],
        what in 0..8,
    ) {
        let mut result = single().clone();
        let at = window % result.windows.len();
        let one = &mut result.windows[at];
        match what {
            0 => one.offered_per_s = value,
            1 => one.seconds = value,
            2 => one.response_us.mean = Some(value),
            3 => one.response_us.stddev = Some(value),
            4 => one.response_us.count = u64::MAX,
            5 => one.percentiles_us.clear(),
            6 => result.saturation_per_s = Some(value),
            _ => result.estimate_per_s = Some(value),
        }
        if let Ok(calibration) = Calibration::of(&result)
            && let Ok(model) = Model::fit(&calibration)
        {
            let table = Table::of(&model, 1.0, 100.0, calibration.bound_s);
            let probe = Probe { due_s: 0.0, response_s: Some(0.01) };
            let estimate = table.estimate(&[probe; 100]).unwrap();
            prop_assert!(estimate.load_per_s.is_finite());
            prop_assert!(estimate.ci95.0.is_finite() && estimate.ci95.1.is_finite());
        }
    }
}
