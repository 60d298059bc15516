//! The controller of a pool: collects metrics, asks a policy, and has its plant do what it says.
//!
//! It knows no clock and no servers of its own. A [`Plant`] has them: the simulated world, or a
//! live one. So the same policy comes to the same decisions in both where it sees the same.

use crate::observation::{Instance, Metric, Observation, Point, Series, State};
use crate::policy::{Bound, Decider, Verdict};
use std::collections::VecDeque;

/// A pool of instances that somebody decides about.
pub trait Plant {
    /// Nanoseconds since the start.
    fn now_ns(&self) -> u64;

    /// The instances that are not ended, in the order in which they were launched.
    fn instances(&self) -> Vec<Instance>;

    /// Launches one more. Returns whether one is on its way: not where whoever starts instances
    /// refuses, or has refused just before.
    fn launch(&mut self) -> bool;

    /// Takes one away, when it has finished what it has. Returns whether there was one.
    fn remove(&mut self) -> bool;
}

/// What a controller is told of its pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// The fewest and the most instances.
    pub bounds: (u32, u32),
    /// How late a metric arrives at the policy, nanoseconds of the policy's time.
    pub delay_ns: u64,
    /// The time of day at the start, seconds since midnight.
    pub of_day_s: f64,
    /// How many seconds pass for the policy in one of the clock: above 1 where time is compressed.
    /// Rates stay those of the clock.
    pub speed: f64,
}

/// A decision, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// When, nanoseconds since the start.
    pub at_ns: u64,
    /// How many there were, those that boot counted.
    pub from: u32,
    /// How many there are to be.
    pub to: u32,
    /// By what the policy's wish was limited; `None` where it was not.
    pub limited_by: Option<Bound>,
    /// How many were launched, or taken away, at once: fewer than wished where that was refused.
    pub done: u32,
    /// Why.
    pub reason: String,
    /// The last point that the policy had seen, in the order of [`Metric::ALL`]; not numbers where
    /// there was none.
    pub seen: [f64; Metric::ALL.len()],
    /// The points that have arrived at the policy since the decision before, in its own time.
    pub arrived: Vec<Point>,
}

impl Decided {
    /// Whether it changes the pool.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.from != self.to
    }
}

/// Collects the metrics of a pool, and decides.
#[derive(Debug, Default)]
pub struct Controller {
    /// What has been collected and not arrived yet.
    on_the_way: VecDeque<Point>,
    series: Series,
}

impl Controller {
    /// Takes the metrics of a period of the clock: they arrive at the policy when their delay is
    /// over.
    pub fn collect(&mut self, terms: &Terms, of: Point) {
        let (at_s, seconds) = (of.at_s * terms.speed, of.seconds * terms.speed);
        self.on_the_way.push_back(Point { at_s, seconds, ..of });
    }

    /// Lets the policy decide, and the plant do it.
    pub fn step(
        &mut self,
        terms: &Terms,
        policy: &mut dyn Decider,
        plant: &mut dyn Plant,
    ) -> Decided {
        let at_ns = plant.now_ns();
        let now_s = at_ns as f64 / 1e9 * terms.speed;
        let delay_s = terms.delay_ns as f64 / 1e9;
        let has_come = |of: &&Point| of.at_s + delay_s <= now_s + 1e-6;
        let mut arrived = Vec::new();
        while let Some(point) = self.on_the_way.front().filter(has_come) {
            arrived.push(*point);
            self.on_the_way.pop_front();
        }
        arrived.iter().for_each(|point| self.arrive(*point));
        let (from, verdict) = self.ask(terms, policy, at_ns, plant.instances());
        let to = verdict.desired;
        let launched = (from..to).take_while(|_| plant.launch()).count();
        let removed = (to..from).take_while(|_| plant.remove()).count();
        let is_refused = launched < to.saturating_sub(from) as usize;
        Decided {
            at_ns,
            from,
            to,
            limited_by: if is_refused { Some(Bound::Provider) } else { verdict.limited_by },
            done: u32::try_from(launched + removed).unwrap_or(u32::MAX),
            reason: verdict.reason,
            seen: self.last(),
            arrived,
        }
    }

    /// The metrics of the last point that has arrived, in the order of [`Metric::ALL`]; not numbers
    /// where there was none.
    #[must_use]
    pub fn last(&self) -> [f64; Metric::ALL.len()] {
        self.series.points().last().map_or([f64::NAN; _], |point| point.values)
    }

