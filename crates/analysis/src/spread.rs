//! How much of a figure's variation each factor accounts for: the analysis of variance where there
//! are replications, and where there are none, which effects of a two-level design stand out from
//! the others.
//!
//! Both are of the logarithms, as effects are ratios.
//!
//! The table is that of randomised blocks, a replication being a block: the values of the
//! replications that ran every combination are split into what combinations differ by, what
//! replications differ by, and what is left, by which combinations differ from one replication to
//! another. What combinations differ by is split into a row for each factor and interaction; of
//! two-level designs into all that they can tell apart, each with what it is aliased with. So rows
//! and residuals add up to the total. The error of a row is how much *it* differs from replication
//! to replication: cells that are copies of each other add none to that, and make no row surer.

use std::collections::BTreeMap;

use plimsoll_plan::FactorPlan;
use plimsoll_stats::design::Word;
use plimsoll_stats::effects::{Anova, Effect, Effects, Observation, Run, Source, effects};
use plimsoll_stats::f_distribution::upper_tail;
use plimsoll_stats::figure::Figure;
use plimsoll_stats::interval::{LEVEL, ROUNDING};

use crate::Study;
use crate::blocks::replications;
use crate::document::{CellResult, Levels, Size, Sizes, Variance, VarianceRow};
use crate::effects::{made_of, named, runs};

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

/// What a row is called that has the rest of what combinations differ by: interactions of more than
/// two factors, and what factors share that the design does not keep apart.
const OTHERS: &str = "others";
/// What the row of the replications is called.
const REPLICATION: &str = "replication";

/// A part of what combinations differ by.
struct Part {
    factors: Vec<String>,
    aliases: Vec<String>,
    df: f64,
    /// Its sum of squares within each replication, for one value a combination.
    within: Vec<f64>,
    /// That of the means over the replications.
    of_means: f64,
}

/// The values of the replications that ran every combination: by replication, in the order of the
/// combinations.
struct Whole<'a> {
    cells: Vec<&'a CellResult>,
    values: Vec<Vec<f64>>,
}

