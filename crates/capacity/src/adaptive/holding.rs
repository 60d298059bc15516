//! The end of a search: its estimate is held, and the search goes on without a curve where that
//! broke, or where the windows near the line say otherwise than the interval does.
//!
//! A search steers by the curve of a queue as long as nothing contradicts it. What does: requests
//! that are refused at once, since they wait in no queue; errors that break the SLO before response
//! times do; a disturbance that comes again; a hold that broke; requests beyond the SLO that come
//! in clumps far below the line, as no queue makes them; windows near the line whose share beyond
//! the SLO lies outside all that the interval allows. From then on it goes by what is seen
//! near the line alone ([`super::local`]), and cuts no window short: to end a window where a pause
//! begins is to choose.

use super::local::{FLAT, Local, STEEP};
use super::pauses::{LEAST_WINDOWS, Pauses};
use super::residuals::Expectation;
use super::{AGAIN, Adaptive, MOST_SECONDS, State};
use crate::bracket::Bracket;
use crate::goal::Clause;
use crate::hold::{self, Hold};
use crate::pooled::Pooled;
use crate::search::{Check, SearchEstimate};
use crate::window::{Phase, SLICE_S, Window};

/// So many holds at most break, and so many are made in all.
const MOST_BROKEN: usize = 3;
const MOST_HOLDS: usize = 5;
/// Requests that are refused are what breaks the SLO where they are at least so many, and this
/// share of all that were beyond its bound.
const REFUSED: u64 = 10;
const REFUSED_SHARE: f64 = 0.25;
/// A search without a curve ends after so many seconds, however precise; and before so many windows
/// it does not.
const MOST_LOCAL_S: f64 = 400.0;
const LEAST_LOCAL: u32 = 8;
/// Before so many, where they are as long as several pauses of the server are apart.
const FEW_LOCAL: u32 = 5;
/// Its windows are at these shares of the line, in turn; at the second ones where it is not known
/// to this.
const SHARES: [f64; 3] = [0.93, 1.02, 0.98];
const WIDE_SHARES: [f64; 3] = [0.85, 1.05, 0.95];
const WIDE: f64 = 0.12;
/// They take so many units; more where requests beyond come in clumps, since each window then has a
/// few of these instead of one or none.
const USUAL: f64 = 4.0;
const LONGER: f64 = 16.0;
/// A line whose logit rises by more than this over ln λ is looked at from nearer.
const TOO_STEEP: f64 = 14.0;
/// A hold that broke is a bound: windows after it are this far below.
const BELOW_BROKEN: f64 = 0.99;
/// Where the server pauses and no long window broke the SLO, the next one is so much higher.
const HIGHER: f64 = 1.4;

/// How a search goes on that has no curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WithoutCurve {
    /// What is seen near the line; `None` where nothing can be said.
    pub(super) line: Option<Local>,
    /// Load time when it began, seconds; and windows since.
    since_s: f64,
    windows: u32,
    /// How long its windows are.
    units: f64,
    /// The pauses of the server, where it makes some; what is said then goes by windows that are
    /// longer than these are apart.
    pauses: Option<Pauses>,
}

/// A load line with its interval.
struct Line {
    per_s: f64,
    half: f64,
    ci95: (f64, f64),
}

impl Adaptive {
    /// From now on the search goes without a curve.
    pub(super) fn leave_curve(&mut self) {
        if self.without_curve.is_none() {
            // What was set aside as a disturbance is the server's.
            self.windows.append(&mut self.set_aside);
            self.windows.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
            let line = Local::of(&self.windows, &self.goal(), STEEP);
            let (since_s, units) = (self.seconds, USUAL);
            let (windows, pauses) = (0, None);
            self.without_curve = Some(WithoutCurve { line, since_s, windows, units, pauses });
            self.find_pauses();
        }
    }

