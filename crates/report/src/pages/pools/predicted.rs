//! What a simulation had said of live pools, beside what came of them.

use plimsoll_analysis::{Analysis, Prediction};
use plimsoll_elastic::course::Course;
use plimsoll_stats::figure;

use super::courses;
use super::policies::course;
use crate::cells::Cells;
use crate::document::{Block, Cell, Grid, Section, words};
use crate::error::ReportError;
use crate::figure_text::{self, DASH};

/// The section; `None` where nothing was predicted.
pub(crate) fn section(cells: &Cells, analysis: &Analysis) -> Result<Option<Section>, ReportError> {
    if analysis.predictions.is_empty() {
        return Ok(None);
    }
    let mut pairs: Vec<[Course; 2]> = Vec::new();
    for row in &cells.rows {
        let Some(run) = &row.run else { continue };
        let of = |prefix| course(run, row.label.clone(), prefix).map_err(ReportError::of(run));
        let pair = [of("pool")?, of("predicted")?];
        if pair.iter().all(|of| !of.at_s.is_empty()) {
            pairs.push(pair);
        }
    }
    let text = "Before a cell was executed it was simulated. Instance-hours agree within 10%, mean \
                response times within 20%, lost requests within a factor of 2 where 100 or more \
                were lost; other figures have no such bound.";
    let mut blocks = vec![words(text)];
    if !pairs.is_empty() {
        blocks.push(Block::Charts(courses::beside(&pairs)));
    }
    blocks.push(Block::Table(table(&analysis.predictions)));
    Ok(Some(Section::new("predicted", "Predicted and real", blocks)))
}

/// A row a policy and figure.
fn table(predictions: &[Prediction]) -> Grid {
    let heads = ["policy", "figure", "real", "predicted", "real / predicted", "agree"];
    Grid {
        class: "sides",
        id: String::new(),
        heads: heads.map(Cell::of).to_vec(),
        rows: predictions.iter().map(row).collect(),
    }
}

fn row(of: &Prediction) -> Vec<Cell> {
    let named = figure::named(of.figure);
    let show = |value: f64, ci95: Option<[f64; 2]>| {
        let text = |value: f64| {
            named.map_or(value.to_string(), |figure| figure_text::text(figure, value, ""))
        };
        match ci95 {
            Some([low, high]) => {
                Cell::of(text(value)).with(format_args!("{} to {}", text(low), text(high)))
            }
            None => Cell::of(text(value)),
        }
    };
    let agrees = match of.agrees {
        Some(true) => "yes",
        Some(false) => "no",
        None => DASH,
    };
    vec![
        Cell::of(&of.policy),
        Cell::of(named.map_or(of.figure, |figure| figure.label)),
        show(of.live, of.live_ci95),
        show(of.simulated, of.simulated_ci95),
        of.ratio.map_or_else(|| Cell::of(DASH), |ratio| Cell::of(format!("{ratio:.3}"))),
        Cell::of(agrees),
    ]
}
