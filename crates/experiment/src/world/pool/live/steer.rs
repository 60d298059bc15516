//! Steers a live pool: asks its balancer how all stands, makes metrics of it, and lets the policy
//! decide, tick by tick.

use std::sync::mpsc::Sender;
use std::time::Duration;

use plimsoll_elastic::books::{Books, OfTick, Terms};
use plimsoll_elastic::controller::{Controller, Decided};
use plimsoll_elastic::observation::{Metric, Point};
use plimsoll_elastic::outcome::{Loss, Tick};
use plimsoll_elastic::policy::{Bound, Decider};
use plimsoll_elastic::simulated::Setup;
use plimsoll_runs::Event;
use plimsoll_testbed::balance::Lost;
use plimsoll_testbed::balancers::{BalancerCounts, Balances};
use plimsoll_testbed::{Instance as Server, Role, TestbedError};
use plimsoll_workload::random::Stream;
use std::thread::Scope;

use super::super::contents::scaled;
use super::meters::Meters;
use super::plant::LivePlant;
use super::yard::{Yard, nanoseconds};

/// The balancer is asked so often within a tick, in as many parts of it at a moment of each that is
/// drawn: what is asked always as long after the requests came sees them always or never.
const SAMPLES: u32 = 5;
/// But not more often than this, and not more rarely.
const PERIODS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// How often it is looked whether all is over, when the load has ended.
const LAST: Duration = Duration::from_secs(1);

/// What is seen between two ticks.
#[derive(Default)]
struct Samples {
    /// How often the balancer was asked.
    count: u32,
    /// Sums over these times: connections of clients, requests at instances, and the share of busy
    /// cores.
    connections: f64,
    present: f64,
    busy: f64,
    /// How often there was an instance that could be busy.
    with_instances: u32,
    waiting: u64,
}

/// A live pool under its policy.
pub(super) struct Steered<'a> {
    pub(super) balancer: &'a dyn Balances,
    /// The server of the balancer.
    pub(super) server: &'a Server,
    pub(super) setup: &'a Setup,
    /// The role that is scaled, whose cgroups are read.
    pub(super) role: Option<&'a Role>,
    /// Whether its processors are; else the share of busy cores is taken for them.
    pub(super) has_processors: bool,
    pub(super) terms: Terms<'a>,
    /// Takes events for the run.
    pub(super) events: Sender<Event>,
    /// Takes decisions for the run.
    pub(super) decisions: Sender<Decided>,
    pub(super) tells: &'a (dyn Fn(&Decided) + Sync),
    /// Hears of each tick.
    pub(super) hears: &'a (dyn Fn(&Tick) + Sync),
}

/// How far the steering is within a tick.
#[derive(Default)]
struct Ticking {
    /// The look from which on the tick is counted, and the last one.
    from: BalancerCounts,
    last: BalancerCounts,
    last_ns: u64,
    /// The one before: between it and the next look is a whole part of a tick at least, so that
    /// rates can be told.
    older: (BalancerCounts, u64),
    of: OfTick,
    samples: Samples,
    /// In how many parts of the tick was looked.
    looks: u32,
    meters: Option<Meters>,
}

impl Ticking {
    /// When the next look is, of a tick with such parts.
    fn next_ns(&mut self, tick_ns: u64, part_ns: u64, draws: &mut Stream) -> u64 {
        let from_ns = self.of.began_ns + u64::from(self.looks) * part_ns;
        self.looks += 1;
        let end_ns = self.of.began_ns + tick_ns;
        // The end of the tick is no moment by chance.
        let is_within = from_ns + part_ns <= end_ns;
        if is_within { from_ns + draws.below(part_ns.max(1)) } else { end_ns }
    }

    /// Takes what is seen now, within the tick or at its end, of instances with so many cores.
    fn sees(&mut self, seen: BalancerCounts, now_ns: u64, (is_due, cores): (bool, f64)) {
        self.samples.waiting = seen.waiting;
        if !is_due || self.samples.count == 0 {
            take(&seen, cores, &mut self.samples);
        }
        let ready = u32::try_from(seen.ready()).unwrap_or(u32::MAX);
        self.of.supplied(ready, now_ns.saturating_sub(self.last_ns));
        let last = std::mem::replace(&mut self.last, seen);
        self.older = (last, self.last_ns);
        self.last_ns = now_ns;
    }
}