    /// Goes on without a curve, and by long windows, where the server pauses every so often.
    pub(super) fn find_pauses(&mut self) -> bool {
        if self.without_curve.is_some_and(|of| of.pauses.is_some()) {
            return false;
        }
        let mut all = [&self.windows[..], &self.set_aside].concat();
        all.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        let Some(pauses) = Pauses::of(&all, &self.goal()) else { return false };
        self.leave_curve();
        let (since_s, unit_s) = (self.seconds, self.unit_s());
        if let Some(without) = &mut self.without_curve {
            without.units = without.units.max(pauses.window_s() / unit_s);
            (without.pauses, without.windows, without.since_s) = (Some(pauses), 0, since_s);
        }
        true
    }

    /// Whether what was seen may be pauses of the server, and too few to tell.
    fn may_pause(&self) -> bool {
        let mut all = [&self.windows[..], &self.set_aside].concat();
        all.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
        Pauses::may_be(&all, &self.goal())
    }

    /// How many units a window takes, where the server pauses.
    pub(super) fn units_for_pauses(&self) -> Option<f64> {
        self.without_curve.filter(|of| of.pauses.is_some()).map(|of| of.units)
    }

    /// The windows that tell what the server can do: all, or those that pauses are not too far
    /// apart for.
    fn telling(&self) -> Vec<Window> {
        let pauses = self.without_curve.and_then(|of| of.pauses);
        let is_telling = |of: &&Window| pauses.is_none_or(|pauses| pauses.is_whole(of));
        self.windows.iter().filter(is_telling).cloned().collect()
    }

    /// Fits anew what goes without a curve; whether that is how the search goes.
    pub(super) fn refit_without_curve(&mut self) -> bool {
        if self.without_curve.is_none() && self.is_refused() {
            self.leave_curve();
        }
        let goal = self.goal();
        if self.without_curve.is_none() {
            return false;
        }
        let pauses = self.without_curve.and_then(|of| of.pauses);
        let steepness = if pauses.is_some() { FLAT } else { STEEP };
        let line = Local::of(&self.telling(), &goal, steepness);
        if let Some(without) = &mut self.without_curve {
            without.line = line;
        }
        true
    }

    /// Whether what breaks the SLO is not waiting: requests are refused, or errors break it before
    /// response times do.
    fn is_refused(&self) -> bool {
        let of_use = || self.windows.iter().filter(|window| window.phase != Phase::Recover);
        let sum = |of: fn(&Window) -> u64| of_use().map(of).sum::<u64>();
        let (refused, beyond) = (sum(|window| window.refused), sum(|window| window.beyond));
        let is_much = refused >= REFUSED && refused as f64 > REFUSED_SHARE * beyond as f64;
        let goal = self.goal();
        let by_errors = |window: &Window| {
            let mut clauses = goal.clauses();
            let slow = |clause: Clause| clause.is_beyond(window.counted(), clause.hits(window));
            !clauses.next().is_some_and(slow) && clauses.next().is_some_and(slow)
        };
        is_much || of_use().any(by_errors)
    }

    /// The load line as it is known now. A hold that broke says that it lies below that rate; where
    /// the interval says so too, the estimate does.
    fn known(&self) -> Option<Line> {
        let mut line = self.estimated()?;
        let below = BELOW_BROKEN * self.lowest_broken().unwrap_or(f64::INFINITY);
        if line.ci95.0 <= below {
            line.per_s = line.per_s.min(below);
        }
        Some(line)
    }

    /// The load line of the curve, or of what is seen near it.
    fn estimated(&self) -> Option<Line> {
        if let Some(without) = &self.without_curve {
            if without.pauses.is_some() && self.telling().len() < LEAST_WINDOWS {
                return None;
            }
            let line = without.line.as_ref()?;
            let (per_s, half) = (line.line_per_s, line.half_width());
            return Some(Line { per_s, half, ci95: line.ci95() });
        }
        let fit = self.fit.as_ref()?;
        Some(Line { per_s: fit.line_per_s, half: fit.half_width(), ci95: fit.ci95() })
    }

