//! Simulations made up from formulas: a few policies under a wave of requests with a burst in it.
//! The same number of ticks gives the same simulation.

use plimsoll_elastic::course::{About, Course, Decision, RevenueCurve};
use plimsoll_report::Document;
use plimsoll_runs::{Class, Event, FigureRow, Kind, RunWriter, Sink};

use crate::kept::{CellDefaults, Kept};

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

/// The figures of one replication of a course.
fn figures(course: &Course, place: usize, replication: usize) -> Vec<FigureRow> {
    let ticks = course.at_s.len().max(1) as f64;
    let sum = |values: &[f64]| values.iter().sum::<f64>() * TICK_S;
    let by = 1.0 + 0.03 * noise(replication);
    let (offered, lost) = (by * sum(&course.rate), by * sum(&course.lost));
    let hours = (by * sum(&course.ready) / 3600.0).ceil();
    let demand = course.demand.iter().flatten();
    let off: Vec<f64> = course.ready.iter().zip(demand).map(|(s, &d)| s - f64::from(d)).collect();
    let accuracy = |sign: f64| off.iter().map(|off| (sign * off).max(0.0)).sum::<f64>() / ticks;
    let timeshare = |sign: f64| off.iter().filter(|&&off| sign * off > 0.0).count() as f64 / ticks;
    let times: Vec<f64> = course.response_us.iter().flatten().copied().collect();
    let own = 1.0 + 0.9 * noise(replication + 31 * place);
    let mean = own * times.iter().sum::<f64>() / times.len().max(1) as f64;
    let moved = course.decisions.len() as f64;
    let slow = course.quantile_us.iter().flatten().filter(|&&us| us > 400_000.0).count();
    let revenue = (offered - lost) * INCOME;
    [
        ("instance_hours", hours),
        ("instance_hours_used", hours * 0.97),
        ("cost", hours * PRICE),
        ("offered", offered),
        ("served", offered - lost),
        ("lost", lost),
        ("lost_share", lost / offered.max(1.0)),
        ("lost_by.no_slot", lost),
        ("lost_by.client_timeout", 0.0),
        ("in_flight_at_end", 2.0),
        ("revenue", revenue),
        ("net", revenue - hours * PRICE),
        ("response_us.min", 41_000.0),
        ("response_us.mean", mean),
        ("response_us.p50", mean * 0.9),
        ("response_us.p90", mean * 1.8),
        ("response_us.p95", mean * 2.1),
        ("response_us.p99", mean * 2.9),
        ("response_us.max", mean * 9.0),
        ("cpu_mean", course.cpu.iter().sum::<f64>() / ticks),
        ("scale_out", (moved / 2.0).ceil()),
        ("scale_in", (moved / 2.0).floor()),
        ("under.accuracy", accuracy(-1.0)),
        ("under.timeshare", timeshare(-1.0)),
        ("over.accuracy", accuracy(1.0)),
        ("over.timeshare", timeshare(1.0)),
        ("jitter_per_hour", moved / 10.0 - 2.0),
        ("slo_held", f64::from(u8::from(mean * 2.9 < 400_000.0))),
        ("slo_violated_s", slow as f64 * TICK_S),
    ]
    .map(|(name, value)| FigureRow::new(name, value))
    .into()
}

