//! Simulations made up from formulas: a few policies under a wave of requests with a burst in it.
//! The same number of ticks gives the same simulation.

use std::collections::BTreeMap;

use plimsoll_elastic::course::{About, Course, Decision, RevenueCurve, Simulation};
use plimsoll_elastic::result::{Off, Paired, PolicyResult, SCHEMA, SimulationResult, Timing};
use plimsoll_stats::Percentiles;
use plimsoll_stats::slo::Verdict;

/// Length of a tick, seconds.
const TICK_S: f64 = 60.0;
/// The service time over the cores of an instance, seconds.
const SERVICE_S: f64 = 0.035;
const PRICE: f64 = 0.17;
const INCOME: f64 = 0.000_017;

/// Deterministic noise between -1 and 1.
fn noise(n: usize) -> f64 {
    f64::from((n as u32).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 23) - 1.0
}

/// The rate in a tick: a wave with a burst.
fn rate(tick: usize, ticks: usize) -> f64 {
    let share = tick as f64 / ticks as f64;
    let burst = if (ticks * 7 / 10..ticks * 7 / 10 + 2).contains(&tick) { 260.0 } else { 0.0 };
    260.0 - 170.0 * (share * 6.3).cos() + 18.0 * noise(tick) + burst
}

fn needed(rate: f64) -> u32 {
    ((rate * SERVICE_S * 1.12).ceil() as u32).max(1)
}

/// How many a policy has in a tick.
fn supply(kind: &str, tick: usize, ticks: usize) -> u32 {
    match kind {
        "fixed" => 20,
        "revenue" => needed(rate(tick.saturating_sub(1) / 15 * 15, ticks)) + 1,
        // As late as its boot takes, and in whole steps.
        _ => needed(rate(tick.saturating_sub(8), ticks)).div_ceil(2) * 2,
    }
}

/// The course of a policy over so many ticks.
pub(crate) fn course(label: &str, kind: &str, ticks: usize) -> Course {
    let mut course = Course {
        label: label.to_owned(),
        at_s: Vec::new(),
        rate: Vec::new(),
        lost: Vec::new(),
        ready: Vec::new(),
        demand: Vec::new(),
        cpu: Vec::new(),
        response_us: Vec::new(),
        quantile_us: Vec::new(),
        decisions: Vec::new(),
    };
    for tick in 0..ticks {
        let (rate, ready) = (rate(tick, ticks), supply(kind, tick, ticks));
        let busy = rate * SERVICE_S / f64::from(ready);
        let mean_us = 70_000.0 * (1.0 + 2.5 * busy.min(1.0).powi(8));
        course.at_s.push((tick + 1) as f64 * TICK_S);
        course.rate.push(rate);
        course.lost.push((rate - f64::from(ready) / SERVICE_S).max(0.0));
        course.ready.push(f64::from(ready));
        course.demand.push(Some(needed(rate)));
        course.cpu.push(100.0 * (busy * 6.0 / 7.0).min(1.0));
        course.response_us.push((tick != 3).then_some(mean_us));
        course.quantile_us.push((tick != 3).then_some(mean_us * (2.0 + busy.min(1.0))));
        let before = supply(kind, tick.saturating_sub(1), ticks);
        if before != ready {
            course.decisions.push(Decision {
                at_s: tick as f64 * TICK_S,
                from: before,
                to: ready,
                reason: format!("the rate of {rate:.0}/s needs {ready}"),
                seen: vec![("cpu".to_owned(), 62.5), ("rate".to_owned(), rate)],
            });
        }
    }
    course
}