impl Steered<'_> {
    /// Steers until all is over. Returns the books, with the ticks as the balancer saw them.
    ///
    /// # Errors
    /// Where the balancer does not answer, and does not come to stand again.
    pub(super) fn run<'scope, 'env, 'a>(
        &self,
        policy: &mut dyn Decider,
        scope: &'scope Scope<'scope, 'env>,
        yard: &'env Yard<'a>,
    ) -> Result<Books, TestbedError> {
        let mut plant = LivePlant { scope, yard, scaled: (0, 0) };
        let (mut books, mut controller) = (Books::default(), Controller::default());
        let tick_ns = self.setup.tick_ns.max(1);
        let period = Duration::from_nanos(tick_ns / u64::from(SAMPLES));
        let part_ns = nanoseconds(period.clamp(PERIODS.0, PERIODS.1)).min(tick_ns);
        let mut draws = Stream::named(self.setup.seed, "looks");
        let terms = self.setup.terms();
        let first = self.balancer.look()?;
        yard.life().lost_last = first.lost;
        let cores = std::thread::available_parallelism().map_or(1.0, |of| of.get() as f64);
        let meters = self.role.map(|role| Meters::of(role, cores));
        let (from, older, last) = (first.clone(), (first.clone(), 0), first);
        let mut ticking = Ticking { from, last, older, meters, ..Ticking::default() };
        loop {
            let look_ns = ticking.next_ns(tick_ns, part_ns, &mut draws);
            let Some(now_ns) = self.wait(yard, look_ns) else { break };
            let until_ns = yard.life().until_ns;
            let (is_last, now_ns) = (now_ns >= until_ns, now_ns.min(until_ns));
            if is_last && now_ns <= ticking.of.began_ns {
                break;
            }
            let is_due = is_last || now_ns >= ticking.of.began_ns + tick_ns;
            let seen = self.look(is_due, &mut ticking, yard)?;
            seen.notes.iter().for_each(|text| yard.note_balancer(text));
            let (older, older_ns) = &ticking.older;
            let of_ns = now_ns.saturating_sub(*older_ns).max(part_ns);
            if !is_last {
                plant.mend(older, &seen, of_ns as f64 / 1e9);
            }
            ticking.sees(seen, now_ns, (is_due, f64::from(self.terms.cores)));
            if let Some(meters) = &mut ticking.meters {
                let servers = yard.life().servers();
                meters.look(servers.iter());
            }
            if !is_due {
                continue;
            }
            let watched = yard.life().take_watched();
            let point = self.end_tick(now_ns, &mut ticking, &mut books, watched);
            if is_last {
                break;
            }
            controller.collect(&terms, point);
            let before = yard.is_followed.then(|| policy.save().ok()).flatten();
            let mut decided = controller.step(&terms, policy, &mut plant);
            explains(&mut decided, yard);
            if let Some(before) = before.filter(|_| decided.changes()) {
                // Nothing was done, so it rests after nothing. What was saved is of this kind.
                let _ = policy.restore(&before);
            }
            yard.life().wants(decided.to);
            self.tell(&decided);
            if decided.changes() {
                books.decisions.push(decided);
            }
        }
        self.rests(yard);
        books.scaled = plant.scaled;
        books.churn = yard.life().churn;
        Ok(books)
    }

    /// The load has ended: nothing is decided any more. Waits until all is over, and hands over
    /// what has happened.
    fn rests(&self, yard: &Yard<'_>) {
        let mut life = yard.life();
        while !life.is_over {
            life = yard.wait(life, LAST);
        }
        let events = life.take_events();
        drop(life);
        events.into_iter().for_each(|event| drop(self.events.send(event)));
    }

    /// Waits until it is time for the next look, or the load ends, and hands over what has
    /// happened. Returns the time; `None` where all is over.
    fn wait(&self, yard: &Yard<'_>, due_ns: u64) -> Option<u64> {
        let mut life = yard.life();
        while !life.is_over && life.now_ns() < due_ns.min(life.until_ns) {
            let left_ns = due_ns.min(life.until_ns).saturating_sub(life.now_ns());
            life = yard.wait(life, Duration::from_nanos(left_ns.max(100_000)));
        }
        let (now_ns, is_over) = (life.now_ns(), life.is_over);
        let events = life.take_events();
        drop(life);
        events.into_iter().for_each(|event| drop(self.events.send(event)));
        (!is_over).then_some(now_ns)
    }

    /// Looks how all stands. A balancer that does not answer is made anew, and counts from then on.
    fn look(
        &self,
        is_due: bool,
        ticking: &mut Ticking,
        yard: &Yard<'_>,
    ) -> Result<BalancerCounts, TestbedError> {
        let ask = || if is_due { self.balancer.take() } else { self.balancer.look() };
        let tells = |seen: &BalancerCounts| yard.life().lost_last = seen.lost;
        if let Ok(seen) = ask() {
            tells(&seen);
            return Ok(seen);
        }
        count(&mut ticking.of, (&ticking.from, &ticking.last));
        yard.revive(self.server)?;
        (ticking.from, ticking.last) = (BalancerCounts::default(), BalancerCounts::default());
        ticking.older = (BalancerCounts::default(), ticking.last_ns);
        ask().inspect(tells)
    }

    /// Ends a tick: what the balancer counted in it goes into the books. Returns the point for the
    /// policy.
    fn end_tick(
        &self,
        now_ns: u64,
        ticking: &mut Ticking,
        books: &mut Books,
        watched: f64,
    ) -> Point {
        count(&mut ticking.of, (&ticking.from, &ticking.last));
        for (ns, count) in &ticking.last.times {
            ticking.of.response.record_n(*ns, *count);
        }
        let (of, samples) = (&ticking.of, &ticking.samples);
        let seconds = (now_ns - of.began_ns) as f64 / 1e9;
        let busy = samples.busy / f64::from(samples.with_instances.max(1));
        // As in the simulator, a core that works is busy with a processor for a share of the time.
        let share = self.setup.cpu_s / self.setup.service.mean();
        let cpu =
            if samples.with_instances > 0 { 100.0 * (busy * share).min(1.0) } else { f64::NAN };
        let cores_ns = of.ready_ns() as f64 * f64::from(self.terms.cores);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        let work_ns = (cores_ns * busy) as u64;
        let read = ticking.meters.as_mut().map(Meters::end_tick);
        let read_cpu = read.filter(|_| self.has_processors).and_then(|read| read.cpu);
        let cpu = read_cpu.unwrap_or(cpu);
        let shown = if cpu.is_finite() { cpu } else { 0.0 };
        let tick = books.tick(&self.terms, now_ns, of, (work_ns, shown), Vec::new);
        (self.hears)(&tick);
        let mut values = [f64::NAN; Metric::ALL.len()];
        values[Metric::Cpu as usize] = cpu;
        values[Metric::Rate as usize] = tick.rate;
        values[Metric::Lost as usize] = tick.lost;
        values[Metric::Response as usize] = tick.quantile_s;
        values[Metric::Concurrency as usize] = samples.present / f64::from(samples.count.max(1));
        values[Metric::Queue as usize] = samples.waiting as f64;
        values[Metric::Watched as usize] = watched;
        values[Metric::Memory as usize] = read.map_or(f64::NAN, |read| read.memory);
        values[Metric::Connections as usize] =
            samples.connections / f64::from(samples.count.max(1));
        ticking.from = ticking.last.clone();
        (ticking.samples, ticking.looks) = (Samples::default(), 0);
        ticking.of = OfTick { began_ns: now_ns, ..OfTick::default() };
        Point { at_s: tick.at_s, seconds, values }
    }

    fn tell(&self, of: &Decided) {
        (self.tells)(of);
        // Nobody takes them any more where the run has ended.
        drop(self.decisions.send(of.clone()));
        if of.changes() {
            drop(self.events.send(scaled(of)));
        }
    }
}

