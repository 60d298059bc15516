//! The effects of factors on figures, as ratios.
//!
//! An effect is the ratio of a figure at a level to the same figure at the factor's first level, in
//! the geometric mean over the other factors and the replications. Of a design of two-level factors
//! it is that of the contrasts ([`plimsoll_stats::effects`]); of other designs, that of the pairs
//! of cells that differ in this factor alone. Either is taken within each replication, and its
//! error is how replications differ ([`crate::blocks`]). P-values are corrected together (Holm),
//! those of
//! interactions by themselves.

use std::collections::BTreeMap;

use plimsoll_plan::FactorPlan;
use plimsoll_stats::design::Word;
use plimsoll_stats::effects::{Effects, EffectsError, Run, effects, main_effects};
use plimsoll_stats::figure::{self, Figure};
use plimsoll_stats::holm::corrected;
use plimsoll_stats::interval::LEVEL;
use plimsoll_stats::percentiles::{MIN_BEYOND, is_stated};
use plimsoll_stats::relative::Relative;

use crate::Study;
use crate::blocks::{Blocked, replications};
use crate::document::{CellResult, Change, EffectResult, Interaction};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct FoundEffects {
    /// The effects on the figures that respond.
    pub(crate) effects: Vec<EffectResult>,
    /// Their interactions.
    pub(crate) interactions: Vec<Interaction>,
    /// The effects on the usual figures that were not asked for, corrected by themselves.
    pub(crate) elsewhere: Vec<EffectResult>,
}

/// An effect with the probability that is still to be corrected.
type Raw<T> = (T, Option<f64>);

/// The effects of all factors; where there are none of a figure, a warning says why.
pub(crate) fn of(study: &Study<'_>, warnings: &mut Vec<String>) -> FoundEffects {
    let (mut effects, mut interactions) = (Vec::new(), Vec::new());
    for figure in &study.respond {
        on(study, figure, (&mut effects, &mut interactions), warnings);
    }
    let mut elsewhere = Vec::new();
    for figure in study.kind.figures().iter().filter(|of| !study.respond.contains(of)) {
        // What is missing of a figure that nobody asked for is no news.
        on(study, figure, (&mut elsewhere, &mut Vec::new()), &mut Vec::new());
    }
    FoundEffects {
        effects: correct(effects, |of, p| of.p_holm = p),
        interactions: correct(interactions, |of, p| of.p_holm = p),
        elsewhere: correct(elsewhere, |of, p| of.p_holm = p),
    }
}

/// The effects on one figure, corrected by themselves.
#[cfg(test)]
pub(crate) fn of_one(study: &Study<'_>, figure: &'static Figure) -> Vec<EffectResult> {
    let mut effects = Vec::new();
    on(study, figure, (&mut effects, &mut Vec::new()), &mut Vec::new());
    correct(effects, |of, p| of.p_holm = p)
}

/// Corrects p-values for how many there are.
fn correct<T>(found: Vec<Raw<T>>, put: fn(&mut T, Option<f64>)) -> Vec<T> {
    let p_values: Vec<f64> = found.iter().map(|(_, p)| p.unwrap_or(f64::NAN)).collect();
    let correct = |((mut of, p), corrected): (Raw<T>, f64)| {
        put(&mut of, p.map(|_| corrected));
        of
    };
    found.into_iter().zip(corrected(&p_values)).map(correct).collect()
}

/// The effects on one figure.
fn on(
    study: &Study<'_>,
    figure: &'static Figure,
    (effects, interactions): (&mut Vec<Raw<EffectResult>>, &mut Vec<Raw<Interaction>>),
    warnings: &mut Vec<String>,
) {
    let (has, lacks): (Vec<&CellResult>, Vec<&CellResult>) = study
        .cells
        .iter()
        .filter(|cell| cell.counts())
        .partition(|cell| cell.figures.get(figure.name).is_some_and(|value| *value > 0.0));
    if has.is_empty() || study.factors.is_empty() {
        return;
    }
    let factors = varying(&study.factors, &has);
    warnings.extend(left_out(study, figure, &factors, (&has, &lacks)));
    if factors.is_empty() {
        return;
    }
    if factors.iter().any(|factor| factor.levels.len() != 2) {
        effects.extend(by_pairs(&factors, figure, &has));
        return;
    }
    match by_contrasts(&factors, figure, &has) {
        Ok((found, cells)) => {
            let pairs = found.iter().filter(|of| of.term.order() == 2);
            interactions.extend(pairs.map(|of| interaction(&factors, figure, of)));
            let mains = found.iter().filter(|of| of.term.order() == 1);
            let runs = runs(&factors, figure, &cells);
            effects.extend(mains.map(|of| main(&factors, figure, (of, &runs))));
        }
        Err(why) => warnings.push(format!("no effects on {}: {why}", figure.label)),
    }
}

