//! Analysis of variance of factors with any number of levels.
//!
//! The sum of squares of a factor is what a fit of all other terms gains by it; that of an
//! interaction, what a fit of all terms that do not contain it gains. These are the sums of "type
//! II" (F. Yates, "The analysis of multiple classifications with unequal numbers in the different
//! classes", *JASA* 29, 1934); where each combination has as many values they are the usual ones,
//! and add up. F is the mean square over that of the residuals, and its p-value the tail of the F
//! distribution. Effect sizes: η² is the share of the sum of squares; ω² estimates that share
//! without what chance adds to it, `(SS − df·MSE) / (SST + MSE)` (W. L. Hays, *Statistics*, 1963),
//! and lies below 0 where a term gains less than chance does.

use std::collections::BTreeSet;

use super::EffectsError;
use super::least_squares::Fit;
use super::runs::count;
use crate::f_distribution;

/// A value with the level of each factor that it was measured at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation<'a> {
    /// The number of each factor's level; which numbers does not matter.
    pub levels: &'a [usize],
    /// The figure.
    pub value: f64,
}

/// A table of the analysis of variance.
#[derive(Debug, Clone, PartialEq)]
pub struct Anova {
    /// Its rows: the factors, then interactions of two, and so on.
    pub sources: Vec<Source>,
    /// What no term explains.
    pub residual: Residual,
    /// Sum of squares of all values around their mean.
    pub total: f64,
    /// Its degrees of freedom: one less than there are values.
    pub total_df: f64,
}

/// A row of the table: a factor, or an interaction of some.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The numbers of its factors, from 0.
    pub factors: Vec<usize>,
    /// Its sum of squares.
    pub sum_of_squares: f64,
    /// Its degrees of freedom; 0 where the values do not tell it apart from other terms.
    pub df: f64,
    /// Sum of squares over degrees of freedom; NaN where these are 0.
    pub mean_square: f64,
    /// Its mean square over the residuals': infinite where these are 0. `None` where there are no
    /// residuals, or nothing varies.
    pub f: Option<f64>,
    /// The probability of an F as great where there is no effect.
    pub p_value: Option<f64>,
    /// η²: its share of the sum of squares of all; 0 where nothing varies.
    pub eta_squared: f64,
    /// ω²: that share without what chance adds; `None` where there are no residuals.
    pub omega_squared: Option<f64>,
}

/// What no term of a table explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// Its sum of squares.
    pub sum_of_squares: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// Sum of squares over degrees of freedom; `None` where these are 0.
    pub mean_square: Option<f64>,
}

