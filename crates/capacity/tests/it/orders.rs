//! Searches by windows that hold, break, and are disturbed, in any order: what they report was held
//! for a whole window, and they end within their limits. Time is that of the windows.

use plimsoll_capacity::adaptive::{self, Adaptive};
use plimsoll_capacity::calibrate::Calibrating;
use plimsoll_capacity::conduct::{Ended, Judged, Limits, Outcome, Site, conduct};
use plimsoll_capacity::ladder::{self, StepOf};
use plimsoll_capacity::ranked::Ranked;
use plimsoll_capacity::search::Search;
use plimsoll_capacity::several::Several;
use plimsoll_capacity::sustain::Sustain;
use plimsoll_capacity::window::{Offer, Phase, SLICE_S, Saturated, Second, Verdict, Window};
use plimsoll_stats::slo::Comparison;
use plimsoll_units::hash::mix;
use std::convert::Infallible;

const SEEDS: u64 = 256;
/// The bound of the SLO, under which a tenth may be slower.
const BOUND_NS: u64 = 150_000_000;
const SLO: (f64, u64) = (0.9, BOUND_NS);
/// No rate is offered above it.
const MOST: f64 = 50_000.0;
/// No search needs more windows.
const MOST_WINDOWS: usize = 20_000;

/// What a window shows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shows {
    /// The SLO holds, and the median is near the round trip.
    Held,
    /// The SLO holds, with a median far above the round trip.
    Slow,
    /// The SLO is broken by a third of the requests, with a median near the round trip.
    Tail,
    /// The SLO is broken by most requests.
    Broken,
    /// The round trip is too long in all its seconds.
    Disturbed,
    /// The generator could not keep up.
    Limited,
}

impl Shows {
    fn keeps_slo(self) -> bool {
        matches!(self, Self::Held | Self::Slow)
    }

    fn counts(self) -> bool {
        !matches!(self, Self::Disturbed | Self::Limited)
    }
}

/// A world whose windows show what a seed says.
struct Drawn {
    state: u64,
    /// Above it windows break, but for those that chance turns.
    capacity: f64,
    /// One of so many shows the opposite, and one of so many is disturbed.
    odd: (u64, u64),
    /// Whether the network alone disturbs.
    is_far: bool,
    now_s: f64,
    seen: Vec<(Offer, Shows)>,
}

impl Drawn {
    fn new(seed: u64) -> Self {
        const NEVER: u64 = 1_000_000_000;
        let odd = [(2, 5), (5, 3), (20, 8), (20, 2), (NEVER, NEVER)][seed as usize % 5];
        let is_far = seed % 5 == 3;
        let capacity = 2.0 * 1.05_f64.powi((mix(seed) % 200) as i32);
        Self { state: !seed, capacity, odd, is_far, now_s: 0.0, seen: Vec::new() }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state) % below
    }

    fn shows(&mut self, rate: f64) -> Shows {
        // The first window is of the usual network, or nobody could tell what is unusual.
        if !self.seen.is_empty() && self.draw(self.odd.1) == 0 {
            return if self.is_far || self.draw(2) == 0 {
                Shows::Disturbed
            } else {
                Shows::Limited
            };
        }
        let is_odd = self.draw(self.odd.0) == 0;
        match ((rate < self.capacity) != is_odd, self.draw(4)) {
            (true, 0) => Shows::Slow,
            (true, _) => Shows::Held,
            (false, 0) => Shows::Tail,
            (false, _) => Shows::Broken,
        }
    }
}

impl Site for Drawn {
    type Error = Infallible;

    fn window(&mut self, offer: &Offer) -> Result<Window, Infallible> {
        assert!(self.seen.len() < MOST_WINDOWS, "it does not end");
        let shows = self.shows(offer.rate_per_s);
        let was_cut = offer.may_cut && shows == Shows::Broken;
        let slices = (offer.seconds / SLICE_S).ceil();
        let seconds = if was_cut { SLICE_S } else { slices * SLICE_S };
        self.seen.push((*offer, shows));
        let start_s = self.now_s;
        self.now_s += seconds;
        Ok(window(offer, (start_s, seconds), shows, was_cut))
    }

    fn settle(&mut self) -> Result<Vec<(u64, u64)>, Infallible> {
        Ok(vec![(1, 0); self.seen.len()])
    }
}

