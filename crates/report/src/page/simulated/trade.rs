//! Cost against loss: a point a policy, and the front of those that no other beats.

use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::PolicyResult;
use plimsoll_stats::figure::{self, Figure};

use super::letter;
use crate::figure_text::{self, DASH};
use plimsoll_draw::Markup;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::front::{self, Spot};
use plimsoll_draw::chart::plot::{Plot, Table};
use plimsoll_draw::chart::range::Range;
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::Unit;

/// From this ratio of the most to the least, losses stand on a logarithmic axis.
const FAR: f64 = 30.0;

/// A policy in the chart.
struct Point<'a> {
    index: usize,
    policy: &'a PolicyResult,
    /// One that costs no more and loses no more, and is better in one of them.
    beaten_by: Option<usize>,
}

/// The policies by cost, those with equal cost by loss.
fn points(policies: &[PolicyResult]) -> Vec<Point<'_>> {
    let is_drawn = |policy: &PolicyResult| {
        policy.cost.is_finite() && policy.lost.is_finite() && policy.cost >= 0.0
    };
    let figures: Vec<(f64, f64)> =
        policies.iter().map(|policy| (policy.cost, policy.lost)).collect();
    let all = policies.iter().zip(front::beaten_by(&figures)).enumerate();
    let point = |(index, (policy, beaten_by))| Point { index, policy, beaten_by };
    let mut points: Vec<_> = all.map(point).filter(|point| is_drawn(point.policy)).collect();
    points.sort_by(|a, b| {
        let by_cost = a.policy.cost.total_cmp(&b.policy.cost);
        by_cost.then(a.policy.lost.total_cmp(&b.policy.lost))
    });
    points
}

/// Writes the chart.
pub(super) fn write(m: &mut Markup, simulation: &Simulation) {
    let points = points(&simulation.result.policies);
    if points.is_empty() {
        m.leaf("p", &[("class", &"nothing")], "Nothing to draw: there is no policy.");
        return;
    }
    let currency = &simulation.about.currency;
    let table = table(&points, &simulation.result.policies, currency);
    m.tag("div", &[("class", &"figures")], |m| {
        plot(&points, currency, &table).write(m, &[&table]);
    });
}

fn interval(policy: &PolicyResult, figure: &Figure) -> Option<(f64, f64)> {
    let &(low, high) = policy.ci95.get(figure.name)?;
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// The scale of losses, and what a reader has to know of it.
fn losses(points: &[Point<'_>]) -> (Scale, &'static str) {
    let highs =
        points.iter().filter_map(|of| interval(of.policy, figure::LOST).map(|(_, high)| high));
    let means = || points.iter().map(|of| of.policy.lost);
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

fn plot(points: &[Point<'_>], currency: &str, table: &Table) -> Plot {
    let means = points.iter().map(|of| of.policy.cost);
    let ends = points.iter().filter_map(|of| interval(of.policy, figure::COST));
    let range = Range::over(means.chain(ends.flat_map(|(low, high)| [low.max(0.0), high])));
    let (scale, of_losses) = losses(points);
    let axis = Axis::Range { range, unit: Unit::Amount };
    let mut plot = Plot::empty(axis, (range.low, range.high), scale, Unit::Mean);
    "cost-and-loss".clone_into(&mut plot.id);
    "Cost against loss".clone_into(&mut plot.title);
    let bars = if points.iter().any(|of| !of.policy.ci95.is_empty()) {
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
    plot.readout = (table.id.clone(), (1..table.heads.len()).collect());
    front::put(&mut plot, &points.iter().map(spot).collect::<Vec<_>>());
    plot
}

fn spot(point: &Point<'_>) -> Spot {
    Spot {
        index: point.index,
        short: letter(point.index),
        name: point.policy.label.clone(),
        at: (point.policy.cost, point.policy.lost),
        bars: intervals(point.policy),
        beaten_by: point.beaten_by,
    }
}

/// The bars of a policy's intervals, one across and one upright.
fn intervals(policy: &PolicyResult) -> Vec<Vec<(f64, f64)>> {
    let across = interval(policy, figure::COST)
        .map(|(low, high)| vec![(low, policy.lost), (high, policy.lost)]);
    let upright = interval(policy, figure::LOST)
        .map(|(low, high)| vec![(policy.cost, low), (policy.cost, high)]);
    across.into_iter().chain(upright).collect()
}

fn table(points: &[Point<'_>], policies: &[PolicyResult], currency: &str) -> Table {
    let (cost, lost) = (figure::COST.label, figure::LOST.label);
    let heads = ["policy", cost, "95%", lost, "95%", figure::LOST_SHARE.label, "beaten by"];
    let row = |point: &Point<'_>| {
        let policy = point.policy;
        let text = |figure: &Figure, value: f64| figure_text::text(figure, value, currency);
        let value = |figure: &Figure| text(figure, policy.value(figure).unwrap_or(f64::NAN));
        let between = |figure: &Figure| {
            let found = interval(policy, figure);
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
            point.beaten_by.map_or_else(|| "none".to_owned(), |by| policies[by].label.clone()),
        ]
    };
    let heads = heads.map(|head| (head.to_owned(), String::new())).into();
    let rows = points.iter().map(row).collect();
    Table { id: "cost-and-loss-table".to_owned(), summary: "Table", heads, rows }
}
