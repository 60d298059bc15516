//! The books of a pool: what was seen of it, tick by tick and in all, and what it came to. Whoever
//! runs the pool, simulated or live, keeps them alike.

use crate::billing::{Prices, Used};
use crate::controller::Decided;
use crate::demand::Demand;
use crate::objective::{Served, within};
use crate::outcome::{Churn, Loss, Outcome, Tick};
use crate::pool::Pool;
use plimsoll_stats::Histogram;
use plimsoll_stats::elasticity::{Elasticity, Piece};
use plimsoll_stats::histogram::rank;
use plimsoll_stats::slo::Slo;

/// Without a percentile in the SLO the response time is that at this quantile.
const QUANTILE: f64 = 0.99;

/// What a pool is held against.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// How many instances a rate needs.
    pub demand: &'a Demand,
    /// The SLO.
    pub slo: Option<&'a Slo>,
    /// Requests that an instance works on at once.
    pub cores: u32,
    /// What instances and requests cost.
    pub prices: &'a Prices,
}

/// What a tick has seen.
#[derive(Debug, Clone, Default)]
pub struct OfTick {
    /// When it began, nanoseconds since the start.
    pub began_ns: u64,
    /// Requests that were due.
    pub offered: u64,
    /// Requests that were answered.
    pub served: u64,
    /// Requests that were lost, in the order of [`Loss::ALL`].
    pub lost: [u64; Loss::ALL.len()],
    /// The sum of the response times of those served, nanoseconds.
    pub sum_ns: u64,
    /// The response times of those served.
    pub response: Histogram,
    /// How many instances took requests, and for how many nanoseconds.
    pub supply: Vec<(u32, u64)>,
}

impl OfTick {
    /// So many instances took requests for so long.
    pub fn supplied(&mut self, ready: u32, for_ns: u64) {
        match self.supply.last_mut() {
            Some((before, all_ns)) if *before == ready => *all_ns += for_ns,
            _ => self.supply.push((ready, for_ns)),
        }
    }

    /// Ready instances times nanoseconds.
    #[must_use]
    pub fn ready_ns(&self) -> u64 {
        self.supply.iter().map(|(ready, ns)| u64::from(*ready) * ns).sum()
    }

    fn all_lost(&self) -> u64 {
        self.lost.iter().sum()
    }
}

/// What all ticks have seen.
#[derive(Debug, Default)]
pub struct Books {
    offered: u64,
    served: u64,
    lost: [u64; Loss::ALL.len()],
    sum_ns: u128,
    work_ns: u128,
    ready_ns: u128,
    cpu_seconds: f64,
    response: Histogram,
    violated_s: f64,
    down_s: f64,
    /// Instances that were launched, and that were taken away, by decisions.
    pub scaled: (u64, u64),
    /// What became of instances beside that.
    pub churn: Churn,
    pieces: Vec<Piece>,
    /// Whether no number of instances would have been enough in some tick.
    is_beyond: bool,
    ticks: Vec<Tick>,
    /// The decisions that are kept.
    pub decisions: Vec<Decided>,
}

/// What clients counted over all the load.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// Requests that were due.
    pub offered: u64,
    /// Requests that were answered as expected.
    pub served: u64,
    /// Requests that were lost, in the order of [`Loss::ALL`].
    pub lost: [u64; Loss::ALL.len()],
    /// Response times of those served, nanoseconds.
    pub response: Histogram,
}

impl Books {
    /// Puts what clients counted in the place of the sum of the ticks, which say what the pool
    /// itself saw.
    pub fn recount(&mut self, of: Counted) {
        let middle = |bucket: plimsoll_stats::histogram::Bucket| {
            u128::from(bucket.middle()) * u128::from(bucket.count)
        };
        self.sum_ns = of.response.buckets().map(middle).sum();
        (self.offered, self.served, self.lost) = (of.offered, of.served, of.lost);
        self.response = of.response;
    }

    /// Whether no tick has ended yet.
    #[must_use]
    pub fn are_empty(&self) -> bool {
        self.ticks.is_empty()
    }

    /// Takes a tick that has ended now: `work_ns` is the time that cores worked, `cpu` the
    /// processor time, per cent. `waited` tells how long those in flight have waited, nanoseconds,
    /// ascending.
    pub fn tick(
        &mut self,
        terms: &Terms<'_>,
        now_ns: u64,
        of: &OfTick,
        (work_ns, cpu): (u64, f64),
        waited: impl FnOnce() -> Vec<u64>,
    ) -> Tick {
        let seconds = (now_ns - of.began_ns) as f64 / 1e9;
        let rate = of.offered as f64 / seconds;
        let bound = terms.slo.and_then(Slo::response_bound);
        let quantile = bound.map_or(QUANTILE, |(quantile, _)| quantile);
        let quantile_ns = within(&of.response, rank(quantile, of.served));
        let tick = Tick {
            at_s: now_ns as f64 / 1e9,
            rate,
            served: of.served as f64 / seconds,
            lost: of.all_lost() as f64 / seconds,
            ready: of.ready_ns() as f64 / 1e9 / seconds,
            demand: terms.demand.instances(rate, 1.0),
            cpu,
            response_s: of.sum_ns as f64 / 1e9 / of.served as f64,
            quantile_s: quantile_ns.map_or(f64::NAN, |ns| ns as f64 / 1e9),
        };
        self.judge(terms.slo, of, seconds, waited);
        self.follow(of, &tick);
        self.offered += of.offered;
        self.served += of.served;
        for (all, more) in self.lost.iter_mut().zip(of.lost) {
            *all += more;
        }
        self.sum_ns += u128::from(of.sum_ns);
        self.cpu_seconds += tick.cpu * seconds;
        self.response.add(&of.response);
        self.ready_ns += u128::from(of.ready_ns());
        self.work_ns += u128::from(work_ns);
        self.ticks.push(tick);
        tick
    }

