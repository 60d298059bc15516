//! The normal distribution with mean 0 and standard deviation 1: its tail by the complementary
//! error function (DLMF 7.2.2, and `libm`'s: the same bits everywhere).

/// How likely a normal value above `z` is.
pub(crate) fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_tables() {
        for (z, wanted) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457_05),
            (-1.0, 0.841_344_746_068_542_9),
            (1.959_963_984_540_054, 0.025),
            (10.0, 7.619_853_024_160_527e-24),
        ] {
            let found = upper_tail(z);
            assert!((found / wanted - 1.0).abs() < 1e-12, "{found} for {wanted}");
        }
    }
}
