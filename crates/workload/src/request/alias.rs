//! Draws by weight in constant time: the alias method.
//!
//! Walker, An efficient method for generating discrete random variables with general
//! distributions, ACM TOMS 3(3), 1977; the table is made as in Vose, A linear algorithm for
//! generating random numbers with a given distribution, IEEE TSE 17(9), 1991.

use super::error::RequestError;
use super::picker::{high_half, low_half};

/// A table of n cells: a draw falls into a cell, and there on its own index or on its alias.
/// Each share is exact to 2⁻³² of a cell.
#[derive(Debug, Clone)]
pub struct Alias {
    cells: Box<[Cell]>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    /// The share of the cell that is its own, of 2³².
    own: u32,
    alias: u32,
}

/// 2³².
const WHOLE: f64 = 4_294_967_296.0;

impl Alias {
    /// A table for these weights, in linear time; 8 bytes a weight.
    ///
    /// # Errors
    /// No weights, more than `u32::MAX`, a weight below zero or not finite, none above zero.
    pub fn new(weights: &[f64]) -> Result<Self, RequestError> {
        let found = weights.len();
        let Ok(count) = u32::try_from(found) else { return Err(RequestError::TooMany { found }) };
        if let Some(at) = weights.iter().position(|&w| !(w.is_finite() && w >= 0.0)) {
            return Err(RequestError::Weight { found: weights[at], at });
        }
        // Divided by the greatest first, so that the sum of huge weights stays finite.
        let greatest = weights.iter().copied().fold(0.0, f64::max);
        if greatest <= 0.0 {
            return Err(RequestError::Weight { found: 0.0, at: found });
        }
        let sum: f64 = weights.iter().map(|w| w / greatest).sum();
        let mut shares: Vec<f64> =
            weights.iter().map(|w| w / greatest / sum * f64::from(count)).collect();
        let mut cells: Vec<Cell> = (0..count).map(|alias| Cell { own: u32::MAX, alias }).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&index| shares[index as usize] < 1.0);
        while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
            small.pop();
            cells[less as usize] = Cell { own: of_whole(shares[less as usize]), alias: more };
            let left = (shares[more as usize] + shares[less as usize]) - 1.0;
            shares[more as usize] = left;
            if left < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        // What is left is 1 but for rounding. A weight of zero may be among it only where rounding
        // ate a large one: it must not be drawn, so it takes the heaviest as its alias.
        let heaviest = (0..count)
            .max_by(|&a, &b| weights[a as usize].total_cmp(&weights[b as usize]).then(b.cmp(&a)));
        for index in small {
            if weights[index as usize] <= 0.0 {
                cells[index as usize] = Cell { own: 0, alias: heaviest.unwrap_or(0) };
            }
        }
        Ok(Self { cells: cells.into() })
    }

    /// The index a draw of 64 random bits falls on.
    #[inline]
    #[must_use]
    pub fn pick(&self, bits: u64) -> u32 {
        let product = u128::from(bits) * self.cells.len() as u128;
        let index = high_half(product);
        #[expect(clippy::cast_possible_truncation, reason = "below the number of cells, a u32")]
        let index = index as u32;
        let cell = self.cells[index as usize];
        // The upper half of what is left of the draw says where in the cell it falls. A cell that
        // is all its own is its own alias. No branch: it would be mispredicted often.
        let is_own = low_half(product) >> 32 < u64::from(cell.own);
        std::hint::select_unpredictable(is_own, index, cell.alias)
    }
}

/// A share as a part of 2³², to the nearest.
fn of_whole(share: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 1, and `as` saturates"
    )]
    let part = (share * WHOLE + 0.5) as u32;
    part
}
