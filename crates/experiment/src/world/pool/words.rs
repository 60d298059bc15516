//! What is simulated, in words for a reader.

use super::model::{Model, Named};
use plimsoll_elastic::course::{About, RevenueCurve};
use plimsoll_plan::{Elastic, LoadShape, Plan, RateSource, Service};
use plimsoll_units::{Words, show_count, show_duration, show_rate};
use plimsoll_workload::pool::{ChargeFrom, Discipline};

/// What a model is about.
pub(super) fn about(plan: &Plan, model: &Model) -> About {
    let elastic = plan.elastic.as_ref();
    About {
        load: load(plan, model),
        instance: elastic.map(|elastic| instance(elastic, model)).unwrap_or_default(),
        balancer: elastic.map(balancer).unwrap_or_default(),
        billing: elastic.map(billing).unwrap_or_default(),
        currency: elastic.map(|elastic| elastic.billing.currency.clone()).unwrap_or_default(),
        // Compressed, an hour of the day is a minute of the clock.
        clock_s: clock_s(plan).filter(|_| plan.speed.is_none()),
        speed: plan.speed,
        demand: model.demand.describe(),
        kinds: model.policies.iter().map(kind).collect(),
        revenue: revenue(model),
    }
}

/// The kind of a policy, by its label.
fn kind(of: &Named) -> (String, String) {
    (of.label.clone(), of.kind.name.to_owned())
}

/// Revenue by the number of instances, at the mean and at the greatest rate.
fn revenue(model: &Model) -> Vec<RevenueCurve> {
    let schedule = &model.schedule;
    let seconds = schedule.duration_ns() as f64 / 1e9;
    let mean = schedule.cumulative(schedule.duration_ns()) / seconds;
    let peak = schedule.peak();
    // Twice what the greatest rate loads: the curves have come down by then.
    let load = peak * model.facts.service_s / f64::from(model.facts.cores);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let most = (2.0 * load).ceil().clamp(10.0, 1e6) as u32;
    let of = |(which, rate): (&str, f64)| RevenueCurve::of(which, rate, &model.facts, most);
    [("mean", mean), ("greatest", peak)].into_iter().filter_map(of).collect()
}

/// When the load starts, where it has a time of day: one is stated, or it is recorded.
fn clock_s(plan: &Plan) -> Option<f64> {
    let starts_at = plan.elastic.as_ref()?.pool.starts_at;
    let recorded = matches!(
        &plan.load.shape,
        LoadShape::Open { source: RateSource::Trace(_) | RateSource::Profile(_), .. }
    );
    (recorded || !starts_at.is_zero()).then_some(starts_at.as_secs_f64())
}

fn load(plan: &Plan, model: &Model) -> String {
    let LoadShape::Open { source, arrivals } = &plan.load.shape else { return String::new() };
    let from = match source {
        RateSource::Constant { .. } => "a constant rate".to_owned(),
        RateSource::Schedule(schedule) => format!("schedule {schedule}"),
        RateSource::Trace(trace) => format!("trace {}", trace.file.display()),
        RateSource::Profile(_) => "the built-in profile clarknet-day".to_owned(),
    };
    let schedule = &model.schedule;
    format!(
        "{from}: {} requests in {}, {} at the peak, {arrivals} arrivals",
        show_count(schedule.total()),
        show_duration(schedule.duration_ns()),
        show_rate(schedule.peak())
    )
}

fn instance(elastic: &Elastic, model: &Model) -> String {
    let service = match &elastic.instance.service {
        Service::Law(law) => format!("service {law}"),
        Service::Model(path) => format!("service model {}", path.display()),
    };
    let limit = model.facts.limit.map_or_else(
        || "any number of requests".to_owned(),
        |limit| format!("up to {limit} requests"),
    );
    let cores = model.facts.cores;
    let how = match elastic.instance.discipline {
        Discipline::Sharing => "sharing",
        Discipline::Fcfs => "first come first served",
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let cpu = show_duration((1e9 * model.setup.cpu_s) as u64);
    format!(
        "{cores} at once, {how}, {service}, {cpu} of processor time a request, {limit}, boot {}",
        elastic.instance.boot
    )
}

fn balancer(elastic: &Elastic) -> String {
    let balancer = &elastic.balancer;
    let choose = balancer.rule.plain().word();
    match balancer.queue {
        0 => format!("{choose}, without a queue"),
        queue => format!("{choose}, with a queue of {}", show_count(u64::from(queue))),
    }
}

fn billing(elastic: &Elastic) -> String {
    let billing = &elastic.billing;
    let sign = &billing.currency;
    let unit = billing.unit.word();
    let from = match billing.charge_from {
        ChargeFrom::Launch => "its launch",
        ChargeFrom::Running => "when it is ready",
    };
    format!(
        "{sign}{} an instance and hour, every started {unit} from {from}; a request earns {sign}{}",
        billing.price, billing.income
    )
}
