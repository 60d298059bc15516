//! The parts of a plan in the words of the simulator: instances, balancer, prices.

use crate::error::ExperimentError;
use plimsoll_elastic::billing::Prices;
use plimsoll_elastic::simulated::engine::{Rules, SlowdownTable, TICK_NS};
use plimsoll_elastic::simulated::{Boot, Failures, SlowStart};
use plimsoll_plan as plan;
use plimsoll_plan::Elastic;
use plimsoll_units::show_rate;
use plimsoll_workload::pool::Discipline;
use plimsoll_workload::random::Stream;
use plimsoll_workload::service_model::{ServiceModel, ServiceTime};
use std::time::Duration;

/// What an instance can do, of the plan and of its model.
pub(crate) struct Server {
    pub(crate) service: ServiceTime,
    pub(crate) cores: u32,
    /// Processor time of a request, seconds.
    pub(super) cpu_s: f64,
    pub(crate) limit: Option<u32>,
    /// The factors of service for 1, 2, … requests, the last for all above; none without slowdown.
    slowdown: Vec<f64>,
    /// The most requests per second that it was measured to serve, where the plan says so, and how
    /// many times longer service is then; 1 without.
    measured: Option<f64>,
    pub(super) loaded: f64,
}

/// Points of a service time, and draws for each.
const POINTS: usize = 200;
const DRAWS: usize = 20;

impl Server {
    /// Reads the model where the plan names one; what the plan says itself wins.
    pub(crate) fn of(elastic: &Elastic) -> Result<Self, ExperimentError> {
        let given = &elastic.instance;
        let model = match &given.service {
            plan::Service::Law(law) => ServiceModel::new(ServiceTime::Law(*law)),
            plan::Service::Model(path) => ServiceModel::read(path)?,
        };
        let service = model.service_time.scaled(1.0 / model.speed);
        let cpu_s = given.cpu.map_or_else(|| model.cpu_per_request(), |cpu| cpu.as_secs_f64());
        if service.mean() <= 0.0 {
            let text = "find a service time above zero: a model that takes none has no capacity";
            return Err(ExperimentError::Conflict(text.to_owned()));
        }
        let cores = given.cores.unwrap_or(model.cores.get());
        let limit = given.limit.unwrap_or(model.concurrency.map(std::num::NonZeroU32::get));
        let of_cores = f64::from(cores) / service.mean();
        let (slowdown, loaded) = match (given.capacity, &given.slowdown) {
            (Some(capacity), _) => of_capacity(capacity, of_cores, cores)?,
            (None, Some(slowdown)) => (slowdown.factors(cores, limit), 1.0),
            (None, None) => (Vec::new(), 1.0),
        };
        Ok(Self { service, cores, cpu_s, limit, slowdown, measured: given.capacity, loaded })
    }

    /// The most requests per second that it serves: as measured, else with whatever number of
    /// requests it serves most.
    pub(super) fn capacity_per_s(&self) -> f64 {
        if let Some(measured) = self.measured {
            return measured;
        }
        let most = self.limit.unwrap_or(u32::MAX);
        let listed = u32::try_from(self.slowdown.len()).unwrap_or(u32::MAX).max(self.cores);
        let of = |present: u32| {
            let place = (present as usize - 1).min(self.slowdown.len().saturating_sub(1));
            let slower = self.slowdown.get(place).copied().unwrap_or(1.0);
            f64::from(present.min(self.cores)) / (self.service.mean() * slower)
        };
        (1..=listed.min(most).max(1)).map(of).fold(0.0, f64::max)
    }

    /// Points of equal weight of the service time, seconds, with its mean.
    pub(super) fn points_s(&self) -> Vec<f64> {
        let mut stream = Stream::named(1, "service points");
        let mut draws: Vec<f64> =
            (0..POINTS * DRAWS).map(|_| self.service.sample(&mut stream)).collect();
        draws.sort_by(f64::total_cmp);
        let means = draws.chunks(DRAWS).map(|chunk| chunk.iter().sum::<f64>() / DRAWS as f64);
        let points: Vec<f64> = means.collect();
        let mean = points.iter().sum::<f64>() / points.len() as f64;
        // What chance has added to the draws is taken off.
        let factor = if mean > 0.0 { self.service.mean() / mean } else { 1.0 };
        points.into_iter().map(|point| point * factor).collect()
    }

    /// The engine's rules.
    pub(super) fn rules(&self, elastic: &Elastic) -> Rules {
        let ticks = |span: Option<Duration>| {
            span.map_or(u64::MAX, |span| {
                u64::try_from(span.as_nanos() / u128::from(TICK_NS)).unwrap_or(u64::MAX)
            })
        };
        let (balancer, instance) = (&elastic.balancer, &elastic.instance);
        Rules {
            cores: self.cores,
            limit: self.limit,
            choice: balancer.rule.without_clients(),
            queue_room: balancer.queue as usize,
            queue_timeout: ticks(balancer.queue_timeout),
            client_timeout: ticks(elastic.pool.client_timeout),
            slowdown: SlowdownTable::of(&self.slowdown),
            can_fail: instance.failures.0.is_some(),
            is_shared: instance.discipline == Discipline::Sharing,
        }
    }
}

/// By which factors service is slower so that an instance whose cores would serve more comes to a
/// capacity: not at all as long as each request has a core; and the factor beyond.
fn of_capacity(
    capacity: f64,
    of_cores: f64,
    cores: u32,
) -> Result<(Vec<f64>, f64), ExperimentError> {
    let beyond = of_cores / capacity;
    // What is written of a rate is rounded.
    if !(beyond > 0.99 && beyond.is_finite()) {
        let text = format!(
            "serve {} by one instance: its cores come to {} at most; say a lower \
             `instance.capacity`, or a shorter service time",
            show_rate(capacity),
            show_rate(of_cores)
        );
        return Err(ExperimentError::Conflict(text));
    }
    let mut factors = vec![1.0; cores as usize];
    factors.push(beyond);
    Ok((factors, beyond))
}

/// How instances begin.
pub(super) fn boot(instance: &plan::Instance) -> Boot {
    let slow_start = instance.slow_start.map(|(factor, over)| SlowStart {
        factor,
        for_ns: u64::try_from(over.as_nanos()).unwrap_or(u64::MAX),
    });
    Boot { boot: instance.boot, configure: instance.configure, slow_start }
}

/// How instances fail.
pub(super) fn failures(instance: &plan::Instance) -> Option<Failures> {
    instance
        .failures
        .0
        .map(|(mttf, mttr)| Failures { mttf_s: mttf.as_secs_f64(), mttr_s: mttr.as_secs_f64() })
}

/// The price list.
pub(super) fn prices(elastic: &Elastic, speed: f64) -> Prices {
    let billing = &elastic.billing;
    Prices {
        speed,
        unit: billing.unit,
        least_ns: billing
            .least
            .map_or(0, |least| u64::try_from(least.as_nanos()).unwrap_or(u64::MAX)),
        from: billing.charge_from,
        per_hour: elastic.price(),
        per_request: billing.per_request,
        per_gb: billing.per_gb,
        answer_bytes: billing.answer_bytes as f64,
        balancer_per_hour: billing.balancer,
        balancer_per_gb: billing.balancer_per_gb,
        income_per_request: billing.income,
    }
}