/// The factors of which the cells have more than one level, with those levels.
fn varying(factors: &[FactorPlan], cells: &[&CellResult]) -> Vec<FactorPlan> {
    let varies = |factor: &FactorPlan| {
        let is_there = |level: &&String| {
            cells.iter().any(|cell| cell.factors.get(&factor.key) == Some(*level))
        };
        let levels: Vec<String> = factor.levels.iter().filter(is_there).cloned().collect();
        (levels.len() > 1).then(|| FactorPlan {
            key: factor.key.clone(),
            levels,
            sets: Vec::new(),
            labels: std::collections::BTreeMap::new(),
        })
    };
    factors.iter().filter_map(varies).collect()
}

/// What is missing of a figure: which levels have no cell with it, and why.
fn left_out(
    study: &Study<'_>,
    figure: &'static Figure,
    varying: &[FactorPlan],
    (has, lacks): (&[&CellResult], &[&CellResult]),
) -> Vec<String> {
    let mut notes = Vec::new();
    let why = why(figure, lacks);
    for factor in &study.factors {
        let at = |cells: &[&CellResult], level: &String| {
            cells.iter().any(|cell| cell.factors.get(&factor.key) == Some(level))
        };
        let missing: Vec<&String> =
            factor.levels.iter().filter(|level| at(lacks, level) && !at(has, level)).collect();
        if missing.is_empty() {
            continue;
        }
        let levels = missing.iter().map(|level| level.as_str()).collect::<Vec<_>>().join(", ");
        let rest = match varying.iter().any(|of| of.key == factor.key) {
            true => "those levels are in no effect",
            false => "so the factor's effect on it cannot be told",
        };
        notes.push(format!(
            "no cell with {} = {levels} has a {}: {rest}{why}",
            factor.key, figure.label
        ));
    }
    if notes.is_empty() && !lacks.is_empty() {
        notes.push(format!(
            "{} of {} cells have no {}: its effects are those of the others{why}",
            lacks.len(),
            lacks.len() + has.len(),
            figure.label
        ));
    }
    notes
}

/// Why cells lack a figure, as the end of a sentence; empty where that is not known.
fn why(figure: &Figure, cells: &[&CellResult]) -> String {
    let is_zero = |cell: &&&CellResult| cell.figures.get(figure.name).is_some_and(|of| *of <= 0.0);
    match cells.iter().filter(is_zero).count() {
        0 => {}
        n if n == cells.len() => {
            return "; it is 0 there, and a ratio to nothing says nothing".into();
        }
        n => return format!("; it is 0 in {n} of them, and a ratio to nothing says nothing"),
    }
    let Some(quantile) = quantile(figure) else { return String::new() };
    let counts: Vec<u64> = cells.iter().filter_map(|cell| answers(cell)).collect();
    let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) else {
        return String::new();
    };
    if is_stated(quantile, *most) {
        return String::new();
    }
    let found = if least == most { most.to_string() } else { format!("{least} to {most}") };
    format!(
        "; they had {found} answers, and fewer than {MIN_BEYOND} of them lie beyond that \
         percentile: run for longer"
    )
}

/// How many answers a cell had.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
fn answers(cell: &CellResult) -> Option<u64> {
    Some(*cell.figures.get(figure::SUCCEEDED.name)? as u64)
}

/// The quantile that a figure is: of `response_us.p99` 0.99, of `response_us.p9999` 0.9999.
fn quantile(figure: &Figure) -> Option<f64> {
    let digits = figure.name.rsplit_once(".p")?.1;
    let number: f64 = digits.parse().ok()?;
    Some(number / 10_f64.powi(i32::try_from(digits.len()).ok()?))
}

/// What a factor, or an interaction of some, does to a figure, over the replications.
pub(crate) struct EffectEstimate {
    /// The factors, as a word.
    pub(crate) term: Word,
    /// What it cannot be told apart from.
    pub(crate) aliases: Vec<Word>,
    /// The figure at the high level over that at the low one.
    pub(crate) of: Blocked,
}

