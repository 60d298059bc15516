//! The simulated world: a queue of known behaviour that answers a search's offers in no time.
//!
//! M/G/c, first come first served, Poisson arrivals, all of which are served or, by
//! [`admission`], some refused; load goes on from window to window as it does
//! in the live world, and what a search is shown is what it would be shown there: nothing of a
//! request before its answer, or the SLO's bound, has passed.

pub mod admission;

use crate::conduct::Site;
use crate::window::{Offer, SLICE_S, Second, Watch, Window};
use admission::{Admission, Door};
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::ServiceModel;
use std::convert::Infallible;
use std::ops::Range;

/// A simulated server and its Poisson clients.
#[derive(Debug, Clone)]
pub struct Simulated {
    model: ServiceModel,
    /// When each worker is free, seconds.
    free_s: Vec<f64>,
    now_s: f64,
    next_arrival: f64,
    /// Completions by slice since the start.
    completions: Vec<u32>,
    in_system: u64,
    bound_s: f64,
    watch: Watch,
    succeeded: Vec<(u64, u64)>,
    gaps: Stream,
    services: Stream,
    probing: Stream,
    account: Option<Account>,
    /// When the server stands still, seconds; and how often again.
    stall_s: Range<f64>,
    every_s: f64,
    door: Door,
}

/// Processor credits: a server that has saved some is as fast as it can, without it is slower.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Credits {
    /// Seconds of one core that are saved at the start, and at most.
    pub core_s: f64,
    /// Cores that are earned all the time.
    pub baseline: f64,
}

/// What becomes of credits: the greatest savings, what is left of them, and since when.
#[derive(Debug, Clone)]
struct Account {
    credits: Credits,
    left: f64,
    at_s: f64,
}

impl Account {
    /// How long a work of `core_s` takes on one of `cores` at a time. What is done without savings
    /// is a debt, of a tenth of a second at most.
    fn spend(&mut self, at_s: f64, core_s: f64, cores: f64) -> f64 {
        let Credits { core_s: most, baseline } = self.credits;
        self.left = (self.left + (at_s - self.at_s) * baseline).min(most);
        self.at_s = at_s;
        self.left = (self.left - core_s).max(-0.1 * baseline);
        if self.left >= 0.0 { core_s } else { core_s * cores / baseline }
    }
}

impl Simulated {
    /// A server, and an SLO's bound in nanoseconds.
    #[must_use]
    pub fn new(model: ServiceModel, bound_ns: u64, seed: u64) -> Self {
        let bound_s = bound_ns as f64 / 1e9;
        let mut gaps = Stream::named(seed, "capacity/arrivals");
        Self {
            free_s: vec![0.0; model.cores.get() as usize],
            model,
            now_s: 0.0,
            next_arrival: gaps.exponential(),
            completions: Vec::new(),
            in_system: 0,
            bound_s,
            watch: Watch::new(bound_s),
            succeeded: Vec::new(),
            gaps,
            services: Stream::named(seed, "capacity/service"),
            probing: Stream::named(seed, "capacity/probes"),
            account: None,
            stall_s: 0.0..0.0,
            every_s: f64::INFINITY,
            door: Door::new(Admission::All),
        }
    }

    /// The same server with processor credits.
    #[must_use]
    pub fn with_credits(mut self, credits: Credits) -> Self {
        self.account = Some(Account { credits, left: credits.core_s, at_s: self.now_s });
        self
    }

    /// The same server, which does nothing at all for a while: what it serves then goes on when
    /// that is over, and what arrives waits. Seconds since the start.
    #[must_use]
    pub fn with_stall(mut self, stall_s: Range<f64>) -> Self {
        self.stall_s = stall_s;
        self
    }

    /// The same server, which does nothing at all for so long every so often, as for a garbage
    /// collection: first from a time since the start on. Seconds.
    #[must_use]
    pub fn with_pauses(mut self, first_s: f64, every_s: f64, length_s: f64) -> Self {
        self.stall_s = first_s..first_s + length_s;
        self.every_s = every_s;
        self
    }

    /// The same server, which refuses some requests at once.
    #[must_use]
    pub fn with_admission(mut self, admission: Admission) -> Self {
        self.door = Door::new(admission);
        self
    }

