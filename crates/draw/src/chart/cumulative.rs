//! Empirical cumulative distributions of several samples: a chart and its table.

use crate::chart::axis::Axis;
use crate::chart::plot::{Key, Level, Line, Plot, Table, plain_heads};
use crate::chart::scale::Scale;
use crate::chart::unit::{Unit, per_cent};

/// Places on the axis at which the shares can be read.
const PLACES: usize = 40;

/// What is drawn as one line.
pub struct Sample {
    /// What it is called, in the legend and in the table.
    pub name: String,
    /// Its colour.
    pub tone: String,
    /// Where its values lie on the axis, ascending, and how many at each place; with none there is
    /// no line.
    pub places: Vec<(f64, u64)>,
}

/// Values one by one, at places that ascend.
pub fn one_by_one(places: impl IntoIterator<Item = f64>) -> Vec<(f64, u64)> {
    places.into_iter().map(|place| (place, 1)).collect()
}

/// Several of them over one axis.
pub struct Cumulative<'a> {
    /// Unique in the page; a letter first.
    pub id: String,
    /// The id of the table.
    pub table: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// What the axes count.
    pub measure: String,
    /// The horizontal axis, for its ticks.
    pub axis: Axis,
    /// The ends of the axis.
    pub ends: (f64, f64),
    /// The samples, a line each.
    pub samples: Vec<Sample>,
    /// A mark on the axis.
    pub mark: Option<Level>,
    /// The value at a place of the axis, as text.
    pub show: &'a dyn Fn(f64) -> String,
}

impl Cumulative<'_> {
    /// The chart, and the table that it can be read in.
    pub fn draw(self) -> Plot {
        let (start, end) = self.ends;
        let half = 0.5 * (end - start) / PLACES as f64;
        let centres: Vec<f64> = (0..PLACES).map(|n| start + (2 * n + 1) as f64 * half).collect();
        let table = self.table(&centres);
        let drawn = || self.samples.iter().filter(|sample| !sample.places.is_empty());
        let key = |of: &Sample| Key::Line(format!("line {}", of.tone), of.name.clone());
        let line = |of: &Sample| Line {
            class: of.tone.clone(),
            pieces: vec![steps(&of.places, self.ends)],
        };
        Plot {
            keys: drawn().map(key).collect(),
            lines: drawn().map(line).collect(),
            id: self.id,
            title: self.title,
            note: self.note,
            measure: self.measure,
            axis: self.axis,
            start,
            end,
            scale: Scale::Linear { top: 1.0, step: 0.25 },
            unit: Unit::Share,
            across: Vec::new(),
            upright: self.mark.into_iter().collect(),
            contour: None,
            symbols: Vec::new(),
            labels: Vec::new(),
            readout: (table.id.clone(), (1..table.heads.len()).collect()),
            rows: centres.iter().map(|&at| (at - half, at, at + half)).collect(),
            tables: vec![table],
        }
    }

    fn table(&self, centres: &[f64]) -> Table {
        let mut heads = plain_heads(["at or below"]);
        heads.extend(self.samples.iter().map(|of| (of.name.clone(), of.tone.clone())));
        let row = |&at: &f64| {
            let share = |of: &Sample| {
                let below = of.places.partition_point(|&(place, _)| place <= at);
                match count(&of.places) {
                    0 => "–".to_owned(),
                    all => per_cent(count(&of.places[..below]) as f64 / all as f64),
                }
            };
            [vec![(self.show)(at)], self.samples.iter().map(share).collect()].concat()
        };
        let rows = centres.iter().map(row).collect();
        Table::new(&self.table, heads, rows)
    }
}

/// The steps of an empirical distribution, from end to end of the axis; where many values are
/// equal, one step.
fn steps(places: &[(f64, u64)], (start, end): (f64, f64)) -> Vec<(f64, f64)> {
    let all = count(places) as f64;
    let (mut points, mut below) = (vec![(start, 0.0)], 0);
    for equal in places.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        points.push((equal[0].0, below as f64 / all));
        below += count(equal);
        points.push((equal[0].0, below as f64 / all));
    }
    points.push((end, 1.0));
    points
}

/// How many values there are.
fn count(places: &[(f64, u64)]) -> u64 {
    places.iter().map(|(_, many)| many).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_climbs_from_nothing_to_all_and_equal_values_are_one_step() {
        let found = steps(&one_by_one([2.0, 2.0, 4.0, 5.0]), (0.0, 10.0));
        let expected = [
            (0.0, 0.0),
            (2.0, 0.0),
            (2.0, 0.5),
            (4.0, 0.5),
            (4.0, 0.75),
            (5.0, 0.75),
            (5.0, 1.0),
            (10.0, 1.0),
        ];
        assert_eq!(found, expected);
        assert_eq!(steps(&[(2.0, 2), (4.0, 1), (5.0, 1)], (0.0, 10.0)), expected);
    }
}
