//! Policies: how many instances a pool should have, from what is seen of it.
//!
//! A policy has no clock, no randomness and does no I/O: the same observations give the same
//! decisions. What it remembers is its [`Policy::State`], which can be written down and read again,
//! so that a controller may be restarted.
//!
//! A new policy is a file of its own and one line in [`KINDS`].

mod fixed;
mod hpa;
mod limits;
mod oracle;
mod panic;
mod parameters;
mod predictive;
mod revenue;
mod slo;
mod step;
mod target;
mod threshold;
mod timetable;
mod window;

pub use parameters::{Fault, Parameters};
pub use revenue::revenue_per_hour;

use crate::observation::{Metric, Observation};
pub use plimsoll_units::parameter::Parameter;
use plimsoll_units::parameter::Takes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cmp::Ordering;
use std::sync::Arc;

/// What a policy decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// How many instances the pool should have, those that boot counted.
    pub desired: u32,
    /// Why, in a sentence.
    pub reason: String,
    /// What of its own keeps it from what it would say otherwise.
    pub held_by: Option<Bound>,
}

impl Decision {
    /// So many, for a reason.
    pub(crate) fn of(desired: u32, reason: String) -> Self {
        Self { desired, reason, held_by: None }
    }

    /// Held back, where there is something that does it.
    pub(crate) fn held_by(self, held_by: Option<Bound>) -> Self {
        Self { held_by, ..self }
    }
}

/// What keeps a pool from another number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Its fewest instances.
    Min,
    /// Its most.
    Max,
    /// The time after an action in which the policy does nothing.
    Cooldown,
    /// What the policy wished within its window, or may change within a period.
    Window,
    /// Whoever starts instances: it refused, and is asked again later.
    Provider,
    /// The budget.
    Budget,
}

impl Bound {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Cooldown => "cooldown",
            Self::Window => "window",
            Self::Provider => "provider",
            Self::Budget => "budget",
        }
    }
}

/// The bound of a pool that so many instances would lie beyond.
fn beyond(seen: &Observation<'_>, instances: f64) -> Option<Bound> {
    match f64::from(seen.clamp(instances)).total_cmp(&instances) {
        Ordering::Less => Some(Bound::Max),
        Ordering::Greater => Some(Bound::Min),
        Ordering::Equal => None,
    }
}

/// A decision within the bounds of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How many instances the pool should have, those that boot counted.
    pub desired: u32,
    /// What it was limited by: a bound of the pool that it would have gone beyond, or what of the
    /// policy itself holds it back.
    pub limited_by: Option<Bound>,
    /// Why, in a sentence.
    pub reason: String,
}

/// A way to decide.
pub trait Policy: Send + Sync {
    /// What it remembers between decisions.
    type State: Default + Clone + Send + Serialize + DeserializeOwned;

    /// Decides. Called at every tick of the world, in order. What it decides is brought within the
    /// bounds of the pool by the one who asks.
    fn decide(&self, state: &mut Self::State, seen: &Observation<'_>) -> Decision;

    /// What a metric has to be above for the policy to add instances; `None` where it does not go
    /// by a bound.
    fn adds_above(&self) -> Option<Reach> {
        None
    }

    /// How many instances there are before anything is seen, at a time of the day; `None` where
    /// that is for the pool to say.
    fn begins(&self, _: f64) -> Option<Beginning> {
        None
    }

    /// The fewest and the most instances that it ever asks for, where these are numbers of its own.
    fn range(&self) -> Option<(u32, u32)> {
        None
    }

    /// The shortest time that it looks at, counts in or waits for, with its parameter's name; what
    /// is shorter than its pace cannot be kept.
    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        None
    }
}

/// How many instances a policy begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// Always so many.
    Always(u32),
    /// All that there may be, always.
    Most,
    /// So many as it would have at that time; a plan may say otherwise.
    Now(u32),
}

/// A bound of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// The metric.
    pub metric: Metric,
    /// Its bound.
    pub bound: f64,
    /// Whether a metric that is a sum is divided among the instances.
    pub is_each: bool,
}

/// A policy with what it remembers, whatever the kind of both.
pub trait Decider: Send {
    /// Decides.
    fn decide(&mut self, seen: &Observation<'_>) -> Verdict;

    /// As [`Policy::adds_above`].
    fn adds_above(&self) -> Option<Reach> {
        None
    }

    /// As [`Policy::begins`].
    fn begins(&self, _: f64) -> Option<Beginning> {
        None
    }

    /// As [`Policy::range`].
    fn range(&self) -> Option<(u32, u32)> {
        None
    }

    /// As [`Policy::shortest_s`].
    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        None
    }

    /// What it remembers, as JSON.
    ///
    /// # Errors
    /// Where it holds what JSON has no word for.
    fn save(&self) -> serde_json::Result<String>;

    /// Remembers what was saved.
    ///
    /// # Errors
    /// Where the text is not of this kind.
    fn restore(&mut self, text: &str) -> serde_json::Result<()>;
}

/// A policy and its state.
struct Deciding<P: Policy> {
    policy: Arc<P>,
    state: P::State,
}

impl<P: Policy> Decider for Deciding<P> {
    fn decide(&mut self, seen: &Observation<'_>) -> Verdict {
        let Decision { desired: wished, reason, held_by } =
            self.policy.decide(&mut self.state, seen);
        // A pool outside its bounds is brought back, whatever the policy thinks of its metrics.
        let desired = seen.clamp(f64::from(wished));
        let limited_by = beyond(seen, f64::from(wished)).or(held_by);
        Verdict { desired, limited_by, reason }
    }

    fn adds_above(&self) -> Option<Reach> {
        self.policy.adds_above()
    }