fn window(offer: &Offer, (start_s, seconds): (f64, f64), shows: Shows, was_cut: bool) -> Window {
    let due = (offer.rate_per_s * seconds).round().max(1.0) as u64;
    let (slow, fast_ms) = match shows {
        Shows::Held | Shows::Disturbed | Shows::Limited => (0, 8),
        Shows::Slow => (0, 100),
        Shows::Tail => (due.div_ceil(3), 8),
        Shows::Broken => (due - due / 5, 8),
    };
    let mut response = Ranked::default();
    response.times.record_n(fast_ms * 1_000_000, due - slow);
    response.times.record_n(2 * BOUND_NS, slow);
    let p50_ns = response.quantile_ns(0.5);
    let rtt_ns = if shows == Shows::Disturbed { 35_000_000 } else { 5_000_000 };
    let whole = seconds.ceil().max(1.0);
    let share = |of: u64| (of as f64 / whole).round() as u64;
    let second = Second { p50_ns, due: share(due), beyond: share(slow), failed: 0, rtt_ns };
    Window {
        start_s,
        seconds,
        phase: offer.phase,
        rate_per_s: offer.rate_per_s,
        due,
        succeeded: due,
        failed: 0,
        settle_s: 0.0,
        counted_s: seconds,
        response,
        beyond: slow,
        counted_failed: 0,
        refused: 0,
        each_second: vec![second; whole as usize],
        handshakes_ns: vec![rtt_ns; 4],
        saturated: Saturated::default(),
        was_cut,
        generator_limited: shows == Shows::Limited,
        generator_late: shows == Shows::Limited,
        target_lost: false,
    }
}

/// The limits of a seed: none, of load, of overload, of both.
fn limits(seed: u64) -> Limits {
    let drawn = mix(seed ^ 0xfeed);
    let seconds = if drawn & 1 == 0 { f64::INFINITY } else { 0.5 + (drawn % 1000) as f64 * 0.7 };
    let overload_s = if drawn & 2 == 0 { f64::INFINITY } else { (drawn % 97) as f64 };
    Limits { seconds, overload_s }
}

/// A search that has ended, and what it was shown.
struct Run {
    seed: u64,
    limits: Limits,
    seen: Vec<(Offer, Shows)>,
    outcome: Outcome,
}

fn search(seed: u64, search: &mut dyn Search) -> Run {
    conducted(seed, limits(seed), Drawn::new(seed), search)
}

/// As [`search`], for a minute of load at most, and mostly on a server that keeps the SLO at the
/// highest rate: to fit a curve to hundreds of windows takes its time.
fn fitted(seed: u64, search: &mut dyn Search) -> Run {
    let (limits, mut world) = (limits(seed), Drawn::new(seed));
    if !mix(seed).is_multiple_of(8) {
        world.capacity = f64::INFINITY;
    }
    conducted(seed, Limits { seconds: limits.seconds.min(60.0), ..limits }, world, search)
}

fn conducted(seed: u64, limits: Limits, mut world: Drawn, search: &mut dyn Search) -> Run {
    let Ok(outcome) = conduct(search, &mut world, limits, &mut |_| {});
    Run { seed, limits, seen: world.seen, outcome }
}

impl Run {
    fn judged(&self) -> impl Iterator<Item = (&Offer, Shows, &Judged)> {
        assert_eq!(self.seen.len(), self.outcome.windows.len());
        self.seen.iter().zip(&self.outcome.windows).map(|((offer, of), is)| (offer, *of, is))
    }

    /// What holds of every search.
    fn check(&self) {
        let (seed, found) = (self.seed, &self.outcome.found);
        for (offer, shows, is) in self.judged() {
            assert!(offer.rate_per_s <= MOST * (1.0 + 1e-9), "{seed}: {offer:?}");
            assert!(shows.counts() || is.verdict == Verdict::Discarded, "{seed}: {is:?}");
        }
        self.repeats();
        self.ends_in_time();
        self.ends_by_rows();
        if let (Some(held), Some(broken)) = (found.held_per_s, found.broken_per_s) {
            assert!(held < broken, "{seed}: held {held}, broken {broken}");
        }
        if let Some((low, high)) = found.ci95 {
            assert!(low <= high && found.estimate_per_s.is_some(), "{seed}: {found:?}");
        }
        if self.outcome.ended == Ended::Found {
            let estimate = found.estimate_per_s.unwrap();
            let holds = found.holds.iter().map(|hold| hold.rate_per_s);
            let near = |rate: f64| rate >= 0.88 * estimate * (1.0 - 1e-9);
            let is_seen = |rate: f64| near(rate) && self.was_held_whole(rate);
            assert!(holds.into_iter().any(is_seen), "{seed}: {estimate} of {:?}", found.holds);
        }
    }

