//! What a reader should know of a model before it runs: what its policies can never see.

use super::model::{Model, Named};
use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::policy::Reach;
use plimsoll_units::show_duration;

/// Notes on a model, one sentence each.
pub(super) fn notes(model: &Model) -> Vec<String> {
    let unreachable = model.policies.iter().filter_map(|named| unreachable(model, named));
    delayed(model).into_iter().chain(unreachable).collect()
}

/// Metrics that arrive when the load has ended.
fn delayed(model: &Model) -> Option<String> {
    let setup = &model.setup;
    let first_ns = setup.tick_ns.saturating_add(setup.delay_ns);
    let duration_ns = model.schedule.duration_ns();
    (setup.delay_ns > 0 && first_ns >= duration_ns).then(|| {
        let (delay, load) = (show_duration(setup.delay_ns), show_duration(duration_ns));
        format!(
            "no policy sees a metric: each arrives {delay} late, and the load ends after {load}"
        )
    })
}

/// A policy that can never add an instance, as its metric cannot get above its bound.
fn unreachable(model: &Model, named: &Named) -> Option<String> {
    let Reach { metric, bound, is_each } = model.begin(named, 0).ok()?.adds_above()?;
    let rules = &model.setup.rules;
    let cores = f64::from(rules.cores);
    let working = f64::from(rules.limit.unwrap_or(rules.cores).min(rules.cores));
    let service_s = model.setup.service.mean();
    let (most, how) = match metric {
        Metric::Cpu => {
            let share = model.setup.cpu_s / service_s * working / cores;
            let how = if working < cores {
                format!("with the {working} requests that `limit` allows on {cores} cores")
            } else {
                "with all cores at work".to_owned()
            };
            (100.0 * share.min(1.0), how)
        }
        Metric::Concurrency => {
            let pool = if is_each { 1.0 } else { f64::from(model.setup.most) };
            (pool * f64::from(rules.limit?), "with as many requests as `limit` allows".to_owned())
        }
        Metric::Rate
        | Metric::Lost
        | Metric::Response
        | Metric::Queue
        | Metric::Watched
        | Metric::Memory
        | Metric::Connections => return None,
    };
    // A full pool is as near to its most as chance has it: exactly there is never above.
    (most <= bound).then(|| {
        let (label, metric, unit) =
            (&named.label, metric.name(), if metric == Metric::Cpu { "%" } else { "" });
        format!(
            "policy {label} never adds an instance: {metric} is at most {most:.0}{unit} {how}, and \
             it acts above {bound:.0}{unit}"
        )
    })
}
