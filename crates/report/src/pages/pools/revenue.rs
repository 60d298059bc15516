//! Revenue net of instances against their number, by both rules of what a number of them loses.

use plimsoll_elastic::course::RevenueCurve;

use super::policies::Pools;
use crate::document::{Block, chart};
use crate::figure_text::DASH;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::label::Label;
use plimsoll_draw::chart::plot::{Key, Line, Plot, Table, plain_heads};
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::symbol::Symbol;
use plimsoll_draw::chart::unit::{Unit, money, significant, whole};

/// The strokes of the rates, in turn.
const STROKES: [&str; 3] = ["", " dash", " thin"];

/// One line of the chart.
struct Drawn<'a> {
    name: String,
    tone: &'static str,
    stroke: &'static str,
    /// With 1, 2, … instances.
    values: &'a [f64],
}

impl Drawn<'_> {
    /// The number of instances with the most revenue, the least where there are several.
    fn best(&self) -> Option<(usize, f64)> {
        let known = self.values.iter().enumerate().filter(|(_, value)| value.is_finite());
        let best = known.reduce(|best, one| if one.1 > best.1 { one } else { best });
        best.map(|(index, &value)| (index + 1, value))
    }
}

fn drawn(curves: &[RevenueCurve]) -> Vec<Drawn<'_>> {
    let lines = curves.iter().zip(STROKES.into_iter().chain(std::iter::repeat(STROKES[2])));
    let lines = lines.flat_map(|(curve, stroke)| of_rate(curve, stroke));
    lines.filter(|one| one.best().is_some()).collect()
}

fn of_rate<'a>(curve: &'a RevenueCurve, stroke: &'static str) -> [Drawn<'a>; 2] {
    let rate = format!("{}/s ({})", significant(curve.rate_per_s), curve.which);
    let one = |rule: &str, tone: &'static str, values: &'a [f64]| Drawn {
        name: format!("{rule} at {rate}"),
        tone,
        stroke,
        values,
    };
    [one("modified rule", "c0", &curve.modified), one("Erlang B", "c2", &curve.erlang_b)]
}

/// The chart; `None` where a request earns nothing.
pub(super) fn block(pools: &Pools<'_>) -> Option<Block> {
    let drawn = drawn(&pools.about.revenue);
    if drawn.is_empty() {
        return None;
    }
    let currency = &pools.about.currency;
    let table = table(&drawn, currency);
    let mut plot = plot(&drawn, currency, &table);
    plot.tables = vec![table];
    Some(Block::Charts(vec![chart(plot)]))
}

fn plot(drawn: &[Drawn<'_>], currency: &str, table: &Table) -> Plot {
    let most = drawn.iter().map(|one| one.values.len()).max().unwrap_or(1);
    let end = most as f64 + 0.5;
    let values = || drawn.iter().flat_map(|one| one.values).filter(|value| value.is_finite());
    let least = values().copied().fold(f64::INFINITY, f64::min);
    let greatest = values().copied().fold(f64::NEG_INFINITY, f64::max);
    let axis = Axis::Value { columns: 1, top: end, unit: Unit::Count };
    let scale = Scale::spanning(least, greatest, 0.0);
    let mut plot = Plot::empty(axis, (0.0, end), scale, Unit::Amount);
    "revenue-curves".clone_into(&mut plot.id);
    "Revenue over the number of instances".clone_into(&mut plot.title);
    "What an hour at a constant rate earns, less the price of its instances: \
     r(n) = (1 − P(n))·λ·c − n·d. The modified rule loses what n instances have no time for, \
     Erlang's formula B what finds all of them busy. The discs are where most is earned."
        .clone_into(&mut plot.note);
    plot.measure = format!("{currency} per hour, over instances");
    for one in drawn {
        let class = format!("{}{}", one.tone, one.stroke);
        plot.keys.push(Key::Line(format!("line {class}"), one.name.clone()));
        plot.lines.push(Line { class, pieces: pieces(one.values) });
        if let Some((count, value)) = one.best() {
            let at = (count as f64, value);
            plot.symbols.push((Symbol::Disc, one.tone, at));
            let short = whole(count as f64);
            plot.labels.push(Label { short, name: String::new(), at });
        }
    }
    plot.readout = (table.id.clone(), (1..table.heads.len()).collect());
    plot.rows = (1..=most).map(|n| n as f64).map(|n| (n - 0.5, n, n + 0.5)).collect();
    plot
}

/// A line through the values, broken where one is missing.
fn pieces(values: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let point = |(index, &value): (usize, &f64)| ((index + 1) as f64, value);
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(point).collect();
    let pieces = points.split(|(_, value)| !value.is_finite());
    pieces.filter(|piece| !piece.is_empty()).map(<[_]>::to_vec).collect()
}

fn table(drawn: &[Drawn<'_>], currency: &str) -> Table {
    let mut heads = plain_heads(["instances"]);
    let head = |one: &Drawn<'_>| {
        let best = one.best().map_or(0, |(count, _)| count);
        let name = format!("{}, most with {}", one.name, whole(best as f64));
        (name, format!("{}{}", one.tone, one.stroke))
    };
    heads.extend(drawn.iter().map(head));
    let most = drawn.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let row = |index: usize| {
        let cell = |one: &Drawn<'_>| {
            let value = one.values.get(index).filter(|value| value.is_finite());
            value.map_or_else(|| DASH.to_owned(), |&value| money(value, currency))
        };
        [vec![whole((index + 1) as f64)], drawn.iter().map(cell).collect()].concat()
    };
    let rows = (0..most).map(row).collect();
    Table::new("revenue-table".to_owned(), heads, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(modified: Vec<f64>) -> RevenueCurve {
        RevenueCurve {
            rate_per_s: 300.0,
            which: "mean".to_owned(),
            modified,
            erlang_b: vec![f64::NAN],
        }
    }

    #[test]
    fn the_optimum_is_the_least_number_with_the_most() {
        let curves = [curve(vec![-1.0, 5.0, f64::NAN, 5.0, 2.0])];
        let drawn = drawn(&curves);
        assert_eq!(drawn.len(), 1, "a curve without a value is none");
        assert_eq!(drawn[0].best(), Some((2, 5.0)));
        assert_eq!(pieces(drawn[0].values).len(), 2);
        let table = table(&drawn, "€");
        assert_eq!(table.rows[0], ["1", "−€1.00"]);
        assert_eq!(table.rows[2], ["3", "–"]);
        assert!(table.heads[1].0.contains("300/s (mean), most with 2"), "{:?}", table.heads);
    }

    #[test]
    fn a_loss_is_drawn_below_zero() {
        let curves = [curve(vec![-10.0, 30.0])];
        let drawn = drawn(&curves);
        let plot = plot(&drawn, "€", &table(&drawn, "€"));
        assert!(plot.scale.holds(-10.0) && plot.scale.holds(0.0));
        assert_eq!((plot.labels[0].short.as_str(), plot.rows.len()), ("2", 2));
    }
}
