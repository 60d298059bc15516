//! What a reader should know of a model before it runs: what its policies can never see.

use super::model::{Model, Named};
use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::policy::Reach;
use plimsoll_units::show_duration;

/// Notes on a model, one sentence each.
pub(super) fn notes(model: &Model) -> Vec<String> {
    let each = |of: fn(&Model, &Named) -> Option<String>| {
        model.policies.iter().filter_map(move |named| of(model, named))
    };
    let all = delayed(model).into_iter().chain(each(unreachable)).chain(each(too_short));
    all.chain(each(beyond)).chain(midnight(model)).collect()
}

/// Numbers of a policy that the pool cannot have.
fn beyond(model: &Model, named: &Named) -> Option<String> {
    let (fewest, most) = model.begin(named, 0).ok()?.range()?;
    let setup = &model.setup;
    let (asked, bound, key, word) = if most > setup.most {
        (most, setup.most, "max", "most")
    } else if fewest < setup.least {
        (fewest, setup.least, "min", "least")
    } else {
        return None;
    };
    Some(format!(
        "policy {} asks for {asked} instances, and the pool has {bound} at {word}: `{key}` in \
         [pool]",
        named.label
    ))
}

/// A time of a policy that is shorter than what lies between two of its decisions.
fn too_short(model: &Model, named: &Named) -> Option<String> {
    let (shortest_s, name) = model.begin(named, 0).ok()?.shortest_s()?;
    let every_s = model.pace_of(named).as_secs_f64() * model.setup.prices.speed;
    let shown = |s: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
        let ns = (1e9 * s).round() as u64;
        show_duration(ns)
    };
    (shortest_s < every_s - 1e-9).then(|| {
        format!(
            "policy {} decides every {}, and cannot keep its `{name}` of {}; say `decide_every` in \
             [pool]",
            named.label,
            shown(every_s),
            shown(shortest_s)
        )
    })
}

/// Policies that go by the time of day, of a load of which nothing tells it.
fn midnight(model: &Model) -> Option<String> {
    let goes_by_it: Vec<&str> = model
        .policies
        .iter()
        .filter(|of| of.kind.goes_by_day())
        .map(|of| of.label.as_str())
        .collect();
    let is_told = model.day.known_s().is_some() || goes_by_it.is_empty();
    (!is_told).then(|| {
        format!(
            "the load begins at 00:00 for {}, as nothing tells the time of day; say `starts_at` in \
             [pool]",
            goes_by_it.join(", ")
        )
    })
}

/// Metrics that arrive when the load has ended.
fn delayed(model: &Model) -> Option<String> {
    let setup = &model.setup;
    let soonest = model.policies.iter().map(|of| model.pace_of(of)).min().unwrap_or_default();
    let first_ns =
        u64::try_from(soonest.as_nanos()).unwrap_or(u64::MAX).saturating_add(setup.delay_ns);
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
