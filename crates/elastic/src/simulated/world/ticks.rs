//! What is seen of a pool, tick by tick and in all: what was counted, what cores have worked, how
//! the supply followed the demand, and whether the SLO held.

use super::World;
use crate::billing::Used;
use crate::observation::{Metric, Point};
use crate::pool::Instance;
use crate::simulated::engine::TICK_NS;
use crate::simulated::objective::{Seen, within};
use crate::simulated::outcome::{Decided, Outcome, Tick};
use plimsoll_stats::Histogram;
use plimsoll_stats::elasticity::{Elasticity, Piece};
use plimsoll_stats::histogram::rank;
use plimsoll_stats::slo::Slo;

/// Without a percentile in the SLO the response time is that at this quantile.
const QUANTILE: f64 = 0.99;

/// What a tick has seen so far.
#[derive(Default)]
pub(super) struct OfTick {
    pub(super) began_ns: u64,
    pub(super) offered: u64,
    pub(super) served: u64,
    pub(super) lost: u64,
    pub(super) sum: u64,
    /// Work of instances that have failed, ticks of cores.
    pub(super) work: u64,
    /// How many instances took requests, and for how many nanoseconds.
    pub(super) supply: Vec<(u32, u64)>,
    pub(super) response: Histogram,
}

impl OfTick {
    /// Ready instances times nanoseconds.
    fn ready_ns(&self) -> u64 {
        self.supply.iter().map(|(ready, ns)| u64::from(*ready) * ns).sum()
    }
}

/// What all ticks have seen.
#[derive(Default)]
pub(super) struct Total {
    pub(super) offered: u64,
    pub(super) served: u64,
    pub(super) lost: [u64; 5],
    pub(super) sum: u128,
    pub(super) work: u128,
    pub(super) ready_ns: u128,
    pub(super) cpu_seconds: f64,
    pub(super) response: Histogram,
    pub(super) violated_s: f64,
    pub(super) down_s: f64,
    pub(super) scale_out: u64,
    pub(super) scale_in: u64,
    pub(super) pieces: Vec<Piece>,
    /// Whether no number of instances would have been enough in some tick.
    pub(super) is_beyond: bool,
    pub(super) ticks: Vec<Tick>,
    pub(super) decisions: Vec<Decided>,
}