impl<'a> Whole<'a> {
    fn of(cells: &[&'a CellResult], figure: &Figure) -> Option<Self> {
        let mut combinations: BTreeMap<&Levels, &'a CellResult> = BTreeMap::new();
        for cell in cells {
            combinations.entry(&cell.factors).or_insert(cell);
        }
        let value = |own: &Vec<&CellResult>, levels: &Levels| {
            let cell = own.iter().find(|cell| cell.factors == *levels)?;
            Some(libm::log(cell.figures[figure.name]))
        };
        let all = replications(cells.iter().copied());
        let values = all.values().filter_map(|own| {
            combinations.keys().map(|levels| value(own, levels)).collect::<Option<Vec<f64>>>()
        });
        let values: Vec<Vec<f64>> = values.collect();
        let cells = combinations.into_values().collect();
        (values.len() > 1).then_some(Self { cells, values })
    }

    /// The mean of each combination over the replications.
    fn means(&self) -> Vec<f64> {
        let n = self.values.len() as f64;
        let of = |at: usize| self.values.iter().map(|of| of[at]).sum::<f64>() / n;
        (0..self.cells.len()).map(of).collect()
    }
}

/// The sum of the squared distances of values from their mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

fn table(study: &Study<'_>, figure: &'static Figure) -> Option<Variance> {
    let (cells, factors) = sample(study, figure);
    if factors.is_empty() {
        return None;
    }
    let whole = Whole::of(&cells, figure)?;
    let (means, blocks) = (whole.means(), whole.values.len() as f64);
    let n = means.len() as f64;
    let all: Vec<f64> = whole.values.concat();
    let total = [squares(&all), n * blocks - 1.0];
    let of_blocks: Vec<f64> =
        whole.values.iter().map(|of| of.iter().sum::<f64>() / of.len() as f64).collect();
    let replicated = n * squares(&of_blocks);
    let mut parts = parts(&whole, &means, &factors)?;
    parts.extend(rest(&whole, &means, &parts));
    let rows = parts.iter().map(|part| row(part, (blocks, total[0])));
    let replication = VarianceRow {
        factors: vec![REPLICATION.to_owned()],
        aliases: Vec::new(),
        sum_of_squares: replicated,
        df: blocks - 1.0,
        f: None,
        p: None,
        eta_squared: share(replicated, total[0]),
        omega_squared: None,
    };
    let rows: Vec<VarianceRow> = rows.chain([replication]).collect();
    let explained = blocks * squares(&means) + replicated;
    let residual = [(total[0] - explained).max(0.0), (blocks - 1.0) * (n - 1.0)];
    Some(Variance { figure: figure.name, rows, residual, total })
}

fn share(squares: f64, total: f64) -> f64 {
    if total > 0.0 { squares / total } else { 0.0 }
}

/// A row with its error: how much the part differs from replication to replication.
fn row(part: &Part, (blocks, total): (f64, f64)) -> VarianceRow {
    let sum_of_squares = blocks * part.of_means;
    let error_df = part.df * (blocks - 1.0);
    let error = (part.within.iter().sum::<f64>() - sum_of_squares).max(0.0) / error_df;
    let mean_square = sum_of_squares / part.df;
    // Of equal values rounding leaves something in both.
    let is_something = mean_square > ROUNDING * ROUNDING;
    let f = (is_something && part.df > 0.5).then(|| mean_square / error);
    let is_known = part.df > 0.5 && total > 0.0;
    VarianceRow {
        factors: part.factors.clone(),
        aliases: part.aliases.clone(),
        sum_of_squares,
        df: part.df,
        f: f.filter(|f| f.is_finite()),
        p: f.map(|f| upper_tail(f, part.df, error_df)),
        eta_squared: share(sum_of_squares, total),
        omega_squared: is_known.then(|| (sum_of_squares - part.df * error) / (total + error)),
    }
}

/// The parts that the design tells apart; of factors with two levels each with its aliases.
fn parts(whole: &Whole<'_>, means: &[f64], factors: &[&FactorPlan]) -> Option<Vec<Part>> {
    let is_of_two = factors.iter().all(|factor| factor.levels.len() == 2);
    let of_contrasts = is_of_two.then(|| contrasts(whole, means, factors)).flatten();
    of_contrasts.or_else(|| fits(whole, means, factors))
}

/// Every effect and interaction of a two-level design, whole or a regular fraction.
fn contrasts(whole: &Whole<'_>, means: &[f64], factors: &[&FactorPlan]) -> Option<Vec<Part>> {
    let factors: Vec<FactorPlan> = factors.iter().map(|of| (*of).clone()).collect();
    let sign = |cell: &CellResult, of: &FactorPlan| {
        if cell.factors.get(&of.key) == Some(&of.levels[1]) { 1 } else { -1 }
    };
    let levels: Vec<Vec<i8>> =
        whole.cells.iter().map(|cell| factors.iter().map(|of| sign(cell, of)).collect()).collect();
    let of = |values: &[f64]| {
        let values: Vec<[f64; 1]> = values.iter().map(|value| [*value]).collect();
        let runs: Vec<Run<'_>> =
            levels.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        effects(&runs, LEVEL).ok()
    };
    let of_means = of(means)?;
    let within: Vec<Effects> =
        whole.values.iter().map(|values| of(values)).collect::<Option<_>>()?;
    let part = |(at, effect): (usize, &Effect)| Part {
        factors: effect.term.factors().map(|at| factors[at].key.clone()).collect(),
        aliases: effect.aliases.iter().map(|word| named(&factors, *word)).collect(),
        df: 1.0,
        within: within.iter().map(|of| of.effects[at].sum_of_squares).collect(),
        of_means: effect.sum_of_squares,
    };
    Some(of_means.effects.iter().enumerate().map(part).collect())
}

/// Factors of any number of levels and their interactions of two, by fits.
fn fits(whole: &Whole<'_>, means: &[f64], factors: &[&FactorPlan]) -> Option<Vec<Part>> {
    let place = |cell: &CellResult, factor: &FactorPlan| {
        let level = cell.factors.get(&factor.key);
        factor.levels.iter().position(|of| Some(of) == level).unwrap_or(factor.levels.len())
    };
    let levels: Vec<Vec<usize>> = whole
        .cells
        .iter()
        .map(|cell| factors.iter().map(|factor| place(cell, factor)).collect())
        .collect();
    let of = |values: &[f64], order: usize| {
        let observations: Vec<Observation<'_>> = levels
            .iter()
            .zip(values)
            .map(|(levels, value)| Observation { levels, value: *value })
            .collect();
        Anova::of(&observations, order).ok()
    };
    let (order, of_means) = [2, 1].into_iter().find_map(|order| {
        let steps = steps(means.len(), factors, order).saturating_mul(whole.values.len() + 1);
        let made = (steps <= MOST_STEPS).then(|| of(means, order)).flatten()?;
        // Where an interaction cannot be told from a factor, the factor comes first.
        let mains = made.sources.iter().filter(|source| source.factors.len() == 1);
        let is_told = mains.into_iter().all(|source| source.df > 0.5) || order == 1;
        is_told.then_some((order, made))
    })?;
    let within: Vec<Anova> =
        whole.values.iter().map(|values| of(values, order)).collect::<Option<_>>()?;
    let part = |(at, source): (usize, &Source)| Part {
        factors: source.factors.iter().map(|at| factors[*at].key.clone()).collect(),
        aliases: Vec::new(),
        df: source.df,
        within: within.iter().map(|of| of.sources[at].sum_of_squares).collect(),
        of_means: source.sum_of_squares,
    };
    let sources = of_means.sources.iter().enumerate().filter(|(_, source)| source.df > 0.5);
    Some(sources.map(part).collect())
}

/// What combinations differ by beyond the parts; `None` where that is nothing.
fn rest(whole: &Whole<'_>, means: &[f64], parts: &[Part]) -> Option<Part> {
    let df = means.len() as f64 - 1.0 - parts.iter().map(|part| part.df).sum::<f64>();
    let of_means = squares(means) - parts.iter().map(|part| part.of_means).sum::<f64>();
    let within = whole.values.iter().enumerate().map(|(at, values)| {
        squares(values) - parts.iter().map(|part| part.within[at]).sum::<f64>()
    });
    let is_there = df > 0.5 || of_means.abs() > 1e-9 * squares(means);
    let (factors, aliases) = (vec![OTHERS.to_owned()], Vec::new());
    let part = || Part { factors, aliases, df: df.max(0.0), within: within.collect(), of_means };
    is_there.then(part)
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
    let found = made_of(effects, &runs(&factors, figure, &cells)).ok()?;
    if found.effects.len() < FEWEST {
        return None;
    }
    // What rounding leaves of equal values is no effect.
    let margin = libm::exp((2.0 * found.lenth(LEVEL)?.margin).max(ROUNDING));
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
    use plimsoll_stats::design::Fraction;
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
        adds_up(table);
        assert!(sizes(&study).is_empty(), "it is replicated");
    }

