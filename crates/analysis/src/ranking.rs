//! Combinations of levels over their replications, and which of them is the best.

use std::collections::BTreeMap;

use plimsoll_runs::Kind;
use plimsoll_runs::experiment::LeftOut;
use plimsoll_stats::figure::{Better, Figure};
use plimsoll_stats::interval::{LEVEL, one_mean};

use crate::Study;
use crate::blocks;
use crate::document::{Against, Best, CellResult, CombinationResult, Levels, MeanResult};
use crate::effects::geometric;

/// The combinations, in the order of their first cells.
pub(crate) fn combinations(study: &Study<'_>) -> Vec<CombinationResult> {
    let mut all: Vec<(&Levels, Vec<&CellResult>)> = Vec::new();
    let mut places: BTreeMap<&Levels, usize> = BTreeMap::new();
    // A search for parameters has rounds, of which the last compares those that are left.
    let last = study.cells.iter().map(|cell| cell.block).max();
    let is_in = |cell: &&CellResult| study.kind != Kind::Tune || Some(cell.block) == last;
    for cell in study.cells.iter().filter(is_in) {
        let place = *places.entry(&cell.factors).or_insert_with(|| {
            all.push((&cell.factors, Vec::new()));
            all.len() - 1
        });
        all[place].1.push(cell);
    }
    let baseline = baseline(study, &all);
    all.iter()
        .map(|(factors, cells)| combination(study, factors, cells, baseline.as_ref()))
        .collect()
}

fn combination(
    study: &Study<'_>,
    factors: &Levels,
    cells: &[&CellResult],
    baseline: Option<&Vec<f64>>,
) -> CombinationResult {
    let counted: Vec<&CellResult> = cells.iter().copied().filter(|cell| cell.counts()).collect();
    let slo = slo(cells);
    let shown = study.kind.figures().iter().chain(&study.respond);
    let goal = study.goal.iter().map(|(figure, _)| figure);
    let figures =
        shown.chain(goal).filter_map(|figure| Some((figure.name, mean_of(figure, &counted)?)));
    CombinationResult {
        factors: factors.clone(),
        cells: cells.len(),
        counted: counted.len(),
        slo,
        ranked: !counted.is_empty() && !cells.iter().any(|cell| disqualifies(cell, slo)),
        score: baseline.and_then(|baseline| score(study, &counted, baseline)),
        figures: figures.collect(),
    }
}

/// Whether a cell keeps its combination out of the ranking: it is not done, the service was away in
/// it, or nothing shows that the SLO held. That the generator was the limit in it says nothing
/// against the combination, which stands by its other cells.
fn disqualifies(cell: &CellResult, slo: Option<bool>) -> bool {
    let is_own = cell.why_left_out().is_some_and(|why| why != LeftOut::NotValid);
    is_own || (cell.has_slo && slo != Some(true))
}

/// Whether the whole SLO held in all cells.
fn slo(cells: &[&CellResult]) -> Option<bool> {
    let told: Vec<Option<bool>> = cells.iter().map(|cell| cell.slo).collect();
    match () {
        () if told.contains(&Some(false)) => Some(false),
        () if told.is_empty() || told.contains(&None) => None,
        () => Some(true),
    }
}

/// The values of a figure, cell by cell; `None` where one lacks it, or there is none.
fn values(figure: &Figure, cells: &[&CellResult]) -> Option<Vec<f64>> {
    let values = cells.iter().map(|cell| cell.figures.get(figure.name).copied());
    values.collect::<Option<Vec<f64>>>().filter(|values| !values.is_empty())
}

/// A figure's mean over cells; of a single one with the interval of its own, where it has one.
pub(crate) fn mean_of(figure: &Figure, cells: &[&CellResult]) -> Option<MeanResult> {
    let found = mean(figure, &values(figure, cells)?)?;
    let own = match cells {
        [only] => only.intervals.get(figure.name).copied(),
        _ => None,
    };
    Some(MeanResult { ci95: found.ci95.or(own), ..found })
}

/// A figure's mean, with its interval cut off where the figure cannot be.
pub(crate) fn mean(figure: &Figure, values: &[f64]) -> Option<MeanResult> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let described = one_mean(values, LEVEL).ok();
    let (least, greatest) = figure.unit.range();
    let ci95 = described.map(|(of, _)| [of.low.max(least), of.high.min(greatest)]);
    let method = described.map(|(_, method)| method).unwrap_or_default();
    mean.is_finite().then_some(MeanResult { mean, ci95, method, n: values.len() })
}