    /// Counts a tick in which the SLO did not hold; without an SLO, one in which requests were
    /// lost and none was served.
    fn judge(
        &mut self,
        slo: Option<&Slo>,
        of: &OfTick,
        seconds: f64,
        waited: impl FnOnce() -> Vec<u64>,
    ) {
        let lost = of.all_lost();
        let is_down = lost > 0 && of.served == 0;
        let down_s = if is_down { seconds } else { 0.0 };
        self.down_s += down_s;
        let holds = slo.map_or(!is_down, |slo| {
            // Where nothing has ended, those who wait tell how long it takes.
            let waited = if of.served + lost > 0 { Vec::new() } else { waited() };
            let seen = Served {
                served: of.served,
                lost,
                response: &of.response,
                sum_ns: u128::from(of.sum_ns),
                waited: &waited,
                seconds,
                down_s,
            };
            seen.hold(slo)
        });
        self.violated_s += if holds { 0.0 } else { seconds };
    }

    /// Holds the supply of a tick against its demand, as it was from moment to moment.
    fn follow(&mut self, of: &OfTick, tick: &Tick) {
        let Some(demand) = tick.demand.map(f64::from) else {
            self.is_beyond = true;
            return;
        };
        for &(ready, ns) in &of.supply {
            let (seconds, supply) = (ns as f64 / 1e9, f64::from(ready));
            match self.pieces.last_mut() {
                Some(last) if same(last.demand, demand) && same(last.supply, supply) => {
                    last.seconds += seconds;
                }
                _ => self.pieces.push(Piece { seconds, demand, supply }),
            }
        }
    }

    /// Makes the bill, at the end. `waited` tells how long those have waited that are still in
    /// flight, nanoseconds, ascending.
    #[must_use]
    pub fn close(self, terms: &Terms<'_>, pool: &Pool, end_ns: u64, waited: &[u64]) -> Outcome {
        let used: Vec<Used> = pool.instances().iter().map(|of| of.used(end_ns)).collect();
        let seconds = end_ns as f64 / 1e9;
        let bill = terms.prices.bill(&used, self.offered, self.served, seconds / 3600.0);
        let cores_ns = self.ready_ns as f64 * f64::from(terms.cores);
        let seen = Served {
            served: self.served,
            lost: self.lost.iter().sum(),
            response: &self.response,
            sum_ns: self.sum_ns,
            waited,
            seconds,
            down_s: self.down_s,
        };
        // The last tick may have gone on after the end.
        let cpu_seconds = match self.ticks.last() {
            Some(last) if last.at_s > seconds => cpu_until(&self.ticks, seconds),
            _ => self.cpu_seconds,
        };
        let wasted_s = terms.prices.wasted_s(&used);
        let clauses = terms.slo.into_iter().flat_map(Slo::clauses);
        let slo = clauses.map(|clause| seen.value(clause)).collect();
        Outcome {
            offered: self.offered,
            served: self.served,
            lost: self.lost,
            in_flight: waited.len() as u64,
            slo,
            response: self.response,
            response_sum_ns: self.sum_ns,
            bill,
            instances: used,
            at_places: Vec::new(),
            cpu_mean: cpu_seconds / seconds.max(1e-9),
            busy_mean: self.work_ns as f64 / cores_ns.max(1.0),
            scale_out: self.scaled.0,
            scale_in: self.scaled.1,
            churn: self.churn,
            wasted_s,
            elasticity: (!self.is_beyond).then(|| Elasticity::of(&self.pieces)),
            violated_s: self.violated_s,
            seconds,
            ticks: self.ticks,
            decisions: self.decisions,
        }
    }
}

/// The processor time of ticks until a time: per cent times seconds.
fn cpu_until(ticks: &[Tick], end_s: f64) -> f64 {
    let began_s = std::iter::once(0.0).chain(ticks.iter().map(|of| of.at_s));
    let lasts = |(of, began_s): (&Tick, f64)| of.cpu * (of.at_s.min(end_s) - began_s).max(0.0);
    ticks.iter().zip(began_s).map(lasts).sum()
}

/// Whether two numbers of instances are the same.
fn same(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits()
}