    /// The next window of a search without a curve: rate and seconds.
    pub(super) fn next_without_curve(&self, without: &WithoutCurve) -> (f64, f64) {
        let at = without.windows as usize % SHARES.len();
        let (rate, units) = match &without.line {
            Some(line) => {
                let shares = if line.half_width() <= WIDE { SHARES } else { WIDE_SHARES };
                let narrower = (TOO_STEEP / line.steepness).min(1.0);
                ((1.0 + narrower * (shares[at] - 1.0)) * line.line_per_s, without.units)
            }
            None if without.pauses.is_some() => (self.rate_for_pauses(), without.units),
            None => {
                let kept = self.kept.unwrap_or_else(|| self.within());
                ((kept * self.broken(kept)).sqrt().min(1.5 * kept), 2.0)
            }
        };
        let most = self.lowest_broken().map_or(f64::INFINITY, |rate| BELOW_BROKEN * rate);
        (rate.min(most).min(self.most()).max(super::LEAST_RATE), units * self.unit_s())
    }

    /// The next rate where the server pauses and no window that is long enough has broken the SLO:
    /// above those that there are. Where there are none, all windows together say where to look.
    fn rate_for_pauses(&self) -> f64 {
        let highest = self.telling().iter().map(|of| of.rate_per_s).reduce(f64::max);
        let guess = || Local::of(&self.windows, &self.goal(), FLAT).map(|line| line.line_per_s);
        let rate = highest.map(|rate| HIGHER * rate).or_else(guess);
        rate.unwrap_or_else(|| self.within())
    }

    /// The highest rate of a window that was not beyond the SLO, below what was clearly too much.
    fn within(&self) -> f64 {
        let goal = self.goal();
        let is_within = |of: &&Window| {
            of.phase != Phase::Recover && of.counted() > 0 && !of.was_cut && !goal.is_beyond(of)
        };
        let rates = self.windows.iter().filter(is_within).map(|of| of.rate_per_s);
        let highest = rates.filter(|rate| *rate < self.too_much).reduce(f64::max);
        highest.unwrap_or(0.25 * self.too_much.min(self.settings.start_per_s))
    }

    /// The lowest rate whose hold broke.
    fn lowest_broken(&self) -> Option<f64> {
        let broke = self.holds.iter().filter(|hold| hold.check == Check::Broken);
        broke.map(|hold| hold.rate_per_s).reduce(f64::min)
    }

    /// After a window of a search without a curve.
    pub(super) fn searched_without_curve(&mut self, clearly: bool) -> State {
        let (wanted, seconds) = (self.wanted(), self.seconds);
        self.find_pauses();
        let is_known = self.known().is_some();
        let Some(without) = &mut self.without_curve else { return State::Search };
        without.windows += 1;
        let lasted = seconds - without.since_s;
        let is_over = lasted >= MOST_LOCAL_S || seconds >= MOST_SECONDS;
        let precise = without.line.as_ref().is_some_and(|line| line.half_width() <= wanted);
        let enough =
            without.windows >= if without.pauses.is_some() { FEW_LOCAL } else { LEAST_LOCAL };
        match () {
            () if enough && !is_known && is_over => State::Done,
            () if is_known && enough && (precise || is_over) => self.begin_hold(),
            () if clearly => State::Recover { tries: 0 },
            () => State::Search,
        }
    }

    /// Holds what is known now.
    pub(super) fn begin_hold(&self) -> State {
        let Some(line) = self.known() else { return State::Done };
        let mut rate = hold::rate_for(line.per_s, Some(line.ci95)).min(self.most());
        if let Some(broken) = self.lowest_broken() {
            rate = rate.min(BELOW_BROKEN * broken);
        }
        State::Hold { rate, seconds: self.hold_s(rate), is_most: false }
    }

    /// For how long a rate is held, seconds.
    fn hold_s(&self, rate: f64) -> f64 {
        let windows = self.windows.iter().filter(|window| window.phase != Phase::Hold);
        let longest = windows.map(|window| window.seconds).fold(0.0, f64::max);
        // What is due within the last bound is not counted.
        let pauses = self.without_curve.and_then(|of| of.pauses);
        let least = pauses.map_or(0.0, Pauses::window_s);
        hold::seconds_for(rate, longest).max(least) + self.bound_s()
    }

