//! The instances of a pool through their lives: launched, ready, draining, ended.
//!
//! Pure bookkeeping in nanoseconds since the start; whoever runs the pool, simulated or live, tells
//! it what happens.

use crate::billing::{Prices, Used};
use crate::observation::{Instance as ObservedInstance, State};
use plimsoll_workload::pool::{ChargeFrom, Termination};
use plimsoll_workload::random::Stream;

/// An instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    /// Its number, in the order of launches.
    pub number: usize,
    /// Its place at the balancer.
    pub slot: usize,
    /// When it was launched.
    pub launched_ns: u64,
    /// When it is, or will be, ready.
    pub ready_ns: u64,
    /// Since when it takes no more requests.
    pub draining_ns: Option<u64>,
    /// When it ended.
    pub ended_ns: Option<u64>,
    /// Since when it takes no requests for a while: it is not well, and has not ended.
    pub out_since_ns: Option<u64>,
    /// How long it was so before.
    pub out_ns: u64,
    /// Its speed: 1 is that of its type.
    pub speed: f64,
}

impl Instance {
    /// Where it is in its life; `None` when it has ended.
    #[must_use]
    pub fn state(&self, now_ns: u64) -> Option<State> {
        match (self.ended_ns, self.draining_ns) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(State::Draining),
            (None, None) if self.takes_requests(now_ns) => Some(State::Ready),
            (None, None) => Some(State::Booting),
        }
    }

    /// Whether it was made ready, and is well.
    fn takes_requests(&self, now_ns: u64) -> bool {
        self.ready_ns <= now_ns && self.out_since_ns.is_none()
    }

    /// The time it used, as of now.
    #[must_use]
    pub fn used(&self, now_ns: u64) -> Used {
        let ended_ns = self.ended_ns.unwrap_or(now_ns).min(now_ns);
        let ready_ns = Some(self.ready_ns).filter(|&ready_ns| ready_ns <= ended_ns);
        let since_ns = self.out_since_ns.map_or(0, |ns| ended_ns.saturating_sub(ns));
        let out_ns = self.out_ns + since_ns;
        Used { launched_ns: self.launched_ns, ready_ns, ended_ns, out_ns }
    }
}

/// All instances that there ever were.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    instances: Vec<Instance>,
    /// Numbers of those that have not ended.
    alive: Vec<usize>,
    /// Places at the balancer that are taken.
    taken: Vec<bool>,
}

impl Pool {
    /// All instances, in the order of their launches.
    #[must_use]
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Those that have not ended.
    pub fn alive(&self) -> impl Iterator<Item = &Instance> {
        self.alive.iter().map(|&number| &self.instances[number])
    }

    /// Those that have not ended and will take requests, or do: what a policy decides about.
    pub fn wanted(&self) -> impl Iterator<Item = &Instance> {
        self.alive().filter(|of| of.draining_ns.is_none())
    }

    /// Launches an instance that is ready at a time, at the first free place.
    pub fn launch(&mut self, now_ns: u64, ready_ns: u64, speed: f64) -> Instance {
        let slot = self.taken.iter().position(|taken| !taken).unwrap_or(self.taken.len());
        if slot == self.taken.len() {
            self.taken.push(true);
        }
        self.taken[slot] = true;
        let number = self.instances.len();
        let instance = Instance {
            number,
            slot,
            launched_ns: now_ns,
            ready_ns,
            draining_ns: None,
            ended_ns: None,
            out_since_ns: None,
            out_ns: 0,
            speed,
        };
        self.instances.push(instance);
        self.alive.push(number);
        instance
    }

    /// An instance takes requests from now on, of which that was not known before. One that was out
    /// takes them again.
    pub fn ready(&mut self, number: usize, now_ns: u64) {
        let of = &mut self.instances[number];
        of.ready_ns = of.ready_ns.min(now_ns);
        if let Some(since_ns) = of.out_since_ns.take() {
            of.out_ns += now_ns.saturating_sub(since_ns);
        }
    }

    /// An instance takes no requests until it is ready again, and has not ended: it is charged as
    /// before.
    pub fn out(&mut self, number: usize, now_ns: u64) {
        self.instances[number].out_since_ns.get_or_insert(now_ns);
    }

    /// An instance takes no more requests.
    pub fn drain(&mut self, number: usize, now_ns: u64) {
        self.instances[number].draining_ns = Some(now_ns);
    }

    /// An instance has ended: its place is free.
    pub fn end(&mut self, number: usize, at_ns: u64) {
        let instance = &mut self.instances[number];
        instance.ended_ns = Some(at_ns);
        self.taken[instance.slot] = false;
        self.alive.retain(|&of| of != number);
    }

    /// Which instance goes next; those that still boot first, the last launched of them. `None`
    /// where there is none.
    #[must_use]
    pub fn choose(
        &self,
        termination: Termination,
        prices: &Prices,
        now_ns: u64,
        chance: &mut Stream,
    ) -> Option<Instance> {
        let booting = self.wanted().filter(|of| of.ready_ns > now_ns);
        if let Some(last) = booting.max_by_key(|of| of.number)
            && prices.from == ChargeFrom::Running
        {
            return Some(*last);
        }
        let charged_from = |of: &Instance| match prices.from {
            ChargeFrom::Running => of.ready_ns,
            ChargeFrom::Launch => of.launched_ns,
        };
        let billed = |ns: u64| prices.billed_ns(ns);
        let left = |of: &Instance| {
            prices.unit.left_ns(billed(charged_from(of)), billed(now_ns), prices.least_ns)
        };
        let mut all = self.wanted();
        match termination {
            // Of several, the older.
            Termination::ClosestToUnit => all.min_by_key(|of| (left(of), of.number)),
            Termination::Oldest => all.next(),
            Termination::Newest => all.last(),
            Termination::Random => {
                let place = chance.below(self.wanted().count() as u64);
                usize::try_from(place).ok().and_then(|place| all.nth(place))
            }
        }
        .copied()
    }

