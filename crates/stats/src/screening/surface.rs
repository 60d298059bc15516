//! What values of some combinations tell of others: kriging on factors that have levels and no
//! scale.
//!
//! Two combinations are the more alike the more levels they share. The figure is taken for a sum
//! of an effect of each level and a smaller one of each pair of levels, all of them drawn around
//! zero: a Gaussian process whose covariance is a sum of the shares of common levels and of common
//! pairs. How much pairs weigh, and how much of a value is noise, is chosen by the likelihood of
//! the values, among a few.
//!
//! *Source:* C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*
//! (2006), 2.2 and 5.4.1. The choice of runs is a Cholesky decomposition that pivots on the
//! greatest variance that remains.

/// What pairs of levels weigh, where levels weigh 1.
const PAIRS: [f64; 2] = [0.1, 0.7];
/// The variance of noise beside that of the surface.
const NOISE: [f64; 3] = [0.003, 0.03, 0.3];

#[expect(clippy::cast_precision_loss, reason = "factors are few")]
fn covariance(a: &[usize], b: &[usize], pairs: f64) -> f64 {
    let (of, common) = (a.len() as f64, a.iter().zip(b).filter(|(a, b)| a == b).count() as f64);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
    // The mean is not known exactly either: 1 for what all have in common.
    1.0 + share(common, of) + pairs * share(common * (common - 1.0), of * (of - 1.0))
}

/// So many combinations, or all, each being that of which those before it tell least.
pub(super) fn spread_out(combinations: &[Vec<usize>], count: usize) -> Vec<usize> {
    let (pairs, noise) = (PAIRS[0], NOISE[1]);
    let mut variance: Vec<f64> = combinations.iter().map(|of| covariance(of, of, pairs)).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut chosen: Vec<usize> = Vec::new();
    let mut is_chosen = vec![false; combinations.len()];
    while chosen.len() < count.min(combinations.len()) {
        let mut pivot = None;
        for (at, &of) in variance.iter().enumerate() {
            if !is_chosen[at] && pivot.is_none_or(|(_, most)| of > most + 1e-9) {
                pivot = Some((at, of));
            }
        }
        let Some((pivot, of)) = pivot else { break };
        let root = (of.max(0.0) + noise).sqrt();
        let column: Vec<f64> = (0..combinations.len())
            .map(|at| {
                let known: f64 = columns.iter().map(|column| column[at] * column[pivot]).sum();
                (covariance(&combinations[at], &combinations[pivot], pairs) - known) / root
            })
            .collect();
        for (of, known) in variance.iter_mut().zip(&column) {
            *of -= known * known;
        }
        columns.push(column);
        is_chosen[pivot] = true;
        chosen.push(pivot);
    }
    chosen.sort_unstable();
    chosen
}

/// The values that are to be expected at other combinations: the mean of all where nothing varies
/// or nothing is known.
pub(super) fn predicted(known: &[(&[usize], f64)], others: &[&[usize]]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "runs are few")]
    let n = known.len() as f64;
    let mean = known.iter().map(|(_, value)| value / n.max(1.0)).sum::<f64>();
    let centred: Vec<f64> = known.iter().map(|(_, value)| value - mean).collect();
    let mut best: Option<(f64, f64, Vec<f64>)> = None;
    if centred.iter().all(|value| value.abs() <= 1e-12 * mean.abs()) {
        return vec![mean; others.len()];
    }
    for pairs in PAIRS {
        for noise in NOISE {
            let rows: Vec<Vec<f64>> = (0..known.len())
                .map(|i| {
                    let of = |j: usize| covariance(known[i].0, known[j].0, pairs);
                    (0..=i).map(|j| of(j) + if i == j { noise } else { 0.0 }).collect()
                })
                .collect();
            let factor = cholesky(rows);
            let weights = solved(&factor, &centred);
            let fit: f64 = centred.iter().zip(&weights).map(|(value, weight)| value * weight).sum();
            let roots = factor.iter().filter_map(|row| row.last()).map(|&root| libm::log(root));
            let likelihood = -0.5 * n * libm::log(fit / n) - roots.sum::<f64>();
            if best.as_ref().is_none_or(|(most, ..)| likelihood > *most) {
                best = Some((likelihood, pairs, weights));
            }
        }
    }
    let Some((_, pairs, weights)) = best else { return vec![mean; others.len()] };
    let at = |other: &&[usize]| {
        let of = known.iter().zip(&weights);
        mean + of.map(|((of, _), weight)| weight * covariance(of, other, pairs)).sum::<f64>()
    };
    others.iter().map(at).collect()
}

