//! From a plan to what is simulated: files become service models and schedules, policies are made.

use super::begins::Day;
use super::parts::{Server, boot, failures, prices};
use crate::error::ExperimentError;
use crate::prepare::{Rates, rates};
use crate::speed::compressed;
use crate::world::simulated::live_only;
use plimsoll_elastic::demand::Demand;
use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::policy::{self, Decider, Facts, Future, Kind};
use plimsoll_elastic::simulated::{self, Load, Setup};
use plimsoll_plan::{
    ConnectionLife, Elastic, KeyFault, KeyFaultKind, LoadShape, Plan, PolicyPlan, RateSource,
    Service,
};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::balancer::Rule;
use plimsoll_workload::instance_type::InstanceType;
use plimsoll_workload::schedule::Schedule;
use std::sync::Arc;
use std::time::Duration;

/// The steps of a future that stands for one, where a policy is only made, seconds.
const NO_FUTURE: f64 = 60.0;
/// A service time that stands for that of a model, where a plan is only read.
const SOME_SERVICE_S: f64 = 0.1;

/// What is simulated.
#[derive(Clone)]
pub struct Model {
    /// The pool, its prices and its load.
    pub setup: Setup,
    /// What policies are told.
    pub facts: Facts,
    /// How many instances a rate needs.
    pub demand: Demand,
    /// The policies.
    pub policies: Vec<Named>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The schedule of the first replication.
    pub schedule: Arc<Schedule>,
    /// The type of its instances; `None` where the plan names none.
    pub instance_type: Option<InstanceType>,
    /// How often a plan has every policy decide; each at its own pace without.
    pub decide_every: Option<Duration>,
    /// What tells the time of day at the start.
    pub day: Day,
    /// Whether somebody else starts and ends the instances.
    pub is_followed: bool,
}

/// A policy of a plan.
#[derive(Clone)]
pub struct Named {
    /// The plan's name for it.
    pub label: String,
    /// Its kind.
    pub kind: &'static Kind,
    /// How many instances the plan has it begin with.
    pub start: Option<u32>,
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
}

/// Refuses a policy that goes by what only a live pool has.
///
/// # Errors
/// With its name, and the metric's.
pub(crate) fn simulates(model: &Model, of: &Named) -> Result<(), ExperimentError> {
    let Some(metric) = policy::metric(&of.parameters) else { return Ok(()) };
    let why = match policy::watched(&of.parameters) {
        Some(figure) => format!(
            "the simulator does not know `{figure}`; it knows cpu, rate, lost, response, \
             concurrency and queue"
        ),
        None if metric == Metric::Memory.name() => "no model of an instance says what memory it \
            uses; the simulator knows cpu, rate, lost, response, concurrency and queue"
            .to_owned(),
        None if metric == Metric::Connections.name() && !model.setup.has_connections => "how many \
            connections clients keep open is not of the model; it knows them where each request \
            has its own, by `connection = \"per-request\"` in [load]"
            .to_owned(),
        None => return Ok(()),
    };
    let label = &of.label;
    let text = format!("simulate `policy.{label}.metric = \"{metric}\"`: {why}");
    Err(ExperimentError::Conflict(text))
}

/// Says all that is wrong with a policy of a plan, as far as the plan alone says it.
pub(crate) fn check(of: &PolicyPlan, elastic: &Elastic) -> Vec<KeyFault> {
    let kind = match policy::kind(&of.kind) {
        Ok(kind) => kind,
        Err(fault) => return vec![told(of, fault)],
    };
    let service_s = match &elastic.instance.service {
        Service::Law(law) => law.mean(),
        Service::Model(_) => SOME_SERVICE_S,
    };
    let facts = Facts {
        cores: elastic.instance.cores.unwrap_or(1),
        limit: None,
        service_s,
        service_points_s: Arc::new([service_s]),
        income: elastic.billing.income,
        price_per_hour: elastic.price(),
        slo: None,
        boot_s: 0.0,
        start: of.start,
        future: Some(Arc::new(Future { step_s: NO_FUTURE, rates: vec![1.0] })),
    };
    match kind.make(&of.parameters, &facts) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.into_iter().map(|fault| told(of, fault)).collect(),
    }
}

fn told(of: &PolicyPlan, fault: policy::Fault) -> KeyFault {
    let is_name = fault
        .parameter
        .as_ref()
        .is_some_and(|name| policy::kind(&of.kind).is_ok_and(|kind| !kind.has(name)));
    let what = if is_name { KeyFaultKind::Name } else { KeyFaultKind::Value };
    let key = fault.parameter.unwrap_or_else(|| "kind".to_owned());
    let path = vec!["policy".to_owned(), of.label.clone(), key];
    KeyFault { path, value: 0, what: what(fault.message, fault.hint) }
}