    /// After the window of a hold, which joined the fit.
    pub(super) fn held(&mut self, rate: f64, seconds: f64, window: &Window) -> State {
        // One that the search's time cut short is none.
        let is_whole = window.seconds + SLICE_S >= seconds;
        let check = hold::judge(window, &self.goal()).filter(|_| is_whole);
        let Some(check) = check else { return State::Done };
        self.holds.push(Hold { rate_per_s: rate, check });
        self.check.0 = Some(check);
        if check == Check::Broken {
            self.leave_curve();
        }
        self.refit();
        let broken = self.holds.iter().filter(|hold| hold.check == Check::Broken).count();
        if broken >= MOST_BROKEN || self.holds.len() >= MOST_HOLDS {
            return State::Done;
        }
        if check == Check::Broken {
            return self.search_below();
        }
        if let Some(next) = self.doubt() {
            return next;
        }
        if self.without_curve.is_none() && self.disagrees() {
            self.leave_curve();
            return State::Search;
        }
        let is_near = self.known().is_some_and(|line| rate >= hold::CONFIRMS * line.per_s);
        if is_near { self.check_above(self.above()) } else { self.begin_hold() }
    }

    /// Holds the highest rate allowed, at which the ramp ended.
    pub(super) fn hold_most(&self, rate: f64) -> State {
        State::Hold { rate, seconds: self.hold_s(rate), is_most: true }
    }

    /// After the highest rate allowed was held.
    pub(super) fn held_most(&mut self, rate: f64, seconds: f64, window: &Window) -> State {
        let is_whole = window.seconds + SLICE_S >= seconds;
        let check = hold::judge(window, &self.goal()).filter(|_| is_whole);
        let Some(check) = check else { return State::Done };
        self.check.0 = Some(check);
        self.holds.push(Hold { rate_per_s: rate, check });
        self.reached_most = check == Check::Held;
        if self.reached_most {
            return State::Done;
        }
        self.refit();
        State::Recover { tries: 0 }
    }

    /// After a hold that broke: the server comes to itself, and some windows at least are seen
    /// before the next hold.
    fn search_below(&mut self) -> State {
        if let Some(without) = &mut self.without_curve {
            (without.windows, without.since_s) = (0, self.seconds);
        }
        State::Recover { tries: 0 }
    }

    /// Leaves the curve where windows far below the line have more requests beyond the SLO than it
    /// explains, or clumps of them, as those of a server that pauses. That is looked at whenever
    /// half as much more was seen.
    pub(super) fn leave_far_off(&mut self) -> bool {
        if self.without_curve.is_some() || self.seconds < AGAIN * self.looked_s {
            return false;
        }
        self.looked_s = self.seconds;
        let seen = self.expectation().map(|expected| {
            let clumps = expected.is_clumped_far_below(&self.windows);
            (clumps, clumps || expected.differs_far_below(&self.windows))
        });
        let Some((clumps, true)) = seen else { return false };
        self.leave_curve();
        let unit_s = self.unit_s();
        if let Some(without) =
            self.without_curve.as_mut().filter(|of| clumps && of.pauses.is_none())
        {
            (without.units, without.pauses) = (LONGER, Some(Pauses::within(LONGER * unit_s)));
        }
        true
    }

    /// Whether what the windows show is another line than this one.
    pub(super) fn disagrees(&self) -> bool {
        self.expectation().is_some_and(|expected| expected.differs(&self.telling()))
    }

