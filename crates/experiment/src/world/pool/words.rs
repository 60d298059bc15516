//! What is simulated, in words for a reader.

use super::model::{Model, Named};
use plimsoll_elastic::course::{About, RevenueCurve};
use plimsoll_plan::{Elastic, LoadShape, Plan, RateSource, Service};
use plimsoll_units::{Words, show_count, show_duration, show_rate};
use plimsoll_workload::pool::{ChargeFrom, Discipline};

/// What a model is about; of several, which differ in what is varied, what is told of all of them.
pub(super) fn about(cases: &[(&Plan, &Model)]) -> About {
    let Some(&(plan, model)) = cases.first() else { return About::default() };
    let elastic = plan.elastic.as_ref();
    let types = of_types(cases);
    let of_each = |tell: fn(&Elastic, &Model) -> String| {
        let told = types.iter().filter_map(|(plan, model)| {
            let label = model.instance_type.as_ref().filter(|_| types.len() > 1);
            let text = tell(plan.elastic.as_ref()?, model);
            Some(label.map_or_else(|| text.clone(), |of| format!("{}: {text}", of.label)))
        });
        told.collect::<Vec<_>>().join("; ")
    };
    let known = types.iter().filter_map(|(_, model)| model.instance_type.clone()).collect();
    About {
        load: load(plan, model),
        instance: of_each(instance),
        types: if are_alike(cases) { known } else { Vec::new() },
        balancer: elastic.map(balancer).unwrap_or_default(),
        billing: of_each(|elastic, _| billing(elastic)),
        currency: elastic.map(|elastic| elastic.billing.currency.clone()).unwrap_or_default(),
        // Compressed, an hour of the day is a minute of the clock.
        clock_s: model.day.known_s().filter(|_| plan.speed.is_none()),
        speed: plan.speed,
        demand: of_each(|_, model| model.demand.describe()),
        kinds: model.policies.iter().map(kind).collect(),
        // Its curves are of one price and one service time.
        revenue: if types.len() > 1 { Vec::new() } else { revenue(model) },
    }
}

/// The first case of each instance type, in their order.
fn of_types<'a>(cases: &[(&'a Plan, &'a Model)]) -> Vec<(&'a Plan, &'a Model)> {
    let mut firsts: Vec<(&Plan, &Model)> = Vec::new();
    for (plan, model) in cases {
        let is_same = |(_, other): &(&Plan, &Model)| label(other) == label(model);
        if !firsts.iter().any(is_same) {
            firsts.push((plan, model));
        }
    }
    firsts
}

fn label(model: &Model) -> Option<&str> {
    model.instance_type.as_ref().map(|of| of.label.as_str())
}

/// Whether a type costs and serves the same in all cases: else nothing can be told of the type
/// alone.
fn are_alike(cases: &[(&Plan, &Model)]) -> bool {
    cases.iter().all(|(_, model)| {
        let mut same = cases.iter().filter(|(_, other)| label(other) == label(model));
        same.all(|(_, other)| other.instance_type == model.instance_type)
    })
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

fn load(plan: &Plan, model: &Model) -> String {
    let LoadShape::Open { source, arrivals } = &plan.load.shape else { return String::new() };
    let from = match source {
        RateSource::Constant { .. } => "a constant rate".to_owned(),
        RateSource::Schedule(schedule) => format!("schedule {schedule}"),
        RateSource::Trace(trace) => format!("trace {}", trace.shown()),
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
    let capacity = elastic
        .instance
        .capacity
        .map_or_else(String::new, |rate| format!(", {} at most", show_rate(rate)));
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
        "{cores} at once, {how}, {service}{capacity}, {cpu} of processor time a request, {limit}, \
         boot {}",
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
        elastic.price(),
        billing.income
    )
}