    /// Rows and residuals have all squares, degrees of freedom and shares.
    fn adds_up(of: &Variance) {
        let sum = |of: &dyn Fn(&VarianceRow) -> f64, rows: &[VarianceRow]| -> f64 {
            rows.iter().map(of).sum()
        };
        let squares = sum(&|row| row.sum_of_squares, &of.rows) + of.residual[0];
        assert!((squares / of.total[0] - 1.0).abs() < 1e-9, "{of:?}");
        let df = sum(&|row| row.df, &of.rows) + of.residual[1];
        assert!((df - of.total[1]).abs() < 1e-9, "{of:?}");
        let shares = sum(&|row| row.eta_squared, &of.rows) + of.residual[0] / of.total[0];
        assert!((shares - 1.0).abs() < 1e-9, "{of:?}");
    }

    /// Cells of runs with levels -1 and 1, of which `value` is the rate.
    fn of_runs(runs: &[Vec<i8>], value: impl Fn(&[i8], u32) -> f64) -> Vec<CellResult> {
        let mut cells = Vec::new();
        for replication in 0..3 {
            for levels in runs {
                let level = |(at, of): (usize, &i8)| (format!("f{at}"), of.to_string());
                cells.push(CellResult {
                    factors: levels.iter().enumerate().map(level).collect(),
                    replication,
                    state: "done",
                    figures: [("rate_mean".to_owned(), value(levels, replication))].into(),
                    ..CellResult::default()
                });
            }
        }
        cells
    }