    /// Seconds since the start.
    #[must_use]
    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    /// How many requests complete in the slice that ends at a time.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as in serve")]
    fn completed_before(&self, end_s: f64) -> u64 {
        let slice = (end_s / SLICE_S).round() as usize;
        slice.checked_sub(1).and_then(|at| self.completions.get(at)).map_or(0, |&n| u64::from(n))
    }

    /// The stall that is next at a time, or lasts then.
    fn stall_at(&self, at: f64) -> Range<f64> {
        if at < self.stall_s.end || self.every_s.is_infinite() {
            return self.stall_s.clone();
        }
        let times = ((at - self.stall_s.end) / self.every_s).floor() + 1.0;
        self.stall_s.start + times * self.every_s..self.stall_s.end + times * self.every_s
    }

    /// When work that begins at a time is done: while the server stands still nothing is.
    fn done(&self, mut begins: f64, mut takes: f64) -> f64 {
        loop {
            let stall = self.stall_at(begins);
            if stall.contains(&begins) {
                begins = stall.end;
            } else if begins < stall.start && begins + takes > stall.start {
                takes -= stall.start - begins;
                begins = stall.end;
            } else {
                return begins + takes;
            }
        }
    }

    /// What becomes of a request that arrives at a time, seconds, not before those that came
    /// earlier: its response time, seconds; `None` where it is refused at once.
    #[inline]
    pub fn ask(&mut self, at: f64) -> Option<f64> {
        if !self.door.admits(at) {
            return None;
        }
        let response = self.serve(at);
        self.door.let_in(at + response);
        Some(response)
    }

    /// Serves a request that arrives now; its response time, seconds.
    #[inline]
    fn serve(&mut self, at: f64) -> f64 {
        let mut first = 0;
        for worker in 1..self.free_s.len() {
            if self.free_s[worker] < self.free_s[first] {
                first = worker;
            }
        }
        let begins = self.free_s[first].max(at);
        let mut takes = self.model.sample(&mut self.services);
        if let Some(account) = &mut self.account {
            takes = account.spend(at, takes, self.free_s.len() as f64);
        }
        let departs = self.done(begins, takes);
        self.free_s[first] = departs;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a simulation of hours has some thousand slices"
        )]
        let slice = (departs / SLICE_S) as usize;
        if slice >= self.completions.len() {
            self.completions.resize(slice + 64, 0);
        }
        self.completions[slice] += 1;
        departs - at
    }

    /// A load of `rate_per_s` with `n` probes in it, which are Poisson arrivals of `probe_per_s`:
    /// when each was due and how long it took, seconds. Load goes on from what was before.
    pub fn probe(&mut self, rate_per_s: f64, probe_per_s: f64, n: usize) -> Vec<(f64, f64)> {
        let gap = 1.0 / (rate_per_s + probe_per_s);
        let mut probes = Vec::with_capacity(n);
        let mut next = self.now_s + self.next_arrival * gap;
        while probes.len() < n {
            let response = self.serve(next);
            // Of two Poisson processes at once, the next arrival is of one by its share.
            if self.probing.uniform() < probe_per_s * gap {
                probes.push((next, response));
            }
            self.now_s = next;
            next += self.gaps.exponential() * gap;
        }
        self.next_arrival = (next - self.now_s) / gap;
        probes
    }

    /// A load of `rate_per_s` for so long, without looking at it.
    pub fn load(&mut self, rate_per_s: f64, seconds: f64) {
        let until = self.now_s + seconds;
        let gap = 1.0 / rate_per_s;
        let mut next = self.now_s + self.next_arrival * gap;
        while next < until {
            self.serve(next);
            next += self.gaps.exponential() * gap;
        }
        self.now_s = until;
        self.next_arrival = (next - until) / gap;
    }

    /// Time goes on, without load, until nothing is left to do.
    fn finish_all(&mut self) {
        let last = self.free_s.iter().copied().fold(self.now_s, f64::max);
        self.now_s = (last / SLICE_S).ceil() * SLICE_S;
        self.in_system = 0;
    }

    fn offer(&mut self, offer: &Offer) -> Window {
        if offer.fresh {
            self.finish_all();
        }
        let start = self.now_s;
        let mut seen = ObservedWindow::new(offer, self.bound_s, start);
        self.watch.begin(offer.fresh);
        let gap = 1.0 / offer.rate_per_s;
        // What is left of a gap of mean one is memoryless: a new rate stretches it.
        let mut next = start + self.next_arrival * gap;
        loop {
            let slice_end = ((self.now_s / SLICE_S).round() + 1.0) * SLICE_S;
            let end = slice_end.min(seen.end_s);
            while next < end {
                let response = self.ask(next);
                self.in_system += u64::from(response.is_some());
                seen.record(next, response);
                next += self.gaps.exponential() * gap;
            }
            self.now_s = end;
            let done = self.completed_before(end);
            self.in_system = self.in_system.saturating_sub(done);
            let (saturated, clear) =
                self.watch.slice(SLICE_S, offer.rate_per_s, done, self.in_system);
            seen.window.saturated.add(saturated);
            if clear && offer.may_cut {
                seen.window.was_cut = true;
            }
            if seen.window.was_cut || end >= seen.end_s - 1e-9 {
                break;
            }
        }
        self.next_arrival = (next - self.now_s) / gap;
        seen.finish(self.now_s)
    }
}