/// What a plan means; reads the files that it names.
///
/// # Errors
/// A plan that is not of a pool, or whose load does not go by the clock; files that cannot be read.
pub fn model(plan: &Plan) -> Result<Model, ExperimentError> {
    let conflict = |text: &str| ExperimentError::Conflict(text.to_owned());
    let plan = &compressed(plan)?;
    let Some(elastic) = &plan.elastic else {
        return Err(conflict(
            "find a pool in the plan: it has no [instance] and no [pool]; say what a server can do",
        ));
    };
    let LoadShape::Open { source, arrivals } = &plan.load.shape else {
        return Err(conflict(
            "simulate users that wait for their answers: simulated load goes by the clock; give \
             `schedule`, `rate`, `trace` or `profile` in [load]",
        ));
    };
    if elastic.types.len() > 1 {
        return Err(conflict(
            "look at one pool of several instance types: leave all but one [instance.LABEL] out",
        ));
    }
    let mut notes = Vec::new();
    let policies = elastic.policies.iter().map(named).collect::<Result<Vec<Named>, _>>()?;
    let (Rates { schedule: first, starts }, load) = load(source, plan.seed, &mut notes)?;
    let every = longest_pace(elastic, &policies, plan.speed);
    check_load(&first, *arrivals, every)?;
    let pool = &elastic.pool;
    let day = Day::of(pool.starts_at, starts);
    if elastic.balancer.rule == Rule::ByClient {
        notes.push(
            "clients have no addresses in the simulator: `client-address` is simulated as `random`"
                .to_owned(),
        );
    }
    let server = Server::of(elastic)?;
    let setup = Setup {
        tick_ns: nanoseconds(every),
        of_day_s: day.of_day_s(),
        ..setup(plan, elastic, &server, load)
    };
    let facts = facts((plan, elastic), &server, &setup, &mut notes);
    let demand = Demand::new(&facts);
    let schedule = simulated::schedule(&setup, 0);
    let instance_type = elastic
        .types
        .first()
        .map(|of| InstanceType::new(of.label.clone(), elastic.price(), server.capacity_per_s()));
    let mut model = Model {
        setup,
        facts,
        demand,
        policies,
        notes,
        schedule,
        instance_type,
        decide_every: pool.decide_every,
        day,
        is_followed: pool.follow.is_some(),
    };
    let more = super::notes::notes(&model);
    model.notes.extend(more);
    model.notes.extend(live_only(plan));
    Ok(model)
}

/// What policies are told of the pool; the notes say what cannot be told.
fn facts(
    (plan, elastic): (&Plan, &Elastic),
    server: &Server,
    setup: &Setup,
    notes: &mut Vec<String>,
) -> Facts {
    let slo = plan.measure.slo.as_ref();
    let bound = slo.and_then(plimsoll_stats::slo::Slo::response_bound);
    let bound = bound.map(|(quantile, ns)| (quantile, ns as f64 / 1e9));
    if let Some(slo) = slo.filter(|_| bound.is_none()) {
        notes.push(format!("{slo}: no percentile of the response time, and no rule for demand"));
    }
    let points_s = server.points_s().into_iter().map(|point_s| point_s * server.loaded);
    Facts {
        cores: server.cores,
        limit: server.limit,
        // As long as it is when instances are full: policies count by what one can serve.
        service_s: server.service.mean() * server.loaded,
        service_points_s: points_s.collect(),
        income: elastic.billing.income,
        price_per_hour: elastic.price(),
        slo: bound,
        boot_s: (elastic.instance.boot.mean() + elastic.instance.configure.mean())
            * setup.prices.speed,
        start: None,
        future: None,
    }
}

fn named(of: &PolicyPlan) -> Result<Named, ExperimentError> {
    let kind = policy::kind(&of.kind);
    let kind =
        kind.map_err(|fault| ExperimentError::Conflict(format!("make the policy: {fault}")))?;
    let (label, parameters) = (of.label.clone(), of.parameters.clone());
    Ok(Named { label, kind, start: of.start, parameters })
}

/// The longest time between two decisions of a policy.
fn longest_pace(elastic: &Elastic, policies: &[Named], speed: Option<f64>) -> Duration {
    let pace = |of: &Named| elastic.pool.decide_every.unwrap_or_else(|| pace(of.kind, speed));
    policies.iter().map(pace).max().unwrap_or_default()
}

/// A policy's own pace, by the clock.
fn pace(kind: &Kind, speed: Option<f64>) -> Duration {
    Duration::from_secs_f64(kind.pace_s() / speed.unwrap_or(1.0))
}

/// The rates of the plan's own seed, and those of each replication.
fn load(
    source: &RateSource,
    seed: u64,
    notes: &mut Vec<String>,
) -> Result<(Rates, Load), ExperimentError> {
    let first = rates(source, seed, notes)?;
    let always = first.schedule.clone();
    let RateSource::Profile(profile) = source else {
        return Ok((first, Arc::new(move |_| always.clone())));
    };
    notes.push(
        "the rate is that of a profile, with noise of its own in each replication; --trace FILE \
         takes that of a recorded trace"
            .to_owned(),
    );
    let profile = profile.clone();
    let load: Load = Arc::new(move |seed| {
        let made = profile.name.profile().trace(seed).schedule(&profile.options);
        made.map_or_else(|_| always.clone(), |(schedule, _)| Arc::new(schedule))
    });
    Ok((first, load))
}

