//! How much of a figure's variation each factor accounts for: the analysis of variance where there
//! are replications, and where there are none, which effects of a two-level design stand out from
//! the others.
//!
//! Both are of the logarithms, as effects are ratios.

use plimsoll_plan::FactorPlan;
use plimsoll_stats::design::Word;
use plimsoll_stats::effects::{Anova, Observation, Run, Source, effects};
use plimsoll_stats::figure::Figure;
use plimsoll_stats::interval::LEVEL;

use crate::Study;
use crate::document::{CellResult, Size, Sizes, Variance, VarianceRow};
use crate::effects::{named, runs};

/// A table whose fits would take more steps than this is not made.
const MOST_STEPS: usize = 2_000_000_000;

/// The tables of the figures that respond, where some combination has two values.
pub(crate) fn variance(study: &Study<'_>) -> Vec<Variance> {
    study.respond.iter().filter_map(|figure| table(study, figure)).collect()
}

/// The cells that count and have a figure above zero, and the factors of which they have more than
/// one level.
fn sample<'a>(study: &'a Study<'_>, figure: &Figure) -> (Vec<&'a CellResult>, Vec<&'a FactorPlan>) {
    let has = |cell: &&CellResult| {
        cell.counts() && cell.figures.get(figure.name).is_some_and(|value| *value > 0.0)
    };
    let cells: Vec<&CellResult> = study.cells.iter().filter(has).collect();
    let varies = |factor: &&FactorPlan| {
        let level = |cell: &&CellResult| cell.factors.get(&factor.key).cloned();
        cells.iter().any(|cell| level(cell) != cells.first().and_then(level))
    };
    let factors = study.factors.iter().filter(varies).collect();
    (cells, factors)
}

fn is_replicated(cells: &[&CellResult]) -> bool {
    let twin = |(at, cell): (usize, &&CellResult)| {
        cells[..at].iter().any(|other| other.factors == cell.factors)
    };
    cells.iter().enumerate().any(twin)
}

fn table(study: &Study<'_>, figure: &'static Figure) -> Option<Variance> {
    let (cells, factors) = sample(study, figure);
    if factors.is_empty() || !is_replicated(&cells) {
        return None;
    }
    let place = |cell: &CellResult, factor: &FactorPlan| {
        let level = cell.factors.get(&factor.key);
        factor.levels.iter().position(|of| Some(of) == level).unwrap_or(factor.levels.len())
    };
    let levels: Vec<Vec<usize>> = cells
        .iter()
        .map(|cell| factors.iter().map(|factor| place(cell, factor)).collect())
        .collect();
    let values = cells.iter().map(|cell| libm::log(cell.figures[figure.name]));
    let observations: Vec<Observation<'_>> =
        levels.iter().zip(values).map(|(levels, value)| Observation { levels, value }).collect();
    let anova = [2, 1].into_iter().find_map(|order| {
        let fits = steps(observations.len(), &factors, order) <= MOST_STEPS;
        let made = fits.then(|| Anova::of(&observations, order).ok()).flatten()?;
        // Where an interaction cannot be told from a factor, the factor comes first.
        let mains = made.sources.iter().filter(|source| source.factors.len() == 1);
        let is_told = mains.into_iter().all(|source| source.df > 0.5) || order == 1;
        (is_told && made.residual.df > 0.5).then_some(made)
    })?;
    let row = |source: &Source| VarianceRow {
        factors: source.factors.iter().map(|at| factors[*at].key.clone()).collect(),
        sum_of_squares: source.sum_of_squares,
        df: source.df,
        f: source.f.filter(|f| f.is_finite()),
        p: source.p_value,
        eta_squared: source.eta_squared,
        omega_squared: source.omega_squared,
    };
    Some(Variance {
        figure: figure.name,
        rows: anova.sources.iter().filter(|source| source.df > 0.5).map(row).collect(),
        residual: [anova.residual.sum_of_squares, anova.residual.df],
        total: [anova.total, anova.total_df],
    })
}

/// About how many steps the fits of a table take: for each term the number of values times the
/// square of the number of columns.
fn steps(values: usize, factors: &[&FactorPlan], order: usize) -> usize {
    let levels: Vec<usize> = factors.iter().map(|of| of.levels.len()).collect();
    let mut columns: usize = levels.iter().sum();
    let mut terms = levels.len();
    if order == 2 {
        for (at, one) in levels.iter().enumerate() {
            columns += levels[at + 1..].iter().map(|other| one * other).sum::<usize>();
            terms += levels.len() - at - 1;
        }
    }
    let columns = columns.min(values);
    terms.saturating_mul(values).saturating_mul(columns.saturating_mul(columns))
}