/// A window that is being observed.
struct ObservedWindow {
    window: Window,
    end_s: f64,
    from_s: f64,
    bound_s: f64,
    /// Due and response time of all requests of the window; those that were refused have none.
    requests: Vec<(f64, Option<f64>)>,
}

impl ObservedWindow {
    fn new(offer: &Offer, bound_s: f64, start_s: f64) -> Self {
        // Windows consist of whole slices, so that both worlds look at the same ones.
        let seconds = (offer.seconds / SLICE_S).ceil() * SLICE_S;
        let window = Window::begin(offer, start_s);
        let (end_s, from_s) = (start_s + seconds, start_s + offer.settle_s);
        Self { window, end_s, from_s, bound_s, requests: Vec::new() }
    }

    #[inline]
    fn record(&mut self, due: f64, response: Option<f64>) {
        self.requests.push((due, response));
    }

    fn finish(mut self, now_s: f64) -> Window {
        let mut window = self.window;
        window.seconds = now_s - window.start_s;
        window.due = self.requests.len() as u64;
        window.succeeded = self.requests.iter().filter(|(_, of)| of.is_some()).count() as u64;
        window.failed = window.due - window.succeeded;
        let until = now_s - self.bound_s;
        window.counted_s = (until - self.from_s).max(0.0);
        let mut second: Vec<f64> = Vec::new();
        let mut number = 0.0;
        let (mut beyond, mut failed) = (0, 0);
        self.requests.push((f64::INFINITY, None));
        for (due, response) in self.requests {
            while due - window.start_s >= number + 1.0 && number < window.seconds {
                window.each_second.push(summed(&mut second, beyond, failed));
                (second, beyond, failed) = (Vec::new(), 0, 0);
                number += 1.0;
            }
            if due.is_infinite() {
                break;
            }
            let is_counted = due >= self.from_s && due < until;
            let Some(response) = response else {
                // What has no answer ranks last.
                second.push(f64::INFINITY);
                (beyond, failed) = (beyond + 1, failed + 1);
                if is_counted {
                    window.response.unanswered += 1;
                    window.beyond += 1;
                    window.counted_failed += 1;
                    window.refused += 1;
                }
                continue;
            };
            // What is unanswered now has taken at least so long.
            let known = response.min(now_s - due);
            second.push(known);
            beyond += u64::from(response > self.bound_s);
            if is_counted {
                window.response.times.record(nanoseconds(known));
                window.beyond += u64::from(known > self.bound_s);
            }
        }
        window
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^63 ns")]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn summed(times: &mut [f64], beyond: u64, failed: u64) -> Second {
    times.sort_by(f64::total_cmp);
    let p50 = times.get(times.len().saturating_sub(1) / 2).filter(|s| s.is_finite());
    let p50_ns = p50.map(|&s| nanoseconds(s));
    Second { p50_ns, due: times.len() as u64, beyond, failed, rtt_ns: 0 }
}

impl Site for Simulated {
    type Error = Infallible;

    fn window(&mut self, offer: &Offer) -> Result<Window, Infallible> {
        let window = self.offer(offer);
        self.succeeded.push((window.succeeded, window.failed));
        Ok(window)
    }

    fn settle(&mut self) -> Result<Vec<(u64, u64)>, Infallible> {
        Ok(std::mem::take(&mut self.succeeded))
    }
}
