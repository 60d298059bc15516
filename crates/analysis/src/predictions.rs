//! What was predicted of live cells, beside what came of them.

use std::collections::BTreeMap;

use plimsoll_runs::RunError;
use plimsoll_runs::experiment::{Experiment, PREDICTED, Predicted};
use plimsoll_stats::figure::{self, Figure};
use serde::Serialize;

use crate::document::{CellResult, Levels, MeanResult};
use crate::ranking::mean;

/// Fewer lost requests than these tell nothing of how many are lost.
const FEW: f64 = 100.0;

/// When a figure and its prediction agree.
#[derive(Clone, Copy)]
enum Bound {
    /// They differ by no more than this share of the prediction.
    Within(f64),
    /// Neither is more than so many times the other.
    Factor(f64),
}

/// The figures that are compared, with their bounds.
const COMPARED: [(&Figure, Option<Bound>); 8] = [
    (figure::INSTANCE_HOURS, Some(Bound::Within(0.1))),
    (figure::RESPONSE_US_MEAN, Some(Bound::Within(0.2))),
    (figure::LOST, Some(Bound::Factor(2.0))),
    (figure::OFFERED, None),
    (figure::SERVED, None),
    (figure::COST, None),
    (figure::CPU_MEAN, None),
    (figure::RESPONSE_US_P99, None),
];

/// A figure of the live cells of a policy, and what a simulation had said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// The policy.
    pub policy: String,
    /// The figure's name.
    pub figure: &'static str,
    /// Its mean over the live replications.
    pub live: f64,
    /// The 95% interval of that.
    pub live_ci95: Option<[f64; 2]>,
    /// The mean over the simulated replications.
    pub simulated: f64,
    /// The 95% interval of that.
    pub simulated_ci95: Option<[f64; 2]>,
    /// The live mean over the simulated one; `None` where that is 0.
    pub ratio: Option<f64>,
    /// Whether both agree; `None` of a figure without a bound, and of too few lost requests.
    pub agrees: Option<bool>,
}

/// The predictions of an experiment, beside its cells. None where there were none.
pub(crate) fn of(
    experiment: &Experiment,
    cells: &[CellResult],
) -> Result<Vec<Prediction>, RunError> {
    let Some(text) = experiment.fact(PREDICTED)? else { return Ok(Vec::new()) };
    // What cannot be read was written by another version: it is no prediction of this one.
    let predicted: Vec<Predicted> = serde_json::from_str(&text).unwrap_or_default();
    let mut policies: BTreeMap<&Levels, Vec<&Predicted>> = BTreeMap::new();
    for one in &predicted {
        policies.entry(&one.factors).or_default().push(one);
    }
    let mut found = Vec::new();
    for (levels, predicted) in policies {
        let live: Vec<&CellResult> =
            cells.iter().filter(|cell| cell.is_done() && cell.factors == *levels).collect();
        let of_figure = |(figure, bound): &(&'static Figure, Option<Bound>)| {
            let live = mean_of(figure, live.iter().map(|cell| &cell.figures))?;
            let simulated = mean_of(figure, predicted.iter().map(|one| &one.figures))?;
            let ratio = Some(live.mean / simulated.mean).filter(|ratio| ratio.is_finite());
            Some(Prediction {
                policy: told(levels),
                figure: figure.name,
                live: live.mean,
                live_ci95: live.ci95,
                simulated: simulated.mean,
                simulated_ci95: simulated.ci95,
                ratio,
                agrees: bound.and_then(|bound| agrees(bound, live.mean, simulated.mean)),
            })
        };
        found.extend(COMPARED.iter().filter_map(of_figure));
    }
    Ok(found)
}

/// The policy, with the levels of other factors where there are any.
fn told(levels: &Levels) -> String {
    let one = |(key, level): (&String, &String)| match key.as_str() {
        "policy" => level.clone(),
        _ => format!("{key} {level}"),
    };
    levels.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The mean over cells that have the figure; `None` where one lacks it.
fn mean_of<'a>(
    figure: &'static Figure,
    cells: impl Iterator<Item = &'a BTreeMap<String, f64>>,
) -> Option<MeanResult> {
    let values: Option<Vec<f64>> = cells.map(|figures| figures.get(figure.name).copied()).collect();
    mean(figure, &values.filter(|values| !values.is_empty())?)
}

fn agrees(bound: Bound, live: f64, simulated: f64) -> Option<bool> {
    match bound {
        Bound::Within(share) => Some((live - simulated).abs() <= share * simulated.abs()),
        Bound::Factor(_) if live.max(simulated) < FEW => None,
        Bound::Factor(most) => Some(live <= most * simulated && simulated <= most * live),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_of_the_prediction_and_few_tell_nothing() {
        assert_eq!(agrees(Bound::Within(0.1), 109.0, 100.0), Some(true));
        assert_eq!(agrees(Bound::Within(0.1), 89.0, 100.0), Some(false));
        assert_eq!(agrees(Bound::Factor(2.0), 60.0, 99.0), None);
        assert_eq!(agrees(Bound::Factor(2.0), 60.0, 119.0), Some(true));
        assert_eq!(agrees(Bound::Factor(2.0), 250.0, 100.0), Some(false));
        assert_eq!(agrees(Bound::Factor(2.0), 0.0, 100.0), Some(false));
    }
}