/// Adds to a decision what is known of who starts the instances.
fn explains(decided: &mut Decided, yard: &Yard<'_>) {
    let life = yard.life();
    if decided.limited_by == Some(Bound::Provider) && life.is_spent {
        decided.limited_by = Some(Bound::Budget);
    }
    if let Some(why) = &life.unknown {
        decided.reason += &format!("; the pool is as it was told last: {why}");
    }
}

/// Takes one look.
fn take(seen: &BalancerCounts, cores: f64, samples: &mut Samples) {
    samples.count += 1;
    samples.connections += seen.connections as f64;
    samples.present += seen.active as f64;
    if let Some(busy) = seen.busy(cores) {
        samples.busy += busy;
        samples.with_instances += 1;
    }
}

/// Adds what the balancer counted between two looks.
fn count(of: &mut OfTick, (before, after): (&BalancerCounts, &BalancerCounts)) {
    of.offered += after.requests - before.requests;
    of.served += after.answered - before.answered;
    for (all, more) in of.lost.iter_mut().zip(lost_between(&before.lost, &after.lost)) {
        *all += more;
    }
    of.sum_ns += (after.response_us - before.response_us) * 1000;
}

/// What was lost between two looks, in the order of [`Loss::ALL`].
pub(super) fn lost_between(before: &Lost, after: &Lost) -> [u64; Loss::ALL.len()] {
    let mut lost = [0; Loss::ALL.len()];
    let failed = |of: &Lost| of.instance_failed;
    let late = |of: &Lost| of.timeout + of.client_gone;
    lost[Loss::NoSlot as usize] = after.no_slot - before.no_slot;
    lost[Loss::QueueFull as usize] = after.queue_full - before.queue_full;
    lost[Loss::QueueTimeout as usize] = after.queue_timeout - before.queue_timeout;
    lost[Loss::ClientTimeout as usize] = late(after) - late(before);
    lost[Loss::InstanceFailed as usize] = failed(after) - failed(before);
    lost[Loss::Drained as usize] = after.drained - before.drained;
    lost
}