/// Writes the run of a course, as a simulated pool does.
fn write(writer: &mut RunWriter, course: &Course) {
    for (tick, &at_s) in course.at_s.iter().enumerate() {
        let at_ns = (at_s * 1e9) as u64;
        let seconds = |us: Option<f64>| us.map_or(f64::NAN, |us| us / 1e6);
        for (name, value) in [
            ("pool_offered_requests_per_second", course.rate[tick]),
            ("pool_lost_requests_per_second", course.lost[tick]),
            ("pool_ready_instances", course.ready[tick]),
            ("pool_demand_instances", course.demand[tick].map_or(f64::NAN, f64::from)),
            ("pool_cpu_ratio", course.cpu[tick] / 100.0),
            ("pool_response_mean_seconds", seconds(course.response_us[tick])),
            ("pool_response_quantile_seconds", seconds(course.quantile_us[tick])),
        ] {
            writer.series(name, &[], at_ns, value).unwrap();
        }
    }
    for of in &course.decisions {
        let (at_ns, class, kind) = ((of.at_s * 1e9) as u64, Class::Action, "scale".to_owned());
        let seen: Vec<String> =
            of.seen.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let seen = if seen.is_empty() { String::new() } else { format!(" [{}]", seen.join(", ")) };
        let text = format!("{} → {} instances: {}{seen}", of.from, of.to, of.reason);
        writer.event(&Event { at_ns, class, kind, text }).unwrap();
    }
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

/// Policies, each of a label and a kind, under the same requests.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) of: CellDefaults,
    pub(crate) about: About,
    pub(crate) courses: Vec<Course>,
    /// The figures of each policy in each replication.
    pub(crate) figures: Vec<Vec<Vec<FigureRow>>>,
}

/// A simulation of policies.
pub(crate) fn simulation(policies: &[(&str, &str)], ticks: usize, replications: usize) -> Made {
    let courses: Vec<Course> =
        policies.iter().map(|(label, kind)| course(label, kind, ticks)).collect();
    let all = |(place, course)| (0..replications).map(|n| figures(course, place, n)).collect();
    let kinds = policies.iter().map(|(label, kind)| ((*label).to_owned(), (*kind).to_owned()));
    Made {
        figures: courses.iter().enumerate().map(all).collect(),
        courses,
        of: CellDefaults {
            name: "a published day".to_owned(),
            plan:
                "[load]\nrate = '1/s'\nfor = '1h'\n[measure]\nslo = 'p99<400ms'\n[pool]\nmax = 9\n\
                   [instance]\nservice = 'exp:70ms'\n"
                    .to_owned(),
            warnings: vec!["the trace ends 3 minutes before its last hour".to_owned()],
            ..CellDefaults::kind(Kind::Pool)
        },
        about: About {
            speed: None,
            load: "a day of 22.2 million requests, 90/s to 600/s, poisson arrivals".to_owned(),
            instance: "2 cores, service time exponential of 70 ms, 60 ms of CPU, boots in 2m"
                .to_owned(),
            types: Vec::new(),
            balancer: "least connections, at most 20 an instance, no queue".to_owned(),
            billing: "€0.17 for each started hour from when it is ready".to_owned(),
            currency: "€".to_owned(),
            clock_s: None,
            demand: "the least n for which M/G/m with 2 servers an instance keeps p99 below 400 ms"
                .to_owned(),
            kinds: kinds.collect(),
            revenue: vec![curve("mean", 257.0), curve("greatest", 600.0)],
        },
    }
}

impl Made {
    pub(crate) fn document(&self, title: Option<&str>) -> Document {
        let of =
            CellDefaults { about: serde_json::to_string(&self.about).unwrap(), ..self.of.clone() };
        let writes: Vec<_> = self
            .courses
            .iter()
            .map(|course| move |writer: &mut RunWriter| write(writer, course))
            .collect();
        let replications = self.figures.first().map_or(0, Vec::len);
        let mut cells = Vec::new();
        for replication in 0..replications {
            for (place, course) in self.courses.iter().enumerate() {
                cells.push(Kept {
                    factors: vec![("policy", course.label.clone())],
                    replication: replication as u32,
                    figures: self.figures[place][replication].clone(),
                    run: (replication == 0).then_some(&writes[place]),
                });
            }
        }
        of.titled(&cells, title)
    }
}

/// Three policies.
pub(crate) const THREE: [(&str, &str); 3] =
    [("auto-scale", "threshold"), ("optimal", "revenue"), ("always-on", "fixed")];