/// The level that each factor has first.
pub(crate) fn first_levels(study: &Study<'_>) -> Levels {
    study.factors.iter().map(|of| (of.key.clone(), of.levels[0].clone())).collect()
}

/// Whether a combination has these levels; it may have others, that all cells have.
pub(crate) fn has_levels(of: &Levels, levels: &Levels) -> bool {
    levels.iter().all(|(factor, level)| of.get(factor) == Some(level))
}

/// The figures of `respond` at the first levels, to which scores refer; `None` of fewer than two
/// figures, and where the design has no such combination, or one of its figures is missing.
fn baseline(study: &Study<'_>, all: &[(&Levels, Vec<&CellResult>)]) -> Option<Vec<f64>> {
    let first = first_levels(study);
    let (_, cells) = all.iter().find(|(levels, _)| has_levels(levels, &first))?;
    let counted: Vec<&CellResult> = cells.iter().copied().filter(|cell| cell.counts()).collect();
    scored(study, &counted)
}

/// The figures that a score is made of, of some cells.
fn scored(study: &Study<'_>, cells: &[&CellResult]) -> Option<Vec<f64>> {
    let is_scored = |figure: &&&Figure| figure.better != Better::Neither;
    let figures: Vec<&&Figure> = study.respond.iter().filter(is_scored).collect();
    let all = figures.iter().map(|figure| {
        let values = values(figure, cells)?;
        values.iter().all(|value| *value > 0.0).then(|| geometric(&values))
    });
    all.collect::<Option<Vec<f64>>>().filter(|all| all.len() > 1)
}

/// The geometric mean of how many times better each figure is than the baseline's.
fn score(study: &Study<'_>, cells: &[&CellResult], baseline: &[f64]) -> Option<f64> {
    let figures = study.respond.iter().filter(|figure| figure.better != Better::Neither);
    let found = scored(study, cells)?;
    let times = figures.zip(found.iter().zip(baseline)).map(|(figure, (found, base))| match figure
        .better
    {
        Better::Higher => found / base,
        Better::Lower | Better::Neither => base / found,
    });
    Some(geometric(&times.collect::<Vec<_>>()))
}

/// The best combination whose gate and SLO hold in all its replications.
pub(crate) fn best(study: &Study<'_>, all: &[CombinationResult]) -> Option<Best> {
    let (figure, better) = study.goal?;
    let sign = if better == Better::Higher { -1.0 } else { 1.0 };
    let mut ranked: Vec<(&CombinationResult, MeanResult)> = all
        .iter()
        .filter(|of| of.ranked)
        .filter_map(|of| Some((of, *of.figures.get(figure.name)?)))
        .collect();
    ranked.sort_by(|(_, a), (_, b)| (sign * a.mean).total_cmp(&(sign * b.mean)));
    let (best, value) = *ranked.first()?;
    let first = first_levels(study);
    let of_first = all.iter().find(|of| has_levels(&of.factors, &first) && of.counted > 0);
    let mut against = Vec::new();
    if let Some((next, _)) = ranked.get(1) {
        against.extend(compared(study, figure, (best, next), "next"));
    }
    if let Some(of_first) = of_first.filter(|of| of.factors != best.factors) {
        against.extend(compared(study, figure, (best, of_first), "first levels"));
    }
    Some(Best {
        factors: best.factors.clone(),
        figure: figure.name,
        value: value.mean,
        ci95: value.ci95,
        against,
    })
}

/// A combination as the best one, compared with none.
pub(crate) fn alone(
    factors: &Levels,
    figure: &'static Figure,
    cells: &[&CellResult],
) -> Option<Best> {
    let value = mean_of(figure, cells)?;
    Some(Best {
        factors: factors.clone(),
        figure: figure.name,
        value: value.mean,
        ci95: value.ci95,
        against: Vec::new(),
    })
}

/// How one combination compares with another one on a figure.
pub(crate) fn compared(
    study: &Study<'_>,
    figure: &'static Figure,
    (one, other): (&CombinationResult, &CombinationResult),
    what: &'static str,
) -> Option<Against> {
    let value = other.figures.get(figure.name)?.mean;
    let own = one.figures.get(figure.name)?.mean;
    let ratio_of_means = Some(own / value).filter(|ratio| ratio.is_finite())?;
    let found = ratio_of(study, figure, (&one.factors, &other.factors));
    Some(Against {
        what,
        factors: other.factors.clone(),
        value,
        ratio: found.map_or(ratio_of_means, |(ratio, _)| ratio),
        ci95: found.map(|(_, ends)| ends),
    })
}