/// The figures that have intervals, by field.
fn figures(of: &PolicyResult) -> BTreeMap<String, f64> {
    let time = |value: Option<f64>| value.unwrap_or(0.0);
    [
        ("instance_hours", of.instance_hours),
        ("instance_hours_used", of.instance_hours_used),
        ("cost", of.cost),
        ("offered", of.offered),
        ("served", of.served),
        ("lost", of.lost),
        ("revenue", of.revenue),
        ("net", of.net),
        ("response_mean_us", time(of.response_mean_us)),
        ("response_p99_us", time(of.response_p99_us)),
        ("cpu_mean", of.cpu_mean),
        ("scale_out", of.scale_out),
        ("scale_in", of.scale_in),
        ("slo_violated_s", of.slo_violated_s),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// A value with an interval about it.
fn about(value: f64) -> (f64, f64) {
    (value - value.abs() * 0.03, value + value.abs() * 0.03)
}

/// What a course comes to.
fn policy(course: &Course, kind: &str, replications: usize) -> PolicyResult {
    let ticks = course.at_s.len().max(1) as f64;
    let sum = |values: &[f64]| values.iter().sum::<f64>() * TICK_S;
    let (offered, lost) = (sum(&course.rate), sum(&course.lost));
    let hours = (sum(&course.ready) / 3600.0).ceil();
    let demand = course.demand.iter().flatten();
    let off: Vec<f64> = course.ready.iter().zip(demand).map(|(s, &d)| s - f64::from(d)).collect();
    let side = |sign: f64| Off {
        accuracy: off.iter().map(|off| (sign * off).max(0.0)).sum::<f64>() / ticks,
        timeshare: off.iter().filter(|&&off| sign * off > 0.0).count() as f64 / ticks,
    };
    let times: Vec<f64> = course.response_us.iter().flatten().copied().collect();
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    let moved = course.decisions.len() as f64;
    let slow = course.quantile_us.iter().flatten().filter(|&&us| us > 400_000.0).count();
    let mut of = PolicyResult {
        label: course.label.clone(),
        kind: kind.to_owned(),
        replications,
        instance_hours: hours,
        instance_hours_used: hours * 0.97,
        cost: hours * PRICE,
        offered,
        served: offered - lost,
        lost,
        lost_by: [("no_slot".to_owned(), lost), ("client_timeout".to_owned(), 0.0)].into(),
        in_flight_at_end: 2.0,
        revenue: (offered - lost) * INCOME,
        net: (offered - lost) * INCOME - hours * PRICE,
        response_us: Percentiles {
            count: (offered - lost) as u64,
            min: Some(41_000.0),
            mean: Some(mean),
            p50: Some(mean * 0.9),
            p90: Some(mean * 1.8),
            p95: Some(mean * 2.1),
            p99: Some(mean * 2.9),
            max: Some(mean * 9.0),
            ..Percentiles::default()
        },
        cpu_mean: course.cpu.iter().sum::<f64>() / ticks,
        scale_out: (moved / 2.0).ceil(),
        scale_in: (moved / 2.0).floor(),
        response_mean_us: Some(mean),
        response_p99_us: Some(mean * 2.9),
        under: Some(side(-1.0)),
        over: Some(side(1.0)),
        jitter_per_hour: Some(moved / 10.0 - 2.0),
        slo: vec![Verdict {
            expr: "p99<400ms".to_owned(),
            value: Some(mean * 2.9),
            pass: mean * 2.9 < 400_000.0,
            note: None,
        }],
        slo_violated_s: slow as f64 * TICK_S,
        demand: "the least n for which M/G/m with 2 servers an instance keeps p99 below 400 ms"
            .to_owned(),
        ci95: BTreeMap::new(),
    };
    if replications > 1 {
        of.ci95 = figures(&of).into_iter().map(|(key, value)| (key, about(value))).collect();
    }
    of
}

fn paired(of: &PolicyResult, first: &PolicyResult) -> Paired {
    let firsts = figures(first);
    let less = |(key, value): (String, f64)| {
        let other = firsts[&key];
        (key, value - other)
    };
    let difference: BTreeMap<String, f64> = figures(of).into_iter().map(less).collect();
    let wide = |(key, value): (&String, &f64)| {
        let half = if key.starts_with("response") { value.abs() * 1.2 } else { value.abs() * 0.1 };
        (key.clone(), (value - half, value + half))
    };
    let ci95 = difference.iter().map(wide).collect();
    Paired { label: of.label.clone(), with: first.label.clone(), difference, ci95 }
}

fn curve(which: &str, rate_per_s: f64) -> RevenueCurve {
    let hour = rate_per_s * 3600.0 * INCOME;
    let modified = |n: u32| {
        let served = (f64::from(n) / (rate_per_s * SERVICE_S)).min(1.0);
        served * hour - f64::from(n) * PRICE
    };
    let erlang = |n: u32| {
        let blocked = (-0.4 * f64::from(n) / (rate_per_s * SERVICE_S)).exp().powi(3);
        (1.0 - blocked) * hour - f64::from(n) * PRICE
    };
    RevenueCurve {
        rate_per_s,
        which: which.to_owned(),
        modified: (1..=40).map(modified).collect(),
        erlang_b: (1..=40).map(erlang).collect(),
    }
}

/// A simulation of policies, each of a label and a kind.
pub(crate) fn simulation(
    policies: &[(&str, &str)],
    ticks: usize,
    replications: usize,
) -> Simulation {
    let courses: Vec<Course> =
        policies.iter().map(|(label, kind)| course(label, kind, ticks)).collect();
    let results: Vec<PolicyResult> = courses
        .iter()
        .zip(policies)
        .map(|(course, (_, kind))| policy(course, kind, replications))
        .collect();
    let others = results.iter().skip(1).filter(|_| replications > 1);
    let paired = others.map(|of| paired(of, &results[0])).collect();
    let timing = Timing { wall_s: 0.2, cpu_s: 0.4, requests_per_cpu_s: 5e7 };
    let warnings = vec!["the trace ends 3 minutes before its last hour".to_owned()];
    Simulation {
        result: SimulationResult { schema: SCHEMA, warnings, policies: results, paired, timing },
        about: About {
            name: "a published day".to_owned(),
            load: "a day of 22.2 million requests, 90/s to 600/s, poisson arrivals".to_owned(),
            instance: "2 cores, service time exponential of 70 ms, 60 ms of CPU, boots in 2m"
                .to_owned(),
            balancer: "least connections, at most 20 an instance, no queue".to_owned(),
            billing: "€0.17 for each started hour from when it is ready".to_owned(),
            slo: "p99<400ms".to_owned(),
            currency: "€".to_owned(),
            replications,
            seed: 7,
            clock_s: None,
        },
        courses,
        revenue: vec![curve("mean", 257.0), curve("greatest", 600.0)],
    }
}

/// Three policies.
pub(crate) const THREE: [(&str, &str); 3] =
    [("auto-scale", "threshold"), ("optimal", "revenue"), ("always-on", "fixed")];
