//! The figures of every policy: what it costs and serves, how its pool followed demand, and its
//! requests.

use plimsoll_stats::figure::{self, Figure};

use super::policies::{Policy, Pools};
use crate::document::{Block, Cell, Column, Grid, Table, letter, note};
use crate::figure_text;

/// Requests lost, by cause.
const LOST_BY: [&Figure; 6] = [
    figure::LOST_BY_NO_SLOT,
    figure::LOST_BY_QUEUE_FULL,
    figure::LOST_BY_QUEUE_TIMEOUT,
    figure::LOST_BY_CLIENT_TIMEOUT,
    figure::LOST_BY_INSTANCE_FAILED,
    figure::LOST_BY_BALANCER_FAILED,
];

/// A row of a table: a policy with its letter.
type Row<'a> = (String, &'a Policy<'a>);

/// The figures that policies are chosen by.
pub(super) fn headline(pools: &Pools<'_>) -> Vec<Block> {
    let mut columns = vec![of(figure::INSTANCE_HOURS), of(figure::COST), lost(pools)];
    if pools.earns() {
        columns.push(of(figure::NET));
    }
    let rest = [figure::RESPONSE_US_MEAN, figure::RESPONSE_US_P99, figure::SLO_VIOLATED_S];
    columns.extend(rest.map(of));
    if pools.policies.iter().any(|policy| policy.holds.is_some()) {
        columns.push(Column::plain("SLO", |(_, policy): &Row<'_>| match policy.holds {
            Some(true) => Cell::default().judged("good", "held"),
            Some(false) => Cell::default().judged("poor", "broken"),
            None => Cell::of(figure_text::DASH),
        }));
    }
    vec![Block::Table(table(pools, columns)), note(of_small_figures(pools))]
}

/// All the others.
pub(super) fn others(pools: &Pools<'_>) -> Vec<Block> {
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
    vec![
        Block::Heading("How the pool followed demand".to_owned()),
        Block::Table(table(pools, followed.map(of).into())),
        Block::Heading("Requests and their response times".to_owned()),
        Block::Table(table(pools, requests(pools))),
    ]
}

fn requests<'a>(pools: &'a Pools<'a>) -> Vec<Column<'a, Row<'a>>> {
    let due = [figure::OFFERED, figure::SERVED, figure::IN_FLIGHT_AT_END];
    let mut columns: Vec<Column<'_, Row<'_>>> = due.map(of).into();
    let lost = |figure: &&&'static Figure| {
        pools.policies.iter().any(|policy| policy.value(figure).unwrap_or(0.0) > 0.0)
    };
    columns.extend(LOST_BY.iter().filter(lost).map(|figure| of(figure)));
    if pools.earns() {
        columns.push(of(figure::REVENUE));
    }
    let times = [
        figure::RESPONSE_US_MIN,
        figure::RESPONSE_US_P50,
        figure::RESPONSE_US_P90,
        figure::RESPONSE_US_P95,
        figure::RESPONSE_US_P999,
        figure::RESPONSE_US_MAX,
    ];
    columns.extend(times.map(of));
    columns
}

/// The column of a figure with its intervals.
fn of<'a>(figure: &'static Figure) -> Column<'a, Row<'a>> {
    Column::figure(figure, |(_, policy): &Row<'_>| policy.value(figure))
        .with_interval(|(_, policy)| policy.interval(figure))
}

/// The requests lost, and which share of all they are.
fn lost<'a>(pools: &'a Pools<'a>) -> Column<'a, Row<'a>> {
    let text = |policy: &Policy<'_>, figure: &Figure| {
        let value = policy.value(figure).unwrap_or(f64::NAN);
        figure_text::text(figure, value, &pools.about.currency)
    };
    Column::plain(figure::LOST.label, move |(_, policy): &Row<'_>| {
        let (lost, share) = (text(policy, figure::LOST), text(policy, figure::LOST_SHARE));
        let interval = policy.interval(figure::LOST).map_or_else(String::new, |of| {
            figure_text::interval(of, |value| figure_text::text(figure::LOST, value, ""))
        });
        Cell::of(format_args!("{lost} ({share})")).with(interval)
    })
}

/// What the small figures are.
fn of_small_figures(pools: &Pools<'_>) -> String {
    match pools.cells.replications() {
        0 | 1 => "One replication: nothing says how far another one would be off. With more there \
                  are intervals."
            .to_owned(),
        n => format!(
            "Means over {n} replications, each with its 95% interval; so are the percentiles, each \
             of which is a replication's own."
        ),
    }
}

fn table<'a>(pools: &'a Pools<'a>, figures: Vec<Column<'a, Row<'a>>>) -> Grid {
    let name = |(letter, policy): &Row<'_>| {
        // A policy without a label is called after its kind.
        let kind = if policy.label == policy.kind.as_str() { "" } else { &policy.kind };
        Cell::lettered(letter, policy.label).with(kind)
    };
    let columns = std::iter::once(Column::plain("policy", name)).chain(figures).collect();
    let rows: Vec<Row<'_>> =
        pools.policies.iter().enumerate().map(|(n, policy)| (letter(n), policy)).collect();
    let currency = pools.about.currency.as_str();
    Table { class: "policies", id: String::new(), currency, columns }.of(&rows)
}