/// The ratio of a figure of one combination to that of another one, with its 95% interval: of the
/// replications that both have; `None` where no error is known.
pub(crate) fn ratio_of(
    study: &Study<'_>,
    figure: &Figure,
    (one, other): (&Levels, &Levels),
) -> Option<(f64, [f64; 2])> {
    let of = |levels: &Levels| {
        blocks::values(figure, study.cells.iter().filter(|cell| cell.factors == *levels))
    };
    let found = blocks::compared(&of(one), &of(other), true)?;
    Some((found.value, [found.low, found.high]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::respond;
    use plimsoll_plan::{Experiment as ExperimentPlan, FactorPlan};
    use plimsoll_stats::figure;
    use plimsoll_stats::interval::Method;

    /// Cells of a design whose rate is 100, twice that at 40% of a core, and a tenth less with 256
    /// users.
    pub(crate) fn cells(factors: &[FactorPlan]) -> Vec<CellResult> {
        let mut cells = Vec::new();
        for replication in 0..3_u32 {
            for users in &factors[0].levels {
                for cpu in &factors[1].levels {
                    let noise = 1.0 + 0.01 * f64::from(replication);
                    let cpu_factor = if cpu == "40%" { 2.0 } else { 1.0 };
                    let users_factor = if users == "256" { 0.9 } else { 1.0 };
                    let rate = 100.0 * noise * cpu_factor * users_factor;
                    let id = u32::try_from(cells.len() + 1).unwrap();
                    cells.push(CellResult {
                        id,
                        factors: BTreeMap::from([
                            ("load.users".to_owned(), users.clone()),
                            ("role.web.cpu".to_owned(), cpu.clone()),
                        ]),
                        replication,
                        block: replication,
                        world: "live",
                        state: "done",
                        valid: Some(true),
                        gate: Some("held"),
                        slo: Some(cpu != "20%"),
                        has_slo: true,
                        figures: BTreeMap::from([("rate_mean".to_owned(), rate)]),
                        ..CellResult::default()
                    });
                }
            }
        }
        cells
    }

    pub(crate) fn factors(users: &[&str]) -> Vec<FactorPlan> {
        let levels = |of: &[&str]| of.iter().map(|level| (*level).to_owned()).collect();
        vec![
            FactorPlan {
                key: "load.users".to_owned(),
                levels: levels(users),
                sets: Vec::new(),
                labels: std::collections::BTreeMap::new(),
            },
            FactorPlan {
                key: "role.web.cpu".to_owned(),
                levels: levels(&["20%", "40%"]),
                sets: Vec::new(),
                labels: BTreeMap::new(),
            },
        ]
    }

    /// A study of loads in which these figures respond.
    pub(crate) fn study<'a>(
        factors: &[FactorPlan],
        cells: &'a [CellResult],
        respond: &[&'static Figure],
    ) -> Study<'a> {
        let (factors, respond) = (factors.to_vec(), respond.to_vec());
        let goal = respond::goal(None, &respond, cells);
        Study { kind: Kind::Load, has_design: true, factors, cells, respond, goal }
    }

    #[test]
    fn the_best_holds_in_all_replications_and_is_compared() {
        let factors = factors(&["16", "256"]);
        let mut cells = cells(&factors);
        let best_of = |cells: &[CellResult], goal: Option<&str>| {
            let study = study(&factors, cells, &[figure::RATE_MEAN]);
            let asked = ExperimentPlan {
                respond: Some(vec!["rate".to_owned()]),
                goal: goal.map(str::to_owned),
                ..ExperimentPlan::default()
            };
            let goal = respond::goal(Some(&asked), &study.respond, cells);
            let study = Study { goal, ..study };
            best(&study, &combinations(&study)).unwrap()
        };
        let first = best_of(&cells, None);
        assert_eq!(first.factors["load.users"], "16");
        assert!((first.value - 202.0).abs() < 1e-9, "{first:?}");
        let [next, base] = &first.against[..] else { panic!("{first:?}") };
        assert_eq!((next.what, next.factors["load.users"].as_str()), ("next", "256"));
        assert!((next.ratio - 1.0 / 0.9).abs() < 1e-9 && next.ci95.unwrap()[0] > 1.1, "{next:?}");
        assert_eq!((base.what, base.factors["role.web.cpu"].as_str()), ("first levels", "20%"));
        assert!((base.ratio - 2.0).abs() < 1e-9 && (base.value - 101.0).abs() < 1e-9);
        // Its availability is broken in one replication.
        let broken = cells.iter_mut().find(|cell| cell.factors == first.factors).unwrap();
        broken.gate = Some("broken");
        assert_eq!(best_of(&cells, None).factors["load.users"], "256");
        assert_eq!(best_of(&cells, Some("min rate")).factors["load.users"], "256");
    }

    /// Who is ranked: by what counts, whoever was late in the rest; and by no verdict that is none.
    #[test]
    fn a_combination_is_ranked_by_the_cells_that_count_and_never_by_an_open_slo() {
        let factors = factors(&["16", "256"]);
        let good = cells(&factors);
        let ranked = |change: &dyn Fn(&mut CellResult)| -> Vec<(bool, usize)> {
            let mut cells = good.clone();
            cells.iter_mut().for_each(|cell| cell.slo = Some(true));
            let of_first = cells[0].factors.clone();
            let own = cells.iter_mut().filter(|cell| cell.factors == of_first);
            own.for_each(change);
            let study = study(&factors, &cells, &[figure::RATE_MEAN]);
            let all = combinations(&study);
            let best = best(&study, &all).map(|best| best.factors);
            assert!(all.iter().any(|of| Some(&of.factors) == best.as_ref() && of.ranked));
            all.iter().take(1).map(|of| (of.ranked, of.counted)).collect()
        };
        let in_one = |change: fn(&mut CellResult)| {
            move |cell: &mut CellResult| {
                if cell.replication == 1 {
                    change(cell);
                }
            }
        };
        assert_eq!(ranked(&|_| ()), [(true, 3)]);
        assert_eq!(ranked(&in_one(|cell| cell.valid = Some(false))), [(true, 2)]);
        assert_eq!(ranked(&|cell| cell.valid = Some(false)), [(false, 0)]);
        assert_eq!(ranked(&in_one(|cell| cell.gate = Some("broken"))), [(false, 2)]);
        let ended = |cell: &mut CellResult| cell.servers_ended = vec!["web-1 ended".to_owned()];
        assert_eq!(ranked(&in_one(ended)), [(false, 2)]);
        assert_eq!(ranked(&in_one(|cell| cell.state = "failed")), [(false, 2)]);
        assert_eq!(ranked(&in_one(|cell| cell.slo = None)), [(false, 3)], "it is not told");
        assert_eq!(ranked(&in_one(|cell| cell.slo = Some(false))), [(false, 3)]);
        let none = |cell: &mut CellResult| (cell.slo, cell.has_slo) = (None, false);
        assert_eq!(ranked(&none), [(true, 3)], "there is none to hold");
    }

    #[test]
    fn a_score_is_the_geometric_mean_of_how_many_times_better_each_figure_is() {
        let factors = factors(&["16", "256"]);
        let mut cells = cells(&factors);
        for cell in &mut cells {
            // Four times as fast at 40%.
            let p99 = if cell.factors["role.web.cpu"] == "40%" { 25.0 } else { 100.0 };
            cell.figures.insert("response_us.p99".to_owned(), p99);
        }
        let study = study(&factors, &cells, &[figure::RATE_MEAN, figure::RESPONSE_US_P99]);
        let all = combinations(&study);
        let score = |users: &str, cpu: &str| {
            let is = |of: &&CombinationResult| {
                of.factors["load.users"] == users && of.factors["role.web.cpu"] == cpu
            };
            all.iter().find(is).unwrap().score.unwrap()
        };
        assert!((score("16", "20%") - 1.0).abs() < 1e-12);
        assert!((score("16", "40%") - 8.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn from_twenty_values_of_another_shape_the_interval_is_resampled_and_the_same_each_time() {
        let skewed: Vec<f64> = (1..=30).map(|n| libm::exp(f64::from(n) / 5.0)).collect();
        let found = mean(figure::RESPONSE_US_P99, &skewed).unwrap();
        assert_eq!((found.method, found.n), (Method::Bca, 30));
        assert_eq!(mean(figure::RESPONSE_US_P99, &skewed), Some(found));
        assert_eq!(mean(figure::RATE_MEAN, &skewed[..19]).unwrap().method, Method::Student);
        assert_eq!(mean(figure::RATE_MEAN, &[3.0]).unwrap().ci95, None);
    }
}
