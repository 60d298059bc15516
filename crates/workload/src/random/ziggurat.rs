//! The ziggurat: a draw from a falling density for the price of one random word and one product.
//!
//! The density is covered by 256 strips of equal area; a point in a strip is mostly left of the
//! next strip's edge and then accepted without computing the density at all. The method is
//! Marsaglia and Tsang, *The Ziggurat Method for Generating Random Variables*, J. Statistical
//! Software 5(8), 2000; the edges are computed here, once, from the tail's start `r` that closes
//! the 256 strips (the paper's 255 for its strips without the tail), not copied.

use std::sync::LazyLock;

/// Strips of each table.
const STRIPS: usize = 256;

/// Where the tail of the exponential density begins.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;
/// Where the tail of the normal density begins.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;

/// The strips' edges, the widest first, and the (unnormalised) density at each.
pub(super) struct Table {
    edge: [f64; STRIPS + 1],
    height: [f64; STRIPS + 1],
    /// Where the tail begins; equals `edge[1]`.
    pub(super) tail: f64,
}

pub(super) static EXPONENTIAL: LazyLock<Table> = LazyLock::new(|| {
    let r = EXPONENTIAL_TAIL;
    // Area of the lowest strip, tail included: r·e^-r + ∫_r^∞ e^-x dx.
    Table::new(r, (r + 1.0) * libm::exp(-r), |x| libm::exp(-x), |y| -libm::log(y))
});

pub(super) static NORMAL: LazyLock<Table> = LazyLock::new(|| {
    let r = NORMAL_TAIL;
    let density = |x: f64| libm::exp(-0.5 * x * x);
    let beyond = (std::f64::consts::FRAC_PI_2).sqrt() * libm::erfc(r / std::f64::consts::SQRT_2);
    Table::new(r, r * density(r) + beyond, density, |y| (-2.0 * libm::log(y)).sqrt())
});

impl Table {
    fn new(
        tail: f64,
        area: f64,
        density: impl Fn(f64) -> f64,
        inverse: impl Fn(f64) -> f64,
    ) -> Self {
        let mut edge = [0.0; STRIPS + 1];
        // The lowest strip counts as a rectangle of the same area, wider than the tail's start.
        edge[0] = area / density(tail);
        edge[1] = tail;
        for i in 1..STRIPS - 1 {
            edge[i + 1] = inverse(density(edge[i]) + area / edge[i]);
        }
        Self { height: edge.map(density), edge, tail }
    }

    /// Reads a random word: the low byte chooses the strip, the high 53 bits the place in it. None
    /// in the one draw of a hundred that does not lie left of the next strip's edge.
    #[inline]
    pub(super) fn read(&self, word: u64) -> Option<f64> {
        let (strip, x) = self.place(word);
        (x < self.edge[strip + 1]).then_some(x)
    }

    /// Decides on a word that [`Table::read`] did not accept, by the density itself. None: draw
    /// again.
    pub(super) fn decide(
        &self,
        word: u64,
        density: impl Fn(f64) -> f64,
        second: f64,
    ) -> Option<f64> {
        let (strip, x) = self.place(word);
        let (low, high) = (self.height[strip], self.height[strip + 1]);
        (low + second * (high - low) < density(x)).then_some(x)
    }

    /// Whether a word that was not accepted lies in the lowest strip.
    pub(super) fn is_tail(word: u64) -> bool {
        word & 0xff == 0
    }

    #[inline]
    fn place(&self, word: u64) -> (usize, f64) {
        let strip = (word & 0xff) as usize;
        (strip, super::unit(word) * self.edge[strip])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The strips close: the top one, between the last edge and the density's peak, has the area
    /// of every other. A wrong tail constant would leave it too large or too small.
    #[test]
    fn the_top_strip_has_the_area_of_the_others() {
        for table in [&*EXPONENTIAL, &*NORMAL] {
            let area = table.edge[0] * table.height[1];
            for i in 1..STRIPS {
                let strip = table.edge[i] * (table.height[i + 1] - table.height[i]);
                assert!((strip - area).abs() < 1e-12, "strip {i}: {strip} instead of {area}");
            }
            assert!((table.height[STRIPS] - 1.0).abs() < 1e-15 && table.edge[STRIPS].abs() < 1e-15);
        }
    }
}
