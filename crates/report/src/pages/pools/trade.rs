//! Cost against loss: a point a policy, and the front of those that no other beats.

use plimsoll_stats::figure::{self, Figure};

use super::policies::{Policy, Pools};
use crate::document::{Block, chart, letter, nothing};
use crate::figure_text::{self, DASH};
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::front::{self, Spot};
use plimsoll_draw::chart::plot::{Plot, Table, plain_heads};
use plimsoll_draw::chart::range::Range;
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::Unit;

/// From this ratio of the most to the least, losses stand on a logarithmic axis.
const FAR: f64 = 30.0;

/// A policy in the chart.
struct Point<'a> {
    index: usize,
    policy: &'a Policy<'a>,
    cost: f64,
    lost: f64,
    /// One that costs no more and loses no more, and is better in one of them.
    beaten_by: Option<usize>,
}

/// The policies by cost, those with equal cost by loss.
fn points<'a>(policies: &'a [Policy<'a>]) -> Vec<Point<'a>> {
    let value = |policy: &Policy<'_>, figure: &Figure| policy.value(figure).unwrap_or(f64::NAN);
    let at = |policy: &Policy<'_>| (value(policy, figure::COST), value(policy, figure::LOST));
    let figures: Vec<(f64, f64)> = policies.iter().map(at).collect();
    let all = policies.iter().zip(&figures).zip(front::beaten_by(&figures)).enumerate();
    let point = |(index, ((policy, at), beaten_by)): (usize, ((_, &(f64, f64)), _))| {
        let &(cost, lost) = at;
        let is_drawn = cost >= 0.0 && lost.is_finite();
        is_drawn.then_some(Point { index, policy, cost, lost, beaten_by })
    };
    let mut points: Vec<_> = all.filter_map(point).collect();
    points.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.lost.total_cmp(&b.lost)));
    points
}

/// The chart.
pub(super) fn block(pools: &Pools<'_>) -> Block {
    let points = points(&pools.policies);
    if points.is_empty() {
        return nothing("Nothing to draw: no policy has a cost.");
    }
    Block::Charts(vec![chart(plot(&points, pools))])
}

/// The scale of losses, and what a reader has to know of it.
fn losses(points: &[Point<'_>]) -> (Scale, &'static str) {
    let highs =
        points.iter().filter_map(|of| of.policy.interval(figure::LOST).map(|(_, high)| high));
    let means = || points.iter().map(|of| of.lost);
    let most = means().chain(highs).fold(0.0, f64::max);
    let least = means().filter(|&lost| lost > 0.0).fold(f64::INFINITY, f64::min);
    if most / least < FAR || !least.is_finite() {
        return (Scale::linear(most, 0.0), "");
    }
    let note = if means().any(|lost| lost <= 0.0) {
        " Losses are on a logarithmic scale; what lost none stands at its lower edge."
    } else {
        " Losses are on a logarithmic scale."
    };
    (Scale::log(least, most), note)
}

fn plot(points: &[Point<'_>], pools: &Pools<'_>) -> Plot {
    let currency = &pools.about.currency;
    let table = table(points, pools);
    let means = points.iter().map(|of| of.cost);
    let ends = points.iter().filter_map(|of| of.policy.interval(figure::COST));
    let range = Range::over(means.chain(ends.flat_map(|(low, high)| [low.max(0.0), high])));
    let (scale, of_losses) = losses(points);
    let axis = Axis::Range { range, unit: Unit::Amount };
    let mut plot = Plot::empty(axis, (range.low, range.high), scale, Unit::Mean);
    "cost-and-loss".clone_into(&mut plot.id);
    "Cost against loss".clone_into(&mut plot.title);
    let bars = if points.iter().any(|of| of.policy.interval(figure::COST).is_some()) {
        " Bars are 95% intervals of the means."
    } else {
        ""
    };
    plot.note = format!(
        "To the left is cheaper, down is less lost. On the line is the front: no other policy is \
         better in one without being worse in the other.{bars}{of_losses}{}",
        range.note()
    );
    plot.measure = format!("requests lost, over cost in {currency}");
    plot.put(table);
    front::put(&mut plot, &points.iter().map(spot).collect::<Vec<_>>());
    plot
}

fn spot(point: &Point<'_>) -> Spot {
    Spot {
        index: point.index,
        short: letter(point.index),
        name: point.policy.label.to_owned(),
        at: (point.cost, point.lost),
        bars: intervals(point),
        beaten_by: point.beaten_by,
    }
}

/// The bars of a policy's intervals, one across and one upright.
fn intervals(point: &Point<'_>) -> Vec<Vec<(f64, f64)>> {
    let (cost, lost) = (point.cost, point.lost);
    let across = point.policy.interval(figure::COST);
    let upright = point.policy.interval(figure::LOST);
    let across = across.map(|(low, high)| vec![(low, lost), (high, lost)]);
    let upright = upright.map(|(low, high)| vec![(cost, low), (cost, high)]);
    across.into_iter().chain(upright).collect()
}

fn table(points: &[Point<'_>], pools: &Pools<'_>) -> Table {
    let (cost, lost) = (figure::COST.label, figure::LOST.label);
    let heads = ["policy", cost, "95%", lost, "95%", figure::LOST_SHARE.label, "beaten by"];
    let row = |point: &Point<'_>| {
        let policy = point.policy;
        let text =
            |figure: &Figure, value: f64| figure_text::text(figure, value, &pools.about.currency);
        let value = |figure: &Figure| text(figure, policy.value(figure).unwrap_or(f64::NAN));
        let between = |figure: &Figure| {
            let found = policy.interval(figure);
            let show = |value: f64| text(figure, value);
            found.map_or_else(|| DASH.to_owned(), |of| figure_text::interval(of, show))
        };
        vec![
            format!("{} {}", letter(point.index), policy.label),
            value(figure::COST),
            between(figure::COST),
            value(figure::LOST),
            between(figure::LOST),
            value(figure::LOST_SHARE),
            point
                .beaten_by
                .map_or_else(|| "none".to_owned(), |by| pools.policies[by].label.to_owned()),
        ]
    };
    let heads = plain_heads(heads);
    let rows = points.iter().map(row).collect();
    Table::new("cost-and-loss-table".to_owned(), heads, rows)
}
