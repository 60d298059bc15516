//! Any law by a table of its quantile function, in straight lines between points that lie the
//! closer the farther out in a tail: 128 for each halving of the tail's probability, down to 2⁻³².
//!
//! Within a bin a tail's probability changes by less than 1/128, so the error of a straight line is
//! below v² Q″ / 131,000: some millionths of the value for a lognormal law. The place of a
//! probability in the table is read off the bits of its floating-point number.

use super::open_unit;

/// Bins of a halving, as bits.
const BITS: u32 = 7;
/// Halvings below one half.
const HALVINGS: u32 = 31;
/// Points of a tail: probability zero, and the bins' ends from 2⁻³² to one half.
const POINTS: usize = 2 + ((HALVINGS as usize) << BITS);
/// What is left of a number's bits after its bin.
const REST: u32 = 52 - BITS;
/// The first bits of 2⁻³², whose bin is the second.
const LEAST: u64 = (1023 - 1 - HALVINGS as u64) << BITS;

/// A quantile function.
pub(super) struct Quantiles {
    /// Values by the probability of being less, and by that of being more.
    tails: [[f64; POINTS]; 2],
}

/// The probability at a point of a tail.
fn probability(point: usize) -> f64 {
    match (point as u64).checked_sub(1) {
        None => 0.0,
        Some(bin) => f64::from_bits((LEAST + bin) << REST),
    }
}

impl Quantiles {
    /// Of the value that is exceeded with a probability, and of that which is not reached with it.
    fn of(least: impl Fn(usize, f64) -> f64, greatest: impl Fn(usize, f64) -> f64) -> Self {
        let low = std::array::from_fn(|point| least(point, probability(point)));
        let high = std::array::from_fn(|point| greatest(point, probability(point)));
        Self { tails: [low, high] }
    }

    /// Lognormal: the mean of the value, the standard deviation of its logarithm.
    pub(super) fn log_normal(mean: f64, sigma: f64) -> Self {
        let beyond = normal_quantiles();
        let value = |z: f64| mean * libm::exp(sigma * (z - 0.5 * sigma));
        Self::of(|point, _| value(-beyond[point]), |point, _| value(beyond[point]))
    }

    /// Pareto, cut at both ends.
    pub(super) fn pareto(shape: f64, low: f64, high: f64) -> Self {
        // The share of the whole law beyond `high`, and of that within.
        let beyond = libm::pow(low / high, shape);
        let within = 1.0 - beyond;
        let value = |above: f64| (low * libm::pow(above, -1.0 / shape)).clamp(low, high);
        Self::of(|_, p| value(1.0 - p * within), |_, p| value(beyond + p * within))
    }

    /// The value of a word: its first bit chooses the tail, the others the place in it.
    #[inline(always)]
    pub(super) fn at(&self, word: u64) -> f64 {
        let tail = &self.tails[(word >> 63) as usize];
        let v = 0.5 * open_unit(word << 1);
        let bits = v.to_bits();
        let bin = bits >> REST;
        let (point, share) = if bin < LEAST {
            (0, v * (1_u64 << (HALVINGS + 1)) as f64)
        } else {
            #[expect(clippy::cast_possible_truncation, reason = "some thousands")]
            let point = 1 + (bin - LEAST) as usize;
            let within = ((bits << BITS) & ((1 << 52) - 1)) | (1023 << 52);
            (point, f64::from_bits(within) - 1.0)
        };
        let (from, to) = (tail[point], tail[point + 1]);
        from + share * (to - from)
    }
}

/// How far out the standard normal law has these probabilities beyond; that of the first point,
/// none, is the least that a word can have.
fn normal_quantiles() -> Vec<f64> {
    let mut beyond = vec![0.0; POINTS];
    let mut z = 0.0;
    for point in (0..POINTS - 1).rev() {
        z = normal_beyond(probability(point).max(0.25 * f64::EPSILON), z);
        beyond[point] = z;
    }
    beyond
}

/// Where the standard normal law has a probability beyond, from somewhere near: Halley's method.
fn normal_beyond(probability: f64, near: f64) -> f64 {
    let mut z = near;
    for _ in 0..30 {
        let found = 0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2);
        let density = libm::exp(-0.5 * z * z) / (std::f64::consts::TAU).sqrt();
        let newton = (found - probability) / density;
        let step = newton / (1.0 - 0.5 * newton * z);
        z += step;
        if step.abs() < 1e-12 * (1.0 + z) {
            break;
        }
    }
    z
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "of numbers that a test has made")]
mod tests {
    use super::*;

    #[test]
    fn points_are_probabilities_up_to_one_half() {
        assert!(probability(0).abs() < 1e-300);
        assert!((probability(1) * (1_u64 << 32) as f64 - 1.0).abs() < 1e-15);
        assert!((probability(POINTS - 1) - 0.5).abs() < 1e-15);
        assert!((1..POINTS).all(|point| probability(point) > probability(point - 1)));
    }

    /// Quantiles of the standard normal law as tabulated (Abramowitz and Stegun, table 26.5).
    #[test]
    fn normal_quantiles_are_those_of_tables() {
        for (probability, wanted) in [
            (0.5, 0.0),
            (0.25, 0.674_489_750),
            (0.1, 1.281_551_566),
            (0.001, 3.090_232_306),
            (1e-6, 4.753_424_309),
            (1e-9, 5.997_807_015),
        ] {
            let found = normal_beyond(probability, 0.9 * wanted);
            assert!((found - wanted).abs() < 2e-9, "{probability}: {found} for {wanted}");
        }
        let all = normal_quantiles();
        assert!(all.windows(2).all(|pair| pair[0] > pair[1]) && all[0] > 8.0);
    }

    /// All points, and the middle of each bin, against the function itself.
    #[test]
    fn straight_lines_are_near_the_law() {
        let (shape, low, high) = (1.5_f64, 1.0, 1e6);
        let table = Quantiles::pareto(shape, low, high);
        for point in 1..POINTS - 1 {
            for share in [0.0, 0.5] {
                let p = probability(point);
                let v = p + share * (probability(point + 1) - p);
                let word = (((2.0 * v) * (1_u64 << 63) as f64) as u64).min((1 << 63) - 1);
                let within = 1.0 - libm::pow(low / high, shape);
                let below = low * libm::pow(1.0 - v * within, -1.0 / shape);
                let above = low * libm::pow(1.0 - (1.0 - v) * within, -1.0 / shape);
                for (word, wanted) in [(word, below), (word | 1 << 63, above)] {
                    let found = table.at(word);
                    assert!((found / wanted - 1.0).abs() < 5e-5, "{v}: {found} for {wanted}");
                }
            }
        }
    }
}