    /// What the line says of windows.
    fn expectation(&self) -> Option<Expectation<'_>> {
        let line = self.known()?;
        let local = self.without_curve.as_ref().and_then(|without| without.line);
        let clause = local.map(|local| local.clause).or_else(|| self.goal().clauses().next())?;
        let share: Box<dyn Fn(f64) -> f64> = match (local, &self.fit) {
            (Some(local), _) => Box::new(move |rate| local.share(rate)),
            (None, Some(fit)) => Box::new(|rate| fit.curve.beyond(self.bound_s(), rate)),
            (None, None) => return None,
        };
        let lasts: Box<dyn Fn(f64) -> f64> = match (local, &self.fit) {
            (None, Some(fit)) => Box::new(|rate| fit.relaxation_s(rate)),
            _ => Box::new(|_| 0.0),
        };
        let clumps: Box<dyn Fn(f64) -> f64> = match (local, &self.fit) {
            (None, Some(fit)) => Box::new(|rate| 1.0 + 2.0 * rate * fit.relaxation_s(rate)),
            (local, _) => Box::new(move |_| local.map_or(1.0, |local| local.scatter)),
        };
        let serves_beyond = match (local, &self.fit) {
            (None, Some(fit)) => fit.curve.beyond(self.bound_s(), 0.0),
            _ => 0.0,
        };
        let (line_per_s, half) = (line.per_s, line.half);
        Some(Expectation { line_per_s, half, clause, share, serves_beyond, lasts, clumps })
    }

    /// What has been found so far, as far as the windows do not contradict it.
    pub(super) fn found(&self) -> SearchEstimate {
        let mut found = self.found_near_the_line();
        let windows = self.windows.iter().chain(&self.set_aside);
        Pooled::of(windows, self.goal()).bind(&mut found);
        found
    }

    fn found_near_the_line(&self) -> SearchEstimate {
        let (telling, pauses) = (self.telling(), self.without_curve.and_then(|of| of.pauses));
        let bracket = Bracket::of(&telling, &self.holds, &self.goal());
        let mut found = SearchEstimate {
            lower_bound_per_s: if pauses.is_some() { bracket.held_per_s } else { self.kept },
            held_per_s: bracket.held_per_s,
            broken_per_s: bracket.broken_per_s,
            holds: self.holds.clone(),
            check: self.check,
            ..SearchEstimate::default()
        };
        if self.reached_most {
            found.estimate_per_s = self.settings.max_rate_per_s;
            found.lower_bound_per_s = self.settings.max_rate_per_s;
            found.is_bound = true;
            let text = "the SLO held at the highest rate allowed: the capacity is at least that";
            found.notes.push(text.to_owned());
            return found;
        }
        found.notes.extend(pauses.map(|of| {
            let every_s = of.every_s;
            format!(
                "the server stands still about every {every_s:.1} s: what it can do is told by \
                 windows of several times that alone"
            )
        }));
        if pauses.is_none() && self.state != State::Done && self.may_pause() {
            // What windows between two pauses kept is no rate that held.
            let Bracket { held_per_s, broken_per_s } = Bracket::of(&[], &self.holds, &self.goal());
            (found.held_per_s, found.broken_per_s) = (held_per_s, broken_per_s);
            found.lower_bound_per_s = held_per_s;
            found.notes.push(
                "the SLO broke now and then far below the line, as where a server stands still: \
                 the search ended before it was known what it can do then"
                    .to_owned(),
            );
            return found;
        }
        let Some(line) = self.known() else { return found };
        (found.estimate_per_s, found.ci95) = (Some(line.per_s), Some(line.ci95));
        found.disagrees = self.disagrees();
        if self.without_curve.is_some() {
            let text = "what breaks the SLO here is not a queue's wait alone: the estimate goes by \
                        what was seen near it, and there is neither a knee nor a saturation";
            found.notes.push(text.to_owned());
        } else if let Some(fit) = &self.fit {
            found.knee_per_s = Some(fit.curve.knee());
            found.saturation_per_s = Some(fit.curve.saturation);
            found.model = fit.model();
        }
        if self.forgotten > 0 && self.without_curve.is_none() {
            let text = "the server, or this machine, was disturbed for a while: what it could not";
            found.notes.push(format!("{text} do then is left out"));
        }
        if line.half > self.settings.precision {
            let half = 100.0 * line.half;
            let text = "to each side, wider than asked for";
            found.notes.push(format!("the interval is {half:.1}% {text}"));
        }
        found
    }
}
