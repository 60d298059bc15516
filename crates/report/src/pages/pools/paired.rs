//! The differences of each policy from the first, on the same requests, and whether zero is among
//! what they may be.

use plimsoll_elastic::result::Paired;
use plimsoll_stats::figure::{self, Figure};

use super::courses;
use super::policies::{Policy, Pools};
use crate::document::{Block, Cell, Grid, Section, words};
use crate::figure_text::{self, DASH};
use crate::pages::difference::{self, Heads};

/// The figures of which there are differences, in the order in which they are shown.
pub(super) const FIGURES: [&Figure; 15] = [
    figure::INSTANCE_HOURS,
    figure::INSTANCE_HOURS_USED,
    figure::COST,
    figure::REVENUE,
    figure::NET,
    figure::OFFERED,
    figure::SERVED,
    figure::LOST,
    figure::IN_FLIGHT_AT_END,
    figure::RESPONSE_US_MEAN,
    figure::RESPONSE_US_P99,
    figure::SLO_VIOLATED_S,
    figure::CPU_MEAN,
    figure::SCALE_OUT,
    figure::SCALE_IN,
];

/// The difference of each figure of two runs of pools, and both courses in one chart; `None` where
/// pairs of replications tell more, or where there are not two.
pub(super) fn of_two(pools: &Pools<'_>) -> Option<Section> {
    let [a, b] = &pools.policies[..] else { return None };
    if !pools.paired.is_empty() || !pools.cells.is_of_runs {
        return None;
    }
    let of = |policy: &Policy<'_>, figure: &Figure| {
        Some((policy.value(figure)?, policy.interval(figure)))
    };
    let heads = Heads { first: a.label, second: b.label, difference: "the first less the second" };
    let sides = (&|figure: &Figure| of(a, figure), &|figure: &Figure| of(b, figure));
    let grid = difference::table(&FIGURES, (sides.0, sides.1), &heads, &pools.about.currency);
    let blocks = vec![Block::Table(grid), Block::Charts(courses::overlay(pools))];
    Some(Section::new("difference", "One against the other", blocks))
}

/// A table: a column a policy, a row a figure.
pub(super) fn blocks(pools: &Pools<'_>) -> Vec<Block> {
    let (paired, currency) = (&pools.paired, &pools.about.currency);
    let text = "All policies had the same requests in each replication, so noise common to all of \
                them cancels in the differences. If the 95% interval of a difference contains 0, \
                there may be no difference.";
    let head = |one: &Paired| Cell::of(&one.label).with(format_args!("against {}", one.with));
    let earns = pools.earns();
    let is_shown = |figure: &&Figure| {
        let of_money = figure.name == figure::REVENUE.name || figure.name == figure::NET.name;
        (earns || !of_money) && paired.iter().any(|one| one.difference.contains_key(figure.name))
    };
    let row = |figure: &'static Figure| {
        let cells = paired.iter().map(|one| cell(figure, one, currency));
        std::iter::once(Cell::of(figure.label)).chain(cells).collect()
    };
    let grid = Grid {
        class: "sides paired",
        id: String::new(),
        heads: std::iter::once(Cell::of("difference")).chain(paired.iter().map(head)).collect(),
        rows: FIGURES.into_iter().filter(is_shown).map(row).collect(),
    };
    vec![words(text), Block::Table(grid)]
}

fn cell(figure: &Figure, one: &Paired, currency: &str) -> Cell {
    let show = |value: f64| figure_text::difference(figure, value, currency);
    let Some(&difference) = one.difference.get(figure.name) else { return Cell::of(DASH) };
    let text = show(difference);
    let text = if difference > 0.0 { format!("+{text}") } else { text };
    let Some(&(low, high)) = one.ci95.get(figure.name) else { return Cell::of(text) };
    let is_within = low <= 0.0 && 0.0 <= high;
    let zero = if is_within { "zero within" } else { "zero outside" };
    let interval = figure_text::interval((low, high), show);
    let class = if is_within { "" } else { "strong" };
    Cell { class, ..Cell::of(text) }.with(format_args!("{interval}: {zero}"))
}
