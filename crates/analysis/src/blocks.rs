//! What one combination of levels, or one level, has against another one, over the replications.
//!
//! A replication is a block: all of its cells see the same requests. So what is compared within one
//! replication is *one* piece of evidence, however many cells it comes from: logarithms of ratios
//! are averaged within each replication, and intervals and p-values are Student's t over the
//! replications, with one degree of freedom less than there are of them. Counting cells instead
//! would take copies of one measurement for several.
//!
//! *Source:* R. A. Fisher, *The Design of Experiments* (1935), chapter 4 (randomised blocks); A. M.
//! Law, *Simulation Modeling and Analysis*, 10.2.1 (common random numbers).

use std::collections::BTreeMap;

use plimsoll_stats::figure::Figure;
use plimsoll_stats::interval::{Estimate, LEVEL, geometric_mean, p_of_ratio, ratio};

use crate::document::CellResult;

/// What was found over replications.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Blocked {
    /// The geometric mean of the ratios of the replications.
    pub(crate) ratio: f64,
    /// Its interval; `None` of fewer than two replications.
    pub(crate) estimate: Option<Estimate>,
    /// Of how many replications.
    pub(crate) n: usize,
}

impl Blocked {
    /// Of one logarithm of a ratio for each replication; `None` where there is none.
    pub(crate) fn of(logs: &[f64]) -> Option<Self> {
        let ratios: Vec<f64> = logs.iter().map(|log| libm::exp(*log)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let estimate = geometric_mean(&ratios, LEVEL).ok();
        let n = logs.len();
        mean.is_finite().then(|| Self { ratio: libm::exp(mean), estimate, n })
    }

    /// The ends of its 95% interval.
    pub(crate) fn ci95(&self) -> Option<[f64; 2]> {
        self.estimate.map(|of| [of.low, of.high])
    }

    /// The probability of a ratio as far from 1 where there is none.
    pub(crate) fn p(&self) -> Option<f64> {
        self.estimate.as_ref().map(p_of_ratio)
    }
}

/// The cells of each replication.
pub(crate) fn replications<'a>(
    cells: impl IntoIterator<Item = &'a CellResult>,
) -> BTreeMap<u32, Vec<&'a CellResult>> {
    let mut all: BTreeMap<u32, Vec<&CellResult>> = BTreeMap::new();
    cells.into_iter().for_each(|cell| all.entry(cell.replication).or_default().push(cell));
    all
}

/// The values of a figure, by replication.
pub(crate) type Values = BTreeMap<u32, f64>;

/// The values of a figure of some cells that count.
pub(crate) fn values<'a>(
    figure: &Figure,
    cells: impl IntoIterator<Item = &'a CellResult>,
) -> Values {
    let counted = cells.into_iter().filter(|cell| cell.counts());
    counted.filter_map(|cell| Some((cell.replication, *cell.figures.get(figure.name)?))).collect()
}

