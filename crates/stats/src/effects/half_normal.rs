//! Which effects of an unreplicated design stand out from the others.
//!
//! Where most effects are none, their estimates are draws of one normal distribution around 0. A
//! *half-normal plot* has the absolute coefficients in ascending order over the quantiles of the
//! absolute value of a normal variable: what is noise lies on a line through the origin, what is
//! not lies above it on the right (C. Daniel, "Use of half-normal plots in interpreting factorial
//! two-level experiments", *Technometrics* 1, 1959). *Lenth's method* estimates their deviation
//! from the smaller ones: the pseudo standard error is 1.5 times the median of those absolute
//! coefficients that lie below 2.5 times 1.5 times the median of all; the margin of error is
//! Student's t with a third as many degrees of freedom as there are effects (R. V. Lenth, "Quick
//! and easy analysis of unreplicated factorials", *Technometrics* 31, 1989).

use super::Effects;
use super::runs::count;
use crate::box_plot::{quantile, sorted};
use crate::design::Word;
use crate::interval::student;

/// A point of a half-normal plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfNormal {
    /// Which effect.
    pub term: Word,
    /// The quantile: how large an effect of this rank is, in standard deviations.
    pub quantile: f64,
    /// The absolute value of its coefficient.
    pub size: f64,
}

/// How large effects are that are none, by Lenth's method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lenth {
    /// The pseudo standard error of a coefficient.
    pub error: f64,
    /// Coefficients further from 0 than this are not by chance, each looked at by itself.
    pub margin: f64,
}

impl Effects {
    /// The points of the half-normal plot, the smallest effect first: the i-th of m at the quantile
    /// of (i − ½) / m.
    #[must_use]
    pub fn half_normal(&self) -> Vec<HalfNormal> {
        let mut effects: Vec<_> = self.effects.iter().collect();
        effects.sort_by(|a, b| a.coefficient.abs().total_cmp(&b.coefficient.abs()));
        let m = count(effects.len());
        let point = |(rank, effect): (usize, &&super::Effect)| HalfNormal {
            term: effect.term,
            quantile: student::quantile(0.5 + 0.5 * (count(rank) + 0.5) / m, f64::INFINITY),
            size: effect.coefficient.abs(),
        };
        effects.iter().enumerate().map(point).collect()
    }

    /// Lenth's margin of error at `level`; `None` of fewer than three effects, of which too little
    /// is known.
    #[must_use]
    pub fn lenth(&self, level: f64) -> Option<Lenth> {
        if self.effects.len() < 3 {
            return None;
        }
        let sizes: Vec<f64> = self.effects.iter().map(|e| e.coefficient.abs()).collect();
        let sizes = sorted(&sizes)?;
        let first = 1.5 * quantile(&sizes, 0.5);
        let small: Vec<f64> = sizes.iter().copied().filter(|&size| size < 2.5 * first).collect();
        // Where at least half are 0, nothing is below: the error is 0.
        let error = if small.is_empty() { 0.0 } else { 1.5 * quantile(&small, 0.5) };
        let df = count(sizes.len()) / 3.0;
        Some(Lenth { error, margin: student::quantile(f64::midpoint(1.0, level), df) * error })
    }
}

#[cfg(test)]
mod tests {
    use crate::design::Fraction;
    use crate::effects::{Effects, Run, effects};

    fn of(values: &[f64]) -> Effects {
        let rows = Fraction::best(3, 0).unwrap().runs();
        let values: Vec<[f64; 1]> = values.iter().map(|value| [*value]).collect();
        let runs: Vec<Run<'_>> =
            rows.iter().zip(&values).map(|(levels, values)| Run { levels, values }).collect();
        effects(&runs, 0.95).unwrap()
    }

    #[test]
    fn what_stands_out_is_beyond_the_margin() {
        // Box, Hunter & Hunter, 10.2: a pilot plant; temperature, concentration and their
        // interaction with the catalyst. Effects (2q): 23, −5, 1.5, 1.5, 10, 0, 0.5.
        let found = of(&[60.0, 52.0, 54.0, 45.0, 72.0, 83.0, 68.0, 80.0]);
        let size = |term: usize| 2.0 * found.effects[term].coefficient;
        assert!((size(0) - 23.0).abs() < 1e-9 && (size(1) + 5.0).abs() < 1e-9, "{found:?}");
        let lenth = found.lenth(0.95).unwrap();
        // |2q| sorted: 0, 0.5, 1.5, 1.5, 5, 10, 23; median 1.5, 2.5·1.5·1.5 = 5.625; the median of
        // 0, 0.5, 1.5, 1.5, 5 is 1.5: a pseudo standard error of 2.25, with 7/3 degrees of freedom.
        assert!((2.0 * lenth.error - 2.25).abs() < 1e-9, "{lenth:?}");
        assert!((2.0 * lenth.margin - 8.467).abs() < 0.01, "{lenth:?}");
        let points = found.half_normal();
        assert_eq!(points.len(), 7);
        assert!((points[6].size - 11.5).abs() < 1e-9);
        // Φ⁻¹(0.5 + 0.5·6.5/7).
        assert!((points[6].quantile - 1.802_743).abs() < 1e-6, "{}", points[6].quantile);
        assert!(points.windows(2).all(|two| two[0].quantile < two[1].quantile));
    }

    #[test]
    fn where_nothing_varies_nothing_stands_out() {
        let lenth = of(&[5.0; 8]).lenth(0.95).unwrap();
        assert!(lenth.error.abs() < 1e-300 && lenth.margin.abs() < 1e-300);
    }
}