    fn two_level(n: usize) -> Vec<FactorPlan> {
        let levels = || vec!["-1".to_owned(), "1".to_owned()];
        let of = |at| FactorPlan {
            key: format!("f{at}"),
            levels: levels(),
            sets: Vec::new(),
            labels: std::collections::BTreeMap::new(),
        };
        (0..n).map(of).collect()
    }

    /// A fraction cannot tell some interactions from each other: they have a row with its aliases,
    /// and what they do is in it.
    #[test]
    fn the_table_of_a_fraction_has_a_row_for_each_string_and_adds_up() {
        for (factors, generated) in [(4, 1), (5, 1), (6, 2), (7, 3), (8, 4)] {
            let runs = Fraction::best(factors, generated).unwrap().runs();
            let cells = of_runs(&runs, |of, replication| {
                let noise = f64::from(
                    (of.iter().fold(7 * replication, |sum, s| {
                        sum.wrapping_mul(5).wrapping_add(u32::from(*s > 0))
                    })) % 11,
                );
                let (a, b, c) = (f64::from(of[0]), f64::from(of[1]), f64::from(of[2]));
                1000.0 * libm::exp(0.5 * a * b + 0.02 * c + 0.001 * noise)
            });
            let factors = two_level(factors);
            let study = study(&factors, &cells, &[figure::RATE_MEAN]);
            let [table] = &variance(&study)[..] else { panic!() };
            adds_up(table);
            let ab = table.rows.iter().find(|row| row.factors == ["f0", "f1"]).unwrap();
            assert!(ab.eta_squared > 0.98 && ab.p.unwrap() < 0.01, "{table:?}");
            let has_aliases = table.rows.iter().any(|row| !row.aliases.is_empty());
            assert!(has_aliases || generated == 1 && factors.len() == 5, "{table:?}");
        }
    }

    /// Designs that are no product of levels, or have interactions of three: something stands for
    /// what no factor and no pair has to itself.
    #[test]
    fn tables_of_other_designs_add_up_too() {
        let one_at_a_time = [vec![-1, -1, -1], vec![1, -1, -1], vec![-1, 1, -1], vec![-1, -1, 1]];
        let three: Vec<Vec<i8>> =
            (0..27).map(|n| vec![n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]).collect();
        for runs in [&one_at_a_time[..], &three] {
            let cells = of_runs(runs, |of, replication| {
                let product = of.iter().map(|s| f64::from(*s)).product::<f64>();
                let sum = of.iter().enumerate().map(|(n, s)| f64::from(*s) * (n as f64 + 1.0));
                let noise = f64::from((replication * 7 + u32::from(of[0] > 0)) % 5);
                100.0 * libm::exp(0.2 * sum.sum::<f64>() + 0.3 * product + 0.01 * noise)
            });
            let mut factors = two_level(3);
            if runs.len() > 8 {
                let levels = || ["-1", "0", "1"].map(str::to_owned).to_vec();
                factors.iter_mut().for_each(|of| of.levels = levels());
            }
            let study = study(&factors, &cells, &[figure::RATE_MEAN]);
            let [table] = &variance(&study)[..] else { panic!() };
            adds_up(table);
            let others = table.rows.iter().find(|row| row.factors == ["others"]);
            assert_eq!(
                others.is_some_and(|row| row.eta_squared > 0.05),
                runs.len() > 8,
                "{table:?}"
            );
        }
    }

