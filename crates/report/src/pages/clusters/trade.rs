//! What has to be weighed: bytes from the origin against response time, and misses against
//! messages; a point a cluster, and the front of those that no other beats.

use plimsoll_cache::cluster::Counts;
use plimsoll_stats::figure::{self, Figure};

use super::messages;
use super::shown::Shown;
use crate::document::{Block, chart, nothing};
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::front::{self, Spot};
use plimsoll_draw::chart::plot::{Plot, Table};
use plimsoll_draw::chart::range::Range;
use plimsoll_draw::chart::scale::Scale;
use plimsoll_draw::chart::unit::Unit;

/// One axis: a figure of a cluster, and how a chart shows it.
#[derive(Clone, Copy)]
struct Side {
    figure: &'static Figure,
    unit: Unit,
}

impl Side {
    /// The value of a cluster in the unit of the chart; 0 where it answered nothing.
    fn value(self, of: &Counts) -> f64 {
        let value = of.value(self.figure).unwrap_or(0.0);
        if self.figure.unit == figure::Unit::Millis { 1e3 * value } else { value }
    }
}

const RESPONSE: Side = Side { figure: figure::RESPONSE_MEAN_MS, unit: Unit::Micros };
const MESSAGES: Side = Side { figure: figure::MESSAGES_PER_REQUEST, unit: Unit::Mean };
const MISSES: Side = Side { figure: figure::MISS_RATIO, unit: Unit::Share };
const BYTES: Side = Side { figure: figure::BYTE_MISS_RATIO, unit: Unit::Share };

/// The charts.
pub(super) fn block(shown: &Shown<'_>) -> Block {
    if shown.all.len() < 2 {
        return nothing("Nothing to weigh: there are not two clusters.");
    }
    let outside = if shown.is_sized() { BYTES } else { MISSES };
    let title = "What users wait for, against what the origin sends";
    let mut charts = vec![chart(draw(shown, "response-trade", title, (RESPONSE, outside)))];
    if shown.any(messages) {
        let title = "What caches say to each other, against what they miss";
        charts.push(chart(draw(shown, "message-trade", title, (MESSAGES, MISSES))));
    }
    Block::Charts(charts)
}

fn draw(shown: &Shown<'_>, id: &str, title: &str, (across, upright): (Side, Side)) -> Plot {
    let at = |number: usize| {
        let counts = shown.counts(number);
        (across.value(counts), upright.value(counts))
    };
    let points: Vec<(f64, f64)> = (0..shown.all.len()).map(at).collect();
    let spots = spots(shown, &points);
    let range = Range::over(points.iter().map(|point| point.0));
    let rise = Range::over(points.iter().map(|point| point.1));
    let table = table(shown, &spots, &format!("{id}-table"), (across, upright));
    let axis = Axis::Range { range, unit: across.unit };
    let axes = match (range.low > 0.0, rise.low > 0.0) {
        (true, true) => " Neither axis begins at zero.",
        (true, false) => " The axis across does not begin at zero.",
        (false, true) => " The upright axis does not begin at zero.",
        (false, false) => "",
    };
    let mut plot = Plot {
        id: id.to_owned(),
        title: title.to_owned(),
        note: format!(
            "Better is to the left and down. On the line is the front: no other cluster is better \
             in one without being worse in the other.{axes}"
        ),
        measure: format!("{}, over {}", upright.figure.label, across.figure.label),
        ..Plot::empty(axis, (range.low, range.high), Scale::Over(rise), upright.unit)
    };
    front::put(&mut plot, &spots);
    plot.put(table);
    plot
}

/// The clusters in the order of their first figure, those with equal first by their second.
fn spots(shown: &Shown<'_>, points: &[(f64, f64)]) -> Vec<Spot> {
    let all = points.iter().zip(front::beaten_by(points)).enumerate();
    let spot = |(index, (&at, beaten_by)): (usize, (&(f64, f64), Option<usize>))| {
        let (letter, cell) = &shown.all[index];
        let (short, name) = (letter.clone(), cell.file.name.clone());
        Spot { index, short, name, at, bars: Vec::new(), beaten_by }
    };
    let mut spots: Vec<Spot> = all.map(spot).collect();
    spots.sort_by(|a, b| a.at.0.total_cmp(&b.at.0).then(a.at.1.total_cmp(&b.at.1)));
    spots
}

fn table(shown: &Shown<'_>, spots: &[Spot], id: &str, (across, upright): (Side, Side)) -> Table {
    let head = |text: &str| (text.to_owned(), String::new());
    let row = |spot: &Spot| {
        let by = spot.beaten_by.map_or_else(|| "none".to_owned(), |by| shown.name(by));
        let (x, y) = (across.unit.show(spot.at.0), upright.unit.show(spot.at.1));
        vec![shown.name(spot.index), x, y, by]
    };
    Table {
        id: id.to_owned(),
        summary: "Table",
        heads: vec![
            head("cluster"),
            head(across.figure.label),
            head(upright.figure.label),
            head("beaten by"),
        ],
        rows: spots.iter().map(row).collect(),
    }
}