    /// What a policy sees of it.
    #[must_use]
    pub fn seen(&self, now_ns: u64) -> Vec<ObservedInstance> {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let of = |of: &Instance| {
            Some(ObservedInstance {
                launched_s: seconds(of.launched_ns),
                ready_s: of.takes_requests(now_ns).then(|| seconds(of.ready_ns)),
                state: of.state(now_ns)?,
                speed: of.speed,
            })
        };
        self.alive().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::pool::BillingUnit;

    const MINUTE: u64 = 60_000_000_000;

    fn prices() -> Prices {
        Prices {
            speed: 1.0,
            unit: BillingUnit::Hour,
            least_ns: 0,
            from: ChargeFrom::Running,
            per_hour: 1.0,
            per_request: 0.0,
            per_gb: 0.0,
            answer_bytes: 0.0,
            balancer_per_hour: 0.0,
            balancer_per_gb: 0.0,
            income_per_request: 0.0,
        }
    }

    /// Ready at minutes 0, 50 and 20.
    fn three() -> Pool {
        let mut pool = Pool::default();
        for ready in [0, 50, 20] {
            pool.launch(0, ready * MINUTE, 1.0);
        }
        pool
    }

    #[test]
    fn the_one_with_the_least_paid_time_left_goes() {
        let (pool, mut chance) = (three(), Stream::named(1, "termination"));
        let mut chosen = |termination, minutes: u64| {
            pool.choose(termination, &prices(), minutes * MINUTE, &mut chance).unwrap().number
        };
        assert_eq!(chosen(Termination::ClosestToUnit, 55), 0);
        assert_eq!(chosen(Termination::ClosestToUnit, 70), 2);
        assert_eq!(chosen(Termination::ClosestToUnit, 100), 1);
        assert_eq!(chosen(Termination::Oldest, 100), 0);
        assert_eq!(chosen(Termination::Newest, 100), 2);
        assert!(chosen(Termination::Random, 100) < 3);
        assert_eq!(chosen(Termination::Oldest, 30), 1, "what boots is not paid yet");
    }

    /// The least time that is charged is paid, too: nobody goes within it while another one is
    /// charged anew.
    #[test]
    fn the_least_paid_time_is_paid() {
        let prices = Prices { unit: BillingUnit::Second, least_ns: 90 * MINUTE, ..prices() };
        let (mut pool, mut chance) = (Pool::default(), Stream::named(1, "termination"));
        for ready in [0, 0, 30] {
            pool.launch(ready * MINUTE, ready * MINUTE, 1.0);
        }
        let mut chosen = |minutes: u64| {
            let termination = Termination::ClosestToUnit;
            pool.choose(termination, &prices, minutes * MINUTE, &mut chance).unwrap().number
        };
        assert_eq!(chosen(60), 0, "its paid time ends first");
        assert_eq!(chosen(100), 0, "charged each second, and the third until 120");
        assert_eq!(chosen(121), 0, "all are charged each second: the oldest");
    }

    #[test]
    fn one_that_is_out_for_a_while_is_the_same_one_when_it_is_back() {
        let mut pool = Pool::default();
        let of = pool.launch(MINUTE, u64::MAX, 1.0).number;
        pool.ready(of, 2 * MINUTE);
        for minutes in [10, 30] {
            pool.out(of, minutes * MINUTE);
            assert_eq!(pool.instances()[of].state((minutes + 1) * MINUTE), Some(State::Booting));
            assert_eq!(pool.seen((minutes + 1) * MINUTE)[0].ready_s, None);
            pool.ready(of, (minutes + 5) * MINUTE);
        }
        assert_eq!(pool.instances()[of].state(40 * MINUTE), Some(State::Ready));
        pool.out(of, 50 * MINUTE);
        pool.end(of, 52 * MINUTE);
        let used = pool.instances()[of].used(60 * MINUTE);
        assert_eq!((used.ready_ns, used.ended_ns), (Some(2 * MINUTE), 52 * MINUTE));
        assert_eq!(used.out_ns, 12 * MINUTE);
        // One hour, of which it took requests for 50 minutes but 12.
        let all = [used];
        assert!((prices().bill(&all, 0, 0, 1.0).hours - 1.0).abs() < 1e-12);
        assert!(
            (prices().wasted_s(&all) - 60.0 * 22.0).abs() < 1e-9,
            "{}",
            prices().wasted_s(&all)
        );
    }

    #[test]
    fn a_place_is_taken_again_when_its_instance_has_ended() {
        let mut pool = three();
        pool.drain(0, 5 * MINUTE);
        assert_eq!(pool.launch(6 * MINUTE, 9 * MINUTE, 1.0).slot, 3, "it still drains");
        pool.end(0, 7 * MINUTE);
        assert_eq!(pool.launch(8 * MINUTE, 9 * MINUTE, 1.0).slot, 0);
        assert_eq!((pool.wanted().count(), pool.instances().len()), (4, 5));
        assert_eq!(pool.instances()[0].used(60 * MINUTE).ended_ns, 7 * MINUTE);
    }
}
