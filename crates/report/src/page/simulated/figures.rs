//! The figures of every policy: what it costs and serves, how its pool followed demand, and its
//! requests.

use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::{Off, PolicyResult};

use super::fields::{self, DASH, Show};
use super::{earns, letter};
use crate::chart::unit::per_cent;
use crate::markup::Markup;

/// Most causes of loss with a column of their own.
const CAUSES: usize = 12;

/// A response time of a policy; `None` where too few requests tell it.
type Time = fn(&PolicyResult) -> Option<f64>;

/// A column of a table.
struct Column {
    name: String,
    /// Its field among the intervals; empty without one.
    key: &'static str,
    show: Show,
    value: Box<dyn Fn(&PolicyResult) -> f64>,
    /// What stands beside the value.
    beside: fn(&PolicyResult) -> String,
}

/// A column without intervals.
fn plain(name: &str, show: Show, value: impl Fn(&PolicyResult) -> f64 + 'static) -> Column {
    let name = name.to_owned();
    Column { name, key: "", show, value: Box::new(value), beside: |_| String::new() }
}

/// A column of a figure that has intervals.
fn known(key: &'static str, value: fn(&PolicyResult) -> f64) -> Column {
    let field = fields::of(key);
    Column { key, ..plain(field.name, field.show, value) }
}

/// Writes the figures that policies are chosen by.
pub(super) fn write_headline(m: &mut Markup, simulation: &Simulation) {
    let mut columns = vec![
        known("instance_hours", |of| of.instance_hours),
        known("cost", |of| of.cost),
        Column { beside: share_lost, ..known("lost", |of| of.lost) },
        known("response_mean_us", |of| of.response_mean_us.unwrap_or(f64::NAN)),
        known("response_p99_us", |of| of.response_p99_us.unwrap_or(f64::NAN)),
        known("slo_violated_s", |of| of.slo_violated_s),
    ];
    if earns(simulation) {
        columns.insert(3, known("net", |of| of.net));
    }
    write_table(m, simulation, &columns);
    m.leaf("p", &[("class", &"note after")], note(simulation));
}

/// Writes all the others.
pub(super) fn write_others(m: &mut Markup, simulation: &Simulation) {
    m.leaf("h3", &[], "How the pool followed demand");
    let followed = [
        known("instance_hours_used", |of| of.instance_hours_used),
        known("cpu_mean", |of| of.cpu_mean),
        known("scale_out", |of| of.scale_out),
        known("scale_in", |of| of.scale_in),
        plain("under: accuracy", Show::Mean, |of| off(of.under, |off| off.accuracy)),
        plain("under: timeshare", Show::PerCent, |of| off(of.under, |off| 100.0 * off.timeshare)),
        plain("over: accuracy", Show::Mean, |of| off(of.over, |off| off.accuracy)),
        plain("over: timeshare", Show::PerCent, |of| off(of.over, |off| 100.0 * off.timeshare)),
        plain("jitter an hour", Show::Mean, |of| of.jitter_per_hour.unwrap_or(f64::NAN)),
    ];
    write_table(m, simulation, &followed);
    m.leaf("h3", &[], "Requests and their response times");
    write_table(m, simulation, &requests(simulation));
}

/// How far the supply was off; not a number where no number of instances would have been enough.
fn off(of: Option<Off>, figure: fn(Off) -> f64) -> f64 {
    of.map_or(f64::NAN, figure)
}

fn requests(simulation: &Simulation) -> Vec<Column> {
    let mut columns = vec![
        known("offered", |of| of.offered),
        known("served", |of| of.served),
        known("in_flight_at_end", |of| of.in_flight_at_end),
    ];
    let policies = &simulation.result.policies;
    let mut causes: Vec<&String> = Vec::new();
    for (cause, lost) in policies.iter().flat_map(|policy| &policy.lost_by) {
        if *lost > 0.0 && !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    for cause in causes.into_iter().take(CAUSES) {
        let (name, cause) = (format!("lost: {}", cause.replace('_', " ")), cause.clone());
        let value = move |of: &PolicyResult| of.lost_by.get(&cause).copied().unwrap_or(0.0);
        columns.push(plain(&name, Show::Count, value));
    }
    if earns(simulation) {
        columns.push(known("revenue", |of| of.revenue));
    }
    let times: [(&str, Time); 6] = [
        ("min", |of| of.response_us.min),
        ("p50", |of| of.response_us.p50),
        ("p90", |of| of.response_us.p90),
        ("p95", |of| of.response_us.p95),
        ("p99.9", |of| of.response_us.p999),
        ("max", |of| of.response_us.max),
    ];
    let time = |(name, of): (&str, Time)| {
        plain(name, Show::Micros, move |policy| of(policy).unwrap_or(f64::NAN))
    };
    columns.extend(times.map(time));
    columns
}

/// The share of the requests due that were lost.
fn share_lost(policy: &PolicyResult) -> String {
    if policy.offered > 0.0 { per_cent(policy.lost / policy.offered) } else { DASH.to_owned() }
}

/// What the small figures are.
fn note(simulation: &Simulation) -> String {
    match simulation.about.replications {
        0 | 1 => "One replication: nothing says how far another one would be off. With more there \
                  are intervals."
            .to_owned(),
        n => format!(
            "Means over {n} replications, each with its 95% interval; so are the mean and p99 of \
             the response times. Percentiles without an interval are of the requests of all."
        ),
    }
}

fn write_table(m: &mut Markup, simulation: &Simulation, columns: &[Column]) {
    m.tag("div", &[("class", &"scroll"), ("tabindex", &"0")], |m| {
        m.tag("table", &[("class", &"policies")], |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    m.leaf("th", &[("scope", &"col")], "policy");
                    for column in columns {
                        m.leaf("th", &[("scope", &"col")], &column.name);
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for (index, policy) in simulation.result.policies.iter().enumerate() {
                    m.tag("tr", &[], |m| {
                        m.tag("th", &[("scope", &"row")], |m| write_name(m, index, policy));
                        for column in columns {
                            m.tag("td", &[], |m| {
                                write_cell(m, column, policy, &simulation.about.currency);
                            });
                        }
                    });
                }
            });
        });
    });
}

fn write_name(m: &mut Markup, index: usize, policy: &PolicyResult) {
    m.leaf("b", &[], letter(index));
    m.text(" ");
    m.text(&policy.label);
    // Who gave no label is called after the kind.
    if policy.label != policy.kind {
        m.leaf("small", &[], &policy.kind);
    }
}

fn write_cell(m: &mut Markup, column: &Column, policy: &PolicyResult, currency: &str) {
    m.text(column.show.text((column.value)(policy), currency));
    let beside = (column.beside)(policy);
    if !beside.is_empty() {
        m.text(format_args!(" ({beside})"));
    }
    if let Some(&interval) = policy.ci95.get(column.key) {
        m.leaf("small", &[], column.show.interval(interval, currency));
    }
}