    /// Copies of cells make no row surer, and add nothing to what a row differs by.
    #[test]
    fn a_factor_that_does_nothing_makes_no_row_surer() {
        let p = |idle: usize| {
            let levels = |n: usize| (0..n).map(|of| of.to_string()).collect::<Vec<_>>();
            let plan = |key: &str, n| FactorPlan {
                key: key.to_owned(),
                levels: levels(n),
                sets: Vec::new(),
                labels: BTreeMap::new(),
            };
            let factors = [plan("a", 3), plan("x", idle)];
            let mut cells = Vec::new();
            for (replication, noise) in [0.3, -0.2, 0.15].into_iter().enumerate() {
                for a in 0..3_u32 {
                    let sign = f64::from(a) - 1.0;
                    let rate = libm::exp(0.4 * f64::from(a) + noise * sign + noise * noise);
                    for x in 0..idle {
                        cells.push(CellResult {
                            factors: [("a", a.to_string()), ("x", x.to_string())]
                                .map(|(key, level)| (key.to_owned(), level))
                                .into(),
                            replication: u32::try_from(replication).unwrap(),
                            state: "done",
                            figures: [("rate_mean".to_owned(), rate)].into(),
                            ..CellResult::default()
                        });
                    }
                }
            }
            let study = study(&factors, &cells, &[figure::RATE_MEAN]);
            let [table] = &variance(&study)[..] else { panic!() };
            adds_up(table);
            if let Some(row) = table.rows.iter().find(|row| row.factors == ["x"]) {
                assert!(row.p.is_none() && row.eta_squared < 1e-12, "{row:?}");
            }
            let row = table.rows.iter().find(|row| row.factors == ["a"]).unwrap();
            (row.p.unwrap(), row.eta_squared)
        };
        let (one, eight) = (p(1), p(8));
        assert!(
            (one.0 - eight.0).abs() < 1e-9 && (one.1 - eight.1).abs() < 1e-9,
            "{one:?} {eight:?}"
        );
    }

    /// Sixteen values that differ by rounding at most: nothing stands out.
    #[test]
    fn rounding_stands_out_nowhere() {
        let runs = Fraction::best(4, 0).unwrap().runs();
        for value in [0.34, 1.0, 123.456, 7.7e9] {
            let cells: Vec<CellResult> = of_runs(&runs, |of, _| {
                value * 3.0 / 3.0 * (1.0 + f64::EPSILON * f64::from(of[0] + of[1]))
            });
            let factors = two_level(4);
            let one = study(&factors, &cells[..16], &[figure::RATE_MEAN]);
            let [found] = &sizes(&one)[..] else { panic!() };
            assert!(found.points.iter().all(|point| !point.stands_out), "{found:?}");
            let all = study(&factors, &cells, &[figure::RATE_MEAN]);
            let [table] = &variance(&all)[..] else { panic!() };
            assert!(table.rows.iter().all(|row| row.p.is_none()), "{table:?}");
        }
    }

    #[test]
    fn without_replications_effects_are_by_size_and_one_stands_out() {
        let levels = |of: &[&str]| of.iter().map(|level| (*level).to_owned()).collect();
        let mut factors = factors(&["16", "256"]);
        factors.push(FactorPlan {
            key: "x".to_owned(),
            levels: levels(&["a", "b"]),
            sets: Vec::new(),
            labels: BTreeMap::new(),
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