/// The lower triangle L with L·Lᵀ the symmetric positive definite matrix of which these are the
/// lower rows.
fn cholesky(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for i in 0..rows.len() {
        for j in 0..=i {
            let known: f64 = rows[i][..j].iter().zip(&rows[j][..j]).map(|(a, b)| a * b).sum();
            let rest = rows[i][j] - known;
            rows[i][j] = if i == j { rest.max(1e-12).sqrt() } else { rest / rows[j][j] };
        }
    }
    rows
}

/// The solution x of L·Lᵀ·x = `right`.
fn solved(factor: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut x = right.to_vec();
    for i in 0..x.len() {
        let known: f64 = factor[i][..i].iter().zip(&x).map(|(a, b)| a * b).sum();
        x[i] = (x[i] - known) / factor[i][i];
    }
    for i in (0..x.len()).rev() {
        x[i] /= factor[i][i];
        for j in 0..i {
            x[j] -= factor[i][j] * x[i];
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(levels: &[usize]) -> Vec<Vec<usize>> {
        levels.iter().fold(vec![vec![]], |runs, &of| {
            let with = |run: &Vec<usize>| {
                let run = run.clone();
                (0..of).map(move |level| [&run[..], &[level]].concat()).collect::<Vec<_>>()
            };
            runs.iter().flat_map(with).collect()
        })
    }

    #[test]
    fn a_part_has_each_level_about_as_often() {
        let combinations = all(&[2, 2, 2, 3]);
        let chosen = spread_out(&combinations, 12);
        assert_eq!(chosen.len(), 12);
        for (factor, levels) in [2, 2, 2, 3].into_iter().enumerate() {
            for level in 0..levels {
                let has = |at: &&usize| combinations[**at][factor] == level;
                let count = chosen.iter().filter(has).count();
                assert!((12 / levels).abs_diff(count) <= 1, "{factor}, {level}: {count}");
            }
        }
        assert_eq!(spread_out(&combinations, 100).len(), 24);
    }

    #[test]
    fn an_additive_surface_is_predicted_from_a_part_of_it() {
        let combinations = all(&[3, 2, 2, 2]);
        let effects = [[0.0, 5.0, -2.0], [0.0, 3.0, 0.0], [0.0, -4.0, 0.0], [1.0, 0.0, 0.0]];
        let value = |of: &[usize]| -> f64 {
            100.0 + of.iter().zip(&effects).map(|(&level, effect)| effect[level]).sum::<f64>()
        };
        let chosen = spread_out(&combinations, 12);
        let known: Vec<(&[usize], f64)> =
            chosen.iter().map(|&at| (&combinations[at][..], value(&combinations[at]))).collect();
        let others: Vec<&[usize]> = combinations.iter().map(|of| &of[..]).collect();
        for (other, found) in others.iter().zip(predicted(&known, &others)) {
            assert!((found - value(other)).abs() < 0.3, "{other:?}: {found} for {}", value(other));
        }
        let constant = predicted(&[(&[0, 0], 7.0), (&[0, 1], 7.0)], &[&[1, 1]]);
        assert_eq!(constant, [7.0]);
        assert_eq!(predicted(&[], &[&[1, 1]]), [0.0]);
    }
}
