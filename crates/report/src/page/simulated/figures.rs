//! The figures of every policy: what it costs and serves, how its pool followed demand, and its
//! requests.

use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::PolicyResult;
use plimsoll_stats::figure::{self, Figure};

use super::{earns, letter};
use crate::figure_text;
use plimsoll_draw::Markup;

/// Most causes of loss with a column of their own.
const CAUSES: usize = 12;

/// A column of a table.
enum Column {
    /// A figure, with its interval where it has one.
    Of(&'static Figure),
    /// The requests lost, and which share of all they are.
    Lost,
    /// The requests lost by a cause.
    LostBy(String),
}

impl Column {
    fn head(&self) -> String {
        match self {
            Self::Of(figure) => figure.label.to_owned(),
            Self::Lost => figure::LOST.label.to_owned(),
            Self::LostBy(cause) => format!("lost: {}", cause.replace('_', " ")),
        }
    }
}

/// Writes the figures that policies are chosen by.
pub(super) fn write_headline(m: &mut Markup, simulation: &Simulation) {
    let mut columns = vec![
        Column::Of(figure::INSTANCE_HOURS),
        Column::Of(figure::COST),
        Column::Lost,
        Column::Of(figure::RESPONSE_MEAN_US),
        Column::Of(figure::RESPONSE_P99_US),
        Column::Of(figure::SLO_VIOLATED_S),
    ];
    if earns(simulation) {
        columns.insert(3, Column::Of(figure::NET));
    }
    write_table(m, simulation, &columns);
    m.leaf("p", &[("class", &"note after")], note(simulation));
}

/// Writes all the others.
pub(super) fn write_others(m: &mut Markup, simulation: &Simulation) {
    m.leaf("h3", &[], "How the pool followed demand");
    let followed = [
        figure::INSTANCE_HOURS_USED,
        figure::CPU_MEAN,
        figure::SCALE_OUT,
        figure::SCALE_IN,
        figure::UNDER_ACCURACY,
        figure::UNDER_TIMESHARE,
        figure::OVER_ACCURACY,
        figure::OVER_TIMESHARE,
        figure::JITTER_PER_HOUR,
    ];
    let followed = followed.map(Column::Of);
    write_table(m, simulation, &followed);
    m.leaf("h3", &[], "Requests and their response times");
    write_table(m, simulation, &requests(simulation));
}

fn requests(simulation: &Simulation) -> Vec<Column> {
    let due = [figure::OFFERED, figure::SERVED, figure::IN_FLIGHT_AT_END];
    let mut columns: Vec<Column> = due.map(Column::Of).into();
    let policies = &simulation.result.policies;
    let mut causes: Vec<&String> = Vec::new();
    for (cause, lost) in policies.iter().flat_map(|policy| &policy.lost_by) {
        if *lost > 0.0 && !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    columns.extend(causes.into_iter().take(CAUSES).map(|cause| Column::LostBy(cause.clone())));
    if earns(simulation) {
        columns.push(Column::Of(figure::REVENUE));
    }
    let times = [
        figure::RESPONSE_US_MIN,
        figure::RESPONSE_US_P50,
        figure::RESPONSE_US_P90,
        figure::RESPONSE_US_P95,
        figure::RESPONSE_US_P999,
        figure::RESPONSE_US_MAX,
    ];
    columns.extend(times.map(Column::Of));
    columns
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
                        m.leaf("th", &[("scope", &"col")], column.head());
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
    let text = |figure: &Figure, value: f64| figure_text::text(figure, value, currency);
    let value = |figure: &Figure| text(figure, policy.value(figure).unwrap_or(f64::NAN));
    let figure = match column {
        Column::LostBy(cause) => {
            m.text(text(figure::LOST, policy.lost_by.get(cause).copied().unwrap_or(0.0)));
            return;
        }
        Column::Of(figure) => figure,
        Column::Lost => figure::LOST,
    };
    m.text(value(figure));
    if matches!(column, Column::Lost) {
        m.text(format_args!(" ({})", value(figure::LOST_SHARE)));
    }
    if let Some(&interval) = policy.ci95.get(figure.name) {
        let text = figure_text::interval(interval, |value| text(figure, value));
        m.leaf("small", &[], text);
    }
}