/// Of fewer effects than these none can stand out: those of the half that is taken for chance
/// are too few.
const FEWEST: usize = 7;

/// The effects by their size, of two-level designs without replications.
pub(crate) fn sizes(study: &Study<'_>) -> Vec<Sizes> {
    study.respond.iter().filter_map(|figure| sizes_of(study, figure)).collect()
}

fn sizes_of(study: &Study<'_>, figure: &'static Figure) -> Option<Sizes> {
    let (cells, factors) = sample(study, figure);
    if is_replicated(&cells) || factors.iter().any(|factor| factor.levels.len() != 2) {
        return None;
    }
    let factors: Vec<FactorPlan> = factors.into_iter().cloned().collect();
    let runs = runs(&factors, figure, &cells);
    let logs: Vec<(&Vec<i8>, Vec<f64>)> = runs
        .iter()
        .map(|(levels, values)| (levels, values.iter().map(|value| libm::log(*value)).collect()))
        .collect();
    let runs: Vec<Run<'_>> = logs.iter().map(|(levels, values)| Run { levels, values }).collect();
    let found = effects(&runs, LEVEL).ok()?;
    if found.effects.len() < FEWEST {
        return None;
    }
    let margin = libm::exp(2.0 * found.lenth(LEVEL)?.margin);
    let name = |term: Word| {
        let aliases = found.of(term).map_or(&[][..], |effect| &effect.aliases);
        let all = std::iter::once(term).chain(aliases.iter().copied());
        all.map(|word| named(&factors, word)).collect::<Vec<_>>().join(" or ")
    };
    let points = found.half_normal().into_iter().map(|point| {
        let ratio = libm::exp(2.0 * point.size);
        Size { of: name(point.term), ratio, quantile: point.quantile, stands_out: ratio > margin }
    });
    Some(Sizes { figure: figure.name, points: points.collect(), margin })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::tests::{cells, factors, study};
    use plimsoll_stats::figure;

    #[test]
    fn what_varies_most_has_most_of_the_squares() {
        let factors = factors(&["16", "64", "256"]);
        let cells = cells(&factors);
        let study = study(&factors, &cells, &[figure::RATE_MEAN]);
        let [table] = &variance(&study)[..] else { panic!() };
        let row = |factors: &[&str]| {
            let found = table.rows.iter().find(|row| row.factors == factors);
            found.unwrap_or_else(|| panic!("{factors:?} in {table:?}"))
        };
        let cpu = row(&["role.web.cpu"]);
        assert!(cpu.eta_squared > 0.9 && cpu.p.unwrap() < 1e-6, "{cpu:?}");
        assert!(row(&["load.users"]).eta_squared < 0.1);
        assert!(row(&["load.users", "role.web.cpu"]).eta_squared < 1e-9);
        let squares: f64 = table.rows.iter().map(|row| row.sum_of_squares).sum();
        assert!((squares + table.residual[0] - table.total[0]).abs() < 1e-9);
        assert!(sizes(&study).is_empty(), "it is replicated");
    }

    #[test]
    fn without_replications_effects_are_by_size_and_one_stands_out() {
        let levels = |of: &[&str]| of.iter().map(|level| (*level).to_owned()).collect();
        let mut factors = factors(&["16", "256"]);
        factors.push(FactorPlan {
            key: "x".to_owned(),
            levels: levels(&["a", "b"]),
            sets: Vec::new(),
        });
        let mut cells: Vec<CellResult> = Vec::new();
        for (at, level) in ["a", "b"].into_iter().enumerate() {
            let part = super::super::ranking::tests::cells(&factors[..2]);
            for (place, mut cell) in part.into_iter().take(4).enumerate() {
                cell.factors.insert("x".to_owned(), level.to_owned());
                // A little noise, so that no effect is nothing.
                let noise = 1.0 + 0.002 * ((place * 3 + at * 5) % 7) as f64;
                *cell.figures.get_mut("rate_mean").unwrap() *= noise;
                cells.push(cell);
            }
        }
        let study = study(&factors, &cells, &[figure::RATE_MEAN]);
        assert!(variance(&study).is_empty(), "nothing is replicated");
        let [found] = &sizes(&study)[..] else { panic!() };
        assert_eq!(found.points.len(), 7);
        let last = found.points.last().unwrap();
        assert!(last.of == "role.web.cpu" && last.stands_out && (last.ratio - 2.0).abs() < 0.02);
        assert!(!found.points[0].stands_out && found.margin > 1.0, "{found:?}");
    }
}
