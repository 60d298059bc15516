//! How response times are distributed: cumulative shares on a logarithmic axis, where every place
//! that answers come from is a step; and their quantiles as a table.

use plimsoll_stats::Histogram;
use plimsoll_stats::figure::{self, Figure};

use super::shown::{Group, Shown};
use crate::document::{Block, Column, Table, nothing};
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::cumulative::{Cumulative, Sample};
use plimsoll_draw::chart::plot::Plot;
use plimsoll_draw::chart::unit::{Unit, micros};

/// Places of the axis that answers are gathered at: a pixel or two of a wide screen.
const PLACES: f64 = 500.0;
/// The columns of the table.
const FIGURES: [&Figure; 7] = [
    figure::RESPONSE_MEAN_MS,
    figure::RESPONSE_P50_MS,
    figure::RESPONSE_P90_MS,
    figure::RESPONSE_P95_MS,
    figure::RESPONSE_P99_MS,
    figure::RESPONSE_P999_MS,
    figure::RESPONSE_MAX_MS,
];

/// A chart a group, and the table of all.
pub(super) fn blocks(shown: &Shown<'_>) -> Vec<Block> {
    let histograms = || shown.all.iter().map(|(_, cell)| &cell.file.counts.response_ns);
    let least = histograms().filter_map(Histogram::min).min();
    let greatest = histograms().filter_map(Histogram::max).max();
    let (Some(least), Some(greatest)) = (least, greatest) else {
        return vec![nothing("Nothing to draw: there is no answer.")];
    };
    // Below a nanosecond there is nothing to tell apart.
    let low = least.max(1) as f64 / 1e3 / 1.2;
    let ends = (low, greatest.max(1) as f64 / 1e3 * 1.2);
    let mut blocks = shown.by_group(|place, group| draw(shown, place, group, ends));
    blocks.push(quantiles(shown));
    blocks
}

fn draw(shown: &Shown<'_>, place: usize, group: &Group, (low, high): (f64, f64)) -> Plot {
    let ends = (low.ln(), high.ln());
    let sample = |&number: &usize| Sample {
        name: shown.name(number),
        tone: group.tone(number),
        places: places(&shown.counts(number).response_ns, ends),
    };
    let title = "Share of answers that took no longer";
    let cumulative = Cumulative {
        id: format!("response-{place}"),
        table: format!("response-table-{place}"),
        title: super::of_label(title, &group.label),
        note: format!(
            "The further to the left a line is, the better. Each place that answers come from is a \
             rise of its own, larger objects to its right.{}",
            group.note("the table at the end")
        ),
        measure: "share of requests, over response time".to_owned(),
        axis: Axis::Log { low, high, unit: Unit::Micros },
        ends,
        samples: group.lines.iter().map(sample).collect(),
        mark: None,
        show: &|place| micros(place.exp()),
    };
    cumulative.draw()
}

/// Where answers lie on the axis, gathered at its places: the highest value of each bucket, as
/// quantiles report it, so that a line is never ahead of the truth.
fn places(histogram: &Histogram, (start, end): (f64, f64)) -> Vec<(f64, u64)> {
    let step = (end - start) / PLACES;
    let mut places: Vec<(f64, u64)> = Vec::new();
    for bucket in histogram.buckets() {
        let at = (bucket.highest().max(1) as f64 / 1e3).ln();
        let place = (start + ((at - start) / step).ceil() * step).clamp(start, end);
        match places.last_mut() {
            Some((last, many)) if *last >= place => *many += bucket.count,
            _ => places.push((place, bucket.count)),
        }
    }
    places
}

fn quantiles(shown: &Shown<'_>) -> Block {
    let mut columns = vec![Column::plain("cluster", |number: &usize| shown.cell(*number))];
    columns.extend(FIGURES.map(|figure| {
        Column::figure(figure, |number: &usize| shown.counts(*number).value(figure))
    }));
    let id = "quantiles-table".to_owned();
    let table = Table { class: "percentiles", id, currency: "", columns };
    let summary = "Response times of all clusters".to_owned();
    Block::Folded(summary, vec![Block::Table(table.of(&shown.numbers()))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_gathered_in_order_and_none_is_lost() {
        let mut histogram = Histogram::new();
        for ns in [20_000, 20_010, 200_000, 80_000_000, 81_000_000] {
            histogram.record_n(ns, 3);
        }
        let ends = (10.0f64.ln(), 100_000.0f64.ln());
        let found = places(&histogram, ends);
        assert_eq!(found.iter().map(|(_, many)| many).sum::<u64>(), 15);
        assert!(found.windows(2).all(|two| two[0].0 < two[1].0));
        // 20 µs and 20.01 µs share a place, which is above them by less than a step.
        let step = (ends.1 - ends.0) / PLACES;
        let (at, many) = found[0];
        assert!(many == 6 && at >= 20.01f64.ln() && at < 20.1f64.ln() + step, "{at} {many}");
    }
}
