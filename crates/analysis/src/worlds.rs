//! One plan in two worlds: a live experiment against the same one simulated, combination by
//! combination and effect by effect.

use plimsoll_stats::figure::{self, Figure};
use serde::Serialize;

use crate::blocks;
use crate::document::{
    Analysis, CombinationResult, EffectResult, FactorLevels, Levels, MeanResult,
};

/// A live experiment against a simulated one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worlds {
    /// The combinations that both have, in the order of the plan's levels.
    pub pairs: Vec<Pair>,
    /// How many combinations only one of them has.
    pub unpaired: usize,
    /// The effects that both have.
    pub effects: Vec<EffectPair>,
}

/// A combination in both worlds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The level of each factor.
    pub factors: Levels,
    /// The figures that both have, in the order of the registry.
    pub figures: Vec<FigurePair>,
}

/// A figure in both worlds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigurePair {
    /// Its name.
    pub figure: &'static str,
    /// As it was measured.
    pub live: MeanResult,
    /// As it was predicted.
    pub simulated: MeanResult,
    /// The prediction over the measurement; `None` where that is 0.
    pub ratio: Option<f64>,
    /// The ratio's 95% interval; `None` where one side has a single replication.
    pub ratio_ci95: Option<[f64; 2]>,
    /// Whether the 95% intervals meet, one without an interval taken as its value; `None` where
    /// neither has one.
    pub meet: Option<bool>,
}

/// An effect in both worlds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectPair {
    /// As it was measured.
    pub live: EffectResult,
    /// As it was predicted.
    pub simulated: EffectResult,
    /// As for a figure.
    pub meet: Option<bool>,
}

/// Compares a live experiment with the same one simulated: combinations are those of equal levels,
/// and only what counts in each.
#[must_use]
pub fn against(live: &Analysis, simulated: &Analysis) -> Worlds {
    let counted = |of: &&CombinationResult| of.counted > 0;
    let twin = |of: &CombinationResult| {
        simulated.combinations.iter().filter(counted).find(|other| other.factors == of.factors)
    };
    let mut pairs = Vec::new();
    for of in live.combinations.iter().filter(counted) {
        if let Some(other) = twin(of) {
            let figures = figures((live, simulated), (of, other));
            pairs.push(Pair { factors: of.factors.clone(), figures });
        }
    }
    // In the order of the plan's levels: that of the cells is drawn.
    pairs.sort_by_key(|pair| place(live, &pair.factors));
    let all = [live, simulated].map(|of| of.combinations.iter().filter(counted).count());
    let effects = live.effects.iter().filter_map(|of| {
        let is = |other: &&EffectResult| {
            (&other.factor, &other.levels, other.figure) == (&of.factor, &of.levels, of.figure)
        };
        let other = simulated.effects.iter().find(is)?;
        let meet = meet((of.effect, of.ci95), (other.effect, other.ci95));
        Some(EffectPair { live: of.clone(), simulated: other.clone(), meet })
    });
    Worlds { unpaired: all[0] + all[1] - 2 * pairs.len(), effects: effects.collect(), pairs }
}

/// The place of each factor's level among its levels.
fn place(of: &Analysis, levels: &Levels) -> Vec<Option<usize>> {
    let place = |factor: &FactorLevels| {
        factor.levels.iter().position(|level| levels.get(&factor.factor) == Some(level))
    };
    of.experiment.factors.iter().map(place).collect()
}

/// The values of a figure in the cells of a combination that count.
fn values(of: &Analysis, levels: &Levels, figure: &Figure) -> blocks::Values {
    blocks::values(figure, of.cells.iter().filter(|cell| cell.factors == *levels))
}

fn figures(
    (measured, predicted): (&Analysis, &Analysis),
    (live, simulated): (&CombinationResult, &CombinationResult),
) -> Vec<FigurePair> {
    // Replications of a number were asked the same in both worlds, where their seed is one.
    let seeds = [measured, predicted].map(|of| of.experiment.seed);
    let share_requests = seeds[0].is_some() && seeds[0] == seeds[1];
    let of_ratio = |figure: &Figure| {
        let measured = values(measured, &live.factors, figure);
        let predicted = values(predicted, &simulated.factors, figure);
        let found = blocks::compared(&predicted, &measured, share_requests)?;
        Some([found.low, found.high])
    };
    let pair = |figure: &&'static Figure| {
        let (live, simulated) =
            (*live.figures.get(figure.name)?, *simulated.figures.get(figure.name)?);
        Some(FigurePair {
            figure: figure.name,
            live,
            simulated,
            ratio_ci95: of_ratio(figure),
            ratio: Some(simulated.mean / live.mean).filter(|ratio| ratio.is_finite()),
            meet: meet((live.mean, live.ci95), (simulated.mean, simulated.ci95)),
        })
    };
    figure::ALL.iter().filter_map(pair).collect()
}

/// Whether two values with intervals may be the same one.
fn meet(one: (f64, Option<[f64; 2]>), other: (f64, Option<[f64; 2]>)) -> Option<bool> {
    if one.1.is_none() && other.1.is_none() {
        return None;
    }
    let ends = |(value, ends): (f64, Option<[f64; 2]>)| ends.unwrap_or([value, value]);
    let ([low, high], [other_low, other_high]) = (ends(one), ends(other));
    Some(low <= other_high && other_low <= high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_meet_where_they_share_a_value() {
        assert_eq!(meet((1.0, None), (1.0, None)), None);
        assert_eq!(meet((1.0, Some([0.9, 1.1])), (1.05, None)), Some(true));
        assert_eq!(meet((1.0, Some([0.9, 1.1])), (1.2, Some([1.11, 1.3]))), Some(false));
        assert_eq!(meet((1.0, Some([0.9, 1.1])), (1.2, Some([1.1, 1.3]))), Some(true));
    }
}