impl Anova {
    /// The table of these values, with interactions of up to `order` factors: 1 for none. Where
    /// each combination has one value, interactions of all factors leave no residuals, so `order`
    /// is to be less than the number of factors.
    ///
    /// # Errors
    /// Fewer than two values, values that are no numbers, different numbers of factors, a factor
    /// with one level.
    ///
    /// *Cost:* for each term, the number of values times the square of the number of levels and
    /// combinations that the terms have.
    pub fn of(observations: &[Observation<'_>], order: usize) -> Result<Self, EffectsError> {
        let factors = check(observations)?;
        let values: Vec<f64> = observations.iter().map(|o| o.value).collect();
        let mean = values.iter().sum::<f64>() / count(values.len());
        // Around their mean, so that no digits go to it.
        let values: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let terms: Vec<Term> = subsets(factors, order)
            .into_iter()
            .map(|factors| Term { columns: columns(observations, &factors), factors })
            .collect();
        let total: f64 = values.iter().map(|value| value * value).sum();
        let all = fit(&values, &terms, |_| true);
        let total_df = count(values.len() - 1);
        let residual = Residual::of(all.residual_squares(), count(values.len() - all.rank()));
        let source = |term: &Term| {
            let without = fit(&values, &terms, |other| !other.contains(term));
            let with = fit(&values, &terms, |other| {
                !other.contains(term) || other.factors == term.factors
            });
            let gained = (without.residual_squares() - with.residual_squares()).max(0.0);
            Source::of(term, gained, count(with.rank() - without.rank()), &residual, total)
        };
        Ok(Self { sources: terms.iter().map(source).collect(), residual, total, total_df })
    }
}

impl Source {
    fn of(term: &Term, squares: f64, df: f64, residual: &Residual, total: f64) -> Self {
        let mean_square = squares / df;
        let f = residual.mean_square.map(|error| mean_square / error).filter(|f| !f.is_nan());
        Self {
            factors: term.factors.clone(),
            sum_of_squares: squares,
            df,
            mean_square,
            f,
            p_value: f.map(|f| f_distribution::upper_tail(f, df, residual.df)),
            eta_squared: if total > 0.0 { squares / total } else { 0.0 },
            omega_squared: residual
                .mean_square
                .filter(|_| total > 0.0)
                .map(|error| (squares - df * error) / (total + error)),
        }
    }
}

impl Residual {
    fn of(sum_of_squares: f64, df: f64) -> Self {
        let mean_square = (df > 0.0).then(|| sum_of_squares / df);
        Self { sum_of_squares, df, mean_square }
    }
}

/// A factor or an interaction, with the columns of its fit.
struct Term {
    factors: Vec<usize>,
    columns: Vec<Vec<f64>>,
}

impl Term {
    /// Whether all of another term's factors are in it.
    fn contains(&self, other: &Self) -> bool {
        other.factors.iter().all(|factor| self.factors.contains(factor))
    }
}

/// A fit of the mean and of those terms that are wanted.
fn fit(values: &[f64], terms: &[Term], wanted: impl Fn(&Term) -> bool) -> Fit {
    let mut fit = Fit::of(values);
    fit.add(&vec![1.0; values.len()]);
    for term in terms.iter().filter(|term| wanted(term)) {
        term.columns.iter().for_each(|column| fit.add(column));
    }
    fit
}

/// One column for each combination of the factors' levels but one: 1 where a value has it, less
/// its share of all values. What depends on earlier terms is found by the fit.
fn columns(observations: &[Observation<'_>], factors: &[usize]) -> Vec<Vec<f64>> {
    let of = |o: &Observation<'_>| factors.iter().map(|&f| o.levels[f]).collect::<Vec<_>>();
    let combinations: BTreeSet<Vec<usize>> = observations.iter().map(of).collect();
    let column = |combination: &Vec<usize>| {
        let has: Vec<bool> = observations.iter().map(|o| of(o) == *combination).collect();
        let share = count(has.iter().filter(|has| **has).count()) / count(has.len());
        has.iter().map(|&has| f64::from(u8::from(has)) - share).collect()
    };
    combinations.iter().skip(1).map(column).collect()
}

/// The sets of up to `order` of so many factors: single ones first.
fn subsets(factors: usize, order: usize) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = (0..factors).map(|factor| vec![factor]).collect();
    let mut from = 0;
    for _ in 1..order.min(factors) {
        let larger: Vec<Vec<usize>> = sets[from..]
            .iter()
            .flat_map(|set| {
                let next = set.last().map_or(0, |last| last + 1);
                (next..factors).map(|factor| [set.as_slice(), &[factor]].concat())
            })
            .collect();
        from = sets.len();
        sets.extend(larger);
    }
    sets
}

/// How many factors the values have.
fn check(observations: &[Observation<'_>]) -> Result<usize, EffectsError> {
    let found = observations.len();
    let Some(first) = observations.first().filter(|_| found > 1) else {
        return Err(EffectsError::TooFewRuns { found });
    };
    let factors = first.levels.len();
    for (number, observation) in (1..).zip(observations) {
        let found = observation.levels.len();
        if found != factors {
            return Err(EffectsError::Factors { run: number, wanted: factors, found });
        }
        if !observation.value.is_finite() {
            let value = observation.value;
            return Err(EffectsError::NotFinite { run: number, value });
        }
    }
    let constant =
        |factor: &usize| observations.iter().all(|o| o.levels[*factor] == first.levels[*factor]);
    match (0..factors).find(constant) {
        Some(factor) => Err(EffectsError::Constant { factor: factor + 1 }),
        None => Ok(factors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{found} for {wanted}");
    }

    fn of(rows: &[(Vec<usize>, f64)], order: usize) -> Result<Anova, EffectsError> {
        let observations: Vec<Observation<'_>> =
            rows.iter().map(|(levels, value)| Observation { levels, value: *value }).collect();
        Anova::of(&observations, order)
    }

    #[test]
    fn one_factor_by_hand() {
        // Means 2, 4, 9 of two each; the mean 5: SS 2·(9 + 1 + 16) = 52, residuals 2 + 2 + 2.
        let rows = [1.0, 3.0, 3.0, 5.0, 8.0, 10.0].iter().enumerate();
        let rows: Vec<_> = rows.map(|(n, value)| (vec![n / 2], *value)).collect();
        let table = of(&rows, 1).unwrap();
        let source = &table.sources[0];
        close(source.sum_of_squares, 52.0);
        close(source.df, 2.0);
        close(table.residual.sum_of_squares, 6.0);
        close(source.f.unwrap(), 13.0);
        close(source.eta_squared, 52.0 / 58.0);
        close(source.omega_squared.unwrap(), (52.0 - 4.0) / 60.0);
        // With two degrees above, the tail is (1 + 2F/3)^(−3/2).
        close(source.p_value.unwrap(), (1.0_f64 + 26.0 / 3.0).powf(-1.5));
    }

    #[test]
    fn two_factors_without_replications_have_their_interaction_in_the_residuals() {
        // Values 10·row + column, and 3 more in one place.
        let rows: Vec<_> = (0..6)
            .map(|n| {
                (vec![n / 3, n % 3], (10 * (n / 3) + n % 3) as f64 + if n == 5 { 3.0 } else { 0.0 })
            })
            .collect();
        let table = of(&rows, 1).unwrap();
        assert_eq!(table.sources.len(), 2);
        // Rows: means 1 and 12; columns: means 5, 6, 8.5; the mean 6.5.
        close(table.sources[0].sum_of_squares, 181.5);
        close(table.sources[1].sum_of_squares, 2.0 * (2.25 + 0.25 + 4.0));
        close(table.residual.df, 2.0);
        close(table.total - 181.5 - 13.0, table.residual.sum_of_squares);
        let all = of(&rows, 2).unwrap();
        assert_eq!(
            (all.residual.mean_square, all.sources[2].f, all.sources[2].p_value),
            (None, None, None)
        );
        close(all.sources[2].df, 2.0);
    }

    #[test]
    fn what_is_no_table_is_told() {
        use EffectsError::{Constant, Factors, NotFinite, TooFewRuns};
        assert_eq!(of(&[], 1), Err(TooFewRuns { found: 0 }));
        assert_eq!(of(&[(vec![0], 1.0)], 1), Err(TooFewRuns { found: 1 }));
        assert_eq!(of(&[(vec![0], 1.0), (vec![0], 2.0)], 1), Err(Constant { factor: 1 }));
        let uneven = of(&[(vec![0], 1.0), (vec![0, 1], 2.0)], 1);
        assert_eq!(uneven, Err(Factors { run: 2, wanted: 1, found: 2 }));
        let infinite = of(&[(vec![0], 1.0), (vec![1], f64::INFINITY)], 1);
        assert_eq!(infinite, Err(NotFinite { run: 2, value: f64::INFINITY }));
        let equal = of(&[(vec![0], 1.0), (vec![1], 1.0), (vec![1], 1.0)], 1).unwrap();
        assert_eq!((equal.sources[0].f, equal.sources[0].omega_squared), (None, None));
    }

    #[test]
    fn sets_of_factors_are_in_order() {
        let sets = subsets(3, 9);
        assert_eq!(sets, [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]]);
        assert_eq!(subsets(4, 2).len(), 10);
    }

    proptest! {
        /// Where each combination has as many values, sums of squares and degrees of freedom add
        /// up; and no unit or origin of the values changes F.
        #[test]
        fn a_balanced_table_adds_up(
            values in prop::collection::vec(-10.0_f64..10.0, 24),
            scale in 0.01_f64..100.0,
            origin in -100.0_f64..100.0,
        ) {
            let rows: Vec<_> = values
                .iter()
                .enumerate()
                .map(|(n, v)| (vec![n % 2, n / 2 % 3, n / 6 % 2], *v))
                .collect();
            let table = of(&rows, 3).unwrap();
            let sum: f64 = table.sources.iter().map(|s| s.sum_of_squares).sum();
            let df: f64 = table.sources.iter().map(|s| s.df).sum();
            prop_assert!((sum + table.residual.sum_of_squares - table.total).abs() < 1e-8);
            prop_assert!((df + table.residual.df - table.total_df).abs() < 1e-12);
            let other: Vec<_> =
                rows.iter().map(|(levels, v)| (levels.clone(), v * scale + origin)).collect();
            for (a, b) in table.sources.iter().zip(&of(&other, 3).unwrap().sources) {
                prop_assert!((a.f.unwrap() - b.f.unwrap()).abs() < 1e-6 * a.f.unwrap().max(1.0));
            }
        }
    }
}
