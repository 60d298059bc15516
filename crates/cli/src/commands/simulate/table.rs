//! A simulation as a person reads it.

use crate::terminal::align::align;
use crate::terminal::paint::Paint;
use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::{HELD, Paired, PolicyResult};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::{show_duration, show_rate};
use plimsoll_workload::instance_type::{PricedPool, PricedType};
use std::fmt::Write;

/// The figures that are columns of the table, in their order.
const COLUMNS: [&Figure; 7] = [
    figure::INSTANCE_HOURS,
    figure::COST,
    figure::LOST,
    figure::NET,
    figure::RESPONSE_MEAN_US,
    figure::RESPONSE_P99_US,
    figure::CPU_MEAN,
];

/// Those of a simulation: where nothing is earned, a net is none.
fn columns(simulation: &Simulation) -> impl Iterator<Item = &'static Figure> {
    let earns = simulation.result.policies.iter().any(|policy| policy.revenue > 0.0);
    COLUMNS.into_iter().filter(move |figure| earns || *figure != figure::NET)
}

/// Half the width of an interval. One end may be cut off where it cannot be; the other is whole.
fn half(value: f64, (low, high): (f64, f64)) -> f64 {
    (value - low).max(high - value)
}

/// The table of all policies, and what a reader has to know.
pub(super) fn render(simulation: &Simulation) -> String {
    let result = &simulation.result;
    let paint = Paint::stdout();
    let has_slo = result.policies.iter().any(|policy| !policy.slo.is_empty());
    let mut heads = vec!["policy"];
    for figure in columns(simulation) {
        heads.push(figure.label);
        heads.extend((figure == figure::LOST).then_some(figure::LOST_SHARE.label));
    }
    heads.extend(has_slo.then_some("SLO"));
    let heads = heads.into_iter().map(str::to_owned).collect();
    let rows = result.policies.iter().map(|policy| row(simulation, policy, has_slo));
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(rows).collect();
    let mut out = String::new();
    align(&mut out, &rows, 1, paint);
    write_differences(&mut out, simulation);
    out.push_str(&types(&result.types, &simulation.about.currency));
    let about = &simulation.about;
    let _ = writeln!(out, "\nload      {}", about.load);
    let _ = writeln!(out, "instance  {}", about.instance);
    let _ = writeln!(out, "billing   {}", about.billing);
    let timing = &result.timing;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let wall = show_duration((1e9 * timing.wall_s) as u64);
    let speed = show_rate(timing.requests_per_cpu_s);
    let replications = match result.policies.first().map_or(0, |policy| policy.replications) {
        1 => "one replication of each, which has no interval".to_owned(),
        many => format!("{many} replications of each, 95% intervals"),
    };
    let _ = writeln!(
        out,
        "{}",
        paint.dim(&format!("{replications}; {wall}, {speed} simulated a core"))
    );
    for warning in &result.warnings {
        let _ = writeln!(out, "note: {warning}");
    }
    out
}

fn row(simulation: &Simulation, policy: &PolicyResult, has_slo: bool) -> Vec<String> {
    let sign = &simulation.about.currency;
    let mut row = vec![policy.label.clone()];
    for figure in columns(simulation) {
        let value = policy.value(figure).unwrap_or(f64::NAN);
        let half = policy.ci95.get(figure.name).map(|of| half(value, *of));
        row.push(figure.unit.show_estimate(value, half, sign, false));
        if figure == figure::LOST {
            let share = policy.value(figure::LOST_SHARE).unwrap_or(f64::NAN);
            row.push(figure::LOST_SHARE.unit.show(share));
        }
    }
    row.extend(has_slo.then(|| held(policy)));
    row
}

/// What a request costs on each instance type, and the cheapest pool of each; nothing without
/// types.
pub(crate) fn types(all: &[PricedType], sign: &str) -> String {
    let Some(cheapest) = PricedType::cheapest_request(all) else { return String::new() };
    let heads = ["type", "an hour", "at most", "a million", "cheapest pool", "cost", "a million"];
    let a_million = |price: f64| figure::COST_PER_MILLION.unit.show_in(1e6 * price, sign);
    let dash = || "–".to_owned();
    let row = |PricedType { of, cheapest }: &PricedType| {
        let pool = cheapest.as_ref();
        let cost = |pool: &PricedPool| figure::COST.unit.show_in(pool.cost, sign);
        vec![
            of.label.clone(),
            price(of.price_per_hour, sign),
            show_rate(of.capacity_per_s),
            format!("{sign}{:.3}", 1e6 * of.price_per_request),
            pool.map_or_else(dash, |pool| pool.policy.clone()),
            pool.map_or_else(dash, cost),
            pool.and_then(|pool| pool.cost_per_request).map_or_else(dash, a_million),
        ]
    };
    let heads = heads.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(all.iter().map(row)).collect();
    let mut out = "\n".to_owned();
    align(&mut out, &rows, 1, Paint::stdout());
    let pool = PricedType::cheapest_pool(all).map_or_else(
        || "no pool holds the SLO".to_owned(),
        |(of, pool)| format!("the cheapest pool is of {}: {}", of.of.label, pool.policy),
    );
    let _ = writeln!(out, "cheapest per request at full load: {}; {pool}", cheapest.of.label);
    out
}

/// A price as the plan gives it.
fn price(value: f64, sign: &str) -> String {
    format!("{sign}{value}")
}

/// Whether the SLO held under a policy, and what of it did not.
pub(super) fn held(policy: &PolicyResult) -> String {
    let broken: Vec<&str> =
        policy.slo.iter().filter(|of| !of.pass).map(|of| of.expr.as_str()).collect();
    if broken.is_empty() { HELD.to_owned() } else { format!("not {}", broken.join(", ")) }
}

/// The differences of policies from the first, on the same requests: a table for each of those
/// that others are compared with.
fn write_differences(out: &mut String, simulation: &Simulation) {
    let (paired, sign) = (&simulation.result.paired, &simulation.about.currency);
    for group in paired.chunk_by(|one, other| one.with == other.with) {
        let labels = columns(simulation).map(|figure| figure.label.to_owned());
        let heads = std::iter::once(format!("against {}", group[0].with)).chain(labels).collect();
        let row = |one: &Paired| {
            let cell = |figure: &Figure| {
                let value = one.difference.get(figure.name).copied().unwrap_or(f64::NAN);
                let half = one.ci95.get(figure.name).map(|of| half(value, *of));
                figure.unit.show_estimate(value, half, sign, true)
            };
            [one.label.clone()].into_iter().chain(columns(simulation).map(cell)).collect()
        };
        let rows: Vec<Vec<String>> = std::iter::once(heads).chain(group.iter().map(row)).collect();
        out.push('\n');
        align(out, &rows, 1, Paint::stdout());
    }
}

/// Every decision that changed the pool, of the first replication of each policy.
pub(super) fn decisions(simulation: &Simulation) -> String {
    let mut out = String::new();
    for course in &simulation.courses {
        let _ = writeln!(out, "\n{}", course.label);
        for of in &course.decisions {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds")]
            let at = of.at_s as u64;
            let (hours, minutes, seconds) = (at / 3600, at / 60 % 60, at % 60);
            let time = format!("{hours:02}:{minutes:02}:{seconds:02}");
            let _ = writeln!(out, "  {time}  {:>3} → {:<3} {}", of.from, of.to, of.reason);
        }
        if course.decisions.is_empty() {
            let _ = writeln!(out, "  nothing was changed");
        }
    }
    out
}