    /// Whether a rate was offered for as long as the search wanted, counted, and kept the SLO.
    fn was_held_whole(&self, rate: f64) -> bool {
        self.judged().any(|(offer, shows, is)| {
            let is_it = (offer.rate_per_s - rate).abs() < 1e-9 * rate;
            let is_whole = is.verdict != Verdict::Discarded && !self.is_short(is);
            is_it && is_whole && shows.keeps_slo()
        })
    }

    /// Whether a window was cut short by the search's time.
    fn is_short(&self, is: &Judged) -> bool {
        let end_s = is.window.start_s + is.window.seconds;
        end_s >= self.limits.seconds && self.wanted_s(is) > is.window.seconds + SLICE_S
    }

    /// How long a window would have been but for the limit: that of the ladder is known.
    fn wanted_s(&self, is: &Judged) -> f64 {
        match is.window.phase {
            Phase::Ramp | Phase::Tune if self.is_ladder() => WINDOW_S,
            // A hold lasts ten seconds at least.
            Phase::Hold => 10.0,
            _ => 0.0,
        }
    }

    fn is_ladder(&self) -> bool {
        self.seen.iter().any(|(offer, _)| offer.phase == Phase::Ramp && offer.settle_s == 0.0)
    }

    /// A window that says nothing is followed by the same one, or by none.
    fn repeats(&self) {
        for two in self.seen.windows(2) {
            let [(before, shows), (after, _)] = two else { continue };
            if !shows.counts() {
                assert_eq!(before.rate_per_s.to_bits(), after.rate_per_s.to_bits());
                let is_same = before.phase == after.phase && after.seconds <= before.seconds;
                assert!(is_same, "{}: {before:?}, {after:?}", self.seed);
            }
        }
    }

    /// It goes on for no longer than it may, and stops no sooner for a limit than that is reached.
    fn ends_in_time(&self) {
        let (seed, seconds) = (self.seed, self.outcome.seconds());
        assert!(seconds <= self.limits.seconds + SLICE_S, "{seed}: {seconds} s");
        let too_much = |of: &[Judged]| {
            let beyond = [Verdict::Beyond, Verdict::Cut, Verdict::Refused];
            let of = of.iter().filter(|is| beyond.contains(&is.verdict));
            of.map(|is| is.window.seconds).sum::<f64>()
        };
        let all = &self.outcome.windows;
        let before = too_much(&all[..all.len().saturating_sub(1)]);
        assert!(before <= 0.0 || before < self.limits.overload_s, "{seed}: {before} s");
        if self.outcome.ended == Ended::Budget {
            let is_over =
                seconds >= self.limits.seconds - SLICE_S || too_much(all) >= self.limits.overload_s;
            assert!(is_over, "{seed}: {seconds} s of {:?}", self.limits);
        }
    }

    /// It ends with the fifth disturbed window in a row, and with the third that the generator
    /// could not keep up with, where none counts between; and for no other reason as that.
    fn ends_by_rows(&self) {
        let (mut disturbed, mut limited, mut ended) = (0, 0, None);
        for (at, (_, shows)) in self.seen.iter().enumerate() {
            (disturbed, limited) = match shows {
                Shows::Disturbed => (disturbed + 1, limited),
                Shows::Limited => (0, limited + 1),
                _ => (0, 0),
            };
            ended = match (disturbed, limited) {
                (_, 3) => Some(Ended::GeneratorLimited),
                (5, _) => Some(Ended::UnstableNetwork),
                _ => None,
            };
            assert!(ended.is_none() || at + 1 == self.seen.len(), "{}: it went on", self.seed);
        }
        let by_rows = [Ended::GeneratorLimited, Ended::UnstableNetwork];
        let is = Some(self.outcome.ended).filter(|is| by_rows.contains(is));
        assert_eq!(is, ended, "{}", self.seed);
    }
}

