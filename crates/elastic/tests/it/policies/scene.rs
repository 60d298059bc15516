//! A pool as a policy sees it: a tick passes with these metrics, the policy decides, and the pool
//! does what it says.

use plimsoll_elastic::observation::{Instance, Metric, Observation, Point, Series, State};
use plimsoll_elastic::policy::{self, Decider, Facts, Verdict};
use std::collections::VecDeque;

/// Two cores, 70 ms, ten requests at once, as published; 99% within 400 ms.
pub(super) fn facts() -> Facts {
    Facts {
        cores: 2,
        limit: Some(10),
        service_s: 0.07,
        service_points_s: vec![0.07].into(),
        income: 0.0017,
        price_per_hour: 17.0,
        slo: Some((0.99, 0.4)),
        boot_s: 180.0,
        start: None,
        future: None,
    }
}

/// Parameters by name.
pub(super) fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// A policy of these facts.
pub(super) fn made(kind: &str, given: &[(&str, &str)], facts: &Facts) -> Box<dyn Decider> {
    policy::kind(kind).unwrap().make(&pairs(given), facts).unwrap()()
}

/// The pool, the policy and what was collected.
pub(super) struct Scene {
    decider: Box<dyn Decider>,
    pub(super) instances: Vec<Instance>,
    series: Series,
    late: VecDeque<Point>,
    pub(super) now_s: f64,
    of_day_s: f64,
    bounds: (u32, u32),
    tick_s: f64,
    boot_s: f64,
    delay_s: f64,
}

impl Scene {
    /// Four instances of 1 to 20, ticks of a minute from midnight on; instances boot in no time and
    /// metrics are there at once.
    pub(super) fn new(kind: &str, given: &[(&str, &str)]) -> Self {
        Self::of(made(kind, given, &facts()))
    }

    pub(super) fn of(decider: Box<dyn Decider>) -> Self {
        let scene = Self {
            decider,
            instances: Vec::new(),
            series: Series::default(),
            late: VecDeque::new(),
            now_s: 0.0,
            of_day_s: 0.0,
            bounds: (1, 20),
            tick_s: 60.0,
            boot_s: 0.0,
            delay_s: 0.0,
        };
        scene.with(4)
    }

    /// So many instances from the start.
    pub(super) fn with(mut self, count: u32) -> Self {
        let instance =
            Instance { launched_s: 0.0, ready_s: Some(0.0), state: State::Ready, speed: 1.0 };
        self.instances = vec![instance; count as usize];
        self
    }

    pub(super) fn between(mut self, least: u32, most: u32) -> Self {
        self.bounds = (least, most);
        self
    }

    pub(super) fn ticks_of(mut self, seconds: f64) -> Self {
        self.tick_s = seconds;
        self
    }

    pub(super) fn booting_for(mut self, seconds: f64) -> Self {
        self.boot_s = seconds;
        self
    }

    pub(super) fn late_by(mut self, seconds: f64) -> Self {
        self.delay_s = seconds;
        self
    }

    /// The time of day at the start, in hours.
    pub(super) fn starting_at(mut self, hours: f64) -> Self {
        self.of_day_s = 3600.0 * hours;
        self
    }

    /// Instances that take requests, or will.
    pub(super) fn wanted(&self) -> u32 {
        u32::try_from(self.instances.len()).unwrap()
    }

    /// A tick passes with these metrics; nobody decides.
    pub(super) fn pass(&mut self, values: &[(Metric, f64)]) {
        self.now_s += self.tick_s;
        let mut point =
            Point { at_s: self.now_s, seconds: self.tick_s, values: [f64::NAN; Metric::ALL.len()] };
        for (metric, value) in values {
            point.values[*metric as usize] = *value;
        }
        self.late.push_back(point);
        while self.late.front().is_some_and(|of| of.at_s + self.delay_s <= self.now_s) {
            self.late.pop_front().into_iter().for_each(|point| self.series.push(point));
        }
        for instance in self.instances.iter_mut().filter(|of| of.state == State::Booting) {
            let ready_s = instance.launched_s + self.boot_s;
            if ready_s <= self.now_s {
                (instance.state, instance.ready_s) = (State::Ready, Some(ready_s));
            }
        }
    }

    /// What the policy says now; the pool stays as it is.
    pub(super) fn ask(&mut self) -> Verdict {
        self.decider.decide(&Observation {
            now_s: self.now_s,
            of_day_s: (self.of_day_s + self.now_s).rem_euclid(86_400.0),
            instances: &self.instances,
            series: &self.series,
            bounds: self.bounds,
        })
    }

    /// A tick passes, the policy decides, and the pool follows: the last ones go first.
    pub(super) fn tick(&mut self, values: &[(Metric, f64)]) -> Verdict {
        self.pass(values);
        let decision = self.ask();
        let desired = decision.desired as usize;
        self.instances.truncate(desired);
        while self.instances.len() < desired {
            let is_ready = self.boot_s <= 0.0;
            self.instances.push(Instance {
                launched_s: self.now_s,
                ready_s: is_ready.then_some(self.now_s),
                state: if is_ready { State::Ready } else { State::Booting },
                speed: 1.0,
            });
        }
        decision
    }

    /// A tick with one metric: how many instances there are to be.
    pub(super) fn see(&mut self, metric: Metric, value: f64) -> u32 {
        self.tick(&[(metric, value)]).desired
    }

    /// A tick for each value.
    pub(super) fn see_all(&mut self, metric: Metric, values: &[f64]) -> Vec<u32> {
        values.iter().map(|value| self.see(metric, *value)).collect()
    }

    /// So many ticks with the same value.
    pub(super) fn see_for(&mut self, ticks: usize, metric: Metric, value: f64) -> Vec<u32> {
        self.see_all(metric, &vec![value; ticks])
    }

    /// What the policy remembers, saved and restored into another one, which goes on.
    pub(super) fn change_to(&mut self, mut other: Box<dyn Decider>) {
        other.restore(&self.decider.save().unwrap()).unwrap();
        self.decider = other;
    }
}
