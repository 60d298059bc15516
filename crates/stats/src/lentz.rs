//! Continued fractions by the modified Lentz method (W. J. Lentz, *Generating Bessel functions in
//! Mie scattering calculations using continued fractions*, Applied Optics 15, 1976; its zeros
//! nudged away as I. J. Thompson and A. R. Barnett do, Journal of Computational Physics 64, 1986).

/// What a fraction changes by when it has converged.
const ENOUGH: f64 = 1e-15;
/// What stands for a zero in a denominator: small enough for every digit, and its square still a
/// number.
const TINY: f64 = 1e-100;

/// b₀ + a₁ / (b₁ + a₂ / (b₂ + …)), where `terms` yields (a₁, b₁), (a₂, b₂), …: as many as it takes
/// to converge, or all.
pub(crate) fn continued_fraction(b0: f64, terms: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let nonzero = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut value = nonzero(b0);
    let (mut c, mut d) = (value, 0.0);
    for (a, b) in terms {
        d = 1.0 / nonzero(b + a * d);
        c = nonzero(b + a / c);
        let change = c * d;
        value *= change;
        if (change - 1.0).abs() < ENOUGH {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    #[test]
    fn known_fractions_have_their_values() {
        let golden = continued_fraction(1.0, iter::repeat_n((1.0, 1.0), 100));
        assert!((golden - f64::midpoint(1.0, 5.0_f64.sqrt())).abs() < 1e-14, "{golden}");
        // 4/π = 1 + 1² / (3 + 2² / (5 + …)).
        let odd = (1..100).map(f64::from).map(|n| (n * n, 2.0 * n + 1.0));
        let value = continued_fraction(1.0, odd);
        assert!((value - 4.0 / std::f64::consts::PI).abs() < 1e-14, "{value}");
    }

    #[test]
    fn a_zero_on_the_way_does_no_harm_and_a_zero_above_ends_it() {
        // 0 + 1 / (0 + 1 / (0 + 1 / 2)) = 1 / 2.
        let value = continued_fraction(0.0, [(1.0, 0.0), (1.0, 0.0), (1.0, 2.0)]);
        assert!((value - 0.5).abs() < 1e-12, "{value}");
        assert!((continued_fraction(3.0, [(0.0, 1.0), (5.0, 1.0)]) - 3.0).abs() < 1e-15);
    }
}