const WINDOW_S: f64 = 10.0;

fn ladder(near_rtt: bool, first: &[f64]) -> Several {
    let settings = ladder::Settings {
        slo: SLO,
        comparison: Comparison::Below,
        start_per_s: 20.0,
        window_s: WINDOW_S,
        tuning: 0.2,
        near_rtt_ns: near_rtt.then_some(10_000_000),
        step_of: StepOf::Gap,
        max_rate_per_s: Some(MOST),
    };
    Several::new(settings, first)
}

fn settings() -> adaptive::Settings {
    adaptive::Settings {
        slo: SLO,
        start_per_s: 20.0,
        precision: 0.1,
        most_errors: None,
        max_rate_per_s: Some(500.0),
    }
}

#[test]
fn a_ladder_reports_only_what_a_whole_window_kept() {
    let mut ended = std::collections::BTreeMap::new();
    for seed in 0..SEEDS {
        for near_rtt in [false, true] {
            let run = search(seed, &mut ladder(near_rtt, &[]));
            run.check();
            let found = &run.outcome.found;
            for rate in [found.held_per_s, found.lower_bound_per_s].into_iter().flatten() {
                assert!(run.was_held_whole(rate), "{seed}: {rate} was not held: {found:?}");
            }
            let is_at_least = found.bound() != Some(plimsoll_capacity::search::Bound::AtMost);
            if let Some(estimate) = found.estimate_per_s.filter(|_| is_at_least) {
                assert!(run.was_held_whole(estimate), "{seed}: {estimate} was not held");
            }
            *ended.entry(run.outcome.ended.name()).or_insert(0) += 1;
        }
    }
    assert!(ended.len() >= 5 && ended["found"] > 20, "{ended:?}");
}

#[test]
fn ladders_from_several_rates_report_what_one_of_them_kept() {
    for seed in 0..SEEDS {
        let run = search(seed, &mut ladder(seed % 2 == 0, &[5.0, 80.0, 333.0]));
        run.check();
        let held = run.outcome.found.held_per_s;
        assert!(held.is_none_or(|held| run.was_held_whole(held)), "{seed}: {held:?}");
    }
}

#[test]
fn an_adaptive_search_says_found_only_of_what_was_held() {
    let mut ended = std::collections::BTreeMap::new();
    for seed in 0..SEEDS {
        let run = fitted(seed, &mut Adaptive::new(settings()));
        run.check();
        *ended.entry(run.outcome.ended.name()).or_insert(0) += 1;
    }
    assert!(ended.len() >= 5 && ended["found"] > 20, "{ended:?}");
}

#[test]
fn a_capacity_that_is_sustained_was_held_to_the_end() {
    let (mut lasted, hold_s) = (0, 15.0);
    for seed in 0..SEEDS {
        let run = fitted(seed, &mut Sustain::new(settings(), hold_s));
        run.check();
        let sustained = run.outcome.found.sustained.as_deref();
        let Some(of) = sustained.filter(|of| of.sustained_per_s.is_some()) else { continue };
        lasted += 1;
        assert!(of.held_s >= hold_s, "{seed}: {of:?}");
        // What was offered while it was held, as the last of it.
        let held = run.judged().filter(|(offer, ..)| offer.phase == Phase::Hold);
        let held: f64 = held.map(|(_, _, is)| is.window.seconds).sum();
        assert!(held >= hold_s, "{seed}: {held} s");
    }
    assert!(lasted > 20, "{lasted} lasted");
}

#[test]
fn calibration_changes_nothing_that_was_found() {
    for seed in 0..SEEDS {
        let alone = search(seed, &mut ladder(false, &[]));
        let search_of = Box::new(ladder(false, &[]));
        let run = search(seed, &mut Calibrating::after(search_of, SLO));
        run.check();
        let is_whole = alone.outcome.ended == Ended::Found && run.outcome.ended == Ended::Found;
        if is_whole {
            assert_eq!(run.outcome.found.estimate_per_s, alone.outcome.found.estimate_per_s);
        }
    }
}