fn check_load(
    schedule: &Schedule,
    arrivals: Arrivals,
    every: Duration,
) -> Result<(), ExperimentError> {
    let is_exact = matches!(arrivals, Arrivals::Even | Arrivals::Random);
    if schedule.total() == 0 && is_exact {
        let expected = schedule.cumulative(schedule.duration_ns());
        return Err(ExperimentError::Nothing { expected });
    }
    if u128::from(schedule.duration_ns()) < every.as_nanos() {
        let found = plimsoll_units::show_duration(schedule.duration_ns());
        let every =
            plimsoll_units::show_duration(u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
        return Err(ExperimentError::Conflict(format!(
            "decide even once: the load ends after {found}, and policies decide every {every}; \
             give a longer load or a shorter `pool.decide_every`"
        )));
    }
    Ok(())
}

/// A span in nanoseconds, as far as they go.
fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// The pool as a policy finds it that says nothing of its own: see [`Model::setup_of`].
fn setup(plan: &Plan, elastic: &Elastic, server: &Server, load: Load) -> Setup {
    let arrivals = match &plan.load.shape {
        LoadShape::Open { arrivals, .. } => *arrivals,
        LoadShape::Closed { .. } | LoadShape::Replay => Arrivals::default(),
    };
    let pool = &elastic.pool;
    Setup {
        seed: plan.seed,
        load,
        arrivals,
        service: server.service.clone(),
        cpu_s: server.cpu_s,
        rules: server.rules(elastic),
        speed_variation: elastic.instance.speed_variation,
        boot: boot(&elastic.instance),
        failures: failures(&elastic.instance),
        start: elastic.start(),
        least: pool.least,
        most: pool.most,
        prices: prices(elastic, plan.speed.unwrap_or(1.0)),
        termination: pool.terminate,
        slo: plan.measure.slo.clone(),
        tick_ns: 0,
        delay_ns: nanoseconds(pool.metric_delay),
        noise: pool.metric_noise,
        has_connections: plan.load.connection == ConnectionLife::PerRequest,
        of_day_s: 0.0,
    }
}

impl Model {
    /// The policy of a label.
    ///
    /// # Errors
    /// A label that no policy has, with the nearest that one has.
    pub fn policy(&self, label: &str) -> Result<&Named, ExperimentError> {
        let found = self.policies.iter().find(|named| named.label == label);
        found.ok_or_else(|| {
            let labels: Vec<&str> = self.policies.iter().map(|of| of.label.as_str()).collect();
            let near = plimsoll_units::nearest(label, labels.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            let all = labels.join(", ");
            let text = format!("find the policy `{label}` in the plan: it has {all}{hint}");
            ExperimentError::Conflict(text)
        })
    }

    /// What policies are told where they are only made to see whether they can be.
    pub(super) fn facts_for_check(&self) -> Facts {
        let future = Future { step_s: NO_FUTURE, rates: vec![1.0] };
        Facts { future: Some(Arc::new(future)), ..self.facts.clone() }
    }

    /// How often a policy decides, by the clock.
    #[must_use]
    pub fn pace_of(&self, of: &Named) -> Duration {
        let own = || pace(of.kind, Some(self.setup.prices.speed));
        self.decide_every.unwrap_or_else(own)
    }

    /// Begins a policy for a replication; only an oracle is told what is going to be.
    ///
    /// # Errors
    /// What is wrong with its parameters.
    pub fn begin(&self, of: &Named, replication: u64) -> Result<Box<dyn Decider>, ExperimentError> {
        let mut facts = Facts { start: of.start, ..self.facts.clone() };
        if of.kind.knows_future() {
            let schedule = simulated::schedule(&self.setup, replication);
            let of = future(&schedule, nanoseconds(self.pace_of(of)));
            let step_s = of.step_s * self.setup.prices.speed;
            facts.future = Some(Arc::new(Future { step_s, ..of }));
        }
        let made = of.kind.make(&of.parameters, &facts);
        made.map(|maker| maker()).map_err(|faults| {
            let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let text = format!("make the policy `{}`: {}", of.label, texts.join("; "));
            ExperimentError::Conflict(text)
        })
    }
}

/// The mean rates of a schedule, tick by tick.
fn future(schedule: &Schedule, tick_ns: u64) -> Future {
    let end = schedule.duration_ns();
    let tick_ns = tick_ns.max(1);
    let step_s = tick_ns as f64 / 1e9;
    let ticks = end.div_ceil(tick_ns);
    let at = |k: u64| schedule.cumulative((k * tick_ns).min(end));
    let rates = (0..ticks).map(|k| (at(k + 1) - at(k)) / step_s).collect();
    Future { step_s, rates }
}