    /// A point has arrived at the policy, in the policy's time.
    pub fn arrive(&mut self, point: Point) {
        self.series.push(point);
    }

    /// Asks the policy about instances at a moment of the clock. Returns how many there are, those
    /// that boot counted, and what it decides, within the bounds of the pool.
    pub fn ask(
        &self,
        terms: &Terms,
        policy: &mut dyn Decider,
        at_ns: u64,
        mut instances: Vec<Instance>,
    ) -> (u32, Verdict) {
        let now_s = at_ns as f64 / 1e9 * terms.speed;
        for of in &mut instances {
            of.launched_s *= terms.speed;
            of.ready_s = of.ready_s.map(|ready_s| ready_s * terms.speed);
        }
        let verdict = policy.decide(&Observation {
            now_s,
            of_day_s: (terms.of_day_s + now_s).rem_euclid(86_400.0),
            instances: &instances,
            series: &self.series,
            bounds: terms.bounds,
        });
        let is_wanted = |of: &&Instance| of.state != State::Draining;
        let from = u32::try_from(instances.iter().filter(is_wanted).count()).unwrap_or(u32::MAX);
        // Whatever decides: a pool stays within its bounds.
        let (least, most) = terms.bounds;
        let desired = verdict.desired.clamp(least, most.max(least));
        (from, Verdict { desired, ..verdict })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Facts, kind};

    /// A pool of which launches beyond a number are refused.
    struct Counted {
        now_ns: u64,
        there: u32,
        most: u32,
    }

    impl Plant for Counted {
        fn now_ns(&self) -> u64 {
            self.now_ns
        }

        fn instances(&self) -> Vec<Instance> {
            let one =
                Instance { launched_s: 0.0, ready_s: Some(0.0), state: State::Ready, speed: 1.0 };
            vec![one; self.there as usize]
        }

        fn launch(&mut self) -> bool {
            self.there += u32::from(self.there < self.most);
            self.there < self.most
        }

        fn remove(&mut self) -> bool {
            self.there -= 1;
            true
        }
    }

    fn fixed(instances: u32) -> Box<dyn Decider> {
        let facts = Facts {
            cores: 1,
            limit: None,
            service_s: 0.1,
            service_points_s: [0.1].into(),
            income: 0.0,
            price_per_hour: 0.0,
            slo: None,
            boot_s: 0.0,
            start: None,
            future: None,
        };
        let given = [("instances".to_owned(), instances.to_string())];
        kind("fixed").unwrap().make(&given, &facts).unwrap()()
    }

    const TERMS: Terms = Terms { bounds: (1, 10), delay_ns: 0, of_day_s: 0.0, speed: 1.0 };

    #[test]
    fn what_is_beyond_the_bounds_is_told_and_what_is_refused_is_not_done() {
        let mut plant = Counted { now_ns: 0, there: 2, most: 20 };
        let of = Controller::default().step(&TERMS, &mut *fixed(50), &mut plant);
        assert_eq!((of.from, of.to, of.done, of.limited_by), (2, 10, 8, Some(Bound::Max)));
        assert_eq!(plant.there, 10);
        let mut plant = Counted { now_ns: 0, there: 2, most: 4 };
        let of = Controller::default().step(&TERMS, &mut *fixed(8), &mut plant);
        assert_eq!((of.from, of.to, of.limited_by), (2, 8, Some(Bound::Provider)));
        assert!(of.done < 6 && plant.there == 4, "{of:?}");
        let mut plant = Counted { now_ns: 0, there: 5, most: 20 };
        let of = Controller::default().step(&TERMS, &mut *fixed(3), &mut plant);
        assert_eq!((of.from, of.to, of.done, plant.there), (5, 3, 2, 3));
    }

    #[test]
    fn a_metric_arrives_when_its_delay_is_over() {
        let mut controller = Controller::default();
        let terms = Terms { delay_ns: 2_000_000_000, ..TERMS };
        controller.collect(&terms, Point { at_s: 1.0, seconds: 1.0, values: [7.0; _] });
        let mut plant = Counted { now_ns: 2_000_000_000, there: 1, most: 20 };
        let early = controller.step(&terms, &mut *fixed(1), &mut plant);
        assert!(early.seen.iter().all(|value| value.is_nan()));
        plant.now_ns = 3_000_000_000;
        let later = controller.step(&terms, &mut *fixed(1), &mut plant);
        assert_eq!(later.seen[0].to_bits(), 7.0_f64.to_bits());
    }
}