impl World<'_> {
    /// The work that an instance has done in this tick, ticks of cores.
    pub(super) fn work_of(&self, of: &Instance) -> u64 {
        if !self.has_begun[of.number] {
            return 0;
        }
        self.engine.worked(of.slot, self.now_ns / TICK_NS) - self.worked[of.number]
    }

    /// The work that the instances of the pool have done in this tick, ticks of cores. What drains
    /// is no longer of the pool: a policy cannot give it anything to do.
    fn work(&mut self) -> u64 {
        let mut work = self.of_tick.work;
        for of in self.pool.wanted() {
            let done = self.work_of(of);
            self.worked[of.number] += done;
            work += done;
        }
        work
    }

    /// Ends a tick: collects its metrics.
    pub(super) fn tick(&mut self) {
        let seconds = (self.now_ns - self.of_tick.began_ns) as f64 / 1e9;
        self.engine.settle(self.now_ns / TICK_NS, &mut self.tally);
        self.take_in();
        let work = self.work();
        let of = std::mem::take(&mut self.of_tick);
        let ready_ns = of.ready_ns();
        let cores_ns = ready_ns as f64 * f64::from(self.setup.rules.cores);
        // A core that works is busy with a processor for a share of the time.
        let busy_ns = (work * TICK_NS) as f64 * self.setup.cpu_s / self.setup.service.mean();
        let rate = of.offered as f64 / seconds;
        let bound = self.setup.slo.as_ref().and_then(Slo::response_bound);
        let quantile = bound.map_or(QUANTILE, |(quantile, _)| quantile);
        let quantile_ns = within(&of.response, rank(quantile, of.served));
        let tick = Tick {
            at_s: self.now_ns as f64 / 1e9,
            rate,
            served: of.served as f64 / seconds,
            lost: of.lost as f64 / seconds,
            ready: ready_ns as f64 / 1e9 / seconds,
            demand: self.demand.instances(rate, 1.0),
            cpu: 100.0 * (busy_ns / cores_ns.max(1.0)).min(1.0),
            response_s: of.sum as f64 * TICK_NS as f64 / 1e9 / of.served as f64,
            quantile_s: quantile_ns.map_or(f64::NAN, |ns| ns as f64 / 1e9),
        };
        self.judge(&of, seconds);
        self.follow(&of, &tick);
        let total = &mut self.total;
        total.cpu_seconds += tick.cpu * seconds;
        total.response.add(&of.response);
        total.ready_ns += u128::from(ready_ns);
        total.work += u128::from(work);
        total.ticks.push(tick);
        self.collect(&tick, seconds);
        self.of_tick = OfTick { began_ns: self.now_ns, response: of.response, ..OfTick::default() };
        self.of_tick.response.clear();
    }

    /// Counts a tick in which the SLO did not hold; without an SLO, one in which requests were
    /// lost and none was served.
    fn judge(&mut self, of: &OfTick, seconds: f64) {
        let is_down = of.lost > 0 && of.served == 0;
        let down_s = if is_down { seconds } else { 0.0 };
        self.total.down_s += down_s;
        let holds = self.setup.slo.as_ref().map_or(!is_down, |slo| {
            // Where nothing has ended, those who wait tell how long it takes.
            let has_ended = of.served + of.lost > 0;
            let waited = if has_ended { Vec::new() } else { self.waited() };
            let seen = Seen {
                served: of.served,
                lost: of.lost,
                response: &of.response,
                sum_ns: u128::from(of.sum) * u128::from(TICK_NS),
                waited: &waited,
                seconds,
                down_s,
            };
            seen.hold(slo)
        });
        self.total.violated_s += if holds { 0.0 } else { seconds };
    }

    /// How long those in flight have waited, nanoseconds, ascending.
    fn waited(&self) -> Vec<u64> {
        let (now, mut waited) = (self.now_ns / TICK_NS, Vec::new());
        let mut each = |due: u64| waited.push(now.saturating_sub(due) * TICK_NS);
        self.engine.in_flight(&self.tally, &mut each);
        waited.sort_unstable();
        waited
    }

    /// Holds the supply of a tick against its demand, as it was from moment to moment.
    fn follow(&mut self, of: &OfTick, tick: &Tick) {
        let total = &mut self.total;
        let Some(demand) = tick.demand.map(f64::from) else {
            total.is_beyond = true;
            return;
        };
        for &(ready, ns) in &of.supply {
            let (seconds, supply) = (ns as f64 / 1e9, f64::from(ready));
            match total.pieces.last_mut() {
                Some(last) if same(last.demand, demand) && same(last.supply, supply) => {
                    last.seconds += seconds;
                }
                _ => total.pieces.push(Piece { seconds, demand, supply }),
            }
        }
    }

    /// Takes what the engine counted into the tick and the total.
    pub(super) fn take_in(&mut self) {
        let (tally, of, total) = (&mut self.tally, &mut self.of_tick, &mut self.total);
        of.offered += tally.offered;
        of.served += tally.served;
        of.lost += tally.lost.iter().sum::<u64>();
        of.sum += tally.sum;
        total.offered += tally.offered;
        total.served += tally.served;
        total.sum += u128::from(tally.sum);
        for (all, more) in total.lost.iter_mut().zip(tally.lost) {
            *all += more;
        }
        tally.drain_into(&mut of.response);
    }

    /// Sends the metrics of a tick on their way.
    fn collect(&mut self, tick: &Tick, seconds: f64) {
        let presence = self.engine.presence(self.now_ns / TICK_NS);
        let since = presence.wrapping_sub(std::mem::replace(&mut self.presence, presence));
        let present = since as f64 * TICK_NS as f64 / 1e9 / seconds;
        let queued = self.engine.queued() as f64;
        let mut values = [tick.cpu, tick.rate, tick.lost, tick.quantile_s, present, queued];
        // Without an instance there is no processor to be busy.
        if tick.ready <= 0.0 {
            values[Metric::Cpu as usize] = f64::NAN;
        }
        if self.setup.noise > 0.0 {
            for value in &mut values {
                // What is not a number stays so.
                *value *= (1.0 + self.setup.noise * self.streams.noise.normal()).max(0.0);
            }
            let cpu = &mut values[Metric::Cpu as usize];
            *cpu = if cpu.is_nan() { *cpu } else { cpu.min(100.0) };
        }
        self.on_the_way.push_back(Point { at_s: tick.at_s, seconds, values });
    }

    /// Makes the bill, and counts what is in flight.
    pub(super) fn finish(mut self) -> Outcome {
        let end_ns = self.now_ns;
        let used: Vec<Used> = self.pool.instances().iter().map(|of| of.used(end_ns)).collect();
        let waited = self.waited();
        let total = &mut self.total;
        let seconds = end_ns as f64 / 1e9;
        let bill = self.setup.prices.bill(&used, total.offered, total.served, seconds / 3600.0);
        let cores_ns = total.ready_ns as f64 * f64::from(self.setup.rules.cores);
        let worked_ns = total.work as f64 * TICK_NS as f64;
        let sum_ns = total.sum * u128::from(TICK_NS);
        let seen = Seen {
            served: total.served,
            lost: total.lost.iter().sum(),
            response: &total.response,
            sum_ns,
            waited: &waited,
            seconds,
            down_s: total.down_s,
        };
        let clauses = self.setup.slo.iter().flat_map(Slo::clauses);
        let slo = clauses.map(|clause| seen.value(clause)).collect();
        Outcome {
            offered: total.offered,
            served: total.served,
            lost: total.lost,
            in_flight: waited.len() as u64,
            slo,
            response: std::mem::take(&mut total.response),
            response_sum_ns: sum_ns,
            bill,
            instances: used,
            cpu_mean: total.cpu_seconds / seconds.max(1e-9),
            busy_mean: worked_ns / cores_ns.max(1.0),
            scale_out: total.scale_out,
            scale_in: total.scale_in,
            elasticity: (!total.is_beyond).then(|| Elasticity::of(&total.pieces)),
            violated_s: total.violated_s,
            seconds,
            ticks: std::mem::take(&mut total.ticks),
            decisions: std::mem::take(&mut total.decisions),
        }
    }
}

/// Whether two numbers of instances are the same.
fn same(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits()
}
