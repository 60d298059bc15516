//! Linear least squares with few coefficients: sums of squares of fits, and coefficients with
//! their variances.
//!
//! Columns are made orthogonal one by one by the modified Gram–Schmidt process, each twice (Å.
//! Björck, *Numerical Methods for Least Squares Problems*, 1996, 2.4.4 to 2.4.7). A column that
//! depends on those before it, up to rounding, adds nothing and counts no degree of freedom.

/// A column whose rest is a smaller share of it than this depends on the others.
const DEPENDENT: f64 = 1e-9;

/// Columns of a fit made orthogonal, and what is left of the values.
pub(super) struct Fit {
    /// Orthogonal columns of length 1.
    columns: Vec<Vec<f64>>,
    /// Coefficients of each given column in the orthogonal ones; `None` of a dependent one.
    triangle: Vec<Option<Vec<f64>>>,
    /// Coefficients of the values in the orthogonal columns.
    projected: Vec<f64>,
    residuals: Vec<f64>,
}

impl Fit {
    /// No columns: all of the values is left.
    pub(super) fn of(values: &[f64]) -> Self {
        let residuals = values.to_vec();
        Self { columns: vec![], triangle: vec![], projected: vec![], residuals }
    }

    /// Fits one more column, as long as the values.
    ///
    /// *Cost:* proportional to the length times the number of columns before.
    pub(super) fn add(&mut self, column: &[f64]) {
        let mut rest = column.to_vec();
        let mut parts = vec![0.0; self.columns.len()];
        for _ in 0..2 {
            for (part, earlier) in parts.iter_mut().zip(&self.columns) {
                let along = dot(&rest, earlier);
                *part += along;
                subtract(&mut rest, along, earlier);
            }
        }
        let length = dot(&rest, &rest).sqrt();
        if length <= DEPENDENT * dot(column, column).sqrt() {
            self.triangle.push(None);
            return;
        }
        rest.iter_mut().for_each(|value| *value /= length);
        let along = dot(&self.residuals, &rest);
        subtract(&mut self.residuals, along, &rest);
        parts.push(length);
        self.triangle.push(Some(parts));
        self.projected.push(along);
        self.columns.push(rest);
    }

    /// How many of the columns do not depend on those before them.
    pub(super) fn rank(&self) -> usize {
        self.columns.len()
    }

    /// The sum of the squares of what is left.
    pub(super) fn residual_squares(&self) -> f64 {
        dot(&self.residuals, &self.residuals)
    }

    /// The coefficient of each column, and its variance in variances of a value; `None` where a
    /// column depends on others.
    pub(super) fn coefficients(&self) -> Option<Vec<(f64, f64)>> {
        let triangle: Vec<&Vec<f64>> =
            self.triangle.iter().map(Option::as_ref).collect::<Option<_>>()?;
        let n = triangle.len();
        // The inverse of the triangle, column by column, each from its last entry upwards.
        let column = |place: usize| {
            let mut column = vec![0.0; n];
            for row in (0..=place).rev() {
                let below = column.iter().zip(&triangle).skip(row + 1);
                let known: f64 =
                    below.map(|(entry, parts)| entry * parts.get(row).unwrap_or(&0.0)).sum();
                let one = if row == place { 1.0 } else { 0.0 };
                column[row] = (one - known) / triangle[row][row];
            }
            column
        };
        let inverse: Vec<Vec<f64>> = (0..n).map(column).collect();
        let row = |row: usize| inverse.iter().map(|column| column[row]).collect::<Vec<f64>>();
        let coefficient = |row: Vec<f64>| (dot(&row, &self.projected), dot(&row, &row));
        Some((0..n).map(row).map(coefficient).collect())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn subtract(from: &mut [f64], times: f64, what: &[f64]) {
    from.iter_mut().zip(what).for_each(|(from, what)| *from -= times * what);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_by_hand() {
        // y = 1, 3, 4 at x = 0, 1, 2: slope 1.5, intercept 7/6, residuals −1/6, 1/3, −1/6.
        let mut fit = Fit::of(&[1.0, 3.0, 4.0]);
        fit.add(&[1.0, 1.0, 1.0]);
        fit.add(&[0.0, 1.0, 2.0]);
        assert!((fit.residual_squares() - 1.0 / 6.0).abs() < 1e-12);
        let found = fit.coefficients().unwrap();
        // Variances: 1/n + x̄²/Sxx = 5/6, and 1/Sxx = 1/2.
        for ((value, variance), (wanted, of)) in
            found.iter().zip([(7.0 / 6.0, 5.0 / 6.0), (1.5, 0.5)])
        {
            assert!((value - wanted).abs() < 1e-12 && (variance - of).abs() < 1e-12);
        }
    }

    #[test]
    fn a_dependent_column_adds_nothing() {
        let mut fit = Fit::of(&[1.0, 3.0, 4.0, 0.0]);
        fit.add(&[1.0; 4]);
        fit.add(&[1.0, 0.0, 1.0, 0.0]);
        let before = fit.residual_squares();
        fit.add(&[0.0, 1.0, 0.0, 1.0]);
        assert_eq!((fit.rank(), fit.coefficients()), (2, None));
        assert!((fit.residual_squares() - before).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn what_was_made_of_columns_is_found_again(
            columns in prop::collection::vec(prop::collection::vec(-5.0_f64..5.0, 12), 4),
            made in prop::collection::vec(-100.0_f64..100.0, 4),
        ) {
            let value = |n: usize| columns.iter().zip(&made).map(|(c, m)| c[n] * m).sum();
            let mut fit = Fit::of(&(0..12).map(value).collect::<Vec<f64>>());
            columns.iter().for_each(|column| fit.add(column));
            prop_assume!(fit.rank() == 4);
            prop_assert!(fit.residual_squares() < 1e-12);
            for ((found, _), wanted) in fit.coefficients().unwrap().iter().zip(&made) {
                prop_assert!((found - wanted).abs() < 1e-6, "{found} for {wanted}");
            }
        }
    }
}