/// The ratio of one combination to another: of the replications that both have, in which both saw
/// the same requests. Those of experiments that share none are independent. `None` where no error
/// is known.
pub(crate) fn compared(one: &Values, other: &Values, share_requests: bool) -> Option<Estimate> {
    if !share_requests {
        let all = |of: &Values| of.values().copied().collect::<Vec<f64>>();
        return ratio(&all(other), &all(one), LEVEL).ok();
    }
    let log = |(number, one): (&u32, &f64)| {
        let other = other.get(number).filter(|other| **other > 0.0 && *one > 0.0)?;
        Some(libm::log(one / other))
    };
    let logs: Vec<f64> = one.iter().filter_map(log).collect();
    Blocked::of(&logs)?.estimate
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effects;
    use crate::ranking::tests::study;
    use plimsoll_plan::FactorPlan;
    use plimsoll_stats::figure;
    use plimsoll_stats::interval::student;
    use plimsoll_units::hash::mix;

    /// Draws by a seed.
    struct Draws(u64);

    impl Draws {
        /// Above 0 and below 1.
        fn share(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            ((mix(self.0) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            student::quantile(self.share(), f64::INFINITY)
        }

        /// Of mean 0 and deviation 1, with a long tail above.
        fn skewed(&mut self) -> f64 {
            -libm::log(self.share()) - 1.0
        }
    }

    /// An experiment: the levels of a factor that multiplies the rate by so much, those of an idle
    /// one, and so many replications.
    #[derive(Clone, Copy)]
    struct Drawn {
        ratios: &'static [f64],
        idle: usize,
        replications: u32,
    }

    fn factor(key: &str, levels: usize) -> FactorPlan {
        let levels = (0..levels).map(|level| format!("{key}{level}")).collect();
        FactorPlan {
            key: key.to_owned(),
            levels,
            sets: Vec::new(),
            labels: std::collections::BTreeMap::new(),
        }
    }

    impl Drawn {
        fn factors(self) -> Vec<FactorPlan> {
            let all = [factor("works", self.ratios.len()), factor("idle", self.idle)];
            all.into_iter().filter(|of| of.levels.len() > 1).collect()
        }

        /// A replication has something in common, and each level its own noise, which all levels of
        /// the idle factor share: they saw the same requests.
        fn cells(self, mut noise: impl FnMut() -> f64) -> Vec<CellResult> {
            let mut cells = Vec::new();
            for replication in 0..self.replications {
                let common = noise();
                for (level, times) in self.ratios.iter().enumerate() {
                    let rate = 100.0 * times * libm::exp(0.5 * common + 0.1 * noise());
                    for idle in 0..self.idle {
                        let levels = [("works", level), ("idle", idle)];
                        let factors =
                            levels.map(|(key, of)| (key.to_owned(), format!("{key}{of}")));
                        cells.push(CellResult {
                            factors: factors.into(),
                            replication,
                            state: "done",
                            figures: [("rate_mean".to_owned(), rate)].into(),
                            ..CellResult::default()
                        });
                    }
                }
            }
            cells
        }

        /// In what share of 2,000 experiments the 95% interval of the factor's effect from its
        /// first level to its last holds the truth.
        fn coverage(self, seed: u64, draw: fn(&mut Draws) -> f64) -> f64 {
            let mut draws = Draws(mix(seed));
            let factors = self.factors();
            let last = format!("works{}", self.ratios.len() - 1);
            let truth = self.ratios[self.ratios.len() - 1] / self.ratios[0];
            let holds = (0..2000).filter(|_| {
                let cells = self.cells(|| draw(&mut draws));
                let study = study(&factors, &cells, &[figure::RATE_MEAN]);
                let found = effects::of_one(&study, figure::RATE_MEAN);
                let is = |of: &&crate::EffectResult| of.factor == "works" && of.levels[1] == last;
                let [low, high] = found.iter().find(is).unwrap().ci95.unwrap();
                low <= truth && truth <= high
            });
            holds.count() as f64 / 2000.0
        }
    }

    const TWO: &[f64] = &[1.0, 1.3];
    const THREE: &[f64] = &[1.0, 1.3, 1.7];

    /// Three standard errors of a share of 0.95 of 2,000 are 1.5%.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        for (seed, ratios, idle, replications) in
            [(1, TWO, 1, 3), (2, TWO, 2, 5), (3, THREE, 1, 3), (4, THREE, 4, 5), (5, TWO, 3, 10)]
        {
            let of = Drawn { ratios, idle, replications };
            let normal = of.coverage(seed, Draws::normal);
            assert!((0.935..=0.965).contains(&normal), "{seed}: {normal}");
            let skewed = of.coverage(seed + 100, Draws::skewed);
            assert!(skewed >= 0.92, "{seed}: {skewed}");
        }
    }

    /// Levels of a factor that does nothing are copies, and no further evidence: the interval of
    /// another factor is the same with eight of them as with one.
    #[test]
    fn a_factor_that_does_nothing_makes_no_other_one_surer() {
        let widths = |ratios: &'static [f64]| {
            [1, 2, 8].map(|idle| {
                let mut draws = Draws(7);
                let of = Drawn { ratios, idle, replications: 3 };
                let (factors, cells) = (of.factors(), of.cells(|| draws.normal()));
                let study = study(&factors, &cells, &[figure::RATE_MEAN]);
                let found = effects::of_one(&study, figure::RATE_MEAN);
                let works = found.iter().find(|of| of.factor == "works").unwrap();
                assert_eq!(works.n, 3);
                if let Some(idle) = found.iter().find(|of| of.factor == "idle") {
                    assert!((idle.effect - 1.0).abs() < 1e-9 && idle.p_holm == Some(1.0));
                }
                works.ci95.unwrap()
            })
        };
        for found in [widths(TWO), widths(THREE)] {
            for other in &found[1..] {
                assert!(other.iter().zip(found[0]).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
            }
        }
        let eight = Drawn { ratios: THREE, idle: 8, replications: 3 };
        let normal = eight.coverage(8, Draws::normal);
        assert!((0.935..=0.965).contains(&normal), "{normal}");
    }

    /// Values that are equal in each pair have a ratio of 1 and no width, however replications
    /// differ.
    #[test]
    fn equal_values_in_each_replication_are_no_effect_and_leave_no_doubt() {
        for ratios in [&[1.0, 1.0][..], &[1.0, 1.0, 1.0]] {
            let mut draws = Draws(3);
            let of = Drawn { ratios, idle: 2, replications: 4 };
            let mut cells = of.cells(|| draws.normal());
            for cell in &mut cells {
                let rate = 100.0 + f64::from(cell.replication) * 30.0;
                cell.figures.insert("rate_mean".to_owned(), rate);
            }
            let factors = of.factors();
            let found =
                effects::of_one(&study(&factors, &cells, &[figure::RATE_MEAN]), figure::RATE_MEAN);
            assert!(!found.is_empty());
            for effect in &found {
                let [low, high] = effect.ci95.unwrap();
                assert!((low - 1.0).abs() < 1e-9 && (high - 1.0).abs() < 1e-9, "{effect:?}");
                assert_eq!(effect.p_holm, Some(1.0), "{effect:?}");
            }
        }
    }

    /// One replication is one piece of evidence, of however many pairs.
    #[test]
    fn a_single_replication_has_no_interval() {
        for ratios in [TWO, THREE] {
            let mut draws = Draws(5);
            let of = Drawn { ratios, idle: 4, replications: 1 };
            let (factors, cells) = (of.factors(), of.cells(|| draws.normal()));
            let found =
                effects::of_one(&study(&factors, &cells, &[figure::RATE_MEAN]), figure::RATE_MEAN);
            let known = |of: &crate::EffectResult| of.ci95.is_some() || of.p_holm.is_some();
            assert!(!found.is_empty() && !found.iter().any(known), "{found:?}");
        }
    }

    #[test]
    fn combinations_are_compared_in_the_replications_that_both_have() {
        let of = |values: &[(u32, f64)]| -> Values { values.iter().copied().collect() };
        let one = of(&[(0, 20.0), (1, 44.0), (3, 7.0)]);
        let other = of(&[(0, 10.0), (1, 22.0), (2, 900.0)]);
        let found = compared(&one, &other, true).unwrap();
        assert!((found.value - 2.0).abs() < 1e-12 && (found.high - 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!(compared(&one, &of(&[(0, 10.0)]), true), None, "one is no interval");
        let apart = compared(&one, &other, false).unwrap();
        assert!(apart.high / apart.low > 100.0, "{apart:?}");
    }
}