/// The effects of two-level factors with the cells that they are of: of the replications that have
/// the whole design, by its contrasts; where cells are missing so that fewer than two have it, main
/// effects by least squares of those that tell the factors apart.
fn by_contrasts<'a>(
    factors: &[FactorPlan],
    figure: &'static Figure,
    cells: &[&'a CellResult],
) -> Result<(Vec<EffectEstimate>, Vec<&'a CellResult>), String> {
    let design = runs(factors, figure, cells).len();
    let all = replications(cells.iter().copied());
    let of = |made: fn(&[Run<'_>], f64) -> Result<Effects, EffectsError>, whole: bool| {
        let is_whole =
            |of: &&Vec<&'a CellResult>| !whole || runs(factors, figure, of).len() == design;
        let own = all.values().filter(is_whole);
        let found = own.map(|own| Ok((made_of(made, &runs(factors, figure, own))?, own.clone())));
        let found: Vec<Result<(Effects, Vec<&CellResult>), EffectsError>> = found.collect();
        let fault = found.iter().find_map(|of| of.as_ref().err().cloned());
        let good: Vec<(Effects, Vec<&CellResult>)> = found.into_iter().flatten().collect();
        (good, fault)
    };
    let (mut best, fault) = of(effects, true);
    if best.len() < 2 {
        let (mains, _) = of(main_effects, false);
        if mains.len() > best.len() {
            best = mains;
        }
    }
    if best.is_empty() {
        // No replication tells the factors apart by itself: all together may, without an error.
        let runs = runs(factors, figure, cells);
        let together = made_of(main_effects, &runs).map_err(|error| fault.unwrap_or(error));
        best.push((together.map_err(|error| error.to_string())?, cells.to_vec()));
    }
    let told = |(at, effect): (usize, &plimsoll_stats::effects::Effect)| {
        let logs: Vec<f64> = best.iter().map(|(of, _)| of.effects[at].difference().0).collect();
        let of = Blocked::of(&logs)?;
        Some(EffectEstimate { term: effect.term, aliases: effect.aliases.clone(), of })
    };
    let found = best[0].0.effects.iter().enumerate().filter_map(told).collect();
    Ok((found, best.iter().flat_map(|(_, cells)| cells.iter().copied()).collect()))
}

/// The effects on the logarithms of values, a value a run: of several its mean.
pub(crate) fn made_of(
    made: fn(&[Run<'_>], f64) -> Result<Effects, EffectsError>,
    runs: &BTreeMap<Vec<i8>, Vec<f64>>,
) -> Result<Effects, EffectsError> {
    let log = |values: &Vec<f64>| [libm::log(geometric(values))];
    let logs: Vec<(&Vec<i8>, [f64; 1])> =
        runs.iter().map(|(levels, values)| (levels, log(values))).collect();
    let runs: Vec<Run<'_>> = logs.iter().map(|(levels, values)| Run { levels, values }).collect();
    made(&runs, LEVEL)
}

/// The values of a figure by the levels of two-level factors.
pub(crate) fn runs(
    factors: &[FactorPlan],
    figure: &Figure,
    cells: &[&CellResult],
) -> BTreeMap<Vec<i8>, Vec<f64>> {
    let mut runs: BTreeMap<Vec<i8>, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        let level = |factor: &FactorPlan| match cell.factors.get(&factor.key) {
            Some(level) if *level == factor.levels[1] => 1,
            _ => -1,
        };
        let levels: Vec<i8> = factors.iter().map(level).collect();
        runs.entry(levels).or_default().push(cell.figures[figure.name]);
    }
    runs
}

/// Words by the names of their factors.
pub(crate) fn named(factors: &[FactorPlan], word: Word) -> String {
    let names: Vec<&str> = word.factors().map(|factor| factors[factor].key.as_str()).collect();
    names.join(" × ")
}

/// A main effect.
fn main(
    factors: &[FactorPlan],
    figure: &'static Figure,
    (of, runs): (&EffectEstimate, &BTreeMap<Vec<i8>, Vec<f64>>),
) -> Raw<EffectResult> {
    let place = of.term.factors().next().unwrap_or(0);
    let factor = &factors[place];
    let mean = |level: i8| {
        let at = runs.iter().filter(|(levels, _)| levels[place] == level);
        geometric(&at.map(|(_, values)| geometric(values)).collect::<Vec<_>>())
    };
    let means = [mean(-1), mean(1)];
    let aliases = of.aliases.iter().map(|word| named(factors, *word)).collect();
    let effect = EffectResult {
        factor: factor.key.clone(),
        levels: [factor.levels[0].clone(), factor.levels[1].clone()],
        figure: figure.name,
        effect: of.of.ratio,
        ci95: of.of.ci95(),
        n: of.of.n,
        p_holm: None,
        aliases,
        means,
        change: change(figure, of.of.ratio),
    };
    (effect, of.of.p())
}

fn interaction(
    factors: &[FactorPlan],
    figure: &'static Figure,
    of: &EffectEstimate,
) -> Raw<Interaction> {
    let mut names = of.term.factors().map(|factor| factors[factor].key.clone());
    let factors_of = [names.next().unwrap_or_default(), names.next().unwrap_or_default()];
    let found = Interaction {
        factors: factors_of,
        figure: figure.name,
        effect: of.of.ratio,
        ci95: of.of.ci95(),
        n: of.of.n,
        p_holm: None,
        aliases: of.aliases.iter().map(|word| named(factors, *word)).collect(),
    };
    (found, of.of.p())
}

/// The geometric mean of values above zero.
pub(crate) fn geometric(values: &[f64]) -> f64 {
    libm::exp(values.iter().map(|value| libm::log(*value)).sum::<f64>() / values.len() as f64)
}

/// The change that a ratio is, as it is published of such a figure; the ratio is that of V, the
/// second level, to NV, the first.
fn change(figure: &Figure, ratio: f64) -> Option<Change> {
    use plimsoll_stats::figure::Unit;
    let formula = match figure.unit {
        Unit::Micros | Unit::Millis | Unit::Seconds => Relative::ResponseTime,
        Unit::PerSecond => Relative::Throughput,
        Unit::Share if figure.name.ends_with("hit_ratio") => Relative::HitRatio,
        _ => return None,
    };
    Some(Change { value: formula.change(1.0, ratio)?, formula: formula.formula() })
}

/// The effects of each further level of each factor, of the pairs of cells that are alike in all
/// else, averaged within each replication.
fn by_pairs(
    factors: &[FactorPlan],
    figure: &'static Figure,
    cells: &[&CellResult],
) -> Vec<Raw<EffectResult>> {
    let mut found = Vec::new();
    for FactorPlan { key, levels, .. } in factors {
        let at = |level: &String| -> BTreeMap<_, f64> {
            let of = cells.iter().filter(|cell| cell.factors.get(key) == Some(level));
            of.map(|cell| (others(cell, key), libm::log(cell.figures[figure.name]))).collect()
        };
        let first = at(&levels[0]);
        for level in &levels[1..] {
            let second = at(level);
            let mut pairs: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
            for (own, a) in &first {
                let pair = second.get(own).map(|b| (*a, *b));
                pair.into_iter().for_each(|pair| pairs.entry(own.1).or_default().push(pair));
            }
            // One value a replication and level: its pairs are copies of each other where another
            // factor does nothing.
            let mean = |of: &dyn Fn(&(f64, f64)) -> f64| -> Vec<f64> {
                let mean =
                    |own: &Vec<(f64, f64)>| own.iter().map(of).sum::<f64>() / own.len() as f64;
                pairs.values().map(mean).collect()
            };
            let (a, b) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
            let Some(of) = Blocked::of(&mean(&|(a, b)| b - a)) else { continue };
            let over_all = |logs: &[f64]| libm::exp(logs.iter().sum::<f64>() / logs.len() as f64);
            let effect = EffectResult {
                factor: key.clone(),
                levels: [levels[0].clone(), level.clone()],
                figure: figure.name,
                effect: of.ratio,
                ci95: of.ci95(),
                n: of.n,
                p_holm: None,
                aliases: Vec::new(),
                means: [over_all(&a), over_all(&b)],
                change: change(figure, of.ratio),
            };
            found.push((effect, of.p()));
        }
    }
    found
}

/// What a cell has in common with those that it is compared with.
fn others<'a>(cell: &'a CellResult, key: &str) -> (Vec<(&'a str, &'a str)>, u32) {
    let others = cell.factors.iter().filter(|(factor, _)| *factor != key);
    (others.map(|(factor, level)| (factor.as_str(), level.as_str())).collect(), cell.replication)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::tests::{cells, factors, study};
    use proptest::prelude::*;

    #[test]
    fn factors_have_their_ratios_by_contrasts_and_by_pairs() {
        for users in [&["16", "256"][..], &["16", "64", "256"]] {
            let factors = factors(users);
            let cells = cells(&factors);
            let mut warnings = Vec::new();
            let found = of(&study(&factors, &cells, &[figure::RATE_MEAN]), &mut warnings).effects;
            assert!(warnings.is_empty(), "{warnings:?}");
            let of = |factor: &str, level: &str| {
                let is = |of: &&EffectResult| of.factor == factor && of.levels[1] == level;
                found.iter().find(is).unwrap()
            };
            let cpu = of("role.web.cpu", "40%");
            assert!((cpu.effect - 2.0).abs() < 1e-9 && cpu.figure == "rate_mean", "{cpu:?}");
            let [low, high] = cpu.ci95.unwrap();
            assert!(low > 1.6 && low <= 2.0 && high >= 2.0 && cpu.p_holm.unwrap() < 0.01);
            let users = of("load.users", "256");
            assert!((users.effect - 0.9).abs() < 1e-9);
            // No ratio stands without the values it is of, and without its formula.
            assert!((users.means[1] / users.means[0] - 0.9).abs() < 1e-9, "{users:?}");
            let change = users.change.unwrap();
            assert!((change.value + 0.1).abs() < 1e-9 && change.formula == "(V − NV)/NV");
        }
    }

    #[test]
    fn a_figure_that_is_missing_at_a_level_is_told_in_the_users_words() {
        let factors = factors(&["16", "256"]);
        let mut cells = cells(&factors);
        for cell in cells.iter_mut().filter(|cell| cell.factors["role.web.cpu"] == "20%") {
            let rate = cell.figures["rate_mean"];
            cell.figures.insert("succeeded".to_owned(), 506.0);
            cell.figures.insert("rate_mean".to_owned(), rate);
        }
        for cell in cells.iter_mut().filter(|cell| cell.factors["role.web.cpu"] == "40%") {
            cell.figures.insert("response_us.p99".to_owned(), 100.0);
        }
        let mut warnings = Vec::new();
        let respond = [figure::RESPONSE_US_P99];
        let found = of(&study(&factors, &cells, &respond), &mut warnings);
        let [told] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(
            told.starts_with("no cell with role.web.cpu = 20% has a response p99: so the"),
            "{told}"
        );
        assert!(told.contains("506 answers") && told.ends_with("run for longer"), "{told}");
        // The other factor has its effect all the same.
        let [users] = &found.effects[..] else { panic!("{found:?}") };
        assert_eq!((users.factor.as_str(), users.effect), ("load.users", 1.0));
    }

    #[test]
    fn a_figure_that_some_cells_lack_is_told_with_their_number() {
        let factors = factors(&["16", "256"]);
        let mut cells = cells(&factors);
        cells[0].figures.insert("rate_mean".to_owned(), 0.0);
        cells[1].figures.remove("rate_mean");
        let mut warnings = Vec::new();
        of(&study(&factors, &cells, &[figure::RATE_MEAN]), &mut warnings);
        let wanted = "2 of 12 cells have no rate: its effects are those of the others; it is 0 in \
                      1 of them, and a ratio to nothing says nothing";
        assert_eq!(warnings, [wanted]);
    }

    #[test]
    fn percentiles_are_known_by_their_names() {
        for (name, wanted) in [("response_us.p99", 0.99), ("service_us.p9999", 0.9999)] {
            assert!((quantile(figure::named(name).unwrap()).unwrap() - wanted).abs() < 1e-12);
        }
        assert_eq!(quantile(figure::RATE_MEAN), None);
    }

    proptest! {
        /// Whatever cells are missing or broken: every effect is of a factor and levels of the
        /// plan, its ratio is that of what was compared, and nothing is compared with itself.
        #[test]
        fn effects_are_of_the_plans_levels(
            keep in prop::collection::vec(0_u8..4, 18),
            of_three in any::<bool>(),
        ) {
            let users: &[&str] = if of_three { &["16", "64", "256"] } else { &["16", "256"] };
            let factors = factors(users);
            let mut cells = cells(&factors);
            for (cell, keep) in cells.iter_mut().zip(&keep) {
                match keep {
                    0 => cell.state = "failed",
                    1 => cell.gate = Some("broken"),
                    2 => drop(cell.figures.remove("rate_mean")),
                    _ => {}
                }
            }
            let found = of(&study(&factors, &cells, &[figure::RATE_MEAN]), &mut Vec::new());
            for effect in &found.effects {
                let factor = factors.iter().find(|of| of.key == effect.factor).unwrap();
                prop_assert!(effect.levels.iter().all(|level| factor.levels.contains(level)));
                prop_assert!(effect.levels[0] != effect.levels[1]);
                prop_assert!(effect.effect.is_finite() && effect.effect > 0.0, "{:?}", effect);
                prop_assert!(effect.means.iter().all(|mean| mean.is_finite() && *mean > 0.0));
            }
        }
    }
}