    fn begins(&self, of_day_s: f64) -> Option<Beginning> {
        self.policy.begins(of_day_s)
    }

    fn range(&self) -> Option<(u32, u32)> {
        self.policy.range()
    }

    fn shortest_s(&self) -> Option<(f64, &'static str)> {
        self.policy.shortest_s()
    }

    fn save(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.state)
    }

    fn restore(&mut self, text: &str) -> serde_json::Result<()> {
        self.state = serde_json::from_str(text)?;
        Ok(())
    }
}

/// What policies are told of the pool when they are made.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Requests that an instance serves at once.
    pub cores: u32,
    /// The most requests of an instance; `None` without a limit.
    pub limit: Option<u32>,
    /// The mean service time, seconds.
    pub service_s: f64,
    /// Points of equal weight of the service time, seconds.
    pub service_points_s: Arc<[f64]>,
    /// What a served request earns, and what an instance costs per hour.
    pub income: f64,
    /// The price of an instance per hour.
    pub price_per_hour: f64,
    /// The SLO: a quantile and its bound in seconds.
    pub slo: Option<(f64, f64)>,
    /// How long an instance boots in the mean, seconds.
    pub boot_s: f64,
    /// How many instances the plan has a policy begin with, where it says so of this one.
    pub start: Option<u32>,
    /// The rate per second over time, at the ends of equal steps: what only the oracle may know.
    pub future: Option<Arc<Future>>,
}

/// Rates that are going to be, step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct Future {
    /// The length of a step, seconds.
    pub step_s: f64,
    /// The mean rate of each, per second.
    pub rates: Vec<f64>,
}

/// How a metric begins that collectors watch, and what stands behind that.
const WATCHED: &str = "watch:";
const FIGURE: &str = "FIGURE";
/// The metrics that bounds can be of.
const METRICS: Takes = Takes::WordOr(
    &["cpu", "memory", "rate", "lost", "response", "concurrency", "connections", "queue"],
    WATCHED,
    FIGURE,
);

/// The figure of instances that a policy with these parameters goes by, where it is one that
/// collectors watch: `memory` of `metric = "watch:memory"`.
#[must_use]
pub fn watched(parameters: &[(String, String)]) -> Option<&str> {
    metric(parameters)?.strip_prefix(WATCHED)
}

/// The metric that a policy with these parameters names.
#[must_use]
pub fn metric(parameters: &[(String, String)]) -> Option<&str> {
    let metric = parameters.iter().find(|(name, _)| name == "metric");
    Some(&metric?.1)
}

/// A policy that can be begun again and again: for replications.
pub type Maker = Arc<dyn Fn() -> Box<dyn Decider> + Send + Sync>;

fn maker<P: Policy + 'static>(policy: P) -> Maker {
    let policy = Arc::new(policy);
    Arc::new(move || Box::new(Deciding { policy: policy.clone(), state: P::State::default() }))
}

/// A kind of policy.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it decides by, in a sentence.
    pub about: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// How often it decides where nobody says otherwise, seconds: as what it is named after does.
    pace_s: f64,
    /// Whether what it decides hangs on the time of day.
    goes_by_day: bool,
    /// Whether it is told what is going to be.
    knows_future: bool,
    /// Makes one.
    make: fn(&mut Parameters, &Facts) -> Option<Maker>,
}

/// The pace of a policy that is named after nobody's.
const MINUTE_S: f64 = 60.0;

/// All kinds, in the order of the manual.
pub static KINDS: [&Kind; 11] = [
    &fixed::KIND,
    &threshold::KIND,
    &step::KIND,
    &target::KIND,
    &hpa::KIND,
    &panic::KIND,
    &revenue::KIND,
    &timetable::KIND,
    &predictive::KIND,
    &slo::KIND,
    &oracle::KIND,
];

/// The kind of that name.
///
/// # Errors
/// A name that no kind has, with the nearest that one has.
pub fn kind(name: &str) -> Result<&'static Kind, Fault> {
    KINDS.iter().find(|kind| kind.name == name).copied().ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let near = plimsoll_units::nearest(name, names.iter().copied());
        Fault {
            parameter: None,
            message: format!("expected a policy, one of {}, found `{name}`", names.join(", ")),
            hint: near.map(|near| format!("did you mean {near}?")),
        }
    })
}

impl Kind {
    /// How often it decides where nobody says otherwise, seconds.
    #[must_use]
    pub fn pace_s(&self) -> f64 {
        self.pace_s
    }

    /// Whether what it decides hangs on the time of day.
    #[must_use]
    pub fn goes_by_day(&self) -> bool {
        self.goes_by_day
    }

    /// Whether it is told what is going to be.
    #[must_use]
    pub fn knows_future(&self) -> bool {
        self.knows_future
    }

    /// Whether it has a parameter of that name.
    #[must_use]
    pub fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|known| known.name == parameter)
    }

    /// A policy of this kind with these parameters, name and text.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn make(&self, given: &[(String, String)], facts: &Facts) -> Result<Maker, Vec<Fault>> {
        let mut parameters = Parameters::new(self, given);
        let made = (self.make)(&mut parameters, facts);
        let faults = parameters.finish();
        match made {
            Some(made) if faults.is_empty() => Ok(made),
            _ => Err(faults),
        }
    }
}

const fn parameter(
    name: &'static str,
    takes: Takes,
    default: &'static str,
    about: &'static str,
) -> Parameter {
    Parameter::new(name, takes, default, about)
}

/// The parameter with the values that a search for better ones tries.
const fn tried(parameter: Parameter, usual: &'static [&'static str]) -> Parameter {
    parameter.tried(usual)
}

/// The least whole number that is not less, but for the rounding of what it was computed from.
fn whole(instances: f64) -> f64 {
    (instances - 1e-9).ceil()
}
